"""The Plan screen by its keys: workloads, settings, the run's own keys."""

from __future__ import annotations

from fsconsole.tui.screens.dialogs import Dialog
from tests.tui.at_plan import Hand, at_plan


def test_a_workload_is_filled_in_and_judged_as_it_is_typed() -> None:
    async def work(hand: Hand) -> None:
        await hand.go_to("workloads")
        await hand.keys("enter")
        await hand.sees("Workload 1: create", "file_size")
        hand.pilot.app.screen.query_one("#field-threads").focus()
        await hand.pilot.pause()
        await hand.type("0")
        seen = await hand.sees("must be at least 1: a whole number from 1 to 4096")
        lines = seen.splitlines()
        assert "must be at least 1" in lines[next(n for n, line in enumerate(lines) if "threads" in line) + 1]
        await hand.keys("f10")
        assert isinstance(hand.pilot.app.screen, Dialog)
        await hand.type("1, 16")
        await hand.keys("enter")
        await hand.settled()
        await hand.sees("12 cells", "create files of 512MiB by 1 or 16 threads in writes of 64KiB")

    at_plan(work)


def test_workloads_are_added_doubled_moved_and_removed_as_the_plan_reader_lets_them() -> None:
    async def work(hand: Hand) -> None:
        def kinds() -> list[str]:
            return [load.kind.value for load in hand.screen.draft.plan.workloads]

        await hand.go_to("workloads")
        await hand.keys("a")
        await hand.sees("Add a workload", "read whole files, from a cold cache")
        await hand.keys("down", "down", "enter")
        await hand.sees("Workload 2: read")
        await hand.keys("f10")
        await hand.sees("2. read")
        assert kinds() == ["create", "read"]
        await hand.keys("home", "x")
        await hand.sees("no create comes before it")
        assert kinds() == ["create", "read"]
        await hand.keys("d")
        assert kinds() == ["create", "create", "read"]
        await hand.keys("end", "minus")
        assert kinds() == ["create", "read", "create"]
        await hand.keys("x")
        assert kinds() == ["create", "create"]
        await hand.keys("x", "x")
        await hand.sees("there is none", "at least one [[workload]]")
        assert kinds() == ["create"]

    at_plan(work)


def test_settings_and_the_run_s_keys_are_ticked_and_typed() -> None:
    async def work(hand: Hand) -> None:
        await hand.go_to("settings")
        await hand.keys("space", "space")
        await hand.sees("[*] read_ahead", "128KiB, 2MiB", "12 cells")
        await hand.go_to("run")
        await hand.look_at("raw")
        await hand.keys("space")
        await hand.sees("[x] raw", "3 variants, 18 cells")
        await hand.look_at("repeats")
        await hand.keys("enter")
        await hand.type("none")
        await hand.sees("not a valid value")
        await hand.type("1")
        await hand.keys("enter")
        await hand.sees("3 variants, 6 cells")
        await hand.look_at("order")
        await hand.keys("space")
        await hand.sees("interleaved")

    at_plan(work)
