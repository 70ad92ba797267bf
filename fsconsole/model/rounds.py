"""Rounds of a run: which one is repeated because the machine was disturbed, and which cells count.

A round is every cell of the plan once. Only a cause that was seen apart from the figures has a round repeated: choosing
by outcome would flatter noisy variants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from msgspec.structs import replace

from fsconsole.model.events import WarningKind
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Cell, Order, Plan
from fsconsole.model.state import CellState, CellStatus, RunState

MOST_REPEATS = 2
"""Of one round."""
ROUNDS_PER_REPEAT = 5
"""Rounds of a plan take equally long: one repeated for every five is 20 % of the planned time."""
DEAR = 2.0
"""A load needed so many times its row's median of CPU per GiB. At 1.5 times the lowest, a third to all of undisturbed
runs would have a round repeated."""

CAUSES = frozenset(
    {
        WarningKind.OTHERS_CPU,
        WarningKind.FOREIGN_IO,
        WarningKind.ENGINE_BESIDE,
        WarningKind.THROTTLED,
        WarningKind.HOT,
        WarningKind.MEMORY_COLD,
    }
)
FREE_PAGE_REPORTING = "free_page_reporting"
"""Fact of a machine whose hypervisor takes free memory back."""
COLD_HINT = "Load with direct = true, or turn free page reporting off: `fsconsole doctor` says how."
_ENDED = frozenset({CellStatus.DONE, CellStatus.FAILED, CellStatus.UNAVAILABLE})


@dataclass(frozen=True, slots=True)
class Round:
    """Every cell of the plan once, by their indexes in the order of running; redo counts from 1, 0 is as planned."""

    repeat: int
    redo: int
    cells: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Disturbed:
    """A round to repeat, and why, as a clause."""

    round: Round
    reason: str


def rounds_of(plan: Plan) -> tuple[Round, ...]:
    """Return the rounds in the order of running, repeated ones last; none where the plan's order makes no rounds."""
    if plan.order is not Order.ROUNDS:
        return ()
    cells: dict[tuple[int, int], list[int]] = {}
    for cell in plan.cells:
        cells.setdefault((cell.repeat, cell.redo), []).append(cell.index)
    return tuple(Round(repeat, redo, tuple(found)) for (repeat, redo), found in cells.items())


def replaced_cells(state: RunState) -> frozenset[int]:
    """Return the cells that don't count: of each round only the last repetition does that came to its end."""
    replaced: set[int] = set()
    counted: dict[int, Round] = {}
    for one in rounds_of(state.request.plan):
        is_over = all(state.cells[index].status in _ENDED for index in one.cells)
        # Half a round is no block: until it is over, the one before counts.
        out = counted.get(one.repeat) if is_over else one
        if one.redo:
            replaced.update(out.cells if out else ())
        if is_over or not one.redo:
            counted[one.repeat] = one
    return frozenset(replaced)


def dear_cells(state: RunState) -> frozenset[int]:
    """Return the cells with a load that needed above twice its row's median of generator CPU per GiB."""
    rows: dict[object, list[tuple[int, float]]] = {}
    for cell, known in zip(state.request.plan.cells, state.cells, strict=True):
        row = replace(cell, index=0, repeat=0, redo=0, uuid="", steps=())
        for load, seconds in _per_gib(cell, known):
            rows.setdefault((row, load), []).append((cell.index, seconds))
    left_out = replaced_cells(state)
    dear = set()
    for figures in rows.values():
        middle = median([seconds for index, seconds in figures if index not in left_out] or [0.0])
        dear |= {index for index, seconds in figures if seconds > DEAR * middle > 0}
    return frozenset(dear)


def round_to_repeat(state: RunState) -> Disturbed | None:
    """Return the first round that was disturbed by what was not there in the round before; None for none.

    Memory touched for the first time counts only where a load of the round was dear as well. A first round is
    compared with the second. Asked once all cells are over, since a row's median needs them all.
    """
    rounds = rounds_of(state.request.plan)
    planned = sum(not one.redo for one in rounds)
    is_used_up = ROUNDS_PER_REPEAT * (len(rounds) - planned + 1) > planned
    if is_used_up or any(cell.status not in _ENDED for cell in state.cells):
        return None
    dear = dear_cells(state)
    last = {one.repeat: one.redo for one in rounds}
    for place, one in enumerate(rounds):
        if one.redo < last[one.repeat] or one.redo >= MOST_REPEATS:
            continue
        other = rounds[place - 1 if place else 1]
        causes = {
            kind: cells for kind, cells in _causes(one, state.cells).items() if kind not in _causes(other, state.cells)
        }
        if dear.isdisjoint(one.cells):
            causes.pop(WarningKind.MEMORY_COLD, None)
        if causes:
            seen = "; ".join(f"{kind.value.replace('-', ' ')} in {_numbers(cells)}" for kind, cells in causes.items())
            return Disturbed(one, f"{seen}, and none in {_round_words(other)}")
    return None


def _per_gib(cell: Cell, known: CellState) -> list[tuple[int | None, float]]:
    """Return the generator's CPU seconds per GiB of each load, with the workload's index."""
    return [
        (cell.steps[step.number].workload, figure.value)
        for step in known.steps
        for figure in step.measurements
        if figure.metric is Metric.GENERATOR_PER_GIB and step.number < len(cell.steps)
    ]


def _causes(of: Round, cells: Sequence[CellState]) -> dict[WarningKind, list[int]]:
    found: dict[WarningKind, list[int]] = {}
    for index in of.cells:
        for kind in dict.fromkeys(warning.kind for warning in cells[index].warnings if warning.kind in CAUSES):
            found.setdefault(kind, []).append(index)
    return found


def _numbers(cells: Sequence[int]) -> str:
    return f"cell{'s' if len(cells) > 1 else ''} {', '.join(str(index + 1) for index in cells)}"


def _round_words(one: Round) -> str:
    return f"round {one.repeat}" + (" when it was repeated" if one.redo else "")
