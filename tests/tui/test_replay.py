"""The race replay of a recorded run, by its keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsconsole.tui.screens import replay as replay_module
from fsconsole.tui.screens.replay import ReplayScreen
from tests.tui.harness import console, drive, picture
from tests.tui.recorded import imported, recorded
from tests.tui.waiting import shows, until


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_v_replays_an_imported_run_without_root(size: tuple[int, int], tmp_path: Path) -> None:
    folder = imported("demo", tmp_path)
    async with drive(console(folder=folder, runs_dir=tmp_path, is_root=False), "4", size=size) as pilot:
        await shows(pilot, "direct streams", "verdict")
        await pilot.press("v")
        await shows(pilot, "Race replay: demo", "> ext4", "btrfs", "curves: 0 to")
        await pilot.press("p", "end")
        shown = await shows(pilot, "0.726 s: 920 MB/s", "(end)")
        assert all(len(line) <= size[0] for line in shown.splitlines())
        await pilot.press("home")
        await shows(pilot, "t = 0.000", "paused, 1/10")
        await pilot.press("up", "right", "right")
        await shows(pilot, "t = 0.073", "paused, 1/5")
        await pilot.press("right_square_bracket")
        await shows(pilot, "of 2.79 s")
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(pilot.app.screen, ReplayScreen), "the figures")


async def test_a_run_without_a_finished_load_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay_module.view, "can_race", lambda _: False)
    async with drive(console(runs_dir=tmp_path), "4") as pilot:
        pilot.app.push_screen(ReplayScreen(recorded("raw", tmp_path)))
        await shows(pilot, "nothing to replay")
        await pilot.press("p", "end", "up", "right_square_bracket")
        assert "nothing to replay" in picture(pilot)
