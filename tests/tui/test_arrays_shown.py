"""Run, Results and Cell tell of the array that a cell is on, and that it was never synced."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.tui.arrayed import MEMBERS, on_arrays
from tests.tui.harness import SIZES, console, drive
from tests.tui.waiting import shows


@pytest.mark.parametrize("size", SIZES)
def test_run_names_level_and_chunk_of_every_cell_and_says_assume_clean(
    size: tuple[int, int], tmp_path: Path
) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "(assume-clean)", "xfs, raid5 512KiB", "xfs, raid10 512KiB")

    drive(console(folder=on_arrays("grid", tmp_path)), steps, size=size, keys="3")


def test_run_says_nothing_of_it_where_the_arrays_were_synced(tmp_path: Path) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        assert "assume-clean" not in await shows(pilot, "xfs, raid5 512KiB")

    drive(console(folder=on_arrays("grid", tmp_path, assume_clean=False)), steps, keys="3")


@pytest.mark.parametrize("size", SIZES)
def test_every_row_of_the_results_is_labelled_and_a_cell_names_its_members(
    size: tuple[int, int], tmp_path: Path
) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "xfs, raid5 512KiB,", "assume-clean, files")
        await pilot.press("enter")
        await shows(pilot, "Cell 3 of 6")
        await pilot.press("o")
        await shows(pilot, "raid5 512KiB, 4 members, assume-clean", f"of {', '.join(MEMBERS)}")

    drive(console(folder=on_arrays("grid", tmp_path)), steps, size=size, keys="4")
