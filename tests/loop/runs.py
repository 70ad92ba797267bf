"""Making and waiting for real runs on loop devices."""

from __future__ import annotations

import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from fsconsole.client.engine import create_request
from fsconsole.client.follow import RunFollower
from fsconsole.devices.settings import Kernel
from fsconsole.engine.cleanup import Cleaned, clean_folder
from fsconsole.engine.proof import look_again, renew
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.store import create_run, is_alive, list_runs, make_run_id
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.events import (
    CellFinished,
    CellStarted,
    Observation,
    Outcome,
    RunFinished,
    RunStarted,
)
from fsconsole.model.plan import StepKind
from fsconsole.model.state import RunState
from fsconsole.preflight.prepare import prepare
from fsconsole.system.block import open_exclusive
from fsconsole.system.run import RealExecutor
from tests.conftest import wait_until
from tests.loop.forked import nursery

_SETTINGS = ("read_ahead_kb", "scheduler", "nr_requests")
FSCONSOLE = (sys.executable, "-m", "fsconsole")

BRIEF = 'after = { check = false, extents = false, delete = "none" }\n'
TINY_PLAN = f"""
schema = 1
title = "two tiny cells"
repeats = 1
order = "as-listed"
{BRIEF}
[[filesystem]]
type = "ext4"
mount = {{ data = ["ordered", "writeback"] }}

[[workload]]
name = "small files"
kind = "create"
threads = 4
file_size = "1MiB"
block_size = "64KiB"
"""

WHOLE_PLAN = TINY_PLAN.replace(BRIEF, "")
"""The same with all steps after the load."""

THREE_CELLS_PLAN = f"""
schema = 1
repeats = 1
title = "three cells"
order = "shuffled"
seed = 3
equalise = "none"
filesystem = [{{ type = "ext4", mount = {{ data = ["ordered", "writeback", "journal"] }} }}]
workload = [{{ kind = "create", threads = 2, file_size = "128KiB" }}]
{BRIEF}"""

UNHURRIED_PLAN = THREE_CELLS_PLAN.replace('"128KiB"', '"128KiB", block_size = "1"')
"""Its loads write so slowly that a test can catch one in the middle, and stop its writers there."""


RAW_PLAN = """
schema = 1
title = "two tiny raw rows"
repeats = 2
order = "as-listed"
raw = true
workload = [{ kind = "create", threads = 4, file_size = "1MiB", block_size = "64KiB" }]
"""


def new_run(plan_text: str, devices: str | tuple[str, ...], runs_dir: str, owned_scratch: str = "") -> RunFolder:
    """Make the folder of a run of plan_text on one device or several, all consented, without starting its engine."""
    targets = [devices] if isinstance(devices, str) else devices
    pathlib.Path(runs_dir).mkdir(parents=True, exist_ok=True)
    plan_file = pathlib.Path(runs_dir).parent / "plan.toml"
    plan_file.write_text(plan_text)
    run_id = make_run_id()
    prepared = prepare(str(plan_file), targets, executor=RealExecutor(), runs_dir=runs_dir, run_id=run_id)
    request = create_request(run_id, prepared.plan, prepared.targets, owned_scratch=owned_scratch)
    return create_run(runs_dir, request)


def settings_of(device: str) -> dict[str, str]:
    """Return the settings of a disk's queue that plans may vary, by their files."""
    queue = f"/sys/block/{os.path.basename(device)}/queue"
    return {path: Kernel().value(path) for path in (f"{queue}/{name}" for name in _SETTINGS)}


def tell(folder: RunFolder, *observations: Observation, finished: bool = True) -> None:
    """Write observations into a run's journal, as its engine would."""
    journal = JournalWriter(folder)
    for observation in observations:
        journal.record(observation)
    journal.close(finished=finished)


BEGUN = RunStarted(1, "0.1.0", "boot", "6.18.0", "box")


def tell_the_end(folder: RunFolder) -> None:
    """Have a journal say that all of the run's cells are done."""
    cells = [cell.index for cell in read_state(folder).request.plan.cells]
    done = [told for cell in cells for told in (CellStarted(cell, 1), CellFinished(cell, 1, Outcome.DONE))]
    tell(folder, BEGUN, *done, RunFinished(Outcome.DONE))


def wait_for_end(folder: RunFolder, limit_s: float = 120) -> None:
    """Wait until the run's engine has given its lock back."""
    deadline = time.monotonic() + limit_s
    while is_alive(folder):
        assert time.monotonic() < deadline, "the engine does not end"
        time.sleep(0.05)


def fsconsole(*words: str, limit_s: float = 120, errors: str = "strict") -> subprocess.CompletedProcess[str]:
    """Run a command of fsconsole to its end; errors tells how to take what is no UTF-8 in its output."""
    code, out, err = nursery().run(words, limit_s)
    return subprocess.CompletedProcess(words, code, out.decode(errors=errors), err.decode(errors=errors))


def succeed(*words: str) -> str:
    """Run a command of fsconsole that must not fail, and return what it printed."""
    done = fsconsole(*words)
    assert done.returncode == 0, f"{words}: exit {done.returncode}: {done.stderr}"
    return done.stdout


def carry_out(
    plan_text: str, device: str, directory: pathlib.Path
) -> tuple[subprocess.CompletedProcess[str], RunFolder]:
    """Carry out a plan through the command line, runs kept in directory/runs; return what it said and the folder."""
    runs_dir = str(directory / "runs")
    done = fsconsole("run", written(directory, plan_text), "--device", device, "--runs", runs_dir, "--json")
    (folder,) = list_runs(runs_dir)
    assert_nothing_left(device, folder)
    return done, folder


def written(directory: pathlib.Path, plan_text: str) -> str:
    """Write a plan file into a directory and return its path."""
    path = directory / "plan.toml"
    path.write_text(plan_text)
    return str(path)


def clean_up(runs_dir: str) -> tuple[Cleaned, ...]:
    return tuple(cleaned for folder in list_runs(runs_dir) for cleaned in clean_folder(folder))


def agree_again(folder: RunFolder) -> None:
    """Agree to what `resume` asks about; whatever an engine left that was killed in a cell is such."""
    renewal = look_again(folder, RealExecutor())
    renew(folder, renewal, renewal.consent)


def objects(text: str) -> list[dict[str, object]]:
    """Return the JSON objects of a text, one on each line; anything else in it is a failure."""
    return [json.loads(line) for line in text.splitlines()]


def new_folder(runs_dir: str, limit_s: float = 30) -> RunFolder:
    """Wait for the first run that appears in a directory, and return its folder."""
    deadline = time.monotonic() + limit_s
    while not (found := list_runs(runs_dir)):
        assert time.monotonic() < deadline, f"no run appears in {runs_dir}"
        time.sleep(0.02)
    return found[0]


def wait_for(folder: RunFolder, holds: Callable[[RunState], bool], limit_s: float = 60) -> RunState:
    """Wait until the state of a run, as its journal tells it, is as wanted; return it."""
    deadline = time.monotonic() + limit_s
    # It reads only what is new: a whole journal is dear.
    follower, read = RunFollower(folder), None
    while True:
        written = (is_alive(folder), *_written(folder))
        if written == read and time.monotonic() < deadline:
            time.sleep(0.02)
            continue
        seen = follower.poll()
        read, alive = None if seen.batch.more else written, seen.alive
        # What an engine could not write there lies beside it.
        state = seen.state if alive else read_state(folder)
        if holds(state):
            return state
        where = f"it is in {state.current_step}, its cells are {[cell.status.value for cell in state.cells]}"
        assert alive or not state.started, f"the engine is gone; {where}"
        assert time.monotonic() < deadline, f"the run never came there; {where}"
        time.sleep(0.02)


def _written(folder: RunFolder) -> list[tuple[int, int]]:
    """Return size and time of change of a journal's files."""
    files = [pathlib.Path(f"{folder.journal}{end}") for end in ("", "-wal")]
    return [(file.stat().st_size, file.stat().st_mtime_ns) for file in files if file.exists()]


def is_in(cell: int, kind: StepKind) -> Callable[[RunState], bool]:
    """Return the test whether a cell is in a kind of step right now."""

    def holds(state: RunState) -> bool:
        step = state.current_step
        return state.current_cell == cell and step is not None and step.kind is kind

    return holds


def assert_nothing_left(device: str, folder: RunFolder) -> None:
    """Prove that no mount, no lock, no process and no claim on the device are left of a run."""
    assert "/run/fsconsole" not in pathlib.Path("/proc/self/mounts").read_text()
    # The command ends with the engine's last word, the engine a moment later.
    wait_until(lambda: not is_alive(folder), f"the engine of {folder.path} ends")
    # The last process ends after it has let go of the lock, and the kernel gives a dead namespace's mounts back
    # on a worker of its own.
    wait_until(lambda: processes_with(folder.path) == [], f"the processes of {folder.path} end")
    wait_until(lambda: is_free(device), f"nothing holds {device}")


def is_free(device: str) -> bool:
    """Return whether nobody has a claim on a device."""
    try:
        os.close(open_exclusive(device))
    except OSError:
        return False
    return True


def engine_of(folder: RunFolder) -> int:
    """Return the process of a run's living engine. Raises ProcessLookupError where it has ended."""
    found: list[int] = []

    def is_one() -> bool:
        if not is_alive(folder):
            raise ProcessLookupError(folder.path)
        engines = [pid for pid in processes_with(folder.path) if "fsconsole.engine" in arguments_of(pid)[2:4]]
        # What it has just forked has its arguments until it executes a program of its own.
        found[:] = [pid for pid in engines if not any(pid in descendants(other) for other in engines)]
        return len(found) == 1

    # A fork between two looks is nobody's descendant yet.
    wait_until(is_one, f"one engine of {folder.path}", 10)
    return found[0]


def generator_of(folder: RunFolder) -> list[int]:
    """Return a living run's generator: its host process, and then its workers; empty while there is none."""
    return generator_below(engine_of(folder))


def generator_below(engine: int) -> list[int]:
    """Return the same of an engine's process."""
    words = ["-I", "-m", "fsconsole.workloads.host"]
    return [pid for pid in descendants(engine) if arguments_of(pid)[1:4] == words]


def hold_program(name: str, device: str, barrier: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a program, where it is called for a device, wait as long as a file is there."""
    real = shutil.which(name)
    assert real is not None, f"no {name} on this machine"
    directory = barrier.with_name("held-programs")
    directory.mkdir()
    script = directory / name
    script.write_text(
        "#!/bin/sh\n"
        f'case " $* " in *" {device} "*) while [ -e {shlex.quote(str(barrier))} ]; do sleep 0.02; done;; esac\n'
        f'exec {real} "$@"\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}:{os.environ['PATH']}")


def freeze_load(folder: RunFolder, cell: int = 0, limit_s: float = 60) -> list[int]:
    """Wait until a cell's workers are in the middle of their writes, stop them there, and return them."""
    wait_for(folder, is_in(cell, StepKind.WORKLOAD), limit_s)
    # To find it takes long: all /proc is read for it.
    engine = engine_of(folder)
    wait_until(lambda: len(generator_below(engine)) > 1, "there are writers", limit_s)
    workers = generator_below(engine)[1:]
    wait_until(lambda: any(written_by(pid) > 1000 for pid in workers), "writers write", limit_s)
    workers = generator_below(engine)[1:]
    for pid in workers:
        os.kill(pid, signal.SIGSTOP)
    assert is_in(cell, StepKind.WORKLOAD)(read_state(folder)), "the load was over too soon"
    return workers


def kill_engines(runs_dir: str) -> None:
    """Kill whatever engine a failed test has left alive."""
    for folder in list_runs(runs_dir):
        with suppress(ProcessLookupError):
            os.kill(engine_of(folder), signal.SIGKILL)
        wait_for_end(folder)


def thaw(workers: list[int]) -> None:
    """Let stopped workers go on."""
    for pid in workers:
        os.kill(pid, signal.SIGCONT)


def written_by(pid: int) -> int:
    """Return the bytes that a process has handed to write calls (man 5 proc, /proc/PID/io); 0 for an ended one."""
    try:
        lines = pathlib.Path(f"/proc/{pid}/io").read_text().splitlines()
    except OSError:
        return 0
    return int(dict(line.split(": ") for line in lines)["wchar"])


def processes_with(word: str) -> list[int]:
    """Return the processes that have word in one of their arguments, this one left out."""
    return [
        pid for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
        if pid != os.getpid() and any(word in argument for argument in arguments_of(pid))
    ]  # fmt: skip


def arguments_of(pid: int) -> list[str]:
    """Return a process's arguments; none for one that has ended."""
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
    except OSError:
        return []


def descendants(pid: int) -> list[int]:
    """Return the processes below one, in the order of the tree."""
    # Each child stands at the thread that started it.
    words: list[str] = []
    for thread in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            words += thread.read_text().split()
    children = [int(word) for word in words]
    return [found for child in children for found in (child, *descendants(child))]
