"""The axes of a plan beside its variants: thread counts, settings, arrays."""

from __future__ import annotations

from itertools import product

from fsconsole.model.plan import ArraySpec, Setting
from fsconsole.model.workload import Workload
from fsconsole.plan.planfile import PlanFile, WorkloadPlan


def workload_choices(plan: PlanFile) -> tuple[tuple[Workload, ...], ...]:
    """Return a tuple of workloads for every choice of thread counts, in the plan's order."""
    counts = product(*(workload.threads for workload in plan.workloads))
    return tuple(
        tuple(_workload(workload, threads) for workload, threads in zip(plan.workloads, choice, strict=True))
        for choice in counts
    )


def setting_choices(plan: PlanFile) -> tuple[Setting, ...]:
    """Return every combination of the plan's settings; one empty setting where there are none."""
    names = [name for name, _ in plan.settings]
    values = product(*(values for _, values in plan.settings))
    return tuple(Setting(tuple(zip(names, choice, strict=True))) for choice in values)


def array_choices(plan: PlanFile) -> tuple[ArraySpec | None, ...]:
    """Return every array that the plan asks for, or None alone: the targets as they are."""
    arrays = tuple(
        ArraySpec(level, chunk)
        for axis in plan.arrays
        for level in axis.levels
        for chunk in axis.chunks_bytes
    )
    return arrays or (None,)


def _workload(planned: WorkloadPlan, threads: int) -> Workload:
    return Workload(
        name=planned.name,
        kind=planned.kind,
        threads=threads,
        files=planned.files or threads,
        file_size_bytes=planned.file_size_bytes,
        block_size_bytes=planned.block_size_bytes,
        directories=planned.directories,
        data=planned.data,
        cold=planned.cold,
    )
