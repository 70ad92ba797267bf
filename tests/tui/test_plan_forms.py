"""Forms of the Plan screen: values, loads, variants in words."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from fsconsole.model.plan import Order
from fsconsole.plan.planfile import PlanFile, VariantText
from fsconsole.plan.read import read_plan
from fsconsole.tui.screens.dialogs import Dialog
from fsconsole.tui.screens.plan import PlanScreen
from tests.lab.soak import tried
from tests.tui.at_plan import LOAD, Hand, at_plan
from tests.tui.harness import ONE_OF_SIZES, picture


async def values_of(hand: Hand, key: str) -> None:
    await hand.go_to("options 0")
    await hand.tick(key, "other..")
    await hand.until(lambda: not isinstance(hand.pilot.app.screen, PlanScreen))
    await hand.sees("enter Apply", "esc Cancel")


def given(hand: Hand) -> dict[str, tuple[str, ...]]:
    checklist = hand.screen.draft.plan.checklists[0]
    return dict((*checklist.mkfs, *checklist.mount))


TICKED = (
    (("down", "enter"), ("60",)),
    (("space", "down", "space", "enter"), ("default", "60")),
    (("down", "space", "escape"), ()),
    (("space", "space", "enter"), ()),
    (("enter",), ()),
    (("down", "space", "f10"), ("60",)),
)
"""Keys in the list of values, and what is ticked after them."""


async def test_typed_values_are_taken_by_enter_beside_those_that_are_ticked() -> None:
    async with at_plan() as hand:
        for keys, values in tried(TICKED, TICKED[:3]):
            await hand.begin()
            await values_of(hand, "mount commit")
            await hand.keys(*keys)
            await hand.until(lambda: hand.pilot.app.screen is hand.screen)
            assert given(hand).get("commit", ()) == values, keys
        await values_of(hand, "mount commit")
        await hand.sees("ext4: commit (mount)", "[ ] 60")
        await hand.keys("down", "space", "tab")
        await hand.type("16, x")
        await hand.sees("commit takes: a whole number")
        await hand.keys("enter")
        assert hand.pilot.app.screen is not hand.screen
        await hand.type("16, 128")
        await hand.keys("enter")
        await hand.until(lambda: hand.pilot.app.screen is hand.screen)
        await hand.sees("[60]>[16] [128]")
        assert given(hand)["commit"] == ("60", "16", "128")


async def a_workload(hand: Hand) -> None:
    await hand.go_to("workloads")
    await hand.keys("enter")
    await hand.sees("Workload 1")
    hand.pilot.app.screen.query_one("#field-threads").focus()
    await hand.pilot.pause()
    await hand.type("8")


async def repeats(hand: Hand) -> None:
    await hand.go_to("run")
    await hand.look_at("repeats")
    await hand.keys("enter")
    await hand.sees("A number, which + and - step, or the word auto.")
    await hand.type("8")


async def read_ahead(hand: Hand) -> None:
    await hand.go_to("settings")
    await hand.tick("read_ahead", "other..")
    await hand.sees("Read-ahead: queue", "enter Apply")
    await hand.keys("tab")
    await hand.type("8MiB")


FORMS: tuple[tuple[Callable[[Hand], Awaitable[None]], Callable[[PlanFile], bool]], ...] = (
    (a_workload, lambda plan: plan.workloads[0].thread_counts == (8,)),
    (repeats, lambda plan: plan.repeats == 8),
    (read_ahead, lambda plan: dict(plan.settings).get("read_ahead") == ("8MiB",)),
)


async def test_every_form_is_taken_by_enter_and_f10_and_left_by_escape() -> None:
    async with at_plan() as hand:
        every = list(product(FORMS, ("enter", "f10", "escape")))
        for (open_form, is_found), key in tried(every, [every[0], every[4], every[6], every[8]]):
            await hand.begin()
            await open_form(hand)
            await hand.sees("enter Apply", "esc Cancel")
            await hand.keys(key)
            await hand.until(lambda: hand.pilot.app.screen is hand.screen)
            assert is_found(hand.screen.draft.plan) == (key != "escape"), (open_form, key)


async def test_a_workload_is_filled_in_and_judged_as_it_is_typed() -> None:
    async with at_plan() as hand:
        await hand.go_to("workloads")
        await hand.keys("enter")
        await hand.sees("Workload 1: create", "file_size")
        hand.pilot.app.screen.query_one("#field-threads").focus()
        await hand.pilot.pause()
        # What a field begins with is replaced by what is typed.
        await hand.keys("0")
        seen = await hand.sees("must be at least 1: a whole number from 1 to 4096")
        lines = seen.splitlines()
        assert "must be at least 1" in lines[next(n for n, line in enumerate(lines) if "threads" in line) + 1]
        await hand.keys("f10")
        assert isinstance(hand.pilot.app.screen, Dialog)
        await hand.type("1, 16")
        await hand.keys("enter")
        await hand.settled()
        await hand.sees("20 cells", "create files by 1 or 16 threads in writes of 64KiB")


async def test_workloads_are_added_doubled_moved_and_removed_as_the_plan_reader_lets_them() -> None:
    async with at_plan() as hand:

        def kinds() -> list[str]:
            return [load.kind.value for load in hand.screen.draft.plan.workloads]

        await hand.go_to("workloads")
        await hand.keys("n", "enter")
        await hand.sees("Add a workload", "read whole files, from a cold cache")
        await hand.keys("down", "down", "enter")
        await hand.sees("Workload 2: read")
        await hand.keys("f10")
        await hand.sees("2. read")
        assert kinds() == ["create", "read"]
        await hand.keys("home", "x")
        await hand.sees("no create comes before it")
        for pressed, wanted in (
            ((), ["create", "read"]),
            (("D",), ["create", "create", "read"]),
            (("end", "<"), ["create", "read", "create"]),
            (("x",), ["create", "create"]),
        ):
            await hand.keys(*pressed)
            assert kinds() == wanted
        await hand.keys("x", "x")
        await hand.sees("there is no workload", "at least one [[workload]]")
        assert kinds() == ["create"]


async def test_settings_and_the_run_s_keys_are_ticked_and_typed() -> None:
    async with at_plan() as hand:
        await hand.go_to("settings")
        await hand.tick("read_ahead", "128KiB", "2MiB")
        await hand.sees("default  [128KiB]>[2MiB]", "20 cells")
        await hand.go_to("run")
        await hand.tick("raw", "yes")
        await hand.sees("3 variants, 30 cells")
        await hand.look_at("repeats")
        await hand.keys("enter")
        seen = await hand.sees("5 rounds of 4 cells find", "auto: 12 rounds at most", "each round +")
        # A line each: none is broken, as a paragraph would be.
        for begin in ("A number, which + and - step, or the word auto.", "5 rounds of 4 cells find a difference of"):
            assert any(line.strip(" │") == begin for line in seen.splitlines()), seen
        await hand.type("none")
        await hand.sees("not a valid value")
        await hand.type("10")
        await hand.sees("10 rounds of 4 cells find")
        await hand.type("1")
        await hand.keys("enter")
        await hand.sees("3 variants, 6 cells")
        # Enter ticks the value at the cursor, and never goes on to another one.
        await hand.tick("order", "shuffled")
        for _ in range(2):
            await hand.keys("enter")
            assert hand.screen.draft.plan.order is Order.SHUFFLED


PLAN = f"""schema = 1
repeats = 1
[[variant]]
type = "ext4"
mkfs = "-O ^flex_bg"
mount = "noatime"
tune = "-c 20"
label = "as in 2008"
as_printed = "ext4, no flex_bg"
[[variant]]
type = "xfs"
{LOAD}"""


async def fill(hand: Hand, **texts: str) -> None:
    for key, text in texts.items():
        hand.pilot.app.screen.query_one(f"#field-{key}").focus()
        await hand.pilot.pause()
        await hand.type(text)


def in_one_line(hand: Hand) -> str:
    return " ".join(picture(hand.pilot).split())


@pytest.mark.parametrize("size", ONE_OF_SIZES)
async def test_a_variant_is_typed_checked_as_it_is_typed_and_compared(size: tuple[int, int]) -> None:
    async with at_plan(size=size) as hand:
        await hand.go_to("words")
        await hand.sees("(add one)")
        await hand.keys("n", "enter")
        for texts, words in (
            # A second device or a contradiction is refused in the plan reader's words.
            ({"mkfs": "/dev/sdb"}, "'/dev/sdb': a word on its own could be a second device or a path"),
            ({"mkfs": "-b 4096 -b 1024"}, "it contradicts -b 4096"),
            ({"type": "ext5", "mkfs": ""}, "there is no filesystem 'ext5'. Did you mean ext4"),
            ({"type": "xfs", "mkfs": "-d su=64k,sx=4"}, "'sx=4': it is not on the list; allowed: s"),
        ):
            await fill(hand, **texts)
            await hand.until(lambda words=words: words in in_one_line(hand))
        await hand.keys("enter")
        await hand.sees("Custom options")
        assert hand.screen.draft.plan.variants == ()
        await fill(hand, mkfs="-d su=64k,sw=4", mount="noatime", label="striped [/x]")
        await hand.keys("enter")
        await hand.sees("striped [/x]", "3 variants, 15 cells")
        typed = VariantText("xfs", "-d su=64k,sw=4", "noatime", label="striped [/x]")
        assert hand.screen.draft.plan_file.variants == (typed,)


async def test_variants_of_a_file_are_shown_unticked_changed_doubled_removed_and_saved(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a rather long name of a plan.toml"
    path.write_text(PLAN)
    async with at_plan() as hand:
        await hand.open(path)
        await hand.sees("2 variants, 2 cells")
        # Enter opens one from the list of all variants, too.
        await hand.go_to("variants")
        await hand.keys("enter")
        await hand.sees("Custom options", "as in 2008")
        await hand.keys("escape", "space")
        await hand.settled()
        assert hand.screen.draft.variants == (1,)
        await hand.go_to("words")
        await hand.keys("home", "space")
        await hand.sees("[x] as in 2008", "[x] xfs", "ext4: mkfs -O ^flex_bg", "tune -c 20")
        (before, _) = hand.screen.draft.plan.variants
        await hand.keys("enter")
        await hand.sees("ext4, no flex_bg")
        await fill(hand, mount="noatime,nodelalloc")
        await hand.keys("f10")
        await hand.sees("mount noatime,nodelalloc")
        await hand.keys("down", "D", "x", "space", "w", "enter")
        await hand.until(lambda: not hand.screen.edited.is_changed)
        assert read_plan(path).variants == (replace(before, mount="noatime,nodelalloc"),)


async def test_plus_and_minus_step_the_rounds_digits_replace_them_and_enter_applies() -> None:
    async with at_plan(size=(120, 40)) as hand:
        await hand.sees("+ Rounds..")
        for keys, rounds in (
            (("+", "+", "-", "enter"), 6),
            (("8", "enter"), 8),
            # What is typed after a step replaces it too.
            (("-", "1", "2", "enter"), 12),
            (("+", "escape"), 12),
            (("1", "-", "-", "enter"), 1),
        ):
            await hand.keys("+")
            await hand.sees("Rounds", "enter Apply", "+ More", "- Fewer", "esc Cancel")
            await hand.keys(*keys)
            await hand.until(lambda: hand.pilot.app.screen is hand.screen)
            assert hand.screen.draft.plan.repeats == rounds, keys
        await hand.keys("+", *"auto", "+")
        await hand.sees("'auto' is no number to step")
        await hand.keys("enter")
        await hand.until(lambda: hand.screen.draft.plan.is_auto)


async def test_how_often_is_called_rounds_in_the_list_its_lines_and_the_dialog() -> None:
    async with at_plan() as hand:
        assert re.search(r"^    Rounds \+ +5  │", await hand.sees("Settings"), re.MULTILINE)
        await hand.go_to("run")
        seen = await hand.sees("How often each combination is run", "order")
        assert re.search(r"│ rounds +5", seen)
        assert "repeats" not in seen.lower()
        await hand.keys("+")
        assert "repeats" not in (await hand.sees("+ More", "Rounds")).lower()


async def test_the_footer_names_where_escape_leads_and_what_enter_does_in_a_form() -> None:
    async with at_plan(size=(120, 40)) as hand:
        await hand.go_to("workloads")
        await hand.sees("esc Filesystems")
        await hand.keys("n", "enter")
        await hand.sees("Add a workload", "enter Choose")
        await hand.keys("enter")
        await hand.sees("Workload 2", "enter Add", "esc Cancel")
        await hand.keys("escape")
        hand.screen.query_one("#rows").focus()
        await hand.sees("esc Workloads")
        await hand.keys("escape")
        assert hand.screen.query_one("#lines").has_focus
        await hand.keys("escape")
        assert hand.screen.query_one("#sections").has_focus
        assert "esc" not in picture(hand.pilot).splitlines()[-1]
        await hand.keys("f")
        await hand.sees("Open a recipe", "enter Open")
