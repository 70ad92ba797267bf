"""The tour: the console on the recorded run that is shipped, without root."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsconsole.cli.console import RECORDED
from fsconsole.journal.importing import import_run
from tests.tui.harness import SIZES, Scripted, console, drive
from tests.tui.waiting import shows


@pytest.mark.parametrize("size", SIZES)
async def test_the_tour_opens_the_recorded_runs_verdicts_says_what_to_press_and_replays_it(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    children = Scripted()
    app = console(children, runs_dir=tmp_path, folder=import_run(RECORDED, str(tmp_path)), is_root=False)
    app.session.is_tour = True
    async with drive(app, size=size) as pilot:
        await shows(pilot, "demo: ext3, ext4, xfs and btrfs", "verdict", "btrfs", "v replays the race")
        await pilot.press("v")
        await shows(pilot, "p Pause")
    assert children.acted == []


def test_the_shipped_run_is_the_one_that_tests_know() -> None:
    kept = Path(__file__).parents[1] / "data" / "runs" / "demo.fsrun"
    assert Path(RECORDED).read_bytes() == kept.read_bytes()
