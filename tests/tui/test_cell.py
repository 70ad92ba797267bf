"""The cell view, over recorded runs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.tui.harness import SIZES, console, picture
from tests.tui.recorded import recorded
from tests.tui.waiting import shows


async def open_cell(pilot: Pilot[None]) -> None:
    await pilot.press("4")
    await shows(pilot, "sorted by")
    await pilot.press("enter")
    await shows(pilot, "v Curves", "Cell ")


SECTIONS = {
    "v": "CPU busy",
    "f": "gate: ",
    "x": "xtents",
    "m": "command",
    "o": "ilesystem",
    "n": "Kernel",
    "w": "->",
}


@pytest.mark.parametrize("name", ["raw", "failed", "killed", "bull"])
def test_every_section_of_a_cell_opens(name: str, tmp_path: Path) -> None:
    async def go() -> None:
        async with console(folder=recorded(name, tmp_path)).run_test(size=SIZES[0]) as pilot:
            await open_cell(pilot)
            for width, height in SIZES:
                await pilot.resize_terminal(width, height)
                for key, text in SECTIONS.items():
                    await pilot.press(key)
                    shown = await shows(pilot, text)
                    assert all(len(line) <= width for line in shown.splitlines())

    asyncio.run(go())


def test_a_commands_output_is_shown_with_its_exit_code(tmp_path: Path) -> None:
    async def go() -> None:
        async with console(folder=recorded("bull", tmp_path)).run_test(size=(80, 24)) as pilot:
            await open_cell(pilot)
            await pilot.press("m")
            await shows(pilot, "blkdiscard -f")
            await pilot.press("enter")
            await shows(pilot, "exit 0, ", "Operation forced")
            await pilot.press("escape")
            await shows(pilot, "m Commands")
            await pilot.press("escape")
            await shows(pilot, "sorted by durable")

    asyncio.run(go())


def test_hostile_output_is_shown_as_it_is_and_does_nothing(tmp_path: Path) -> None:
    folder = recorded("grid", tmp_path)
    for path in Path(folder.raw).glob("*"):
        path.write_bytes(b"[/x] \x1b[31mred\x07 \xff " + b"y" * 300 + b"\r\n" * 3)

    async def go() -> None:
        async with console(folder=folder).run_test(size=(80, 24)) as pilot:
            await open_cell(pilot)
            await pilot.press("m")
            await shows(pilot, "fallocate")
            await pilot.press("enter")
            shown = await shows(pilot, "[/x] \\x1b[31mred\\x07")
            assert "\x1b" not in shown
            assert sum(line.count("y") for line in shown.splitlines()) >= 300

    asyncio.run(go())


def test_left_and_right_go_through_the_cells_of_a_row(tmp_path: Path) -> None:
    async def go() -> None:
        async with console(folder=recorded("grid", tmp_path)).run_test(size=(80, 24)) as pilot:
            await open_cell(pilot)
            first = await shows(pilot, "1 of 2 in this row")
            await pilot.press("right")
            second = await shows(pilot, "2 of 2 in this row")
            assert first.splitlines()[2] != second.splitlines()[2]
            await pilot.press("right", "left")
            await shows(pilot, "1 of 2 in this row")

    asyncio.run(go())


def test_a_cell_that_never_ran_says_why(tmp_path: Path) -> None:
    async def go() -> None:
        async with console(folder=recorded("bull", tmp_path)).run_test(size=(80, 24)) as pilot:
            await pilot.press("4")
            await shows(pilot, "sorted by")
            await pilot.press("end", "enter")
            await shows(pilot, "unavailable", "No samples")
            await pilot.press("f")
            await shows(pilot, "No step has started")
            await pilot.press("m", "enter", "x", "o", "n", "w")
            assert "w Warnings" in picture(pilot)

    asyncio.run(go())


def test_a_journal_that_goes_away_meanwhile_is_told(tmp_path: Path) -> None:
    folder = recorded("grid", tmp_path)

    async def go() -> None:
        async with console(folder=folder).run_test(size=(80, 24)) as pilot:
            await open_cell(pilot)
            await shows(pilot, "1 of 2 in this row")
            Path(folder.journal).unlink()
            await pilot.press("right")
            await shows(pilot, "can't be used: it does not exist", "raw outputs are plain files.")

    asyncio.run(go())


def test_a_cell_gives_way_to_another_run(tmp_path: Path) -> None:
    folder, other = recorded("grid", tmp_path), recorded("failed", tmp_path)
    app = console(runs_dir=tmp_path, folder=folder)

    async def go() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            await open_cell(pilot)
            await pilot.press("5")
            await shows(pilot, "2 runs")
            app.session.folder = other
            await pilot.press("4")
            await shows(pilot, "more files than inodes", "sorted by")

    asyncio.run(go())
