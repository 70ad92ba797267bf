"""The cell view, over recorded runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.writer import record_all
from fsconsole.model.events import LayoutSeen
from fsconsole.model.layout import SizeAtOffset, gaps
from fsconsole.model.plan import StepKind
from fsconsole.text import MIB
from tests.tui.harness import SIZES, console, drive, picture
from tests.tui.recorded import recorded
from tests.tui.waiting import shows, until


@asynccontextmanager
async def in_a_cell(folder: RunFolder, runs_dir: Path | str = "/nonexistent") -> AsyncIterator[Pilot[None]]:
    """Open the first cell of the grid."""
    async with drive(console(folder=folder, runs_dir=runs_dir), "4") as pilot:
        await shows(pilot, "] Block")
        await pilot.press("enter")
        await shows(pilot, "Curves  Figures", "Cell ")
        yield pilot


SECTIONS = {
    "t": "CPU busy",
    "]": "device check: ",
    "[": "CPU busy",
    "l": "command",
    "] ": "ilesystem",
    "]  ": "Kernel",
    "]   ": "->",
}
"""Keys in turn, with what is shown then."""


@pytest.mark.parametrize(
    "name", [*(pytest.param(name, marks=pytest.mark.soak) for name in ("raw", "killed")), "failed", "bull"]
)
async def test_every_section_of_a_cell_opens(name: str, tmp_path: Path) -> None:
    async with in_a_cell(recorded(name, tmp_path)) as pilot:
        for width, height in SIZES:
            await pilot.resize_terminal(width, height)
            for key, text in SECTIONS.items():
                await pilot.press(key.strip())
                shown = await shows(pilot, text)
                assert all(len(line) <= width for line in shown.splitlines())
        if name == "bull":
            pilot.app.screen.action_section("commands")
            await shows(pilot, "blkdiscard -f")
            await pilot.press("enter")
            await shows(pilot, "exit 0, ", "Operation forced")
            await pilot.press("escape")
            await shows(pilot, "Commands  Options")
            await pilot.press("escape")
            await shows(pilot, "durable", "] Block")


def with_layouts(folder: RunFolder) -> RunFolder:
    """Add a layout to the first survey of each cell, as an engine of today would."""
    state = read_state(folder)
    layouts = [
        LayoutSeen(
            device_bytes=16 * MIB,
            unit_bytes=4096,
            files=2,
            extent_count=2,
            names=("f00000000", "f00000001"),
            extents=gaps([(0, 1024, cell.index % 2), (1024, 1024, 1)]),
            sizes=(SizeAtOffset(0, 2, 4 * MIB),),
            cell=cell.index,
            attempt=state.cells[cell.index].attempt,
            step=next(number for number, step in enumerate(cell.steps) if step.kind is StepKind.EXTENTS),
        )
        for cell in state.request.plan.cells
    ]
    record_all(folder, layouts)
    return folder


async def test_a_click_on_a_section_s_name_opens_it(tmp_path: Path) -> None:
    async with in_a_cell(recorded("raw", tmp_path)) as pilot:
        names = picture(pilot).splitlines()[3]
        for name in ("Figures", "Machine", "Curves"):
            await pilot.click("#sections", offset=(names.index(name), 0))
            await until(pilot, lambda name=name: pilot.app.screen._section == name.lower(), name)


async def test_a_cells_layout_is_drawn_and_another_ones_beside_it(tmp_path: Path) -> None:
    async with in_a_cell(with_layouts(recorded("grid", tmp_path))) as pilot:
        pilot.app.screen.action_section("layout")
        await shows(pilot, "2 files, 2 extents, 1.00 per file", "0B: 4.0M", "A to B")
        alone = picture(pilot)
        await pilot.press("equals_sign")
        await shows(pilot, "Which cell beside this one")
        await pilot.press("enter")
        shown = await shows(pilot, "extent sizes by file offset")
        # Both maps in the same lines: side by side.
        assert [line.count(" 0B ") for line in shown.splitlines() if " 0B " in line] == [2], shown
        assert shown != alone
        assert all(len(line) <= 80 for line in shown.splitlines())
        await pilot.press("equals_sign")
        await shows(pilot, "Extent sizes by file offset")


async def test_two_cells_stand_side_by_side_on_one_scale_with_their_extents_over_the_offset(tmp_path: Path) -> None:
    async with in_a_cell(with_layouts(recorded("grid", tmp_path))) as pilot:
        await pilot.press("equals_sign")
        await shows(pilot, "Which cell beside this one", "Cell 2: ")
        await pilot.press("enter")
        shown = await shows(pilot, "left: ", "right: cell")
        scales = [line.split("MB/s") for line in shown.splitlines() if line.count("MB/s│") == 2]
        assert len(scales) == 1, shown
        assert scales[0][0].split()[-1] == scales[0][1].split()[-1], scales
        assert shown.count("CPU busy") == 2
        pilot.app.screen.action_section("figures")
        await shows(pilot, "mount: mount", "-60 %")
        pilot.app.screen.action_section("extents")
        await shows(pilot, "median extent size over the offset in the file", "4.0M")
        await pilot.press("equals_sign", "t")
        await until(pilot, lambda: "right: cell" not in picture(pilot), "one cell alone")


async def test_hostile_output_is_shown_as_it_is_and_does_nothing(tmp_path: Path) -> None:
    folder = recorded("grid", tmp_path)
    for path in Path(folder.raw).glob("*"):
        path.write_bytes(b"[/x] \x1b[31mred\x07 \xff " + b"y" * 300 + b"\r\n" * 3)
    async with in_a_cell(folder) as pilot:
        pilot.app.screen.action_section("commands")
        await shows(pilot, "fallocate")
        await pilot.press("enter")
        shown = await shows(pilot, "[/x] \\x1b[31mred\\x07")
        assert "\x1b" not in shown
        assert sum(line.count("y") for line in shown.splitlines()) >= 300


async def test_a_cell_that_never_ran_says_why(tmp_path: Path) -> None:
    async with drive(console(folder=recorded("bull", tmp_path)), "4") as pilot:
        await shows(pilot, "] Block")
        await pilot.press("end", "enter")
        await shows(pilot, "can't run", "No samples")
        pilot.app.screen.action_turn(1)
        await shows(pilot, "No step has started")
        await pilot.press("l", "enter", "]", "]", "]")
        assert "Warnings" in picture(pilot)


async def test_left_and_right_go_through_a_rows_cells_and_a_journal_that_goes_meanwhile_is_told(
    tmp_path: Path,
) -> None:
    folder = recorded("grid", tmp_path)
    async with in_a_cell(folder) as pilot:
        first = await shows(pilot, "1 of 2 in this row")
        await pilot.press("right")
        second = await shows(pilot, "2 of 2 in this row")
        assert first.splitlines()[2] != second.splitlines()[2]
        await pilot.press("right", "left")
        await shows(pilot, "1 of 2 in this row")
        Path(folder.journal).unlink()
        await pilot.press("right")
        await shows(pilot, "can't be used: it does not exist", "raw outputs are plain files.")


async def test_a_cell_gives_way_to_another_run(tmp_path: Path) -> None:
    folder, other = recorded("grid", tmp_path), recorded("failed", tmp_path)
    async with in_a_cell(folder, tmp_path) as pilot:
        await pilot.press("5")
        await shows(pilot, "2 runs")
        pilot.app.session.folder = other
        await pilot.press("4")
        await shows(pilot, "more files than inodes", "No verdicts")
