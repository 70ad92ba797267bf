"""The axes of a plan beside its variants: thread counts, settings, arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence, Sized
from itertools import product
from typing import Any

from fsconsole.errors import PlanBadValue
from fsconsole.model.plan import ArraySpec, Setting
from fsconsole.model.workload import Workload
from fsconsole.plan import limits
from fsconsole.plan.arrays import as_the_level_has_it
from fsconsole.plan.planfile import ArrayAxis, PlanFile
from fsconsole.plan.sources import workload_of


def workload_choices(plan: PlanFile) -> tuple[tuple[Workload, ...], ...]:
    """Return a tuple of workloads for every choice of thread counts, in the plan's order. Raises PlanBadValue."""
    axes = [workload.threads for workload in plan.workloads]
    _require_few(plan, "workload", _combinations(axes))
    return tuple(
        tuple(
            workload_of(plan.workloads, number, threads, plan.seed) for number, threads in enumerate(choice)
        )
        for choice in product(*axes)
    )


def setting_choices(plan: PlanFile) -> tuple[Setting, ...]:
    """Return every combination of the plan's settings; one empty setting where there are none. Raises PlanBadValue."""
    names = [name for name, _ in plan.settings]
    axes = [values for _, values in plan.settings]
    _require_few(plan, "settings", _combinations(axes))
    return tuple(Setting(tuple(zip(names, choice, strict=True))) for choice in product(*axes))


def array_choices(plan: PlanFile) -> tuple[ArraySpec | None, ...]:
    """Return every array that the plan asks for, none twice; or None alone: the targets as they are.

    What a level hasn't, such as the chunk of raid1, is left as it comes there, so that levels can share a table.
    Raises PlanBadValue.
    """
    tables = [_values(axis) for axis in plan.arrays]
    _require_few(plan, "array", sum(map(_combinations, tables)))
    specs = (as_the_level_has_it(ArraySpec(*choice)) for table in tables for choice in product(*table))
    return tuple(dict.fromkeys(specs)) or (None,)


def _values(axis: ArrayAxis) -> tuple[tuple[Any, ...], ...]:
    """Return the values of each field of ArraySpec, in its order."""
    return (
        axis.levels,
        axis.chunks_bytes or (0,),
        axis.members or (0,),
        axis.stripe_cache_sizes or (0,),
        axis.group_thread_counts or (-1,),
        axis.bitmaps or ("",),
        axis.consistency_policies or ("",),
        (axis.assume_clean,),
    )


def _combinations(axes: Sequence[Sized]) -> int:
    return math.prod(len(values) for values in axes)


def _require_few(plan: PlanFile, key: str, count: int) -> None:
    """Refuse what would take for ever to be counted out: more choices of one kind than a plan may have cells."""
    if count > limits.MAX_CELLS:
        wanted = f"at most {limits.MAX_CELLS} combinations"
        raise PlanBadValue(plan.path, key, str(count), "too many combinations", wanted)
