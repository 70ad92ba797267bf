"""An engine killed -9 at random moments, cleaned up and resumed until its plan is done; again and again.

python -m tests.loop.soak_kill [KILLS [SEED]] does it for longer than the suite has time for, and prints where
each kill hit. After each, all that was reported done is still there and a bystander, a device that no run was
given, has every byte that it had; in the end each run is whole, in the order that its seed gave.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from fsconsole.client.engine import start_engine
from fsconsole.engine.cleanup import require_resumable
from fsconsole.journal.events import Cursor
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.reader import JournalReader
from fsconsole.journal.store import is_alive
from fsconsole.model.events import CellFinished, CellStarted, Outcome
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Plan
from fsconsole.model.state import CellState, CellStatus, RunStatus
from fsconsole.text import MIB
from tests.loop.bystander import bystander
from tests.loop.faulty_run import scratch_device
from tests.loop.runs import (
    agree_again,
    assert_nothing_left,
    clean_up,
    engine_of,
    new_run,
    settings_of,
    wait_for_end,
)

PLAN = """
schema = 1
title = "four cells, killed at random"
repeats = 1
order = "shuffled"
seed = 11
settings = { read_ahead = "2MiB", nr_requests = 16 }
variant = [
    { type = "ext3" },
    { type = "ext4" },
    { type = "xfs" },
    { type = "btrfs" },
]
workload = [
    { kind = "create", threads = 4, file_size = "6MiB", block_size = "4KiB" },
    { kind = "read", cold = true, with = { read_ahead = "64KiB" } },
]
"""
WRITTEN_BYTES = 4 * 6 * MIB
DEVICE_BYTES = 320 * MIB
MOMENTS_CPU_S = (0.4, 2.6)
"""What the engine itself has used when it is killed: from its first word to that of the third cell, on a machine at
rest and on a busy one alike."""
DELAYS_S = (0.0, 0.3)
"""After that, since an engine that waits for a program uses nothing."""


def soak(kills: int, seed: int, directory: str) -> Iterator[str]:
    """Yield, for each kill, what cleanup said of it; every run that was killed is finished and proved whole."""
    chance = random.Random(seed)  # noqa: S311 (moments, not secrets)
    with scratch_device(directory, DEVICE_BYTES) as device, bystander(directory) as other:
        found = settings_of(device)
        left = kills
        while left > 0:
            folder = new_run(PLAN, device, os.path.join(directory, f"runs-{left}"))
            plan = read_state(folder).request.plan
            for said in islice(_one_run(folder, device, chance), left):
                assert settings_of(device) == found
                assert other.is_untouched()
                yield said
                left -= 1
            _finish(folder, device, plan)
            assert settings_of(device) == found
            assert other.is_untouched()


def _one_run(folder: RunFolder, device: str, chance: random.Random) -> Iterator[str]:
    """Start, kill and take up one run until it is done before it is hit."""
    start_engine(folder)
    while True:
        _wait(folder, chance.uniform(*MOMENTS_CPU_S))
        time.sleep(chance.uniform(*DELAYS_S))
        if not _kill(folder):
            return
        assert_nothing_left(device, folder)
        yield _cleaned(folder)
        if not _is_open(folder):
            return
        _resume(folder)


def _wait(folder: RunFolder, cpu_s: float) -> None:
    """Wait until a run's engine has used so much of a CPU, its own programs with it, or has ended."""
    with suppress(OSError):
        engine = engine_of(folder)
        while is_alive(folder) and _used_s(engine) < cpu_s:
            time.sleep(0.005)


def _used_s(pid: int) -> float:
    """Return utime, stime, cutime and cstime in seconds (man 5 proc, /proc/PID/stat)."""
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        fields = file.read().rpartition(") ")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _resume(folder: RunFolder) -> None:
    """Take a run up as `fsconsole resume` does, agreeing to what it asks about."""
    require_resumable(folder)
    agree_again(folder)
    start_engine(folder)


def _cleaned(folder: RunFolder) -> str:
    """Clean up after a kill, prove that nothing that was done is lost, and return what cleanup said."""
    runs_dir, before, had_begun = os.path.dirname(folder.path), _kept(folder), _had_begun(folder)
    cleaned = clean_up(runs_dir)
    assert clean_up(runs_dir) == ()
    assert _kept(folder) == before
    if not had_begun:
        assert cleaned == ()
        return "the engine died before its first word"
    assert [one.resumable for one in cleaned] == [_is_open(folder)]
    assert read_state(folder).status is RunStatus.INTERRUPTED
    return cleaned[0].did


def _had_begun(folder: RunFolder) -> bool:
    return read_state(folder).status is RunStatus.RUNNING


def _kill(folder: RunFolder) -> bool:
    """Kill a run's engine; False where it has ended by itself."""
    with suppress(ProcessLookupError):
        os.kill(engine_of(folder), signal.SIGKILL)
    wait_for_end(folder)
    state = read_state(folder)
    # An engine that gave up before it was hit is no kill, and no end either.
    assert state.outcome in (None, Outcome.DONE), state.reason
    return state.status is not RunStatus.FINISHED


def _is_open(folder: RunFolder) -> bool:
    return any(cell.status is not CellStatus.DONE for cell in read_state(folder).cells)


def _kept(folder: RunFolder) -> list[CellState]:
    """Return the cells that were reported done, with all their figures."""
    return [cell for cell in read_state(folder).cells if cell.status is CellStatus.DONE]


def _finish(folder: RunFolder, device: str, plan: Plan) -> None:
    """Resume a run to its end, and prove that nothing is missing and that it was carried out as it was planned."""
    before = _kept(folder)
    failed = [cell.reason for cell in read_state(folder).cells if cell.status is CellStatus.FAILED]
    assert not failed, failed
    if _is_open(folder):
        _resume(folder)
        wait_for_end(folder)
        assert read_state(folder).outcome is Outcome.DONE
    state = read_state(folder)
    assert [cell for cell in state.cells if cell in before] == before
    assert {cell.status for cell in state.cells} == {CellStatus.DONE}
    assert {cell.value(Metric.WRITTEN) for cell in state.cells} == {WRITTEN_BYTES}
    assert state.request.plan == plan
    assert _is_in_order(folder)
    assert not is_alive(folder)
    assert_nothing_left(device, folder)


def _is_in_order(folder: RunFolder) -> bool:
    """Return whether the cells were begun in the plan's order, and each was finished once."""
    seen = [entry.observation for entry in JournalReader(folder.journal).read_since(Cursor()).entries]
    begun = [one.cell for one in seen if isinstance(one, CellStarted)]
    done = [one.cell for one in seen if isinstance(one, CellFinished)]
    return begun == sorted(begun) and done == sorted(set(begun))


def main(arguments: list[str]) -> None:
    """Kill as often as is said, and print where."""
    kills = int(arguments[0]) if arguments else 15
    seed = int(arguments[1]) if len(arguments) > 1 else time.time_ns() % 10**6
    print(f"{kills} kills, seed {seed}", flush=True)
    places: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="fsconsole-soak-") as directory:
        for number, said in enumerate(soak(kills, seed, directory), 1):
            print(f"{number:4} {said}", flush=True)
            places[said.removeprefix("the engine died ").split(" of ")[0]] += 1
    print("all runs were finished; kills by place:")
    for place, hits in places.most_common():
        print(f"{hits:4} {place}")


if __name__ == "__main__":
    main(sys.argv[1:])
