"""The Run screen over recorded runs: where they stand, what is plotted, their log."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from fsconsole.journal.folder import RunFolder
from fsconsole.show.terminal import ASCII
from tests.tui.harness import SIZES, console, picture
from tests.tui.recorded import all_recorded, recorded
from tests.tui.snapshots import assert_looks_as_kept
from tests.tui.waiting import shows, until

STANDING = {
    "grid": "finished",
    "raw": "finished",
    "failed": "finished: 1 of 2 cells failed",
    "stopped": "stopped after 5 of 6 cells",
    "killed": "engine died in workload of cell 6",
}


SENTENCES = {
    "gone": "does not exist, or is still being made. Copy the folder",
    "damaged": "can't be used: file is not a database. Copy the folder",
    "newer": "made by a newer fsconsole. Open it with that version.",
}


@pytest.mark.parametrize("size", SIZES)
def test_every_recorded_run_says_where_it_stands(tmp_path: Path, size: tuple[int, int]) -> None:
    async def look() -> None:
        folders = all_recorded(tmp_path)
        async with console(folder=folders[0], runs_dir=tmp_path).run_test(size=size) as pilot:
            for folder in folders:
                pilot.app.session.folder = folder
                await pilot.press("1", "3")
                screen = pilot.app.screen
                await until(pilot, lambda f=folder, s=screen: s.snapshot and s.snapshot.folder == f)
                await shows(pilot, STANDING[folder.name], "write [", "dirty [", "CPU [", "last gauges")

    asyncio.run(look())


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["raw", "killed"])
def test_the_screen_looks_as_kept(tmp_path: Path, name: str, size: tuple[int, int]) -> None:
    async def look() -> None:
        folder = recorded(name, tmp_path)
        async with console(folder=folder, runs_dir=tmp_path).run_test(size=size) as pilot:
            await pilot.press("3")
            await shows(pilot, STANDING[name], "write, cell")
            assert_looks_as_kept(pilot, f"run-{name}-{size[0]}x{size[1]}")

    asyncio.run(look())


@pytest.mark.parametrize("size", SIZES)
def test_the_log_looks_as_kept(tmp_path: Path, size: tuple[int, int]) -> None:
    async def look() -> None:
        folder = recorded("failed", tmp_path)
        async with console(folder=folder, runs_dir=tmp_path).run_test(size=size) as pilot:
            await pilot.press("3")
            await shows(pilot, "more files than inodes")
            await pilot.press("l")
            await shows(pilot, "Cell 3 of 3", "$ mkfs.ext4")
            assert_looks_as_kept(pilot, f"log-{size[0]}x{size[1]}")

    asyncio.run(look())


@pytest.mark.parametrize("size", SIZES)
def test_without_any_run_it_says_where_runs_come_from(tmp_path: Path, size: tuple[int, int]) -> None:
    async def look() -> None:
        async with console(runs_dir=tmp_path).run_test(size=size) as pilot:
            await pilot.press("3")
            await shows(pilot, "No run is shown")
            await pilot.press("p", "l", "t", "w", "v", "d", "ctrl+x", "escape")
            await shows(pilot, "No run is shown")

    asyncio.run(look())


def test_the_log_shows_commands_with_exit_codes_and_what_they_printed(tmp_path: Path) -> None:
    async def look() -> None:
        folder = recorded("grid", tmp_path)
        output = next(Path(folder.raw).glob("005-02-mkfs*"))
        output.write_bytes(b"\x1b[31mhostile [/x] \xff text\n" + output.read_bytes())
        async with console(folder=folder, runs_dir=tmp_path).run_test(size=(80, 24)) as pilot:
            await pilot.press("3")
            await shows(pilot, "finished")
            await pilot.press("l")
            await shows(
                pilot, "Cell 6 of 6: ext4 data=ordered", "$ mkfs.ext4", "exit 0", r"\x1b[31mhostile [/x] \xff"
            )
            await pilot.press("left")
            await shows(pilot, "Cell 5 of 6: xfs", "mkfs.xfs")
            await pilot.press("escape")
            await shows(pilot, "write [")

    asyncio.run(look())


def test_keys_choose_what_is_plotted(tmp_path: Path) -> None:
    async def look() -> None:
        folder = recorded("grid", tmp_path)
        async with console(folder=folder, runs_dir=tmp_path).run_test(size=(80, 24)) as pilot:
            await pilot.press("3")
            await shows(pilot, "cell 6, 10.0 s", "write, cell 5")
            await pilot.press("t")
            await shows(pilot, "dirty + writeback")
            await pilot.press("t")
            await shows(pilot, "CPU busy", "100 %")
            await pilot.press("w")
            await shows(pilot, "the last minute")
            await pilot.press("v")
            await shows(pilot, "latency [")
            assert "CPU busy" not in picture(pilot)

    asyncio.run(look())


def test_a_slow_link_has_no_plot_unless_it_is_asked_for(tmp_path: Path) -> None:
    async def look() -> None:
        folder = recorded("grid", tmp_path)
        app = console(folder=folder, runs_dir=tmp_path, slow=True, glyphs=ASCII)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press("3")
            shown = await shows(pilot, "write [", "latency [")
            assert "10.0 s" not in shown
            assert shown.isascii()
            await pilot.press("t")
            await shows(pilot, "Plot: dirty memory.", "dirty + writeback")

    asyncio.run(look())


@pytest.mark.parametrize("damage", ["gone", "damaged", "newer"])
def test_a_journal_that_can_not_be_read_is_a_sentence(tmp_path: Path, damage: str) -> None:
    async def look() -> None:
        folder = recorded("grid", tmp_path)
        if damage == "gone":
            folder = RunFolder(str(tmp_path / "none"))
        elif damage == "damaged":
            Path(folder.journal).write_bytes(b"nonsense" * 4096)
        else:
            with closing(sqlite3.connect(folder.journal)) as connection:
                connection.execute("PRAGMA user_version = 999")
        async with console(folder=folder, runs_dir=tmp_path).run_test(size=(80, 24)) as pilot:
            await pilot.press("3")
            await shows(pilot, "journal.sqlite", "can't be read", SENTENCES[damage])

    asyncio.run(look())


def test_another_run_is_followed_once_the_session_names_it(tmp_path: Path) -> None:
    async def look() -> None:
        one, other = recorded("grid", tmp_path), recorded("failed", tmp_path)
        async with console(folder=one, runs_dir=tmp_path).run_test(size=(80, 24)) as pilot:
            await pilot.press("3")
            await shows(pilot, "a hundred files")
            await pilot.press("1")
            pilot.app.session.folder = other
            await pilot.press("3")
            await shows(pilot, "more files than inodes", "> 3 ext4, 64 inodes failed")

    asyncio.run(look())


def test_the_screen_survives_any_size(tmp_path: Path) -> None:
    async def look() -> None:
        folder = recorded("raw", tmp_path)
        async with console(folder=folder, runs_dir=tmp_path).run_test(size=(80, 24)) as pilot:
            await pilot.press("3")
            await shows(pilot, "finished")
            for size in ((20, 5), (60, 16), (200, 60), (80, 24)):
                await pilot.resize_terminal(*size)
                await pilot.pause()
            await shows(pilot, "finished", "write [")

    asyncio.run(look())
