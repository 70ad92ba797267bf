"""From the Plan screen to a run: what is waited for, and plans of two thousand cells (ten thousand in a soak)."""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import AbstractContextManager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import IO, Any

import pytest
from textual.widgets import Input

from fsconsole.client.children import Done
from fsconsole.devices.identity import listed_identity
from fsconsole.devices.scratch import Scratch
from fsconsole.journal.folder import RunFolder
from fsconsole.model.answers import StepAnswer
from fsconsole.model.device import Identity
from fsconsole.model.plan import StepKind
from fsconsole.model.wire import encode
from fsconsole.tui import planfiles
from fsconsole.tui.screens import base, plan_count, plan_start
from fsconsole.tui.screens.confirm import ConfirmScreen
from fsconsole.tui.screens.dialogs import Dialog
from fsconsole.tui.widgets.lists import Choices
from tests.tui.at_devices import Held
from tests.tui.at_plan import LOAD, Hand, at_plan, catalog_answer, commands_answer, device_answer, device_at
from tests.tui.device_lists import NO_DEVICES, listed
from tests.tui.harness import ONE_OF_SIZES, Scripted, console, drive, picture
from tests.tui.recorded import recorded
from tests.tui.waiting import flat


def on_a_device() -> Scripted:
    return Scripted({"catalog": catalog_answer(), "devices": device_answer("/dev/loop7", 2**30)})


async def test_a_device_that_a_run_has_measured_is_counted_at_that_rate_which_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    key = listed_identity(device_at("/dev/loop7", 2**30)).stable_key()
    monkeypatch.setattr(plan_count, "measured_rates", lambda _runs_dir: {key: 40e6})
    async with at_plan(children=on_a_device(), targets=("/dev/loop7",)) as hand:
        await hand.sees("on /dev/loop7 (1.0 GiB), at 40.0 MB/s (as its last run measured)")
        assert hand.screen.count.outcome.plan is not None
        assert hand.screen.count.outcome.plan.estimate.assumed_bytes_per_s == 40e6


async def test_the_ticked_device_is_reckoned_with_and_no_cell_at_all_is_told_and_not_begun() -> None:
    async with at_plan(children=on_a_device(), targets=("/dev/loop7",)) as hand:
        await hand.sees("on /dev/loop7 (1.0 GiB)", "10 cells")
        assert hand.screen.count.outcome.plan is not None
        # Each cell zeroes the device and writes less than it has.
        assert 6 * 2**30 < hand.screen.count.outcome.plan.estimate.bytes_to_write < 20 * 2**30
        for name in ("ext4", "xfs"):
            await hand.filesystem(name)
        await hand.settled()
        await hand.sees("0 variants, 0 cells", "No variant is ticked", "To start: tick a filesystem")
        await hand.keys("f10")
        await hand.sees("No cell of this plan can run: no variant is ticked.")
        await hand.keys("l")
        await hand.sees("There is no cell: no variant is ticked.")
        await hand.keys("escape", "escape", "g", "enter")
        # The first line of the list of sections does what F10 does, where a terminal keeps that key.
        await hand.sees("Run..", "No cell of this plan can run: no variant is ticked.")
        await hand.keys("l")
        await hand.keys("escape")
        await hand.sees("No variant is ticked", "0 cells")


async def test_a_device_that_was_pulled_is_told_and_a_cell_s_commands_are_those_that_plan_prints() -> None:
    step = StepAnswer(StepKind.EQUALISE, "clear it", (("mkfs.xfs", "-f", "/dev/loop7"),), "", "", (), None)
    children = Scripted({"catalog": catalog_answer(), "plan ": commands_answer(0, step)})
    async with at_plan(children=children, targets=("/dev/sdz",)) as hand:
        await hand.sees("/dev/sdz: not there any more")
        await hand.keys("l")
        await hand.sees("Pilot on ext4", "1. ", "6. ")
        await hand.keys("down")
        shown = await hand.sees("prepare device ", "$ mkfs.xfs -f /dev/loop7", "tab/pgdn Commands", "esc Close")
        assert "DEVICE" not in shown
        # The rule above the commands names their cell.
        assert re.search(r"─ 1\. \S.* ─+ *$", shown, re.MULTILINE)
        await hand.keys("escape")
        await hand.sees("New plan")


@pytest.mark.parametrize("size", ONE_OF_SIZES)
async def test_a_command_that_is_broken_goes_on_below_its_beginning(size: tuple[int, int]) -> None:
    words = tuple(f"-O feature{number}" for number in range(20))
    step = StepAnswer(StepKind.MKFS, "make ext4", (("mkfs.ext4", *words, "/dev/loop7"),), "", "", (), None)
    children = Scripted({"catalog": catalog_answer(), "plan ": commands_answer(0, step)})
    async with at_plan(children=children, targets=("/dev/sdz",), size=size) as hand:
        await hand.keys("l", "down")
        shown = (await hand.sees("$ mkfs.ext4", "/dev/loop7")).splitlines()
        begin = next(number for number, line in enumerate(shown) if "$ mkfs.ext4" in line)
        end = next(number for number, line in enumerate(shown) if "/dev/loop7" in line)
        assert end > begin
        column = shown[begin].index("mkfs.ext4")
        for line in shown[begin + 1 : end + 1]:
            assert len(line) - len(line.lstrip()) == column + 4, shown


@pytest.mark.parametrize(
    ("is_root", "targets", "why"),
    [(True, (), "DEVICE: no device is ticked"), (False, ("/dev/loop7",), "DEVICE: naming it needs root")],
)
async def test_what_device_stands_for_is_said_once_and_the_commands_scroll_from_the_list_of_cells(
    is_root: bool, targets: tuple[str, ...], why: str
) -> None:
    step = StepAnswer(StepKind.MKFS, "make xfs", tuple(("echo", str(n)) for n in range(60)), "", "", (), None)
    answers = {
        "catalog": catalog_answer(),
        "plan ": commands_answer(0, step),
        "devices": device_answer("/dev/loop7", 2**30),
    }
    async with at_plan(children=Scripted(answers), targets=targets, is_root=is_root) as hand:
        await hand.keys("l")
        # Whatever the device will be, the commands shown are those of one kind.
        told = "What clears DEVICE before a cell depends on it: a disk with discard is shown"
        await hand.until(lambda: f"{told}, a scratch device is zeroed." in " ".join(picture(hand.pilot).split()))
        await hand.sees(why, "Pilot on ext4")
        cells = hand.pilot.app.screen.query_one("#cells", Choices)
        await hand.keys("down")
        await hand.sees("$ echo 0")
        at = cells.key
        await hand.keys("pagedown", "pagedown")
        await hand.sees("$ echo 25")
        assert cells.has_focus
        assert cells.key == at
        await hand.keys("pageup", "pageup")
        await hand.sees("$ echo 0")


async def test_without_root_go_says_what_is_missing_and_without_a_device_it_leads_to_the_devices_and_back() -> None:
    answers = {"catalog": catalog_answer(), "devices": device_answer("/dev/loop7", 2**30)}
    async with at_plan(is_root=False, children=Scripted(answers)) as hand:
        await hand.keys("f10")
        await hand.sees("need root: start fsconsole with sudo")
    async with at_plan(children=Scripted(answers)) as hand:
        for way in (("f10",), ("g", "enter")):
            await hand.keys(*way)
            await hand.sees("No device is ticked: space ticks one, then 2 shows the plan and F10 runs it.", "1 device")
            assert hand.pilot.app.current_mode == "devices"
            await hand.keys("2")
            assert "Looking at the devices" not in picture(hand.pilot)
        # The keys that the sentence names do that.
        await hand.keys("1", "space", "2")
        await hand.settled()
        await hand.keys("f10")
        await hand.until(lambda: isinstance(hand.pilot.app.screen, ConfirmScreen))


async def test_go_says_first_that_no_variant_is_ticked_and_asks_for_no_device_then() -> None:
    children = Scripted({"catalog": catalog_answer(), "devices": NO_DEVICES})
    async with at_plan(children=children) as hand:
        await hand.filesystem("ext4")
        await hand.filesystem("xfs")
        await hand.settled()
        before = len(children.asked)
        await hand.keys("f10")
        await hand.sees("No cell of this plan can run: no variant is ticked.")
        assert children.asked[before:] == []


@dataclass
class Making(Scripted):
    """Children whose machine has no device until a scratch device is made."""

    async def run(self, *words: str) -> Done:
        if words[0] == "devices":
            self.asked.append(words)
            is_made = any(asked[:2] == ("scratch", "create") for asked in self.asked)
            made = device_at("/dev/loop7", 2**30)
            return Done(words, 0, listed(made) if is_made else NO_DEVICES, "")
        return await Scripted.run(self, *words)


async def test_go_without_a_device_offers_a_scratch_device_where_none_is_free_ticks_it_and_asks_before_it_wipes() -> (
    None
):
    made = encode(Scratch("/dev/loop7", "/var/tmp/a.img", 2**30, "0a1b2c3d"))
    children = Making({"catalog": catalog_answer(), "scratch create": made})
    async with at_plan(children=children) as hand:
        await hand.keys("f10")
        await hand.sees("New scratch device", "enter Create", "esc Cancel", "The plan needs at least 300.0 MiB.")
        await hand.keys("escape")
        await hand.sees("No device is ticked, and none is free")
        assert hand.screen.session.targets == ()
        await hand.keys("f10")
        await hand.sees("New scratch device")
        await hand.keys("enter")
        await hand.until(lambda: isinstance(hand.pilot.app.screen, ConfirmScreen))
        assert hand.screen.session.targets == ("/dev/loop7",)
        assert hand.screen.session.ticks["/dev/loop7"].scratch_id == "0a1b2c3d"
        assert not any(words[0] == "run" for words in children.asked)


async def test_confirm_shows_the_commands_of_the_plan_and_escape_leads_back_to_it() -> None:
    step = StepAnswer(StepKind.MKFS, "make xfs", (("mkfs.xfs", "-f", "DEVICE"),), "", "", (), None)
    answers = {
        "catalog": catalog_answer(),
        "devices": device_answer("/dev/loop7", 2**30),
        "plan": commands_answer(0, step),
        "run": "",
    }
    children = Scripted(answers)
    async with at_plan(children=children, targets=("/dev/loop7",)) as hand:
        await hand.keys("f10")
        await hand.until(lambda: isinstance(hand.pilot.app.screen, ConfirmScreen))
        confirm = hand.pilot.app.screen
        await hand.sees("l Commands", "esc Back")
        await hand.keys("l")
        await hand.sees("Commands of each cell", "Pilot on ext4", "esc Close")
        await hand.keys("down")
        await hand.sees("$ mkfs.xfs -f DEVICE")
        await hand.keys("escape")
        await hand.until(lambda: hand.pilot.app.screen is confirm)
        # Where a name is typed, it is a letter.
        field = confirm.query_one("#typed", Input)
        confirm.query_one("#naming").display, field.disabled = True, False
        field.focus()
        await hand.keys("l")
        assert field.value == "l"
        assert hand.pilot.app.screen is confirm
        assert not any(words[0] == "run" for words in children.asked)


async def test_go_hands_the_plan_to_confirm_and_leaves_no_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: list[tuple[str, tuple[str, ...], str, int]] = []

    class Confirm(Dialog[object]):
        def __init__(self, plan_path: str, ticks: dict[str, Identity], source_sha256: str, _commands: object) -> None:
            super().__init__("Confirm")
            path = Path(plan_path)
            assert source_sha256 == sha256(path.read_bytes()).hexdigest()
            seen.append((plan_path, tuple(ticks), path.read_text(), path.stat().st_mode & 0o777))

    module = ModuleType("fsconsole.tui.screens.confirm")
    module.ConfirmScreen = Confirm  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    async with at_plan(children=on_a_device(), targets=("/dev/loop7",)) as hand:
        await hand.keys("f10")
        await hand.until(lambda: bool(seen))
        path, targets, text, mode = seen[0]
        assert (targets, mode) == (("/dev/loop7",), 0o600)
        assert text == hand.screen.draft.text
        await hand.keys("escape")
        await hand.until(lambda: not Path(path).exists())


async def test_a_plan_whose_run_was_started_here_is_left_without_a_question_until_it_is_changed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = recorded("grid", tmp_path)

    async def confirmed(*_: object) -> RunFolder:
        return folder

    monkeypatch.setattr(plan_start, "confirmed", confirmed)
    async with at_plan(children=on_a_device(), targets=("/dev/loop7",)) as hand:
        await hand.filesystem("btrfs")
        for changed in (False, True):
            await hand.keys("f10")
            await hand.until(lambda: hand.pilot.app.current_mode == "run")
            if changed:
                await hand.keys("2")
                await hand.filesystem("btrfs")
                await hand.keys("3")
            await hand.keys("o")
            await hand.sees("Leave this plan?" if changed else "Plan of run grid")


async def test_what_somebody_saved_meanwhile_is_replaced_only_after_a_question(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    new_file = planfiles.new_file

    def overtaken(path: str, **how: Any) -> AbstractContextManager[IO[bytes]]:
        if not os.path.exists(path):
            Path(path).write_text("theirs")
        return new_file(path, **how)

    monkeypatch.setattr(planfiles, "new_file", overtaken)
    async with at_plan() as hand:
        for answer, kept in (("n", "theirs"), ("y", "schema = 1")):
            path = tmp_path / f"{answer}.toml"
            await hand.keys("w")
            await hand.sees("Save the plan as")
            await hand.type(str(path))
            await hand.keys("enter")
            await hand.sees("Somebody else changed it while it was being saved.")
            assert path.read_text() == "theirs"
            await hand.keys(answer)
            if answer == "y":
                await hand.sees("Saved ")
            await hand.sees("2 variants, 10 cells")
            assert path.read_text().startswith(kept)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["n.toml", "y.toml"]


PROBED = json.dumps(
    {
        "filesystems": [
            each | {"probed": True}
            for each in json.loads(catalog_answer())["filesystems"]
            if each["filesystem"] in ("ext4", "xfs")
        ]
    }
)


async def test_while_this_machine_is_asked_and_options_are_tried_it_says_what_for_and_for_how_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(base, "_TELL_S", 0.5)
    for held, keys, words in (
        ("catalog --json", "", "Asking what this machine supports; marks may change"),
        ("catalog ext4 xfs --probe --json", "T", "Trying the options of ext4, xfs"),
    ):
        children = Held({"catalog": catalog_answer()}, held=(held,))
        async with drive(console(children)) as pilot:
            hand = Hand(pilot)
            await hand.keys("2", *keys)
            await hand.sees("2 variants, 10 cells")
            await hand.until(lambda w=words, p=pilot: re.search(rf"{w}.*? \d+ s", flat(p)))
            await hand.go_to("filesystems")
            await hand.keys("down")
            assert hand.screen.section_key != "options 0"
            children.release.set()
            await hand.until(lambda w=words, p=pilot: w not in picture(p))


async def test_one_limit_in_two_units_is_refused_in_words_that_stay_and_space_opens_what_has_no_tick() -> None:
    async with at_plan() as hand:
        await hand.go_to("settings")
        await hand.tick("dirty_bytes", "256MiB")
        await hand.tick("dirty_ratio", "20")
        await hand.sees("limit: the kernel forgets one")
        assert dict(hand.screen.draft.plan.settings) == {"dirty_bytes": ("256MiB",)}
        for section, key, words in (("run", "repeats", "A number, which"), ("workloads", "load 0", "Workload 1")):
            await hand.go_to(section)
            await hand.look_at(key)
            await hand.keys("space")
            await hand.sees(words, "enter Apply")
            await hand.keys("escape")
            await hand.settled()


async def test_trying_options_while_this_machine_is_asked_about_loses_no_answer() -> None:
    lacking = catalog_answer(unavailable={"btrfs": "no module btrfs"})
    answers = {"catalog --json": lacking, "catalog ext4 xfs --probe": PROBED}
    children = Held(answers, held=("catalog --json",))
    async with drive(console(children)) as pilot:
        hand = Hand(pilot)
        await hand.keys("2")
        await hand.sees("Asking what this machine supports")
        await hand.keys("T")
        await hand.sees("Trying the options of ext4, xfs")
        children.release.set()
        await hand.sees("Tried on this machine: ext4, xfs.")
        assert dict(hand.screen.machine.here.lacks) == {"btrfs": "no module btrfs"}


def numbers(count: int) -> str:
    return ", ".join(str(number) for number in range(1, count + 1))


def variants(count: int) -> str:
    return f"""schema = 1
repeats = 1
[[filesystem]]
type = "ext4"
mkfs = {{ inode_size = [128, 256, 512, 1024], flex_bg_size = [2, 4, 8, 16, 32] }}
mount = {{ commit = [{numbers(count // 40)}], delalloc = ["on", "off"] }}
{LOAD}"""


def threads(count: int) -> str:
    return f"""schema = 1
repeats = 10
[[filesystem]]
type = "ext4"
{LOAD}threads = [{numbers(count // 10)}]
"""


IN_SIGHT = 300
"""Lines that may be made: those in sight, and those that were on the way; never all."""


async def opened(hand: Hand, tmp_path: Path, text: str) -> None:
    path = tmp_path / "a rather long name of a plan file.toml"
    path.write_text(text)
    await hand.begin()
    await hand.open(path)
    await hand.until(lambda: hand.screen.draft.plan.path == str(path))
    await hand.settled()


@pytest.mark.parametrize("count", [2_000, pytest.param(10_000, marks=pytest.mark.soak)])
async def test_of_thousands_of_variants_and_cells_all_are_listed_and_those_in_sight_made_or_asked_for(
    count: int,
    tmp_path: Path,
) -> None:
    step = StepAnswer(StepKind.RAW_WRITE, "write", (("fio", "--x"),), "", "", (), None)
    children = Scripted({"catalog": catalog_answer(), "plan ": commands_answer(count - 1, step)})
    async with at_plan(children=children) as hand:
        await opened(hand, tmp_path, variants(count))
        await hand.sees(f"{count:,} variants, {count:,} cells")
        await hand.go_to("variants")
        lines = hand.screen.query_one("#lines", Choices)
        assert len(lines.lines_shown) == count
        await hand.keys("end")
        await hand.sees(f"commit={count // 40}")
        await hand.keys("pageup", "home", "pagedown", "end")
        assert len(lines.rows.rows._texts) < IN_SIGHT
        await hand.keys("space")
        await hand.settled()
        await hand.sees(f"{count - 1:,} variants, {count - 1:,} cells")
        await hand.keys("slash")
        await hand.type("commit=33 1024")
        await hand.sees(f"10 of {count:,} variants match")
        await hand.keys("escape")
        await opened(hand, tmp_path, threads(count))
        await hand.sees(f"1 variant, {count:,} cells")
        await hand.go_to("workloads")
        await hand.sees("1. create", f"by 1 to {count // 10} threads ({count // 10:,} values)")
        await hand.keys("l")
        await hand.sees("Commands of each cell")
        await hand.keys("end")
        await hand.sees(f"{count}. ext4", "threads ", "$ fio --x")
        assert len(hand.pilot.app.screen.query_one("#cells", Choices).rows.rows._texts) < IN_SIGHT
        asked = [words for words in children.asked if words[0] == "plan"]
        assert all("--cell" in words for words in asked)
        assert asked
        await hand.keys("escape")
        await hand.sees("1. create")
