"""The console on real devices."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from fsconsole.client.children import Children
from fsconsole.devices.identity import listed_identity
from fsconsole.devices.scratch import Scratch
from fsconsole.devices.snapshot import find_device
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.store import is_alive, list_runs, open_run
from fsconsole.model.events import Outcome
from fsconsole.model.state import RunStatus
from fsconsole.results.grid import build_grid
from fsconsole.show.terminal import SAFE, Colours, Terminal
from fsconsole.text import MIB
from fsconsole.tui.app import ConsoleApp
from fsconsole.tui.planfiles import digest_of
from fsconsole.tui.screens.confirm import ConfirmScreen
from fsconsole.tui.session import Session
from fsconsole.tui.widgets.lists import List
from tests.conftest import run
from tests.lab.soak import tried
from tests.loop.commands import OwnLoop
from tests.loop.delayed_exec import exec_held
from tests.loop.gate_cases import digest, sparse, unchanged, write
from tests.loop.runs import (
    THREE_CELLS_PLAN,
    TINY_PLAN,
    assert_nothing_left,
    succeed,
    wait_for_end,
    written,
)
from tests.tui.harness import console, picture
from tests.tui.waiting import shows, until

LIMIT_S = 120.0
SIZE = 64 * MIB
Act = Callable[[Pilot[None]], Awaitable[None]]


@pytest.fixture
def device(own_scratch: Scratch) -> str:
    return own_scratch.device


@pytest.fixture
def mkfs_barrier(tmp_path, device, monkeypatch):
    """A file; as long as it is there, no filesystem is made on the device: its cell waits for the test."""
    barrier = tmp_path / "mkfs-waits"
    with exec_held("mkfs.ext4", tmp_path / "held", barrier) as path:
        monkeypatch.setenv("PATH", path)
        yield barrier
        barrier.unlink(missing_ok=True)


async def seen(pilot, holds) -> None:
    """Wait until the Run screen's snapshot is as wanted."""
    screen = pilot.app.screen
    await until(
        pilot,
        lambda: screen.snapshot is not None and holds(screen.snapshot),
        "a snapshot as wanted",
        limit_s=LIMIT_S,
    )


async def begin(app, pilot, plan: str, device: str, cells: str = "2 cells") -> RunFolder:
    """Agree to a plan on a scratch device and go to its run."""
    await pilot.pause()
    ended: list[RunFolder | None] = []
    ticks = {device: listed_identity(find_device(device))}
    app.push_screen(ConfirmScreen(plan, ticks, digest_of(plan)), ended.append)
    await shows(pilot, "Only scratch devices are wiped", "scratch device, 64.0 MiB", cells)
    await pilot.press("f10")
    await until(pilot, lambda: ended, "the run's begin", limit_s=LIMIT_S)
    assert ended[0] is not None, picture(pilot)
    app.session.folder = ended[0]
    await pilot.press("3")
    return ended[0]


@pytest.mark.soak
def test_a_run_begun_in_the_console_is_watched_to_its_end_and_its_figures_are_those_of_results(tmp_path, device):
    runs = str(tmp_path / "runs")
    plan = written(tmp_path, TINY_PLAN)

    async def carry_out() -> tuple[RunFolder, object]:
        app = console(Children(), runs_dir=runs)
        async with app.run_test(size=(80, 24)) as pilot:
            folder = await begin(app, pilot, plan, device)
            await seen(pilot, lambda snapshot: snapshot.alive or snapshot.finished)
            await seen(pilot, lambda snapshot: snapshot.finished and not snapshot.alive)
            await shows(pilot, "two tiny cells: finished", "done: write")
            snapshot = app.screen.snapshot
            await pilot.press("enter")
            await shows(pilot, "ext4 data=ordered", "ext4 data=writeback", "durable")
            return folder, snapshot

    folder, snapshot = asyncio.run(carry_out())
    assert_nothing_left(device, folder)
    document = json.loads(succeed("results", folder.name, "--runs", runs, "--format", "json"))
    told = {
        row["name"]: {metric: figure["values"] for metric, figure in row["figures"].items()} for row in document["rows"]
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
        app = console(Children(), runs_dir=runs)
        async with app.run_test(size=(80, 24)) as pilot:
            folder = await begin(app, pilot, plan, device, "3 cells")
            await seen(pilot, lambda snapshot: snapshot.state.current_cell == 0)
            await pilot.press("a")
            await shows(pilot, "Stopping after the current cell")
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


@pytest.fixture
def disks(tmp_path: Path) -> tuple[str, str]:
    """Two disks' files, each with a filesystem and letters."""
    mine, theirs = (sparse(tmp_path / f"{name}.img", SIZE) for name in ("mine", "theirs"))
    for file, label in ((mine, "mine"), (theirs, "theirs")):
        run("mkfs.ext4", "-q", "-L", label, file)
    return mine, theirs


def test_scratch_devices_are_shown_as_they_come_and_go_made_ticked_read_and_removed(
    scratch_folder: Path, tmp_path: Path
) -> None:
    async def look() -> None:
        session = Session(
            Terminal(Colours.SIXTEEN, SAFE, paint_hz=20.0),
            Children(),
            str(tmp_path / "runs"),
            is_root=True,
        )
        app = ConsoleApp(session)
        async with app.run_test(size=(80, 40)) as pilot:
            await shows(pilot, "ticked")
            made = await Children().run("scratch", "create", "--size=19MiB", f"--dir={scratch_folder}", "--json")
            await shows(pilot, "19.0 MiB")
            await Children().run("scratch", "remove", json.loads(made.out)["device"])
            await until(pilot, lambda: "19.0 MiB" not in picture(pilot))
            await pilot.press("n")
            await shows(pilot, "It fits")
            app.screen.query_one("#size", Input).value = "16MiB"
            app.screen.query_one("#directory", Input).value = str(scratch_folder)
            await shows(pilot, "It fits")
            await pilot.press("enter")
            await until(pilot, lambda: session.targets)
            (device,) = session.targets
            assert find_device(device).is_scratch
            await shows(pilot, "1 target ticked")
            # It is ticked at once, and has the cursor once it has been seen.
            await until(pilot, lambda: app.screen.query_one("#table", List).key == device)
            await pilot.press("R")
            await shows(pilot, "read test", "free; made")
            await pilot.press("x")
            await shows(pilot, f"Remove {device}?")
            await pilot.press("y")
            await shows(pilot, "and its file.")
            assert session.targets == ()
            assert os.listdir(scratch_folder) == []

    asyncio.run(look())


def at_confirm(tmp_path: Path, device: str, act: Act, *, typed: str = "") -> list[RunFolder | None]:
    """Tick a device, show it in Confirm, and let the test do the rest there; return what Confirm ended with."""
    ended: list[RunFolder | None] = []
    plan = written(tmp_path, TINY_PLAN)
    ticks = {device: listed_identity(find_device(device))}

    async def drive() -> None:
        app = console(Children(), runs_dir=str(tmp_path / "runs"))
        app.session.ticks.update(ticks)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            app.push_screen(ConfirmScreen(plan, ticks, digest_of(plan)), ended.append)
            await shows(pilot, device, "64.0 MiB", "" if typed else "Only scratch devices are wiped")
            if typed:
                app.screen.query_one("#typed", Input).value = typed
            await act(pilot)

    asyncio.run(drive())
    return ended


def no_run(tmp_path: Path) -> None:
    assert list_runs(str(tmp_path / "runs")) == ()


def test_a_disk_that_is_swapped_under_the_eyes_of_the_list_is_unticked_there(
    tmp_path: Path, own_loop: OwnLoop, disks: tuple[str, str]
) -> None:
    mine, theirs = disks
    own_loop.attach(mine)

    async def drive() -> None:
        app = console(Children(), runs_dir=str(tmp_path / "runs"))
        async with app.run_test(size=(80, 40)) as pilot:
            await shows(pilot, own_loop.path.removeprefix("/dev/"), "mine")
            table = app.screen.query_one("#table", List)
            table.go_to(own_loop.path)
            await until(pilot, lambda: table.key == own_loop.path)
            await pilot.press("space")
            await shows(pilot, "1 target ticked")
            own_loop.attach(theirs)
            await shows(pilot, f"{own_loop.path} was unticked:", "theirs", "no target ticked")

    hashes = [digest(file) for file in disks]
    asyncio.run(drive())
    assert [digest(file) for file in disks] == hashes


def test_a_disk_that_is_swapped_while_confirm_shows_it_is_left_as_it_is(
    tmp_path: Path, own_loop: OwnLoop, disks: tuple[str, str]
) -> None:
    mine, theirs = disks
    own_loop.attach(mine)

    async def act(pilot: Pilot[None]) -> None:
        await shows(pilot, "mine", "then F10 or Enter twice")
        own_loop.attach(theirs)
        await pilot.press("f10")
        await shows(pilot, f"REFUSED: {own_loop.path} is another device", "nothing can start")
        await pilot.press("f10", "enter", "escape")

    hashes = [digest(file) for file in disks]
    assert at_confirm(tmp_path, own_loop.path, act, typed=own_loop.path.removeprefix("/dev/")) == [None]
    assert [digest(file) for file in disks] == hashes
    no_run(tmp_path)


def test_letters_written_to_a_confirmed_scratch_device_are_not_wiped_unseen(tmp_path: Path, device: str) -> None:
    async def act(pilot: Pilot[None]) -> None:
        write(device, SIZE // 3, b"letters" * 1000)
        with unchanged(device):
            await pilot.press("f10")
            await shows(pilot, "Checked again: it has changed since you agreed")
            await pilot.press("escape")

    assert at_confirm(tmp_path, device, act) == [None]
    no_run(tmp_path)


@pytest.mark.soak
def test_of_two_consoles_on_one_device_the_second_starts_nothing(tmp_path: Path, device: str) -> None:
    first: list[RunFolder | None] = []

    async def second(pilot: Pilot[None]) -> None:
        first.extend(await asyncio.to_thread(at_confirm, tmp_path, device, begin_there))
        await pilot.press("f10")
        await until(pilot, lambda: "Starting the run" not in picture(pilot))
        await until(pilot, lambda: "Reading the devices" not in picture(pilot))
        await pilot.press("escape")

    async def begin_there(pilot: Pilot[None]) -> None:
        await pilot.press("f10")
        await until(pilot, lambda: list_runs(str(tmp_path / "runs")))
        await until(pilot, lambda: not isinstance(pilot.app.screen, ConfirmScreen))

    assert at_confirm(tmp_path, device, second) == [None]
    (folder,) = list_runs(str(tmp_path / "runs"))
    assert first == [folder]
    wait_for_end(folder)
    assert read_state(folder).outcome is Outcome.DONE
    assert_nothing_left(device, folder)


def no_longer_starting(pilot: Pilot[None]) -> bool:
    return not isinstance(pilot.app.screen, ConfirmScreen) or "Cancelled: no run was" in picture(pilot)


@pytest.mark.parametrize("after_ms", tried([0, 400, 1100], [400]))
def test_escape_while_a_run_begins_leaves_none_that_goes_on_unseen(tmp_path: Path, device: str, after_ms: int) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await pilot.press("f10")
        await asyncio.sleep(after_ms / 1000)
        await pilot.press("escape")
        await until(pilot, lambda: no_longer_starting(pilot))

    ended = at_confirm(tmp_path, device, act)
    found = list_runs(str(tmp_path / "runs"))
    assert ended in ([], list(found))
    for folder in found:
        wait_for_end(folder)
        assert_nothing_left(device, folder)
        assert read_state(folder).outcome in (Outcome.STOPPED, Outcome.DONE)


def test_a_scratch_device_whose_making_is_ended_leaves_nothing(scratch_folder: Path) -> None:
    script = (
        "import sys, time\n"
        "from fsconsole.devices import scratch\n"
        "def slow(path, undo):\n    print('made', flush=True)\n    time.sleep(600)\n"
        "scratch._attach_proven = slow\n"
        "from fsconsole.cli.main import main\n"
        "sys.exit(main())\n"
    )
    words = ("scratch", "create", "--size=16MiB", "--dir", str(scratch_folder))
    making = subprocess.Popen((sys.executable, "-c", script, *words), stdout=subprocess.PIPE)
    assert making.stdout is not None
    assert making.stdout.readline() == b"made\n"
    assert len(os.listdir(scratch_folder)) == 1
    making.send_signal(signal.SIGTERM)
    making.communicate(timeout=LIMIT_S)
    assert making.returncode == 130
    assert os.listdir(scratch_folder) == []
