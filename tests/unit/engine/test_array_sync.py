"""Waiting for a new array: it ends when the array is in step, and when it never can be."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from fsconsole.devices.md_members import SyncState
from fsconsole.engine.steps import arrays
from fsconsole.engine.work import CellWork, StepFailed
from fsconsole.model.step import Step, StepKind

STEP = Step(StepKind.ARRAY_SYNC, "wait")
BEHIND = SyncState("recover", is_in_step=False, members=("vda", "vdb"), faulty=(), done_percent=1.0)
IN_STEP = SyncState("idle", is_in_step=True, members=("vda", "vdb"), faulty=(), done_percent=0.0)
FAULTY = SyncState("recover", is_in_step=False, members=("vda", "vdb"), faulty=("vdb",), done_percent=1.0)
TAKEN_OUT = SyncState("idle", is_in_step=False, members=("vda",), faulty=(), done_percent=0.0)
"""As udev leaves it when a disk is pulled (64-md-raid-assembly.rules: mdadm -If)."""


def wait(monkeypatch: pytest.MonkeyPatch, *states: SyncState) -> None:
    said = iter(states)
    monkeypatch.setattr(arrays, "sync_state", lambda _name: next(said))
    monkeypatch.setattr(arrays.time, "sleep", lambda _s: None)
    sampler = SimpleNamespace(tell_progress=lambda _percent: None)
    run = SimpleNamespace(wishes=SimpleNamespace(interrupting=False), sampler=sampler)
    cell = SimpleNamespace(members=("/dev/vda", "/dev/vdb"))
    arrays.wait_until_in_step(cast("CellWork", SimpleNamespace(run=run, cell=cell)), STEP)


def test_it_ends_when_the_array_is_in_step(monkeypatch: pytest.MonkeyPatch) -> None:
    wait(monkeypatch, BEHIND, BEHIND, IN_STEP)


def test_it_ends_with_the_name_of_a_member_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StepFailed, match="lost the member vdb"):
        wait(monkeypatch, BEHIND, FAULTY)


def test_it_ends_when_udev_has_taken_a_failed_member_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StepFailed, match="it has 1 of its 2 members"):
        wait(monkeypatch, BEHIND, TAKEN_OUT)
