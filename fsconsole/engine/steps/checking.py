"""The forced full check on the unmounted device, and its verdict."""

from __future__ import annotations

import os

from fsconsole.engine.work import CellWork, StepResult, failure_words
from fsconsole.inspect.checks import Verdict, non_contiguous_percent, verdict_of
from fsconsole.inspect.complaints import first_complaint
from fsconsole.inspect.kernel_log import naming, worth_a_warning
from fsconsole.model.command import CommandResult
from fsconsole.model.measurement import Measurement, Metric
from fsconsole.model.observation import WarningKind
from fsconsole.model.step import Step

_FOUND = {
    Verdict.FAILED: "the check could not be carried out",
    Verdict.ERRORS: "the check found damage",
    Verdict.REPAIRED: "the check found damage, and repaired it",
}
_HINT = "Trust none of this row's figures; look at the check's raw output, the kernel's log, and the device's health."


def check(work: CellWork, step: Step) -> StepResult:
    """Check; damage is a result, not a failure of the step."""
    result = work.command(step.commands[0], accept_failure=True)
    said = result.out + result.err
    verdict = _verdict(work, result, said)
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
    reason = "" if verdict is Verdict.CLEAN else _complaint(result, verdict)
    if reason:
        work.warn(WarningKind.CHECK, reason, _HINT)
    return StepResult(tuple(figures), verdict=verdict.value, reason=reason)


def _verdict(work: CellWork, result: CommandResult, said: str) -> Verdict:
    """Return the verdict; what looks like damage to a check that could not read the disk may be the disk's alone."""
    verdict = verdict_of(work.cell.variant.filesystem, result.exit_code, said)
    device = os.path.basename(os.path.realpath(work.cell.target))
    unread = naming(worth_a_warning(result.kernel_log, device), device)
    return Verdict.FAILED if verdict is Verdict.ERRORS and unread else verdict


def _complaint(result: CommandResult, verdict: Verdict) -> str:
    """Return what came of a check in words, with the first of its own that tell of it."""
    said = (result.err, result.out) if verdict is Verdict.FAILED else (result.out, result.err)
    complaints = [complaint for complaint in map(first_complaint, said) if complaint]
    return f"{_FOUND[verdict]}: {(*complaints, failure_words(result))[0]}"
