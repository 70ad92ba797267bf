"""Rounds of a run: repetition of disturbed rounds, and selection of the cells that count.

A round is every cell of the plan once. A round is repeated only for a cause measured apart from its figures: choosing by
outcome would flatter noisy variants.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from statistics import median

from msgspec.structs import replace

from fsconsole.model.events import WarningKind
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Cell, Order, Plan
from fsconsole.model.state import OPEN_STATUSES, CellState, CellStatus, RunState
from fsconsole.model.statistics import LOOKS
from fsconsole.text import MIB

MOST_REPEATS = 2
"""Of one round."""
ROUNDS_PER_REPEAT = 5
"""Rounds of a plan take equally long: one repeated for every five is 20 % of the planned time; before a look, of the time
until then."""
COSTLY = 2.0
"""Limit for a load's CPU per GiB, in multiples of its row's median. With 1.5 times the lowest, a third to all of
undisturbed runs would repeat a round."""

CAUSES = frozenset(
    {
        WarningKind.OTHERS_CPU,
        WarningKind.FOREIGN_IO,
        WarningKind.ENGINE_BESIDE,
        WarningKind.THROTTLED,
        WarningKind.HOT,
        WarningKind.GAP,
    }
)
_LEAST_MOVED_BYTES = 64 * MIB
"""The kernel reports up to 32 blocks of 2 MiB at a time: too coarse for smaller loads."""
LEAST_COLD = 0.1
"""Share of the bytes moved: with so much cold memory a load needs about twice the CPU time."""
FREE_PAGE_REPORTING = "free_page_reporting"
"""Name of a run's fact: the hypervisor takes free memory back."""
_ENDED = frozenset({CellStatus.DONE, CellStatus.FAILED, CellStatus.UNAVAILABLE})


@dataclass(frozen=True, slots=True)
class Round:
    """Every cell of the plan once, by their indexes in the order of running; redo counts from 1, 0 is as planned."""

    repeat: int
    redo: int
    cells: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Disturbed:
    """A round to repeat, and the reason as a clause."""

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
    """Return the cells that don't count: only the last finished repetition of each round does."""
    replaced: set[int] = set()
    counted: dict[int, Round] = {}
    for one in rounds_of(state.request.plan):
        is_over = all(state.cells[index].status in _ENDED for index in one.cells)
        # An unfinished repetition doesn't count yet: the one before it does.
        out = counted.get(one.repeat) if is_over else one
        if one.redo:
            replaced.update(out.cells if out else ())
        if is_over or not one.redo:
            counted[one.repeat] = one
    return frozenset(replaced)


@dataclass(frozen=True, slots=True)
class CachedLoad:
    """A cell's load through the page cache, where a hypervisor takes free memory back."""

    cell: int
    workload: str
    per_gib_s: float
    """Generator CPU seconds."""
    moved_bytes: float
    reported_bytes: float | None
    """Free memory reported between the end of the load before and this load's end; None if the kernel doesn't count it."""
    is_since_boot: bool = False
    """True if it counts from boot on: no load of its engine ended before."""

    @property
    def is_exposed(self) -> bool:
        """True if the hypervisor took back so much memory that the load's CPU time may double."""
        return self.reported_bytes is not None and (
            self.reported_bytes >= LEAST_COLD * self.moved_bytes >= LEAST_COLD * _LEAST_MOVED_BYTES
        )


def cold_loads(state: RunState) -> tuple[CachedLoad, ...]:
    """Return the loads that used cold memory: exposed to it, and above the limit of CPU per GiB for their row.

    If all loads of a row were exposed, no warm one is left to compare with: all are returned.
    """
    costly, rows = _costly(state), _rows(state)
    return tuple(
        load
        for row in rows
        for load in row
        if all(one.is_exposed for one in row) or (load in costly and (load.is_exposed or load.reported_bytes is None))
    )


def _rows(state: RunState) -> list[list[CachedLoad]]:
    """Return the loads through the page cache, grouped by equal cells; none without free page reporting."""
    if not any((FREE_PAGE_REPORTING, "on") in started.facts for started in state.started):
        return []
    rows: dict[object, list[CachedLoad]] = {}
    engines = {pilot.attempt for pilot in state.pilots}
    for cell, known in zip(state.request.plan.cells, state.cells, strict=True):
        row = replace(cell, index=0, repeat=0, redo=0, uuid="", steps=())
        figures: dict[int, dict[Metric, float]] = {}
        steps = [(cell.steps[step.number].workload, step) for step in known.steps if step.number < len(cell.steps)]
        loads = [(of, step) for of, step in steps if of is not None]
        for of, step in loads:
            if not cell.workloads[of].direct:
                figures.setdefault(of, {}).update({figure.metric: figure.value for figure in step.measurements})
        for of, measured in figures.items():
            if (per_gib_s := measured.get(Metric.GENERATOR_PER_GIB)) is not None:
                moved = measured.get(Metric.WRITTEN, 0.0) + measured.get(Metric.READ_BYTES, 0.0)
                name, reported = cell.workloads[of].name, measured.get(Metric.MEMORY_REPORTED)
                is_first = of == loads[0][0] and known.attempt not in engines
                load = CachedLoad(cell.index, name, per_gib_s, moved, reported, is_first)
                rows.setdefault((row, of), []).append(load)
        engines |= {known.attempt} if loads else set()
    return list(rows.values())


def _costly(state: RunState) -> frozenset[CachedLoad]:
    """Return the loads that needed above twice their row's median of generator CPU per GiB."""
    left_out = replaced_cells(state)
    costly: set[CachedLoad] = set()
    for row in _rows(state):
        middle = median([load.per_gib_s for load in row if load.cell not in left_out] or [0.0])
        costly.update(load for load in row if load.per_gib_s > COSTLY * middle > 0)
    return frozenset(costly)


def round_to_repeat(state: RunState) -> Disturbed | None:
    """Return the first round with a disturbance that the round before it didn't have; None if there is none.

    Cold memory counts only if a load of the round also needed too much CPU per GiB. The first round is compared with the
    second. Call it when all cells are over, before a look those of its rounds: a row's median needs them all.
    """
    until = due_look(state)
    rounds = [one for one in _as_they_ran(state) if not until or one.repeat <= until]
    planned = sum(not one.redo for one in rounds)
    is_used_up = ROUNDS_PER_REPEAT * (len(rounds) - planned + 1) > planned
    if is_used_up or any(state.cells[index].status not in _ENDED for one in rounds for index in one.cells):
        return None
    exposed = {load.cell for row in _rows(state) for load in row if load.is_exposed}
    costly = {load.cell for load in _costly(state)} & exposed
    last = {one.repeat: one.redo for one in rounds}
    for place, one in enumerate(rounds):
        if one.redo < last[one.repeat] or one.redo >= MOST_REPEATS:
            continue
        if not all(_is_sized(state.request.plan.cells[index]) for index in one.cells):
            continue
        other = rounds[place - 1 if place else 1]
        before = _causes(other, state.cells, exposed)
        causes = {kind: cells for kind, cells in _causes(one, state.cells, exposed).items() if kind not in before}
        if costly.isdisjoint(one.cells):
            causes.pop(WarningKind.MEMORY_COLD, None)
        if causes:
            seen = "; ".join(f"{kind.words} in {_numbers(cells)}" for kind, cells in causes.items())
            return Disturbed(one, f"{seen}, and none in {_round_words(other)}")
    return None


def causes_of(reason: str) -> str:
    """Return the causes alone of the reason of a repeated round, without their cells and the round compared with."""
    return "; ".join(part.partition(" in cell")[0] for part in reason.split("; "))


def _as_they_ran(state: RunState) -> list[Round]:
    """Return the rounds in the order of running: one repeated before a look ran before the planned rounds after it."""

    def place(one: Round) -> tuple[int, bool]:
        before = [look.cells <= one.cells[0] if one.redo else look.round < one.repeat for look in state.looks]
        return sum(before), one.redo > 0

    return sorted(rounds_of(state.request.plan), key=place)


def due_look(state: RunState) -> int:
    """Return the round after which `repeats = "auto"` looks next; 0: no look is left, or one has decided."""
    plan, taken = state.request.plan, {look.round for look in state.looks}
    if not plan.is_auto or any(look.decided for look in state.looks):
        return 0
    return next((after for after in LOOKS if after not in taken and after <= plan.repeats), 0)


def is_look_possible(state: RunState) -> bool:
    """Return whether a look is due, and all cells of its rounds are over: it comes after their repeated rounds."""
    last = due_look(state)
    cells = zip(state.request.plan.cells, state.cells, strict=True)
    return last > 0 and not any(cell.repeat <= last and known.status in OPEN_STATUSES for cell, known in cells)


def _is_sized(cell: Cell) -> bool:
    """Return whether a cell can run once more: where all pilots of its loads failed they have no size."""
    return bool(cell.unavailable) or cell.variant.is_raw or not any(load.is_open for load in cell.workloads)


def _causes(of: Round, cells: Sequence[CellState], exposed: Set[int]) -> dict[WarningKind, list[int]]:
    found: dict[WarningKind, list[int]] = {}
    for index in of.cells:
        kinds = [warning.kind for warning in cells[index].warnings if warning.kind in CAUSES]
        for kind in dict.fromkeys([*kinds, *[WarningKind.MEMORY_COLD] * (index in exposed)]):
            found.setdefault(kind, []).append(index)
    return found


def _numbers(cells: Sequence[int]) -> str:
    return f"cell{'s' if len(cells) > 1 else ''} {', '.join(str(index + 1) for index in cells)}"


def _round_words(one: Round) -> str:
    return f"round {one.repeat}" + (" when it was repeated" if one.redo else "")
