"""An engine that dies without a word: Run and Runs say so, and offer cleanup and resume."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fsconsole.tui import bridge
from fsconsole.tui.screens import runs as runs_module
from tests.tui.harness import SIZES, Scripted, console
from tests.tui.living import living_run
from tests.tui.recorded import recorded
from tests.tui.waiting import shows


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge, "POLL_S", 0.05)
    monkeypatch.setattr(bridge, "_IDLE_S", 0.1)
    monkeypatch.setattr(runs_module, "_REFRESH_S", 0.1)


def acts(children: Scripted) -> list[tuple[str, ...]]:
    return [words for words in children.asked if words[0] != "devices"]


@pytest.mark.parametrize("size", SIZES)
def test_one_that_dies_while_it_is_watched_is_told_with_both_remedies(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async def watch() -> None:
        with living_run(tmp_path) as run:
            async with console(folder=run.folder, runs_dir=tmp_path).run_test(size=size) as pilot:
                await pilot.press("3")
                await shows(pilot, "workload: large files")
                run.die()
                await shows(
                    pilot,
                    "engine died in workload of cell 1",
                    "1 ext4 data=ordered interrupted engine died",
                    "Its engine died: c cleans up, r resumes the run.",
                    "c Clean up",
                    "r Resume",
                )

    asyncio.run(watch())


@pytest.mark.parametrize("size", SIZES)
def test_one_that_dies_while_the_list_is_looked_at_is_told_with_both_remedies(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async def watch() -> None:
        with living_run(tmp_path) as run:
            app = console(folder=run.folder, runs_dir=tmp_path)
            async with app.run_test(size=size) as pilot:
                await pilot.press("5")
                await shows(pilot, "two filesystems", "running: workload of cell 1 of 2; t follows it")
                run.die()
                await shows(
                    pilot,
                    "-> engine died in workload of cell 1; c cleans up, u resumes it",
                    "c Clean up",
                    "u Resume",
                    "q Quit",
                )

    asyncio.run(watch())


def test_cleanup_from_the_list_is_one_command_whose_answer_is_said(tmp_path: Path) -> None:
    recorded("killed", tmp_path)
    children = Scripted({"cleanup": "killed: marked as interrupted\n"})

    async def clean() -> None:
        async with console(children, runs_dir=tmp_path).run_test(size=(80, 24)) as pilot:
            await pilot.press("5")
            await shows(pilot, "engine died in workload of cell 6; c cleans up")
            await pilot.press("c")
            await shows(pilot, "killed: marked as interrupted")

    asyncio.run(clean())
    assert acts(children) == [("cleanup", "--runs", str(tmp_path))]


def test_what_was_cleaned_up_already_is_only_resumed(tmp_path: Path) -> None:
    async def look() -> None:
        with living_run(tmp_path) as run:
            app = console(folder=run.folder, runs_dir=tmp_path)
            async with app.run_test(size=(80, 24)) as pilot:
                await pilot.press("3")
                await shows(pilot, "workload: large files")
                run.die()
                await shows(pilot, "Its engine is gone")
                run.interrupt()
                await shows(pilot, "Interrupted and cleaned up: r resumes the run.")
                await pilot.press("5")
                await shows(pilot, "-> engine died in workload of cell 1; u resumes it")

    asyncio.run(look())


def test_without_root_both_say_how(tmp_path: Path) -> None:
    recorded("killed", tmp_path)
    children = Scripted()

    async def look() -> None:
        async with console(children, runs_dir=tmp_path, is_root=False).run_test(size=(80, 24)) as pilot:
            await pilot.press("5")
            await shows(pilot, "engine died")
            await pilot.press("c")
            await shows(pilot, "Cleaning up needs root")
            await pilot.press("u")
            await shows(pilot, "Resuming a run needs root")
            await pilot.press("enter", "3")
            await shows(pilot, "Its engine is gone")
            await pilot.press("c")
            await shows(pilot, "Cleaning up needs root")

    asyncio.run(look())
    assert acts(children) == []
