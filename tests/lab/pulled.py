"""Disks that are pulled in the middle of a step, and what becomes of the run, and when they return.

These tests stand in two groups: in qemu with a bus of each kind, and under user-mode Linux. Each has a fixture
`disks`, a fixture `impostor`, and says in the params of `ended` what is pulled when.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

from fsconsole.errors import ExitCode
from fsconsole.model.events import Outcome
from fsconsole.model.state import CellStatus, RunState
from tests.lab.guest import fsconsole
from tests.lab.runs import act, begin, cells_on, new_run, state_of
from tests.lab.soak import SOAK

WHEN = (0, 0, 1) if SOAK else (0, 0, 0)
"""In which of its cells each is pulled, of up to three; in a soak the last has one that goes well, though the others are gone by then."""
Steps = tuple[str, ...]


class Pluggable(Protocol):
    """A disk that can be plugged in and pulled again and again, and keeps its bytes."""

    @property
    def serial(self) -> str: ...

    @property
    def pulled_by(self) -> str: ...

    def plug(self) -> str: ...

    def pull(self) -> None: ...

    def found(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that is over, how its engine ended, and which devices were pulled in which step."""

    name: str
    state: RunState
    code: int
    pulled: dict[str, str]


def carried_out(plan: str, steps: Steps, disks: tuple[Pluggable, ...]) -> Iterator[Ended]:
    """Carry out a plan on disks of which each is pulled in its step, and have all of them pulled afterwards."""
    paths = [f"/dev/{disk.plug()}" for disk in disks]
    folder = new_run(plan, *paths)
    acts = [
        act(cells_on(state_of(folder), path)[number], step, ("sh", "-c", disk.pulled_by), gone=path)
        for disk, path, step, number in zip(disks, paths, steps, WHEN, strict=False)
    ]
    code = begin(folder, *acts).wait()
    yield Ended(folder.name, state_of(folder), code, dict(zip(paths, steps, strict=True)))
    for disk in disks:
        if disk.found():
            disk.pull()


def test_a_disk_that_is_pulled_ends_its_cell_with_the_reason(ended: Ended) -> None:
    for (path, step), number in zip(ended.pulled.items(), WHEN, strict=False):
        cell = cells_on(ended.state, path)[number]
        assert cell.status is CellStatus.FAILED, (path, cell.reason)
        # A load may be over by the time the kernel has let go of the disk.
        assert cell.steps[-1].kind.value in ({step, "drain"} if step == "workload" else {step}), cell.reason
        assert f"{path} is gone" in cell.reason


def test_cells_on_other_disks_are_carried_out_and_those_on_a_lost_one_are_left(ended: Ended) -> None:
    for path, number in zip(ended.pulled, WHEN, strict=False):
        cells = cells_on(ended.state, path)
        assert {cell.status for cell in cells[:number]} <= {CellStatus.DONE}
        assert {step.outcome for step in cells[number].steps[:-1]} == {Outcome.DONE}
        assert {cell.status for cell in cells[number + 1 :]} <= {CellStatus.PENDING, CellStatus.STOPPED}


def test_the_run_ends_in_words_and_nothing_is_left_mounted(ended: Ended) -> None:
    assert ended.code == ended.state.exit_code == ExitCode.DEVICE_CHANGED, ended.state.reason
    assert "is gone" in ended.state.reason
    assert "fsconsole resume" in ended.state.hint
    for path in ended.pulled:
        assert f"{path} " not in Path("/proc/mounts").read_text()


def test_a_disk_that_returns_is_known_under_another_name_and_another_disk_in_its_place_is_left(
    ended: Ended, disks: tuple[Pluggable, ...], impostor: Pluggable, request: pytest.FixtureRequest
) -> None:
    former = next(iter(ended.pulled))
    plugged = impostor.plug()
    request.addfinalizer(impostor.pull)
    assert f"/dev/{plugged}" == former
    subprocess.run(["dd", "if=/dev/urandom", f"of={former}", "bs=1M", "count=4", "status=none"], check=True)
    before = content(former)
    missing = fsconsole("resume", ended.name, "--show")
    assert missing.code == ExitCode.DEVICE_CHANGED, missing
    assert disks[0].serial in missing.err
    now = [f"/dev/{disk.plug()}" for disk in disks]
    assert now[0] != former
    refused = fsconsole("resume", ended.name)
    assert refused.code == ExitCode.CONSENT_MISSING, refused
    assert now[0] in refused.err
    if SOAK:
        shown = fsconsole("resume", ended.name, "--show", "--json")
        code = json.loads(shown.out)["consent"]
        finished = fsconsole("resume", ended.name, "--consent", code, "--json")
        assert finished.code == ExitCode.CELLS_FAILED, finished
    assert content(former) == before


def content(path: str) -> bytes:
    """Return a disk's bytes, read anew."""
    subprocess.run(["blockdev", "--flushbufs", path], check=True)
    return Path(path).read_bytes()
