"""A step whose programs were killed because the device hung is not done, whatever its handler makes of that."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from fsconsole.engine import execute
from fsconsole.engine.control import Requests
from fsconsole.engine.hangs import HangDetector
from fsconsole.engine.work import CellWork, StepResult
from fsconsole.errors.targets import DeviceHangs
from fsconsole.model.events import Outcome, Verb
from fsconsole.model.plan import Step, StepKind

CHECK = Step(StepKind.CHECK, "check it")


def handled(monkeypatch: pytest.MonkeyPatch, *, hangs: bool, verb: Verb | None = None) -> StepResult:
    detector, requests = HangDetector(), Requests()
    if verb is not None:
        requests.take(verb)

    def check(_work: CellWork, _step: Step) -> StepResult:
        if hangs:
            detector.hang = DeviceHangs("/dev/sdx", "fsck.ext4", "4 min", " in check", "a-run")
        return StepResult(verdict="failed")

    monkeypatch.setitem(execute.HANDLERS, StepKind.CHECK, check)
    run = SimpleNamespace(detector=detector, requests=requests)
    return execute._handled(cast("CellWork", SimpleNamespace(run=run)), CHECK)


def test_a_check_that_was_killed_for_a_hang_has_failed_and_names_the_device(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result = handled(monkeypatch, hangs=True)
    assert (result.outcome, result.measurements) == (Outcome.FAILED, ())
    assert "/dev/sdx" in result.reason


def test_it_is_stopped_where_the_operator_asked_for_that(monkeypatch: pytest.MonkeyPatch) -> None:
    assert handled(monkeypatch, hangs=True, verb=Verb.STOP_NOW).outcome is Outcome.STOPPED


def test_any_other_check_is_done_whatever_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    assert handled(monkeypatch, hangs=False).outcome is Outcome.DONE
