"""A living run beside everything that looks at its device: no cell is lost by it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fsconsole.client.engine import start_engine
from fsconsole.devices.scratch import Scratch
from fsconsole.errors import ExitCode
from fsconsole.journal.events import Cursor
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.reader import JournalReader
from fsconsole.journal.store import is_alive, list_runs
from fsconsole.model.events import CommandFinished
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellStatus, RunState, RunStatus
from tests.lab.soak import SOAK
from tests.loop.commands import command, each
from tests.loop.gate_cases import held_by_another_process
from tests.loop.runs import (
    TINY_PLAN,
    assert_nothing_left,
    kill_engines,
    new_run,
    succeed,
    wait_for,
    wait_for_end,
    written,
)
from tests.loop.test_kill_engine import hanging

MANY_CELLS_PLAN = TINY_PLAN.replace("repeats = 1", f'repeats = {300 if SOAK else 40}\nequalise = "none"')
TIMES = 50 if SOAK else 1
"""Fifty take some minutes on a busy machine."""


@pytest.fixture
def living(own_scratch: Scratch, tmp_path: Path) -> Iterator[RunFolder]:
    """A run of many cells, one of which is done."""
    folder = new_run(MANY_CELLS_PLAN, own_scratch.device, str(tmp_path / "runs"))
    start_engine(folder)
    wait_for(folder, cells_done(1))
    yield folder
    kill_engines(str(tmp_path / "runs"))


def cells_done(count: int) -> Callable[[RunState], bool]:
    return lambda state: [cell.status for cell in state.cells].count(CellStatus.DONE) >= count


def stopped(folder: RunFolder) -> list[CellStatus]:
    """Stop the run after its cell, and return the statuses of those that it came to."""
    succeed("stop", "--runs", str(Path(folder.path).parent))
    wait_for_end(folder)
    statuses = [cell.status for cell in read_state(folder).cells]
    return [status for status in statuses if status is not CellStatus.PENDING]


_MONITOR = """
import os, sys, time
while True:
    fd = os.open(sys.argv[1], os.O_RDONLY)
    print("open", flush=True)
    time.sleep(1.2)
    os.close(fd)
    time.sleep(0.8)
"""


@contextmanager
def monitored(device: str, log: Path) -> Iterator[None]:
    """Open a device for longer than a proof holds again and again, as agents and smartctl do."""
    with (
        log.open("w") as out,
        subprocess.Popen([sys.executable, "-c", _MONITOR, device], stdout=out) as monitor,
    ):
        try:
            yield
        finally:
            monitor.kill()


@pytest.mark.soak
def test_a_monitor_that_opens_the_device_again_and_again_costs_no_cell(
    living: RunFolder, own_scratch: Scratch, tmp_path: Path
) -> None:
    log = tmp_path / "opened"
    with monitored(own_scratch.device, log):
        wait_for(living, cells_done(5), 240)
        statuses = stopped(living)
    assert log.read_text().count("open") >= 3
    assert set(statuses) == {CellStatus.DONE}
    assert_nothing_left(own_scratch.device, living)


def test_two_cells_in_a_row_that_an_opener_spoils_pause_the_run_by_its_name_and_it_goes_on_when_continued(
    own_scratch: Scratch, tmp_path: Path
) -> None:
    runs = str(tmp_path / "runs")
    folder = new_run(TINY_PLAN.replace("repeats = 1", "repeats = 2"), own_scratch.device, runs)
    # Such an engine waits for openers for 2 s only.
    unshare = hanging(folder, StepKind.GATE, "before", tmp_path / "at-the-gate")
    with held_by_another_process(own_scratch.device, "os.O_RDONLY") as pid:
        (tmp_path / "at-the-gate").unlink()
        state = wait_for(folder, lambda state: state.status is RunStatus.PAUSED)
        who = f"is open in process {pid} ("
        assert [cell.status.value for cell in state.cells] == ["done", "failed", "failed", "pending"]
        assert all(who in cell.reason for cell in state.cells[1:3])
        (paused,) = (told for told in state.warnings if told.reason.startswith("paused: "))
        assert who in paused.reason
        assert f"`fsconsole stop --continue {folder.name}`" in paused.hint
    succeed("stop", "--continue", "--runs", runs)
    assert unshare.wait(60) == ExitCode.CELLS_FAILED
    state = read_state(folder)
    assert (state.status, state.cells[3].status) == (RunStatus.FINISHED, CellStatus.DONE)
    assert_nothing_left(own_scratch.device, folder)


def test_no_command_that_looks_at_its_device_or_is_refused_costs_a_cell(
    living: RunFolder, own_scratch: Scratch, tmp_path: Path
) -> None:
    runs = ("--runs", str(tmp_path / "runs"))
    on_it = (written(tmp_path, TINY_PLAN), "--device", own_scratch.device, *runs)
    where = ("--dir", str(Path(own_scratch.path).parent))
    remove = ("scratch", "remove", own_scratch.device, *where, *runs)
    looks = {
        "devices": (("devices", *runs), 0),
        "scratch list": (("scratch", "list", *where), 0),
    }
    refused = (
        {
            "plan": (("plan", *on_it), ExitCode.DEVICE_LOCKED),
            "scratch remove": (remove, ExitCode.SCRATCH_IN_USE),
        },
        {
            "run": (("run", *on_it), ExitCode.DEVICE_LOCKED),
            "scratch remove --yes": ((*remove, "--yes"), ExitCode.SCRATCH_IN_USE),
        },
    )

    def harmless(words: tuple[str, ...], code: int) -> None:
        done = command(*words)
        assert is_alive(living)
        assert done.returncode == code, done.stdout + done.stderr

    for number in range(TIMES):
        each(looks | refused[(number + 1) % 2], harmless)
    statuses = stopped(living)
    assert set(statuses) == {CellStatus.DONE}
    assert len(statuses) > TIMES // 10
    assert_nothing_left(own_scratch.device, living)


def test_an_export_of_a_living_run_is_whole_and_costs_it_no_cell(living: RunFolder, tmp_path: Path) -> None:
    runs, whole = ("--runs", str(tmp_path / "runs")), []
    for number in range(3 if SOAK else 2):
        path, other = str(tmp_path / f"{number}.fsrun"), str(tmp_path / str(number))
        succeed("export", living.name, path, *runs)
        assert is_alive(living)
        succeed("import", path, "--runs", other)
        (imported,) = list_runs(other)
        whole.append(imported)
    statuses = stopped(living)
    assert set(statuses) == {CellStatus.DONE}
    entries = JournalReader(living.journal).read_since(Cursor(), max_samples=0).entries
    for imported in whole:
        copied = JournalReader(imported.journal).read_since(Cursor(), max_samples=0)
        assert copied.entries == entries[: len(copied.entries)]
        named = {seen.output for seen in copied.observations if isinstance(seen, CommandFinished)}
        assert named
        for name in named:
            assert Path(imported.path, name).read_bytes() == Path(living.path, name).read_bytes()
    done = [sum(cell.status is CellStatus.DONE for cell in read_state(imported).cells) for imported in whole]
    assert 1 <= done[0] <= done[-1] <= len(statuses)
