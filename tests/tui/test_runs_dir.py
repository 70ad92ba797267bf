"""Where the directory of runs can't be read, every screen that shows runs says so, and never that there are none."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fsconsole.errors.runs import NotRoot
from fsconsole.show import run
from fsconsole.tui.screens import runs as runs_module
from tests.tui.harness import SIZES, console, picture
from tests.tui.recorded import recorded
from tests.tui.waiting import shows, until

MODES = [("3", "run"), ("4", "results"), ("5", "runs")]


@pytest.mark.parametrize("size", [*SIZES, (60, 20)])
@pytest.mark.parametrize(("key", "mode"), MODES)
def test_a_file_in_its_place_is_told_with_a_hint(
    tmp_path: Path, key: str, mode: str, size: tuple[int, int]
) -> None:
    (tmp_path / "runs").write_text("")

    async def go() -> None:
        app = console(runs_dir=tmp_path / "runs")
        async with app.run_test(size=size) as pilot:
            await pilot.press(key)
            shown = await shows(
                pilot, f"Runs can't be kept in {tmp_path}/runs: Not a directory.", "--runs DIR"
            )
            assert app.current_mode == mode
            assert "no runs" not in shown

    asyncio.run(go())


@contextmanager
def unreadable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have the directory refuse itself, as it does to anybody but root."""

    def refuse(runs_dir: str) -> None:
        raise NotRoot(what=f"Reading {runs_dir}")

    with monkeypatch.context() as patched:
        for module in (runs_module, run):
            patched.setattr(module, "list_runs", refuse)
        yield


def test_one_that_may_be_read_again_is_listed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded("grid", tmp_path)

    async def go() -> None:
        async with console(runs_dir=tmp_path).run_test(size=(80, 24)) as pilot:
            await pilot.press("5")
            await shows(pilot, "1 run", "finished")
            with unreadable(monkeypatch):
                await pilot.press("r")
                shown = await shows(pilot, f"Reading {tmp_path} needs root.", "can't be listed")
                assert "finished" not in shown
            await pilot.press("r")
            await shows(pilot, "1 run", "finished")
            await until(pilot, lambda: "needs root" not in picture(pilot), "the complaint is gone")

    asyncio.run(go())
