"""The race replay of a recorded run, by its keys."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from fsconsole.tui.screens import replay as replay_module
from fsconsole.tui.screens.replay import ReplayScreen
from tests.tui.harness import ONE_OF_SIZES, WIDE, console, drive, picture
from tests.tui.recorded import imported, recorded
from tests.tui.waiting import shows, until


@pytest.mark.parametrize("size", [*ONE_OF_SIZES, pytest.param(WIDE, marks=pytest.mark.soak)])
async def test_v_replays_an_imported_run_without_root(size: tuple[int, int], tmp_path: Path) -> None:
    folder = imported("demo", tmp_path)
    async with drive(console(folder=folder, runs_dir=tmp_path, is_root=False), "4", size=size) as pilot:
        await shows(pilot, "direct streams", "verdict")
        await pilot.press("v")
        await shows(pilot, "Race replay: demo", "> ext4", "btrfs", "curves: load to ")
        await pilot.press("p", "end")
        shown = await shows(pilot, "0.726 s: 920 MB/s", "(end)", "p Again")
        assert all(len(line) <= size[0] for line in shown.splitlines())
        await pilot.press("home")
        await shows(pilot, "t = 0.000", "paused, 1/10", "p Continue")
        await pilot.press("up", "right", "right")
        await shows(pilot, "t = 0.073", "paused, 1/5")
        await pilot.press("right_square_bracket")
        await shows(pilot, "of 2.79 s")
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(pilot.app.screen, ReplayScreen), "the figures")


async def test_it_plays_by_itself_p_stops_the_clock_and_up_and_down_change_its_pace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with drive(console(folder=imported("demo", tmp_path), runs_dir=tmp_path), "4") as pilot:
        await shows(pilot, "direct streams", "verdict")
        await pilot.press("v")
        await shows(pilot, "Race replay: demo", "1/10 x")
        screen = pilot.app.screen
        assert isinstance(screen, ReplayScreen)
        await until(pilot, lambda: screen._at_s > 0, "it plays")
        # From here on by a clock of the test's own, which stands between its steps.
        now = SimpleNamespace(s=1000.0)
        monkeypatch.setattr(replay_module, "time", SimpleNamespace(monotonic=lambda: now.s))

        def passed_in(seconds: float) -> float:
            screen._tick()
            before_s, now.s = screen._at_s, now.s + seconds
            screen._tick()
            return screen._at_s - before_s

        screen._ticked_s = now.s
        await pilot.press("home")
        assert passed_in(0.5) == pytest.approx(0.05)
        await pilot.press("up")
        assert passed_in(0.5) == pytest.approx(0.1)
        await pilot.press("down", "down")
        assert passed_in(0.5) == pytest.approx(0.025)
        assert "p Pause" in picture(pilot)
        await pilot.press("p")
        await shows(pilot, "paused, 1/20", "p Continue")
        assert passed_in(60.0) == 0
        await pilot.press("p")
        assert passed_in(0.5) == pytest.approx(0.025)


async def test_a_run_without_a_finished_load_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay_module.view, "can_race", lambda _: False)
    async with drive(console(runs_dir=tmp_path), "4") as pilot:
        pilot.app.push_screen(ReplayScreen(recorded("raw", tmp_path)))
        await shows(pilot, "nothing to replay")
        await pilot.press("p", "end", "up", "right_square_bracket")
        assert "nothing to replay" in picture(pilot)
