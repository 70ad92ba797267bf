"""The forced full check on the unmounted device, and its verdict."""

from __future__ import annotations

from fsconsole.engine.work import CellWork, StepResult
from fsconsole.inspect.checks import non_contiguous_percent, verdict_of
from fsconsole.model.measurement import Measurement, Metric
from fsconsole.model.step import Step


def check(work: CellWork, step: Step) -> StepResult:
    """Check; damage is a result, not a failure of the step."""
    result = work.command(step.commands[0], accept_failure=True)
    said = result.out + result.err
    verdict = verdict_of(work.cell.variant.filesystem, result.exit_code, said)
    usage = result.usage
    figures = [
        Measurement(Metric.CHECK, usage.elapsed_s),
        Measurement(Metric.CHECK_USER, usage.user_s),
        Measurement(Metric.CHECK_SYSTEM, usage.system_s),
        Measurement(Metric.CHECK_RSS, usage.max_rss_bytes),
    ]
    share_percent = non_contiguous_percent(said)
    if share_percent is not None:
        figures.append(Measurement(Metric.NON_CONTIGUOUS, share_percent))
    return StepResult(tuple(figures), verdict=verdict.value)
