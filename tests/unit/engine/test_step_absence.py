"""A step that went well on a device that is gone has measured memory."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from fsconsole.engine import execute
from fsconsole.engine.work import CellWork, StepResult
from fsconsole.model.events import Outcome
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Step, StepKind
from tests.unit.results import build

MEASURED = StepResult((Measurement(Metric.READ, 9e9),))


WORKLOAD = next(number for number, step in enumerate(build.STEPS) if step.kind is StepKind.WORKLOAD)
DELETE = next(number for number, step in enumerate(build.STEPS) if step.kind is StepKind.DELETE)


def on_a_device_that_is_gone(number: int, steps: tuple[Step, ...]) -> StepResult:
    run = SimpleNamespace(prover=SimpleNamespace(absence=lambda _path: "is gone"))
    cell = replace(build.cell(0), steps=steps)
    work = SimpleNamespace(run=run, cell=cell, step_number=number)
    return execute._with_absence(cast("CellWork", work), MEASURED)


@pytest.mark.parametrize("number", [WORKLOAD, DELETE])
def test_a_step_that_nothing_brings_to_the_device_has_failed_where_that_is_gone(number: int) -> None:
    steps = tuple(step for step in build.STEPS if step.kind is not StepKind.DRAIN)
    result = on_a_device_that_is_gone(number - (number > WORKLOAD), steps)
    assert (result.outcome, result.measurements) == (Outcome.FAILED, ())
    assert result.reason == "/dev/loop7 is gone"


def test_where_the_clock_runs_on_nobody_looks_until_it_has_stopped() -> None:
    steps = (*build.STEPS, Step(StepKind.DELETE_UNMOUNT, "unmount"))
    assert on_a_device_that_is_gone(WORKLOAD, steps) == MEASURED
    assert on_a_device_that_is_gone(DELETE, steps) == MEASURED
    assert on_a_device_that_is_gone(WORKLOAD + 1, steps).outcome is Outcome.FAILED
    assert on_a_device_that_is_gone(DELETE + 1, steps).outcome is Outcome.FAILED
