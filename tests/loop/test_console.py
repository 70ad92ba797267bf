"""The console on real devices."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from fsconsole.client.children import Children
from fsconsole.devices import scratch
from fsconsole.devices.identity import listed_identity
from fsconsole.devices.snapshot import find_device
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.store import is_alive, list_runs, open_run
from fsconsole.model.device import Identity
from fsconsole.model.events import Outcome
from fsconsole.model.state import RunStatus
from fsconsole.results.grid import build_grid
from fsconsole.show.terminal import SAFE, Colours, Terminal
from fsconsole.system import block
from fsconsole.text import MIB
from fsconsole.tui.app import ConsoleApp
from fsconsole.tui.planfiles import digest_of
from fsconsole.tui.screens.base import Session
from fsconsole.tui.screens.confirm import ConfirmScreen
from fsconsole.tui.widgets.lists import List
from tests.conftest import loops_under, run, wait_until
from tests.loop.commands import OwnLoop
from tests.loop.gate_cases import digest, unchanged, write
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

LIMIT_S = 60.0


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A directory for scratch files; loop devices over them are gone after the test."""
    path = tmp_path / "scratch"
    yield path
    for device in loops_under(str(path)):
        block.detach(device)
    wait_until(lambda: not loops_under(str(path)), "scratch devices are detached")


def test_a_scratch_device_is_made_shown_ticked_read_and_removed(folder: Path, tmp_path: Path) -> None:
    async def look() -> None:
        terminal = Terminal(Colours.SIXTEEN, SAFE, paint_hz=20.0)
        session = Session(terminal, Children(), str(tmp_path / "runs"), is_root=True)
        app = ConsoleApp(session)
        async with app.run_test(size=(80, 24)) as pilot:
            await shows(pilot, "ticked")
            await pilot.press("n")
            await shows(pilot, "It fits")
            app.screen.query_one("#size", Input).value = "16MiB"
            app.screen.query_one("#directory", Input).value = str(folder)
            await shows(pilot, "It fits")
            await pilot.press("enter")
            await until(pilot, lambda: session.targets)
            (device,) = session.targets
            assert find_device(device).is_scratch
            assert "1 target ticked" in picture(pilot)
            assert app.screen.query_one("#table", List).key == device
            await pilot.press("r")
            await shows(pilot, "read test")
            await pilot.press("x")
            await shows(pilot, f"Remove {device}?")
            await pilot.press("y")
            await shows(pilot, "its file are removed")
            assert session.targets == ()
            assert os.listdir(folder) == []

    asyncio.run(look())
    wait_until(lambda: not loops_under(str(folder)), "the scratch device is detached")


def test_a_scratch_device_that_appears_is_shown_by_itself(folder: Path, tmp_path: Path) -> None:
    async def look() -> None:
        terminal = Terminal(Colours.SIXTEEN, SAFE, paint_hz=20.0)
        session = Session(terminal, Children(), str(tmp_path / "runs"), is_root=True)
        app = ConsoleApp(session)
        async with app.run_test(size=(80, 40)) as pilot:
            await shows(pilot, "ticked")
            made = await Children().run("scratch", "create", "--size=16MiB", f"--dir={folder}", "--json")
            device = json.loads(made.out)["device"]
            await until(pilot, lambda: device.removeprefix("/dev/") in picture(pilot))
            await Children().run("scratch", "remove", device)
            await until(pilot, lambda: device.removeprefix("/dev/") not in picture(pilot))

    asyncio.run(look())


def test_a_scratch_device_whose_making_is_ended_leaves_nothing(folder: Path) -> None:
    script = (
        "import sys, time\n"
        "from fsconsole.devices import scratch\n"
        "def slow(path, undo):\n    print('made', flush=True)\n    time.sleep(600)\n"
        "scratch._attach_proven = slow\n"
        "from fsconsole.cli.main import main\n"
        "sys.exit(main())\n"
    )
    words = ("scratch", "create", "--size=16MiB", "--dir", str(folder))
    making = subprocess.Popen((sys.executable, "-c", script, *words), stdout=subprocess.PIPE)
    assert making.stdout is not None
    assert making.stdout.readline() == b"made\n"
    assert len(os.listdir(folder)) == 1
    making.send_signal(signal.SIGTERM)
    making.communicate(timeout=LIMIT_S)
    assert making.returncode == 130
    assert os.listdir(folder) == []


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
        app = console(Children(), runs_dir=runs)
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


SIZE = 400 * MIB
Act = Callable[[Pilot[None]], Awaitable[None]]


@pytest.fixture
def scratch_device(tmp_path: Path) -> Iterator[str]:
    """A scratch device; whatever a test left of it, and of others beside it, goes."""
    made = scratch.create(SIZE, str(tmp_path / "scratch"))
    yield made.device
    kill_engines(str(tmp_path / "runs"))
    for left in scratch.listing(str(tmp_path / "scratch")):
        if left.path.startswith(str(tmp_path)):
            scratch.remove(left)


@pytest.fixture
def disks(tmp_path: Path) -> tuple[Path, Path]:
    """Two disks' files, each with a filesystem and letters."""
    made = []
    for name in ("mine", "theirs"):
        file = tmp_path / f"{name}.img"
        with file.open("wb") as image:
            image.truncate(SIZE)
        run("mkfs.ext4", "-q", "-L", name, str(file))
        made.append(file)
    return made[0], made[1]


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
            await shows(pilot, device, "400.0 MiB")
            if typed:
                app.screen.query_one("#typed", Input).value = typed
            await act(pilot)

    asyncio.run(drive())
    return ended


def ticked_and_swapped(loop: OwnLoop, disks: tuple[Path, Path]) -> dict[str, Identity]:
    """Tick a disk, then let another take its name."""
    mine, theirs = disks
    loop.attach(mine)
    ticked = {loop.path: listed_identity(find_device(loop.path))}
    loop.detach()
    loop.attach(theirs)
    return ticked


def no_run(tmp_path: Path) -> None:
    assert list_runs(str(tmp_path / "runs")) == ()


def session_of(pilot: Pilot[None]) -> dict[str, object]:
    assert isinstance(pilot.app, ConsoleApp)
    return dict(pilot.app.session.ticks)


def test_a_disk_that_took_the_name_of_a_ticked_one_is_refused_in_confirm_and_unticked(
    tmp_path: Path, own_loop: OwnLoop, disks: tuple[Path, Path]
) -> None:
    ticked = ticked_and_swapped(own_loop, disks)

    async def drive() -> None:
        app = console(Children(), runs_dir=str(tmp_path / "runs"))
        app.session.ticks.update(ticked)
        plan = written(tmp_path, TINY_PLAN)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            app.push_screen(ConfirmScreen(plan, ticked, digest_of(plan)))
            await shows(pilot, f"REFUSED: {own_loop.path} is another device", "nothing can start")
            assert session_of(pilot) == {}
            name = own_loop.path.removeprefix("/dev/")
            await pilot.press(*name, "ctrl+s", "f5")
            await shows(pilot, "REFUSED:")
            await pilot.press("ctrl+s", "escape")

    with unchanged(own_loop.path):
        asyncio.run(drive())
    no_run(tmp_path)


def test_a_disk_that_took_the_name_of_a_ticked_one_is_unticked_when_the_plan_is_made(
    tmp_path: Path, own_loop: OwnLoop, disks: tuple[Path, Path]
) -> None:
    ticked = ticked_and_swapped(own_loop, disks)

    async def drive() -> None:
        app = console(Children(), runs_dir=str(tmp_path / "runs"))
        async with app.run_test(size=(80, 40)) as pilot:
            await shows(pilot, own_loop.path.removeprefix("/dev/"), "theirs")
            await pilot.press("5")
            await shows(pilot, "There are no runs")
            app.session.ticks.update(ticked)
            await pilot.press("2")
            await shows(pilot, f"{own_loop.path} was unticked: another device has its name now")
            assert session_of(pilot) == {}
            await pilot.press("g")
            await shows(pilot, "No device is ticked")

    with unchanged(own_loop.path):
        asyncio.run(drive())
    no_run(tmp_path)


def test_a_disk_that_is_swapped_under_the_eyes_of_the_list_is_unticked_there(
    tmp_path: Path, own_loop: OwnLoop, disks: tuple[Path, Path]
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
            own_loop.detach()
            own_loop.attach(theirs)
            await shows(pilot, f"{own_loop.path} was unticked:", "theirs", "no target ticked")

    hashes = [digest(str(file)) for file in disks]
    asyncio.run(drive())
    assert [digest(str(file)) for file in disks] == hashes


def test_a_disk_that_is_swapped_while_confirm_shows_it_is_left_as_it_is(
    tmp_path: Path, own_loop: OwnLoop, disks: tuple[Path, Path]
) -> None:
    mine, theirs = disks
    own_loop.attach(mine)

    async def act(pilot: Pilot[None]) -> None:
        await shows(pilot, "mine", "ctrl+s")
        own_loop.detach()
        own_loop.attach(theirs)
        await pilot.press("ctrl+s")
        await shows(pilot, f"REFUSED: {own_loop.path} is another device", "nothing can start")
        await pilot.press("ctrl+s", "enter", "escape")

    hashes = [digest(str(file)) for file in disks]
    assert at_confirm(tmp_path, own_loop.path, act, typed=own_loop.path.removeprefix("/dev/")) == [None]
    assert [digest(str(file)) for file in disks] == hashes
    no_run(tmp_path)


@pytest.mark.parametrize("place", [0, 123_456_789], ids=["sampled", "not sampled"])
def test_letters_written_to_a_confirmed_scratch_device_are_not_wiped_unseen(
    tmp_path: Path, scratch_device: str, place: int
) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await shows(pilot, "Only scratch devices are wiped")
        write(scratch_device, place, b"letters" * 1000)
        with unchanged(scratch_device):
            await pilot.press("ctrl+s")
            await shows(pilot, "Checked again: it has changed since you agreed")
            await pilot.press("escape")

    assert at_confirm(tmp_path, scratch_device, act) == [None]
    no_run(tmp_path)


def test_a_scratch_device_that_was_made_anew_is_not_the_one_that_was_confirmed(
    tmp_path: Path, scratch_device: str
) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await shows(pilot, "Only scratch devices are wiped")
        scratch.remove(scratch.find(scratch_device))
        again = scratch.create(SIZE, str(tmp_path / "scratch"))
        if again.device != scratch_device:
            pytest.skip("the kernel gave the next scratch device another number")
        run("mkfs.ext4", "-q", "-L", "letters", scratch_device)
        with unchanged(scratch_device):
            await pilot.press("ctrl+s")
            await shows(pilot, f"REFUSED: {scratch_device} is another device", "nothing can start")
            await pilot.press("ctrl+s", "escape")

    assert at_confirm(tmp_path, scratch_device, act) == [None]
    no_run(tmp_path)


EDITS: dict[str, Callable[[Path], object]] = {
    "edited": lambda path: path.write_text(TINY_PLAN.replace("1MiB", "2MiB")),
    "replaced by a link": lambda path: (
        path.rename(path.with_suffix(".old")),
        path.with_suffix(".other").write_text(TINY_PLAN.replace('"ordered", ', "")),
        path.symlink_to(path.with_suffix(".other")),
    ),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_a_plan_file_that_changes_behind_confirm_starts_nothing(
    tmp_path: Path, scratch_device: str, edit: Callable[[Path], object]
) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await shows(pilot, "Only scratch devices are wiped")
        edit(tmp_path / "plan.toml")
        with unchanged(scratch_device):
            await pilot.press("ctrl+s")
            await shows(pilot, "REFUSED: The plan's file was changed by somebody", "nothing can start")
            await pilot.press("ctrl+s", "escape")

    assert at_confirm(tmp_path, scratch_device, act) == [None]
    no_run(tmp_path)


def test_of_two_consoles_on_one_device_the_second_starts_nothing(tmp_path: Path, scratch_device: str) -> None:
    first: list[RunFolder | None] = []

    async def second(pilot: Pilot[None]) -> None:
        await shows(pilot, "Only scratch devices are wiped")
        first.extend(await asyncio.to_thread(at_confirm, tmp_path, scratch_device, begin))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "Starting the run" not in picture(pilot))
        await until(pilot, lambda: "Reading the devices" not in picture(pilot))
        await pilot.press("escape")

    async def begin(pilot: Pilot[None]) -> None:
        await shows(pilot, "Only scratch devices are wiped")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: list_runs(str(tmp_path / "runs")))
        await until(pilot, lambda: not isinstance(pilot.app.screen, ConfirmScreen))

    assert at_confirm(tmp_path, scratch_device, second) == [None]
    (folder,) = list_runs(str(tmp_path / "runs"))
    assert first == [folder]
    wait_for_end(folder)
    assert read_state(folder).outcome is Outcome.DONE
    assert_nothing_left(scratch_device, folder)


@pytest.mark.parametrize("after_ms", [0, 200, 400, 600, 800, 1100, 1500])
def test_escape_while_a_run_begins_leaves_none_that_goes_on_unseen(
    tmp_path: Path, scratch_device: str, after_ms: int
) -> None:
    async def act(pilot: Pilot[None]) -> None:
        await shows(pilot, "Only scratch devices are wiped")
        await pilot.press("ctrl+s")
        await asyncio.sleep(after_ms / 1000)
        await pilot.press("escape")
        await until(
            pilot,
            lambda: (
                not isinstance(pilot.app.screen, ConfirmScreen)
                or "Cancelled: no run was begun" in picture(pilot)
            ),
        )

    ended = at_confirm(tmp_path, scratch_device, act)
    found = list_runs(str(tmp_path / "runs"))
    assert ended in ([], list(found))
    for folder in found:
        wait_for_end(folder)
        assert_nothing_left(scratch_device, folder)
        state = read_state(folder)
        assert not is_alive(folder)
        assert state.outcome in (Outcome.STOPPED, Outcome.DONE)
