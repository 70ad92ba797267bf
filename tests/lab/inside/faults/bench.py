"""What the tests of faults stand on: a disk that can be made to fail, two arrays, and an engine with a script."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest

from fsconsole.client.engine import create_request
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.store import create_run, make_run_id
from fsconsole.model.state import CellState, RunState
from fsconsole.preflight.prepare import prepare
from fsconsole.system.run import RealExecutor
from tests.lab.guest import create_array, run, scsi_disk, settle, stop_arrays, udevd
from tests.lab.soak import SOAK
from tests.lab.warm import fork_engine
from tests.loop.faulty_engine import AFTER_CELL, Event, follow_through

RUNS = "/var/lib/fsconsole/runs"
TOP, RAID5, RAID0 = "/dev/mapper/top", "/dev/md0", "/dev/md1"
MEMBERS = ("/dev/ubdb", "/dev/ubdc", "/dev/ubdd", "/dev/ubde", "/dev/sda")

PLAN = """
schema = 1
order = "as-listed"
equalise = "none"
repeats = {repeats}
{variants}
[[workload]]
name = "some files"
kind = "create"
threads = 2
files = 4
file_size = "512KiB"
block_size = "64KiB"
fsync = 8
[[workload]]
name = "read them"
kind = "read"
threads = 2
cold = true
[after]
check = true
"""


def sectors() -> int:
    """Return the size of the disk below the targets, in sectors of 512 bytes."""
    return int(Path("/sys/block/ubda/size").read_text())


def low(table: str) -> str:
    """Return the commands that give the layer below the target another table at once, whatever is under way.

    Documentation/admin-guide/device-mapper/; {n} is its length, and the target's own table stays what it was.
    """
    words = table.format(n=sectors())
    return f"dmsetup suspend --noflush --nolockfs low; dmsetup load low --table '{words}'; dmsetup resume low"


WELL = "0 {n} linear /dev/ubda 0"
DEAD = "0 {n} error"
# Down for an hour from the first second on (dm-flakey.rst).
WRITES_FAIL = "0 {n} flakey /dev/ubda 0 0 3600 1 error_writes"
WRITES_LOST = "0 {n} flakey /dev/ubda 0 0 3600 1 drop_writes"
SLOW_MS = 150
SLOW = f"0 {{n}} delay /dev/ubda 0 0 /dev/ubda 0 {SLOW_MS}"
"""Writes and flushes take so much more; reads take none."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One cell, with what happens under it: (step, when, commands) each."""

    name: str
    filesystem: str
    happens: tuple[tuple[str, str, str], ...]
    target: str = TOP
    heals: bool = True


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that is over."""

    state: RunState
    code: int
    err: str
    folder: RunFolder
    cells: dict[str, CellState]
    """By the name of their fault."""


@pytest.fixture(scope="module")
def bench() -> Iterator[None]:
    """The layers and the arrays; to give them back fails where a run has left anything mounted or open."""
    # What udevd does beside runs is seen by other tests; it takes as long again as a third of them.
    with scsi_disk(128) as name, udevd() if SOAK else nullcontext():
        assert f"/dev/{name}" == MEMBERS[-1]
        _set_up()
        yield
        _take_down()


def _set_up() -> None:
    run("modprobe", "-a", "dm-flakey", "dm-delay", "raid456", "raid0")
    run("dmsetup", "create", "low", "--table", WELL.format(n=sectors()))
    run("dmsetup", "create", "top", "--table", f"0 {sectors()} linear /dev/mapper/low 0")
    create_array("md0", "raid5", *MEMBERS[:3])
    create_array("md1", "raid0", *MEMBERS[3:], words=())
    settle()


def _take_down() -> None:
    settle()
    run("dmsetup", "remove", "--retry", "top")
    run("dmsetup", "remove", "--retry", "low")
    stop_arrays(*MEMBERS)


def carry_out(faults: Sequence[Fault], directory: Path, targets: tuple[str, ...]) -> Ended:
    """Carry out a cell for each fault, in that order, in one run."""
    filesystems = tuple(dict.fromkeys(fault.filesystem for fault in faults))
    variants = "".join(f'[[variant]]\ntype = "{name}"\n' for name in filesystems)
    most = max([(f.target, f.filesystem) for f in faults].count((g.target, g.filesystem)) for g in faults)
    plan = directory / "plan.toml"
    plan.write_text(PLAN.format(repeats=most, variants=variants))
    run_id = make_run_id()
    prepared = prepare(str(plan), list(targets), executor=RealExecutor(), runs_dir=RUNS, run_id=run_id)
    folder = create_run(RUNS, create_request(run_id, prepared.plan, prepared.targets))
    free = [(cell.target, cell.variant.filesystem, cell.index) for cell in prepared.plan.cells]
    indexes = {}
    for fault in faults:
        # By number: without udevd the mapper's name is a node of its own.
        wanted = (os.stat(fault.target).st_rdev, fault.filesystem)
        place = next(p for p in free if (os.stat(p[0]).st_rdev, p[1]) == wanted)
        free.remove(place)
        indexes[fault.name] = place[2]
    events, log = _script(faults, indexes), directory / "said"
    code = fork_engine(lambda: follow_through(folder.path, events), log, os.environ.copy()).wait()
    state = read_state(folder)
    cells = {name: state.cells[index] for name, index in indexes.items()}
    return Ended(state, code, log.read_text(), folder, cells)


def _script(faults: Sequence[Fault], indexes: dict[str, int]) -> list[Event]:
    events = []
    for fault in faults:
        cell = indexes[fault.name]
        events += [Event(cell, step, commands, when) for step, when, commands in fault.happens]
        heals = fault.heals and fault.target == TOP
        events.append(Event(cell, AFTER_CELL, low(WELL) if heals else ":"))
    return events
