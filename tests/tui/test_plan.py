"""The Plan screen by its keys: ticked, opened, filled in, saved, begun."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import ModuleType
from typing import cast

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from fsconsole.catalog.loader import load_catalog
from fsconsole.client.children import Done
from fsconsole.plan.configs import list_configs
from fsconsole.plan.reader import read_plan
from fsconsole.tui.plaintext import plain
from fsconsole.tui.screens import plan_desk
from fsconsole.tui.screens.dialog import Dialog
from fsconsole.tui.screens.plan import PlanScreen
from fsconsole.tui.widgets.choices import Choices
from tests.tui.harness import SIZES, Scripted, console, picture
from tests.tui.snapshots import assert_looks_as_kept
from tests.tui.waiting import stands_in

LOAD = '[[workload]]\nkind = "create"\nfile_size = "1MiB"\n'


def catalog_answer(refused: dict[str, str] | None = None, unavailable: dict[str, str] | None = None) -> str:
    """What `fsconsole catalog --json` would say, with these options of ext4 refused, and these filesystems missing."""
    refused, unavailable = refused or {}, unavailable or {}
    entries = []
    for filesystem in load_catalog().filesystems:
        options = [
            {
                "name": option.name,
                "kind": option.scope.value,
                "probe": [
                    {"value": value, "verdict": "refused", "words": refused[option.name]}
                    for value in option.values_to_try
                ]
                if filesystem.name == "ext4" and option.name in refused
                else [],
            }
            for option in filesystem.options
        ]
        lacks = unavailable.get(filesystem.name, "")
        entries.append(
            {
                "filesystem": filesystem.name,
                "unavailable": lacks,
                "kernel": "not in this kernel" if lacks else "in the kernel",
                "probed": bool(refused),
                "options": options,
            }
        )
    return json.dumps(entries)


def device_answer(path: str, size_bytes: int) -> str:
    return json.dumps([{"path": path, "size_bytes": size_bytes, "is_scratch": True, "rotational": False}])


class Hand:
    """Presses keys, and waits for what they bring about."""

    def __init__(self, pilot: Pilot[None]) -> None:
        self.pilot = pilot

    @property
    def screen(self) -> PlanScreen:
        return cast("PlanScreen", next(s for s in self.pilot.app.screen_stack if isinstance(s, PlanScreen)))

    async def keys(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def until(self, condition: Callable[[], bool]) -> None:
        for _ in range(1000):
            if condition():
                return
            await self.pilot.pause(0.02)
        raise AssertionError(picture(self.pilot))

    async def sees(self, *words: str) -> str:
        await self.until(lambda: all(word in picture(self.pilot) for word in words))
        return picture(self.pilot)

    async def settled(self) -> None:
        await self.until(lambda: self.screen.is_current)
        await self.pilot.pause()

    async def go_to(self, section: str) -> None:
        """Go to a section and into its list."""
        self.screen.query_one("#sections").focus()
        await self.pilot.press("home")
        while self.screen.section_key != section:
            await self.pilot.press("down")
            await self.pilot.pause()
        await self.keys("enter")

    async def look_at(self, key: str) -> None:
        """Go to a line of the section's list, at once: arrows are the list's own, and used elsewhere."""
        choices = self.screen.query_one("#lines", Choices)
        choices.highlighted = [line.key for line in choices.lines_shown].index(key)
        await self.pilot.pause()

    async def type(self, text: str) -> None:
        field = cast("Input", self.pilot.app.screen.focused)
        field.value = text
        await self.pilot.pause()


def at_plan(
    work: Callable[[Hand], Awaitable[None]],
    *,
    size: tuple[int, int] = (80, 24),
    children: Scripted | None = None,
    targets: tuple[str, ...] = (),
    is_root: bool = True,
) -> None:
    async def look() -> None:
        known = children or Scripted({"catalog": catalog_answer()})
        app = console(known, is_root=is_root)
        app.session.targets.extend(targets)
        async with app.run_test(size=size) as pilot:
            hand = Hand(pilot)
            await hand.keys("2")
            await hand.settled()
            await work(hand)

    asyncio.run(look())


@pytest.mark.parametrize("size", SIZES)
def test_a_new_plan_says_what_it_comes_to(size: tuple[int, int]) -> None:
    async def work(hand: Hand) -> None:
        seen = await hand.sees("New plan", "2 variants, 6 cells; 12.0 GiB to write", "No device is ticked")
        assert "[x] ext4" in seen
        assert "[ ] btrfs" in seen
        assert all(len(line) <= size[0] for line in seen.splitlines())

    at_plan(work, size=size)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_the_screen_and_its_dialogs_look_as_they_were_drawn(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_desk, "kernel_release", lambda: "6.18.0")

    async def work(hand: Hand) -> None:
        async def looks(name: str) -> None:
            await hand.pilot.pause()
            assert_looks_as_kept(hand.pilot, f"{name}-{size[0]}x{size[1]}")

        await looks("plan")
        await hand.go_to("options 0")
        await hand.look_at("mount data")
        await hand.keys("space", "space")
        await hand.look_at("mount delalloc")
        await hand.keys("space", "space")
        await hand.settled()
        await looks("plan-options")
        await hand.keys("enter")
        await looks("plan-values")
        await hand.keys("escape")
        await hand.go_to("workloads")
        await hand.keys("enter")
        await hand.pilot.pause()
        await hand.type("")
        hand.pilot.app.screen.query_one("#field-file_size").focus()
        await hand.pilot.pause()
        await hand.type("1XB")
        await looks("plan-workload")

    at_plan(work, size=size)


def test_space_ticks_a_filesystem_and_its_options_get_a_section() -> None:
    async def work(hand: Hand) -> None:
        await hand.go_to("filesystems")
        await hand.look_at("btrfs")
        await hand.keys("space")
        await hand.sees("[x] btrfs", "3 variants, 9 cells")
        assert hand.screen.draft.is_ticked("btrfs")
        await hand.keys("space")
        await hand.sees("[ ] btrfs", "2 variants, 6 cells")

    at_plan(work)


def test_a_filesystem_that_is_not_here_can_t_be_ticked_and_says_why() -> None:
    async def work(hand: Hand) -> None:
        await hand.go_to("filesystems")
        await hand.look_at("jfs")
        await hand.keys("space")
        await hand.sees("[-] jfs", "It can't be used here: no driver for jfs")
        assert not hand.screen.draft.is_ticked("jfs")

    children = Scripted({"catalog": catalog_answer(unavailable={"jfs": "no driver for jfs"})})
    at_plan(work, children=children)


def test_space_goes_from_off_to_on_to_compare_to_off() -> None:
    async def work(hand: Hand) -> None:
        await hand.go_to("options 0")
        await hand.look_at("mount data")
        for marked, values, rows in (
            ("[x]", ("ordered",), "2 variants"),
            ("[*]", ("ordered", "writeback", "journal"), "4 variants"),
            ("[ ]", (), "2 variants"),
        ):
            await hand.keys("space")
            await hand.settled()
            seen = await hand.sees(rows)
            line = next(line for line in seen.splitlines() if "] data " in line)
            assert marked in line
            assert all(value in line for value in values)

    at_plan(work)


def test_an_option_that_was_refused_here_is_shown_with_the_kernel_s_words_and_not_ticked() -> None:
    async def work(hand: Hand) -> None:
        await hand.go_to("options 0")
        await hand.look_at("mkfs fast_commit")
        await hand.keys("space")
        await hand.sees("[-] fast_commit", "on, off: this machine refuses it (EXT4-fs: what [/x] is that)")
        assert hand.screen.draft.plan.checklists[0].mkfs == ()

    children = Scripted({"catalog": catalog_answer({"fast_commit": "EXT4-fs: what [/x] is that"})})
    at_plan(work, children=children)


def test_values_are_ticked_or_typed_and_a_wrong_one_is_not_taken() -> None:
    async def work(hand: Hand) -> None:
        await hand.go_to("options 0")
        await hand.look_at("mkfs flex_bg_size")
        await hand.keys("enter")
        await hand.sees("ext4: flex_bg_size (mkfs)", "[ ] 64")
        await hand.keys("tab")
        await hand.type("many")
        await hand.sees("flex_bg_size takes: a whole number")
        await hand.keys("enter")
        await hand.type("16")
        await hand.keys("enter")
        await hand.sees("[x] 16")
        await hand.keys("f10")
        await hand.sees("flex_bg_size", "mkfs  16")
        assert hand.screen.draft.plan.checklists[0].mkfs == (("flex_bg_size", ("16",)),)

    at_plan(work)


def test_a_variant_is_unticked_and_one_that_cannot_be_says_why() -> None:
    async def work(hand: Hand) -> None:
        await hand.go_to("options 0")
        for option, presses in (("mount data", 2), ("mount delalloc", 2)):
            await hand.look_at(option)
            await hand.keys(*["space"] * presses)
        await hand.settled()
        await hand.go_to("variants")
        await hand.sees("[-] ext4 data=journal delalloc", "left out")
        await hand.keys("home", "space")
        await hand.settled()
        await hand.sees("[ ] ext4 data=ordered delalloc")
        assert hand.screen.draft.plan.checklists[0].exclude == ((("data", "ordered"), ("delalloc", "on")),)
        await hand.look_at("row 4")
        await hand.sees("can't mount with both data=journal and delalloc")
        await hand.keys("space")
        assert len(hand.screen.draft.plan.checklists[0].exclude) == 1

    at_plan(work)


def test_the_variants_have_a_pane_of_their_own_where_there_is_room() -> None:
    async def work(hand: Hand) -> None:
        await hand.sees("Variants", "[x] ext4 ")
        assert "variants" not in [
            line.key for line in hand.screen.query_one("#sections", Choices).lines_shown
        ]
        await hand.keys("tab", "tab", "space")
        await hand.settled()
        assert not hand.screen.draft.is_ticked("ext4")

    at_plan(work, size=(120, 40))


def test_a_workload_is_filled_in_and_judged_as_it_is_typed() -> None:
    async def work(hand: Hand) -> None:
        await hand.go_to("workloads")
        await hand.keys("enter")
        await hand.sees("Workload 1: create", "file_size")
        hand.pilot.app.screen.query_one("#field-threads").focus()
        await hand.pilot.pause()
        await hand.type("0")
        seen = await hand.sees("it is below 1: a whole number from 1 to 4096")
        lines = seen.splitlines()
        assert "it is below 1" in lines[next(n for n, line in enumerate(lines) if "threads" in line) + 1]
        await hand.keys("f10")
        assert isinstance(hand.pilot.app.screen, Dialog)
        await hand.type("1, 16")
        await hand.keys("enter")
        await hand.settled()
        await hand.sees("12 cells", "1 or 16 threads: create of 512MiB in blocks of 64KiB.")

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
        await hand.sees("it is not a whole number")
        await hand.type("1")
        await hand.keys("enter")
        await hand.sees("3 variants, 6 cells")
        await hand.look_at("order")
        await hand.keys("space")
        await hand.sees("interleaved")

    at_plan(work)


def test_shipped_plans_are_opened_from_a_menu_with_a_line_on_each() -> None:
    async def work(hand: Hand) -> None:
        await hand.keys("o")
        await hand.sees("demo", "ext4 twice, xfs and btrfs under 16 writers")
        await hand.keys("end", "enter")
        await hand.sees("4 variants, 12 cells", "[x] ext4 data=writeback nodelalloc")
        assert hand.screen.draft.plan == read_plan(next(p for p in list_configs() if p.stem == "demo"))

    at_plan(work)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("schema = 1\n[[variant]\n", "is not TOML"),
        ("schema = 1\nraw = true\n" + LOAD + "color = 1\n", "the key workload[0].color is not known"),
        ("schema = 1\nraw = true\n", "there is none"),
        ('schema = 1\n[[variant]]\ntype = "ext5"\n' + LOAD, "there is no filesystem 'ext5'"),
    ],
)
def test_a_bad_file_is_told_in_the_reader_s_words_and_the_draft_stays(
    text: str, words: str, tmp_path: Path
) -> None:
    async def work(hand: Hand) -> None:
        (tmp_path / "bad.toml").write_text(text)
        await hand.keys("o", "tab")
        await hand.type(str(tmp_path / "bad.toml"))
        await hand.keys("enter")
        await hand.until(lambda: stands_in(picture(hand.pilot), words))
        await hand.sees("New plan")

    at_plan(work, size=(120, 40))


def test_a_plan_is_saved_and_asks_before_it_replaces_what_it_did_not_show(tmp_path: Path) -> None:
    async def work(hand: Hand) -> None:
        path = tmp_path / "mine.toml"
        await hand.keys("s")
        await hand.sees("Save the plan as")
        await hand.type(str(path))
        await hand.keys("enter")
        await hand.until(path.exists)
        await hand.until(lambda: not hand.screen.is_changed and hand.screen.draft.plan.path == str(path))
        assert [checklist.filesystem for checklist in read_plan(path).checklists] == ["ext4", "xfs"]

        edited = "# edited elsewhere\n" + path.read_text()
        path.write_text(edited)
        await hand.go_to("filesystems")
        await hand.look_at("btrfs")
        await hand.keys("space", "s")
        await hand.sees("Save the plan as")
        await hand.keys("enter")
        await hand.sees("It was edited since it was opened here.")
        await hand.keys("enter")
        assert path.read_text() == edited
        await hand.keys("s", "enter")
        await hand.sees("It was edited since")
        await hand.keys("y")
        await hand.until(lambda: "btrfs" in path.read_text())

    at_plan(work)


def test_a_plan_that_was_changed_is_not_left_without_a_question() -> None:
    async def work(hand: Hand) -> None:
        await hand.go_to("filesystems")
        await hand.keys("space")
        await hand.sees("not saved")
        await hand.keys("o")
        await hand.sees("Leave this plan?")
        await hand.keys("n")
        assert hand.screen.is_changed
        await hand.keys("n")
        await hand.sees("Leave this plan?")
        await hand.keys("y")
        await hand.until(lambda: not hand.screen.is_changed)

    at_plan(work)


def test_the_ticked_device_is_reckoned_with() -> None:
    async def work(hand: Hand) -> None:
        await hand.sees("on /dev/loop7 (1.0 GiB)", "6 cells")
        assert hand.screen.outcome.plan is not None
        assert hand.screen.outcome.plan.estimate.bytes_to_write < 6 * 2**30

    children = Scripted({"catalog": catalog_answer(), "devices": device_answer("/dev/loop7", 2**30)})
    at_plan(work, children=children, targets=("/dev/loop7",))


def test_a_device_that_was_pulled_while_it_was_ticked_is_told() -> None:
    async def work(hand: Hand) -> None:
        await hand.sees("/dev/sdz: not there any more")

    at_plan(work, targets=("/dev/sdz",))


def test_no_cell_at_all_is_told_and_not_begun() -> None:
    async def work(hand: Hand) -> None:
        await hand.go_to("filesystems")
        for name in ("ext4", "xfs"):
            await hand.look_at(name)
            await hand.keys("space")
        await hand.settled()
        await hand.sees("0 variants, 0 cells")
        await hand.keys("g")
        await hand.sees("No cell of this plan can run: no variant is ticked.")

    children = Scripted({"catalog": catalog_answer(), "devices": device_answer("/dev/loop7", 2**30)})
    at_plan(work, children=children, targets=("/dev/loop7",))


def test_more_cells_than_a_plan_may_have_are_told_in_words(tmp_path: Path) -> None:
    async def work(hand: Hand) -> None:
        many = ", ".join(map(str, range(1, 4097)))
        path = tmp_path / "many.toml"
        path.write_text(
            f"schema = 1\nrepeats = 3\nraw = true\n{LOAD}threads = [{many[: many.index('1001')]}]\n"
        )
        path.write_text(path.read_text().replace("repeats = 3", "repeats = 20").replace(", ]", "]"))
        await hand.keys("o", "tab")
        await hand.type(str(path))
        await hand.keys("enter")
        await hand.sees("too many cells", "at most 10000 cells")

    at_plan(work)


def test_the_commands_of_a_cell_are_those_that_plan_prints() -> None:
    step = {"kind": "mkfs", "title": "make xfs", "commands": [["mkfs.xfs", "-f", "/dev/loop7"]], "writes": []}
    cell = {
        "index": 0,
        "variant": {"label": "xfs [/x]"},
        "unavailable": "",
        "repeat": 1,
        "target": "/dev/loop7",
        "array": None,
        "setting": {},
        "workloads": [{"threads": 4}],
        "steps": [step],
    }

    async def work(hand: Hand) -> None:
        await hand.keys("c")
        await hand.sees("1. xfs [/x]", "$ mkfs.xfs -f /dev/loop7")
        await hand.keys("escape")
        await hand.sees("New plan")

    children = Scripted({"catalog": catalog_answer(), "plan ": json.dumps({"cells": [cell]})})
    at_plan(work, children=children)


def test_p_tries_the_options_of_what_is_ticked_and_only_then() -> None:
    children = Scripted(
        {"catalog": catalog_answer(), "catalog ext4 xfs --probe": catalog_answer({"data": "no[/x]"})}
    )

    async def work(hand: Hand) -> None:
        assert not any("--probe" in words for words in children.asked)
        await hand.keys("p")
        await hand.sees("Tried on this machine: ext4, xfs.")
        await hand.go_to("options 0")
        await hand.look_at("mount data")
        await hand.sees("[-] data", "no[/x]")

    at_plan(work, children=children)


def test_a_catalog_that_gives_no_answer_is_told_and_the_plan_goes_on() -> None:
    async def work(hand: Hand) -> None:
        await hand.sees("something broke", "2 variants, 6 cells")

    children = Scripted({"catalog": Done(("catalog",), 1, "", "fsconsole: something broke\nhint: mend it\n")})
    at_plan(work, children=children)


def test_without_root_or_device_go_says_what_is_missing() -> None:
    async def root(hand: Hand) -> None:
        await hand.keys("g")
        await hand.sees("need root: start fsconsole with sudo")

    async def device(hand: Hand) -> None:
        await hand.keys("g")
        await hand.sees("No device is ticked that the plan could run on")

    at_plan(root, is_root=False)
    at_plan(device)


def test_go_hands_the_plan_to_confirm_and_leaves_no_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen: list[tuple[str, tuple[str, ...], str, int]] = []

    class Confirm(Dialog[object]):
        def __init__(self, plan_path: str, targets: tuple[str, ...]) -> None:
            super().__init__("Confirm")
            path = Path(plan_path)
            seen.append((plan_path, targets, path.read_text(), path.stat().st_mode & 0o777))

    module = ModuleType("fsconsole.tui.screens.confirm")
    module.ConfirmScreen = Confirm  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))

    async def work(hand: Hand) -> None:
        await hand.keys("g")
        await hand.until(lambda: bool(seen))
        path, targets, text, mode = seen[0]
        assert (targets, mode) == (("/dev/loop7",), 0o600)
        assert text == hand.screen.draft.text
        await hand.keys("escape")
        await hand.until(lambda: not Path(path).exists())

    children = Scripted({"catalog": catalog_answer(), "devices": device_answer("/dev/loop7", 2**30)})
    at_plan(work, children=children, targets=("/dev/loop7",))


def test_hostile_text_of_a_plan_is_shown_as_it_stands(tmp_path: Path) -> None:
    async def work(hand: Hand) -> None:
        path = tmp_path / "x.toml"
        label = 'label = "[/x] \\u001b[31m \\u4f60"'
        path.write_text(
            f'schema = 1\ntitle = "[/t]\\u001b"\n[[variant]]\ntype = "ext4"\n{label}\n{LOAD}name = "[/w]"\n'
        )
        await hand.keys("o", "tab")
        await hand.type(str(path))
        await hand.keys("enter")
        await hand.settled()
        await hand.sees("[/t]\\x1b", "[x] [/x] \\x1b[31m")
        await hand.go_to("workloads")
        await hand.sees("1. [/w]")
        await hand.keys("c", "escape", "enter")
        await hand.sees("Workload 1")
        assert plain("[/x]").plain == "[/x]"

    at_plan(work)
