"""Before a load the engine waits until the machine writes nothing else, and says so where that never comes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from fsconsole.engine.steps import load
from fsconsole.engine.steps.load import quiesce
from fsconsole.engine.work import CellWork
from fsconsole.model.events import WarningKind
from fsconsole.model.plan import Step, StepKind
from fsconsole.text import MIB

STEP = Step(StepKind.QUIESCE, "wait")


def waited_s(dirty_bytes: int, monkeypatch: pytest.MonkeyPatch) -> tuple[float, list[WarningKind]]:
    """Wait with that much dirty all the time; return the seconds and the warnings that it took."""
    now_s, warned = [0.0], []

    def sleep(seconds: float) -> None:
        now_s[0] += seconds

    monkeypatch.setattr(load.os, "sync", lambda: None)
    monkeypatch.setattr(load, "time", SimpleNamespace(monotonic=lambda: now_s[0], sleep=sleep))
    writeback = SimpleNamespace(dirty_bytes=dirty_bytes - MIB, writeback_bytes=MIB)
    monkeypatch.setattr(load, "read_writeback", lambda: writeback)
    run = SimpleNamespace(requests=SimpleNamespace(interrupting=False))
    quiesce(cast("CellWork", SimpleNamespace(run=run, warn=lambda kind, *_: warned.append(kind))), STEP)
    return now_s[0], warned


def test_8_mib_dirty_are_a_machine_at_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    assert waited_s(8 * MIB, monkeypatch) == (0.0, [])


def test_more_is_waited_for_a_minute_and_then_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds, warned = waited_s(9 * MIB, monkeypatch)
    assert 60 < seconds < 61
    assert warned == [WarningKind.OTHER_IO]
