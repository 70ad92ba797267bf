"""All comparisons of a run with its baseline, in ratios whose 95 % intervals hold together: what its sentences are made of."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Order
from fsconsole.model.resolution import Reading
from fsconsole.model.state import RunState
from fsconsole.model.statistics import ALPHA, LOOKS, alpha_at
from fsconsole.model.verdicts import Compared, Scale, compared
from fsconsole.results.figures import row_names
from fsconsole.results.grid import Grid, GridRow

OF_LIFE = (Metric.CHECK, Metric.DELETE_DURABLE)
"""Compared once for each filesystem, however many loads it had."""
OF_LOADS = (Metric.DURABLE, Metric.READ, Metric.FSYNC_MEAN, Metric.EXTENTS_MEAN)
_LEAST = 1e-300
"""Least factor: the bound of a share that prints as -100 % may be 0."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A row against its baseline in one metric, as a ratio."""

    metric: Metric
    load: str
    """Name of the load; empty for figures of a filesystem's life."""
    sync: str
    """Its system call."""
    row: str
    """Name of the row among those of the same load."""
    baseline: str
    compared: Compared
    """With bounds."""

    @property
    def ratio(self) -> float:
        """The row's figure / the baseline's."""
        return max(_LEAST, 1 + self.compared.change)

    @property
    def low(self) -> float:
        """Lower bound of the ratio."""
        return max(_LEAST, 1 + (self.compared.low or 0.0))

    @property
    def high(self) -> float:
        """Upper bound of the ratio."""
        return max(_LEAST, 1 + (self.compared.high or 0.0))


def alpha_of(state: RunState, look: int = 0) -> float:
    """Return the chance that any interval of a block misses: ALPHA, or of `repeats = "auto"` its share for a look.

    look is the round after which is looked; 0: the one after which the run ended.
    """
    ends = [look or LOOKS[-1], *(one.round for one in state.looks if one.decided and not look)]
    return alpha_at(ends[-1]) if state.request.plan.is_auto else ALPHA


def comparisons_of(state: RunState, grid: Grid) -> tuple[int, tuple[Comparison, ...]]:
    """Return the number of comparisons in a run in rounds, and those with enough rounds and fine enough figures.

    None before the last cell is over: testing at each step finds false differences. The baseline is the plan's first variant,
    with everything else equal. The family is all comparisons of the run: what holds here holds in each block's verdicts.
    """
    rows = sorted((row for row in grid.rows if not row.key.variant.is_raw), key=lambda row: min(row.indexes))
    plan = state.request.plan
    if not rows or plan.order is not Order.ROUNDS or state.is_open:
        return 0, ()
    # Variants that came out equal are one row, under the name of either.
    named = (row for row in rows if plan.baseline in {plan.cells[index].variant.label for index in row.indexes})
    first = next(named, rows[0]).key.variant
    planned: list[tuple[Metric, GridRow, str, GridRow, str]] = []
    for part in sorted({row.key.workload or 0 for row in rows}):
        block = [row for row in rows if (row.key.workload or 0) == part]
        # Among rows of one load its name says nothing.
        names = row_names([row.key for row in block])
        bases = {row.key: (row, name) for row, name in zip(block, names, strict=True) if row.key.variant == first}
        for metric in (*(OF_LIFE if part == 0 else ()), *OF_LOADS):
            if any(row.figure(metric) is not None for row in block):
                pairs = [
                    (row, name, bases.get(replace(row.key, variant=first)))
                    for row, name in zip(block, names, strict=True)
                ]
                planned += [
                    (metric, row, name, *base) for row, name, base in pairs if base is not None and base[0] is not row
                ]
    # Variants that came out equal were planned as comparisons of their own.
    family = sum(len({plan.cells[index].variant.label for index in row.indexes}) for _, row, *_ in planned)
    alpha = alpha_of(state)
    found: list[Comparison] = []
    others: dict[tuple[Metric, str], dict[int, Reading]] = {}
    for metric, row, name, base, base_name in planned:
        if (metric, base.id) not in others:
            others[metric, base.id] = base.readings(metric)
        own, other = row.readings(metric), others[metric, base.id]
        pair = compared(own, other, metric, family=family, same=plan.same, alpha=alpha, with_more=False)
        if pair is not None and pair.scale is Scale.RATIO and pair.low is not None:
            load = row.key.workloads[row.key.workload or 0] if metric in OF_LOADS else None
            load_name, sync = (load.name, load.sync_call.value) if load is not None else ("", "")
            found.append(Comparison(metric, load_name, sync, name, base_name, pair))
    return family, tuple(found)
