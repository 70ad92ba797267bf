"""Arrays on the Plan screen: levels, members, chunks, and what lacks."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fsconsole.journal.folder import RunFolder
from fsconsole.model.answers import LevelAnswer
from fsconsole.model.wire import decode, encode
from fsconsole.plan.arrays import LEVELS
from fsconsole.plan.outcome import levels_of
from fsconsole.plan.planfile import ArrayAxis
from fsconsole.plan.read import read_plan
from fsconsole.preflight import machine
from fsconsole.show.catalog import lines as level_lines
from fsconsole.text import KIB
from fsconsole.tui.widgets.lists import Choices
from tests.lab.soak import tried
from tests.tui.at_plan import Hand, at_plan, catalog_answer, device_at, levels_answer
from tests.tui.device_lists import listed
from tests.tui.harness import ONE_OF_SIZES, Scripted, console, drive
from tests.tui.recorded import recorded
from tests.tui.test_plan_files import open_file, save_as
from tests.tui.waiting import shows
from tests.unit.plan.examples import DESIGN, SMALLEST
from tests.unit.plan.test_arrays import EVERY_KEY


async def ticks(hand: Hand, *keys: str) -> None:
    for key in keys:
        await hand.look_at(f"{key} 0")
        await hand.keys("space")


def arrays_of(hand: Hand) -> tuple[ArrayAxis, ...]:
    return hand.screen.draft.plan_file.arrays


@pytest.mark.parametrize("size", ONE_OF_SIZES)
async def test_levels_chunks_and_assume_clean_are_ticked_and_told(size: tuple[int, int]) -> None:
    async with at_plan(size=size) as hand:
        await hand.go_to("arrays")
        await hand.sees("Level: all ticked devices are members", "[ ] raid5")
        await ticks(hand, "raid5", "raid10")
        await hand.tick("chunk 0", "64KiB", "512KiB")
        await hand.tick("assume_clean 0", "yes")
        assert arrays_of(hand) == (ArrayAxis(("raid5", "raid10"), (64 * KIB, 512 * KIB), assume_clean=True),)
        await hand.settled()
        await hand.sees("Arrays     4", "assume_clean            default >[yes]", "40 cells", "labelled on")
        await hand.keys("end")
        await hand.sees("raid10 512KiB, assume-clean")
        assert hand.screen.session.makes_arrays


async def test_knobs_are_judged_as_they_are_typed_and_a_second_list_of_arrays_is_made_and_removed() -> None:
    async with at_plan() as hand:
        await hand.go_to("arrays")
        await ticks(hand, "raid1")
        await hand.tick("chunk 0", "64KiB")
        await hand.sees("raid1 has no chunks")
        assert arrays_of(hand) == (ArrayAxis(("raid1",)),)
        await hand.keys("slash", *"stripe")
        await hand.sees("stripe_cache_size", "(default)")
        assert "raid0 0" not in [line.key for line in hand.screen.query_one("#lines", Choices).lines_shown]
        await hand.begin()
        await hand.go_to("arrays")
        await ticks(hand, "raid5")
        await hand.tick("stripe_cache_size 0", "other..")
        await hand.keys("tab")
        await hand.type("16")
        await hand.sees("must be at least 17")
        await hand.type("1024, 32768")
        await hand.keys("enter")
        await hand.until(lambda: hand.pilot.app.screen is hand.screen)
        assert arrays_of(hand)[0].stripe_cache_sizes == (1024, 32768)
        await hand.keys("D")
        await hand.sees("A second list of arrays")
        await hand.look_at("raid6 1")
        await hand.keys("space")
        assert [axis.levels for axis in arrays_of(hand)] == [("raid5",), ("raid5", "raid6")]
        await hand.keys("x")
        assert [axis.levels for axis in arrays_of(hand)] == [("raid5",)]
        await hand.keys("end", "x", "D")
        assert [axis.levels for axis in arrays_of(hand)] == [("raid5",)]


async def test_a_file_with_arrays_is_saved_as_it_was_where_nothing_was_changed(tmp_path: Path) -> None:
    begin, end = DESIGN.index("[[array]]"), DESIGN.index("[[filesystem]]")
    async with at_plan() as hand:
        every = (DESIGN[:begin] + EVERY_KEY + DESIGN[end:], DESIGN)
        for number, source in enumerate(tried(every, every[:1])):
            path, again = tmp_path / f"design{number}.toml", tmp_path / f"again{number}.toml"
            path.write_text(source)
            await open_file(hand, path)
            await hand.go_to("arrays")
            await hand.tick("chunk 0", "other..")
            await hand.keys("escape")
            await ticks(hand, "raid5", "raid5")
            await hand.until(lambda: not hand.screen.edited.is_changed)
            await save_as(hand, again)
            assert read_plan(again) == read_plan(path)


DEVICES = tuple(f"/dev/loop{number}" for number in range(40, 46))


async def test_that_all_ticked_devices_become_members_is_said_where_they_are_shown() -> None:
    answers = {
        "catalog": catalog_answer(),
        "catalog --arrays": levels_answer(),
        "devices": listed(*(device_at(path, 2**30) for path in DEVICES)),
    }
    async with at_plan(targets=DEVICES, children=Scripted(answers)) as hand:
        await hand.sees("on 6 devices: loop40 loop41 loop42 loop43 loop44 loop45")
        await hand.go_to("arrays")
        await ticks(hand, "raid5")
        await hand.sees("on arrays of 6 devices: loop40 loop41 loop42 loop43 loop44 loop45")
        await hand.keys("1")
        await hand.sees("6 targets ticked: members of the plan's arrays, together")
        await hand.keys("2")
        await hand.look_at("raid5 0")
        await hand.keys("space", "1")
        await hand.sees("6 targets ticked: the plan runs on each in turn")


WHY = (
    "mdadm is not installed (Debian's package mdadm); this kernel makes no [/linear]: /proc/mdstat does not name it, "
    "and there is no module md-linear"
)
REMEDY = "Install mdadm. Use a kernel that has it, or an array that is there as the target."
"""All that can be said at once."""
NO_LINEAR = {"catalog": catalog_answer(), "catalog --arrays": levels_answer({"linear": (WHY, REMEDY)})}


@pytest.mark.parametrize("size", ONE_OF_SIZES)
async def test_a_level_that_is_not_made_here_is_asked_for_once_barred_and_says_why_and_what_to_do(
    size: tuple[int, int], tmp_path: Path
) -> None:
    asks = ("catalog", "--arrays", "--json")
    path = tmp_path / "plan.toml"
    path.write_text(SMALLEST + '[[array]]\nlevel = ["linear"]\n')
    children = Scripted(NO_LINEAR)
    async with at_plan(size=size, children=children) as hand:
        await hand.go_to("workloads")
        assert asks not in children.asked
        await hand.go_to("arrays")
        await hand.sees("[-] linear", "[ ] raid5")
        await hand.look_at("linear 0")
        await hand.until(lambda: hand.about.startswith(f"Not here. {REMEDY} Why: {WHY}."))
        await hand.sees("Not here. Install mdadm.", "that is there as the target.")
        await hand.keys("space")
        assert arrays_of(hand) == ()
        await hand.look_at("raid5 0")
        await hand.keys("space")
        assert arrays_of(hand) == (ArrayAxis(("raid5",)),)
        await hand.keys("escape")
        await hand.go_to("settings")
        await hand.go_to("arrays")
        assert children.asked.count(asks) == 1
    async with at_plan(size=size, children=Scripted(NO_LINEAR)) as hand:
        await open_file(hand, path)
        # Asked for the sake of the plan: nobody has looked at its arrays yet.
        await hand.until(lambda: hand.screen.machine.here.levels)
        await hand.settled()
        plan = hand.screen.count.outcome.plan
        assert plan is not None
        assert all(WHY in cell.unavailable for cell in plan.cells)
        await hand.go_to("arrays")
        await hand.sees("[x] linear", "not here")
        await hand.look_at("linear 0")
        await hand.keys("space")
        assert arrays_of(hand) == ()


async def test_what_can_not_be_asked_is_said_and_bars_nothing() -> None:
    async with at_plan(children=Scripted({"catalog": catalog_answer()})) as hand:
        await hand.go_to("arrays")
        await hand.sees("can't be read")
        lines = hand.screen.query_one("#lines", Choices).lines_shown
        assert "[-]" not in {line.mark.value for line in lines}


def test_what_the_command_says_is_what_the_console_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "levels_here", lambda: tuple(level for level in LEVELS if level != "linear"))
    monkeypatch.setattr(machine, "find_program", lambda _: "/usr/sbin/mdadm")
    told = machine.every_level()
    assert [level.level for level in told] == list(LEVELS)
    why = "this kernel makes no linear: /proc/mdstat does not name it, and there is no module md-linear"
    remedy = "Use a kernel that has it, or an array that is there as the target."
    assert levels_of(decode(tuple[LevelAnswer, ...], encode(told))) == {
        level.level: level for level in told if level.level == "linear"
    }
    lines = list(level_lines(told, 80))
    assert max(map(len, lines)) <= 80
    assert f"not supported: {why} {remedy}" in " ".join(" ".join(lines).split())


MEMBERS = ("/dev/sdb", "/dev/sdc", "/dev/sdd", "/dev/sde")
_LEVELS = ("raid5", "raid10")


def on_arrays(name: str, runs_dir: Path, *, assume_clean: bool = True) -> RunFolder:
    """Return a copy of a recorded run with arrays in its plan; cells of one variant are on both."""
    folder = recorded(name, runs_dir)
    with closing(sqlite3.connect(folder.journal)) as journal, journal:
        ((text,),) = journal.execute("SELECT request FROM run")
        request = json.loads(text)
        for cell in request["plan"]["cells"]:
            level = _LEVELS[cell["repeat"] % 2]
            cell["array"] = {"level": level, "chunk_bytes": 524288, "assume_clean": assume_clean}
            cell["members"] = list(MEMBERS)
        journal.execute("UPDATE run SET request = ?", (json.dumps(request),))
    return folder


@pytest.mark.parametrize("size", ONE_OF_SIZES)
async def test_run_and_results_name_the_array_of_every_cell_and_say_assume_clean(
    size: tuple[int, int], tmp_path: Path
) -> None:
    async with drive(console(folder=on_arrays("grid", tmp_path)), "3", size=size) as pilot:
        await shows(pilot, "(assume-clean)", "xfs, raid5 ", "xfs, raid10 ", "raid5 512KiB")
        await pilot.press("4")
        await shows(pilot, "level", "raid10", "xfs, raid5, assume-clean")
        await pilot.press("enter")
        await shows(pilot, "Cell 3 of 6")
        pilot.app.screen.action_section("options")
        await shows(pilot, "raid5 512KiB, 4 members, assume-clean", f"of {', '.join(MEMBERS)}")


async def test_run_says_nothing_of_it_where_the_arrays_were_synced(tmp_path: Path) -> None:
    async with drive(console(folder=on_arrays("grid", tmp_path, assume_clean=False)), "3") as pilot:
        assert "assume-clean" not in await shows(pilot, "xfs, raid5 ")
