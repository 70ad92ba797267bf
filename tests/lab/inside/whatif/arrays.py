"""What these tests share: a run's consent, its engine's end, and what stands on the disks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from fsconsole.devices.claims import lock_disks
from fsconsole.devices.md import HeldArray, held_arrays, member_uuid
from fsconsole.devices.snapshot import find_device
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.store import list_runs
from fsconsole.model.plan import StepKind
from fsconsole.model.state import RunState
from tests.lab import warm
from tests.lab.guest import fsconsole, run, settle, wait_until

HERE = "tests/lab/inside/whatif"
DISKS = A, B, C, D = ("/dev/ubde", "/dev/ubdf", "/dev/ubdg", "/dev/ubdh")
MIRROR = f"{HERE}/mirror.toml"
RUNS = "/var/lib/fsconsole/runs"

LIMIT_S = 900.0


def on(*disks: str) -> tuple[str, ...]:
    """Return the words of a command line that name these devices."""
    return tuple(word for disk in disks for word in ("--device", disk))


def consent(*words: str) -> str:
    """Return the code that agrees to what `plan`, or another command that shows, tells in JSON."""
    shown = fsconsole(*words, "--json")
    assert shown.code == 0, shown
    code = json.loads(shown.out)["consent"]
    assert isinstance(code, str)
    return code


def detached_mirror() -> RunFolder:
    """Begin the mirror's run on two disks, and let its engine go on alone."""
    code = consent("plan", MIRROR, *on(A, B))
    begun = fsconsole("run", MIRROR, *on(A, B), "--consent", code, "--detach")
    assert begun.code == 0, begun
    return newest()


def newest() -> RunFolder:
    """Return the folder of the run that was begun last."""
    return list_runs(RUNS)[0]


def hurry(kib_per_s: int) -> None:
    """Let resyncs go at that speed."""
    for limit in ("min", "max"):
        Path(f"/proc/sys/dev/raid/speed_limit_{limit}").write_text(str(kib_per_s))


def arrays() -> dict[str, HeldArray]:
    """Return the arrays that the kernel holds, by name."""
    return {array.name: array for array in held_arrays()}


def uuids_on(*disks: str) -> set[str]:
    """Return the UUIDs of arrays that these disks bear."""
    return {member_uuid(disk) for disk in disks} - {""}


def clear_disks() -> None:
    """Stop all arrays and clear all disks, locked meanwhile: udev would put a stopped array together again."""
    with ExitStack() as stack:
        for disk in DISKS:
            stack.enter_context(lock_disks(find_device(disk)))
        for array in held_arrays():
            run("mdadm", "--stop", array.path)
        for disk in DISKS:
            subprocess.run(["mdadm", "--zero-superblock", disk], check=False, capture_output=True)
    settle()


def wait_for(folder: RunFolder, holds: Callable[[RunState], bool], what: str) -> None:
    """Wait until a run is where it should be."""
    wait_until(lambda: holds(read_state(folder)), what, LIMIT_S)


def is_in(cell: int, kind: StepKind) -> Callable[[RunState], bool]:
    """Return the test whether a cell is in a kind of step right now."""

    def holds(state: RunState) -> bool:
        step = state.current_step
        return state.current_cell == cell and step is not None and step.kind is kind

    return holds


def kill_engines() -> None:
    """Kill every engine with what started it, as nothing can prevent."""
    for pid in engines():
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not engines(), "the engine is gone", LIMIT_S)


def engines() -> list[int]:
    """Return the processes that lead an engine's namespaces."""
    warm.reap()
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit() and _is_engine(path)]


def _is_engine(path: Path) -> bool:
    try:
        return (path / "comm").read_text() == f"{warm.NAME}\n"
    except OSError:
        return False
