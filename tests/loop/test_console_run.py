"""A run begun in the console and watched to its end there: Confirm, Run and their children over a real engine."""

from __future__ import annotations

import asyncio
import json

import pytest

from fsconsole.client.children import RealChildren
from fsconsole.devices import scratch
from fsconsole.devices.identity import listed_identity
from fsconsole.devices.snapshot import find_device
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.store import is_alive, open_run
from fsconsole.model.state import RunStatus
from fsconsole.results.grid import build_grid
from fsconsole.text import MIB
from fsconsole.tui.planfiles import digest_of
from fsconsole.tui.screens.confirm import ConfirmScreen
from tests.loop.runs import (
    THREE_CELLS_PLAN,
    TINY_PLAN,
    assert_nothing_left,
    hold_program,
    kill_engines,
    succeed,
    wait_for_end,
    written,
)
from tests.tui.harness import console, picture
from tests.tui.waiting import shows, until

pytestmark = pytest.mark.root

_LIMIT_S = 120.0


@pytest.fixture
def device(tmp_path):
    """A scratch device; whatever engine a failed test leaves is killed before it goes."""
    made = scratch.create(400 * MIB, str(tmp_path / "scratch"))
    yield made.device
    kill_engines(str(tmp_path / "runs"))
    scratch.remove(made)


@pytest.fixture
def mkfs_barrier(tmp_path, device, monkeypatch):
    """A file; as long as it is there, no filesystem is made on the device: its cell waits for the test."""
    barrier = tmp_path / "mkfs-waits"
    hold_program("mkfs.ext4", device, barrier, monkeypatch)
    yield barrier
    barrier.unlink(missing_ok=True)


async def seen(pilot, holds) -> None:
    """Wait until the Run screen's snapshot is as wanted."""
    screen = pilot.app.screen
    await until(
        pilot,
        lambda: screen.snapshot is not None and holds(screen.snapshot),
        "a snapshot as wanted",
        limit_s=_LIMIT_S,
    )


async def begin(app, pilot, plan: str, device: str, cells: str = "2 cells") -> RunFolder:
    """Agree to a plan on a scratch device and go to its run."""
    await pilot.pause()
    ended: list[RunFolder | None] = []
    app.push_screen(
        ConfirmScreen(plan, {device: listed_identity(find_device(device))}, digest_of(plan)), ended.append
    )
    await shows(pilot, "Only scratch devices are wiped", "scratch device, 400.0 MiB", cells)
    await pilot.press("ctrl+s")
    await until(pilot, lambda: ended, "the run's begin", limit_s=_LIMIT_S)
    assert ended[0] is not None, picture(pilot)
    app.session.folder = ended[0]
    await pilot.press("3")
    return ended[0]


def test_a_run_begun_in_the_console_is_watched_to_its_end_and_its_figures_are_those_of_results(
    tmp_path, device
):
    runs = str(tmp_path / "runs")
    plan = written(tmp_path, TINY_PLAN)

    async def carry_out() -> tuple[RunFolder, object]:
        app = console(RealChildren(), runs_dir=runs)
        async with app.run_test(size=(80, 24)) as pilot:
            folder = await begin(app, pilot, plan, device)
            await seen(pilot, lambda snapshot: snapshot.alive or snapshot.finished)
            await seen(pilot, lambda snapshot: snapshot.finished and not snapshot.alive)
            await shows(pilot, "two tiny cells: finished", "1 ext4 data=ordered done write")
            snapshot = app.screen.snapshot
            await pilot.press("enter")
            await shows(pilot, "ext4 data=ordered", "ext4 data=writeback", "durable")
            return folder, snapshot

    folder, snapshot = asyncio.run(carry_out())
    assert_nothing_left(device, folder)
    document = json.loads(succeed("results", folder.name, "--runs", runs, "--format", "json"))
    told = {
        row["name"]: {metric: figure["values"] for metric, figure in row["figures"].items()}
        for row in document["rows"]
    }
    in_console = {
        row.name: {metric.value: list(summary.values) for metric, summary in row.figures}
        for row in build_grid(snapshot.state).rows
    }
    assert told == in_console
    assert len(told) == 2


def test_a_run_that_is_stopped_from_the_console_stops_and_goes_on_by_its_key(tmp_path, device, mkfs_barrier):
    runs = str(tmp_path / "runs")
    plan = written(tmp_path, THREE_CELLS_PLAN)
    mkfs_barrier.touch()

    async def carry_out() -> RunFolder:
        app = console(RealChildren(), runs_dir=runs)
        async with app.run_test(size=(80, 24)) as pilot:
            folder = await begin(app, pilot, plan, device, "3 cells")
            await seen(pilot, lambda snapshot: snapshot.state.current_cell == 0)
            await pilot.press("a")
            await shows(pilot, "It will stop after this cell")
            mkfs_barrier.unlink()
            await seen(pilot, lambda snapshot: snapshot.finished and not snapshot.alive)
            await shows(pilot, "stopped after 1 of 3 cells", "r Resume")
            await pilot.press("r")
            await shows(pilot, "Resume run", "is wiped again")
            await pilot.press("y")
            await seen(pilot, lambda snapshot: len(snapshot.state.started) == 2)
            await seen(pilot, lambda snapshot: snapshot.state.status is RunStatus.FINISHED)
            await shows(pilot, "three cells: finished")
            return folder

    folder = asyncio.run(carry_out())
    wait_for_end(folder)
    assert_nothing_left(device, folder)
    assert not is_alive(open_run(runs))
