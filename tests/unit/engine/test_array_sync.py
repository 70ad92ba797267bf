"""Waiting for a new array: it ends when the array is in step, and when it never can be."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from types import SimpleNamespace
from typing import cast

import pytest

from fsconsole.devices.md import SyncState
from fsconsole.engine.steps import arrays
from fsconsole.engine.work import CellWork, StepFailed
from fsconsole.model.plan import Step, StepKind

STEP = Step(StepKind.ARRAY_SYNC, "wait")
BEHIND = SyncState(
    "recover", is_in_step=False, members=("vda", "vdb"), faulty=(), done_percent=1.0, is_at_work=True
)
IN_STEP = SyncState(
    "idle", is_in_step=True, members=("vda", "vdb"), faulty=(), done_percent=0.0, is_at_work=False
)
FAULTY = SyncState(
    "recover", is_in_step=False, members=("vda", "vdb"), faulty=("vdb",), done_percent=1.0, is_at_work=True
)
DELAYED = SyncState(
    "resync", is_in_step=False, members=("vda", "vdb"), faulty=(), done_percent=0.0, is_at_work=False
)
TAKEN_OUT = SyncState(
    "idle", is_in_step=False, members=("vda",), faulty=(), done_percent=0.0, is_at_work=False
)
"""As udev leaves it when a disk is pulled (64-md-raid-assembly.rules: mdadm -If)."""


def wait(monkeypatch: pytest.MonkeyPatch, *states: SyncState, ended: Sequence[object] = ()) -> None:
    said, moves, clock = iter(states), iter(ended), count(0, 100)
    monkeypatch.setattr(arrays.time, "monotonic", lambda: float(next(clock)))
    monkeypatch.setattr(arrays, "hang_timeout_s", lambda: 240.0)
    monkeypatch.setattr(arrays, "ended_io", lambda _names: next(moves, "the same"))
    monkeypatch.setattr(arrays, "sync_state", lambda _name: next(said))
    monkeypatch.setattr(arrays.time, "sleep", lambda _s: None)
    sampler = SimpleNamespace(tell_progress=lambda _percent: None)
    run = SimpleNamespace(
        requests=SimpleNamespace(interrupting=False), sampler=sampler, known_of_all=frozenset()
    )
    cell = SimpleNamespace(members=("/dev/vda", "/dev/vdb"))
    # What is to be told at the cell's end is no matter here.
    stack = SimpleNamespace(callback=lambda *_: None)
    arrays.wait_until_in_step(cast("CellWork", SimpleNamespace(run=run, cell=cell, stack=stack)), STEP)


def test_it_ends_when_the_array_is_in_step(monkeypatch: pytest.MonkeyPatch) -> None:
    wait(monkeypatch, BEHIND, BEHIND, IN_STEP)


def test_it_ends_with_the_name_of_a_member_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StepFailed, match="lost the member vdb"):
        wait(monkeypatch, BEHIND, FAULTY)


def test_it_ends_when_udev_has_taken_a_failed_member_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StepFailed, match="it has 1 of its 2 members"):
        wait(monkeypatch, BEHIND, TAKEN_OUT)


def test_it_ends_when_no_io_of_the_members_ends_though_nobody_waits_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(StepFailed, match="no I/O of its members has completed"):
        wait(monkeypatch, *(BEHIND,) * 9)


def test_it_goes_on_while_io_ends_and_while_another_resync_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wait(monkeypatch, *(BEHIND,) * 9, IN_STEP, ended=range(9))
    wait(monkeypatch, *(DELAYED,) * 9, IN_STEP)
