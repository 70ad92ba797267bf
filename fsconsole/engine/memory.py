"""Telling a step that failed since the kernel ran out of memory from one that failed of itself."""

from __future__ import annotations

from dataclasses import replace

from fsconsole.engine.work import CellWork, StepResult
from fsconsole.inspect.checks import Verdict
from fsconsole.inspect.kernel_log import killed_for_memory
from fsconsole.model.observation import Outcome, WarningKind
from fsconsole.model.step import Step, StepKind

_HINT = (
    "Use fewer threads or smaller blocks, or give it memory: `dmesg` says how much each process had, "
    "and whether the limit was the machine's or that of a cgroup."
)


def with_killed(work: CellWork, step: Step, result: StepResult, said_before: int) -> StepResult:
    """Return a step's result, a failed one with what the kernel killed meanwhile for want of memory in its reason.

    said_before is how many lines the cell's kernel log had when the step began.
    """
    if result.outcome is not Outcome.FAILED and result.verdict != Verdict.FAILED.value:
        return result
    names = killed_for_memory(work.kernel_log.lines()[said_before:])
    if not names:
        return result
    killed = "the generator" if step.kind is StepKind.WORKLOAD else " and ".join(names)
    why = f"{killed} was killed (out of memory)"
    work.warn(WarningKind.KERNEL_LOG, f"{step.kind.value}: {why}", _HINT)
    return replace(result, reason=f"{why}: {result.reason}")
