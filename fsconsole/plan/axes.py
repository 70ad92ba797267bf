"""The axes of a plan beside its variants: thread counts, settings, arrays."""

from __future__ import annotations

from itertools import product

from fsconsole.model.plan import ArraySpec, Setting
from fsconsole.model.workload import Workload
from fsconsole.plan.planfile import PlanFile
from fsconsole.plan.sources import workload_of


def workload_choices(plan: PlanFile) -> tuple[tuple[Workload, ...], ...]:
    """Return a tuple of workloads for every choice of thread counts, in the plan's order."""
    counts = product(*(workload.threads for workload in plan.workloads))
    return tuple(
        tuple(
            workload_of(plan.workloads, number, threads, plan.seed) for number, threads in enumerate(choice)
        )
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
