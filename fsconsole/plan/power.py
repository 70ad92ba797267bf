"""Power of a plan: the differences between variants that its rounds decide, known before anything has run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fsconsole.model.answers import Findable, PowerAnswer
from fsconsole.model.plan import Cell, Order, Plan
from fsconsole.model.statistics import ALPHA, LOOK_ALPHAS, detectable
from fsconsole.model.verdicts import LEAST_ROUNDS
from fsconsole.text import counted

SPREADS = (0.05, 0.10, 0.25)
"""Of a row's figures over the rounds, as shares: a quiet disk, a usual one, a shared one."""


def power_of(plan: Plan, last_spread: float | None = None) -> PowerAnswer:
    """Return what a whole plan can find; last_spread is that of the last run on this machine, where there is one."""
    rows = [cell for cell in plan.cells if cell.repeat == 1 and not cell.redo and not cell.variant.is_raw]
    # Intervals hold for all planned rows, those that can't run among them.
    family = sum(cell.variant.label != plan.baseline for cell in rows)
    able = [cell for cell in rows if not cell.unavailable]
    why = _no_verdicts(plan, rows, family) or (_nothing_to_compare(plan, rows, able) if len(able) < len(rows) else "")
    alpha = LOOK_ALPHAS[-1] if plan.is_auto else ALPHA

    def at(spread: float) -> Findable:
        return Findable(spread, detectable(plan.repeats, family, spread, alpha))

    return PowerAnswer(
        rounds=plan.repeats,
        row_count=len(able),
        findable=() if why else tuple(map(at, SPREADS)),
        last=at(last_spread) if last_spread and not why else None,
        round_s=plan.estimate.elapsed_s / plan.repeats,
        is_auto=plan.is_auto,
        no_verdicts=why,
    )


def power_with(plan: Plan, rounds: int, *, is_auto: bool, last_spread: float | None = None) -> PowerAnswer:
    """Return what a plan could find with another number of rounds."""
    lasting = replace(plan.estimate, elapsed_s=plan.estimate.elapsed_s / plan.repeats * rounds)
    return power_of(replace(plan, repeats=rounds, is_auto=is_auto, estimate=lasting), last_spread)


def _no_verdicts(plan: Plan, rows: Sequence[Cell], family: int) -> str:
    """Return why no row gets a verdict, as a sentence; empty where rows can."""
    if plan.order is not Order.ROUNDS:
        return f'No verdicts: order = "{plan.order.value}" makes no rounds; use order = "rounds".'
    if plan.repeats < LEAST_ROUNDS:
        return f"No verdicts with {counted(plan.repeats, 'round')}: they need {LEAST_ROUNDS}; 5 is the default."
    if not rows:
        return "No verdicts: no variant has a filesystem."
    return "" if family else "No verdicts: there is only one variant to compare."


def _nothing_to_compare(plan: Plan, rows: Sequence[Cell], able: Sequence[Cell]) -> str:
    """Return why those rows that can run are compared with nothing, and what to do; empty where some are."""
    labels = {cell.variant.label for cell in able}
    stuck = len({cell.variant.label for cell in rows} - labels)
    if len(able) < 2:
        only = f"only {next(iter(labels))} can run" if labels else "no variant can run"
        return f"Nothing to compare: {only}, {counted(stuck, 'variant')} can't. Add one that can, or remove what stops the others."
    if plan.baseline not in labels and not plan.against:
        return f"Nothing to compare with: the baseline {plan.baseline} can't run. Choose another baseline, or remove what stops it."
    return ""
