"""A run on arrays that was stopped, not killed: its members are known to be its own, and it goes on unasked."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from fsconsole.devices.content import BLOCK_BYTES, sample_offsets
from fsconsole.errors import ExitCode
from fsconsole.journal.past import read_state
from fsconsole.journal.store import is_alive
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellStatus, RunState
from tests.lab.digest import digest
from tests.lab.guest import fsconsole, wait_until
from tests.lab.inside.whatif.arrays import (
    DISKS,
    HERE,
    LIMIT_S,
    arrays,
    clear_disks,
    consent,
    hurry,
    is_in,
    kill_engines,
    newest,
    on,
    uuids_on,
    wait_for,
)
from tests.lab.soak import SOAK

__test__ = SOAK
"""Not even collected otherwise: a test that is left out is one that a machine is missing for."""

A, B, *_ = DISKS
MIRROR = f"{HERE}/mirror.toml"


@pytest.fixture(autouse=True)
def _clear() -> Iterator[None]:
    hurry(200)
    yield
    hurry(200000)
    kill_engines()
    clear_disks()


def test_a_run_that_was_stopped_goes_on_unasked_unless_somebody_wrote_on_a_member() -> None:
    code = consent("plan", MIRROR, *on(A, B))
    assert fsconsole("run", MIRROR, *on(A, B), "--consent", code, "--detach").code == 0
    folder = newest()
    wait_for(folder, is_in(0, StepKind.ARRAY_SYNC), "the mirror resyncs")
    wait_for(folder, _tells_how_far, "a sample tells how far the resync is")
    assert fsconsole("stop", folder.name, "--now").code == 0
    wait_until(lambda: not is_alive(folder), "the engine ends", LIMIT_S)
    assert read_state(folder).cells[0].status is CellStatus.STOPPED
    assert (arrays(), uuids_on(A, B)) == ({}, set())
    hurry(200000)

    before = _swap_block(B, b"a raw database".ljust(BLOCK_BYTES, b"\0"))
    now = [digest(disk) for disk in (A, B)]
    asked = fsconsole("resume", folder.name)
    assert asked.code == ExitCode.CONSENT_MISSING, asked
    assert f"{B} " in asked.err
    assert "has changed since this run took its array apart" in asked.err
    assert [digest(disk) for disk in (A, B)] == now

    _swap_block(B, before)
    assert consent("resume", folder.name, "--show") == ""
    done = fsconsole("resume", folder.name)
    assert done.code == 0, done
    assert {cell.status for cell in read_state(folder).cells} == {CellStatus.DONE}
    assert (arrays(), uuids_on(A, B)) == ({}, set())


def _tells_how_far(state: RunState) -> bool:
    sample = state.last_sample
    return sample is not None and sample.progress is not None and sample.progress.left_s is not None


def _swap_block(disk: str, block: bytes) -> bytes:
    """Write a block where the gate samples, and return what was there."""
    fd = os.open(disk, os.O_RDWR | os.O_SYNC)
    try:
        offset = sample_offsets(os.lseek(fd, 0, os.SEEK_END))[20]
        before = os.pread(fd, BLOCK_BYTES, offset)
        os.pwrite(fd, block, offset)
    finally:
        os.close(fd)
    return before
