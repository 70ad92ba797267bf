"""Kept pictures of Runs, Results and the cell view."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fsconsole.client import runs
from fsconsole.text import MIB
from tests.tui.harness import SIZES, console
from tests.tui.recorded import all_recorded, recorded
from tests.tui.snapshots import assert_looks_as_kept
from tests.tui.waiting import shows


@pytest.fixture(autouse=True)
def _runs_beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the directory of runs have the same name everywhere, and its runs the same size."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runs, "size_bytes", lambda _folder: 3 * MIB)


@pytest.mark.parametrize("size", SIZES)
def test_runs_looks_as_kept(size: tuple[int, int]) -> None:
    async def look() -> None:
        all_recorded(Path("runs"))
        async with console(runs_dir="runs").run_test(size=size) as pilot:
            await pilot.press("5")
            await shows(pilot, "5 runs", "finished: 1 of 2 cells failed", "engine died in workload of cell 6")
            await pilot.press("down", "down")
            await shows(pilot, "c cleans up, u resumes it")
            assert_looks_as_kept(pilot, f"runs-{size[0]}x{size[1]}")

    asyncio.run(look())


@pytest.mark.parametrize("size", SIZES)
def test_results_and_a_cell_look_as_kept(size: tuple[int, int]) -> None:
    async def look() -> None:
        folder = recorded("killed", Path("runs"))
        async with console(runs_dir="runs", folder=folder).run_test(size=size) as pilot:
            await pilot.press("4")
            await shows(pilot, "sorted by durable", "6 cells: 5 done, 1 interrupted", "a cached")
            assert_looks_as_kept(pilot, f"results-{size[0]}x{size[1]}")
            await pilot.press("enter")
            await shows(pilot, "v Curves", "waiting for I/O", "in this row")
            assert_looks_as_kept(pilot, f"cell-{size[0]}x{size[1]}")

    asyncio.run(look())
