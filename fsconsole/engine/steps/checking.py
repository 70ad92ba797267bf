"""The forced full check on the unmounted device, and its verdict."""

from __future__ import annotations

from fsconsole.engine.work import CellWork, StepResult
from fsconsole.inspect.checks import verdict_of
from fsconsole.model.measurement import Measurement, Metric
from fsconsole.model.step import Step


def check(work: CellWork, step: Step) -> StepResult:
    """Check; damage is a result, not a failure of the step."""
    result = work.command(step.commands[0], accept_failure=True)
    verdict = verdict_of(work.cell.variant.filesystem, result.exit_code, result.out + result.err)
    usage = result.usage
    figures = (
        Measurement(Metric.CHECK, usage.elapsed_s),
        Measurement(Metric.CHECK_USER, usage.user_s),
        Measurement(Metric.CHECK_SYSTEM, usage.system_s),
        Measurement(Metric.CHECK_RSS, usage.max_rss_bytes),
    )
    return StepResult(figures, verdict=verdict.value)
