"""Which rounds are repeated, and which cells count then: by made runs of two rows a round."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec.structs import replace as changed

from fsconsole.journal.events import Batch, Cursor, JournalEntry
from fsconsole.journal.fold import fold
from fsconsole.model.events import CellStarted, PilotFinished, RoundRepeated, WarningKind
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Order
from fsconsole.model.rounds import Disturbed, replaced_cells, round_to_repeat
from fsconsole.model.state import CellState, CellStatus, RunState
from fsconsole.model.workload import SizedBy, Sizing
from fsconsole.results.figures import warnings_seen
from fsconsole.results.grid import build_grid
from fsconsole.show.progress import cell_head, plain_lines
from fsconsole.text import GIB
from tests.unit.results import build

FOREIGN, COLD = WarningKind.FOREIGN_IO, WarningKind.MEMORY_COLD


def a_run(
    warned: dict[int, WarningKind], *, rounds: int = 5, dear: tuple[int, ...] = (), reported: float | None = 0.0
) -> RunState:
    """Cells 0 and 1 are the first round, 2 and 3 the second, and so on, on a machine whose memory is taken back.

    Dear ones need six times their row's CPU; where COLD is said, a GiB was reported, else so much.
    """
    cells = [build.cell(n, (build.EXT4, build.XFS)[n % 2], repeat=n // 2 + 1) for n in range(2 * rounds)]
    state = build.run(cells, [done(n, warned.get(n), n in dear, reported) for n in range(2 * rounds)])
    started = tuple(changed(one, facts=(*one.facts, ("free_page_reporting", "on"))) for one in state.started)
    return replace(state, started=started)


def done(index: int, kind: WarningKind | None = None, is_dear: bool = False, reported: float | None = 0.0) -> CellState:
    figures = {Metric.GENERATOR_PER_GIB: 3.0 if is_dear else 0.5, Metric.WRITTEN: float(GIB)}
    reported = float(GIB) if kind is COLD else reported
    figures |= {} if reported is None else {Metric.MEMORY_REPORTED: reported}
    warnings = (build.warning(index, kind, "disturbed"),) if kind not in (None, COLD) else ()
    return build.done(index, warnings=warnings, more=figures)


def told(state: RunState, *observations: RoundRepeated | CellStarted) -> RunState:
    entries = tuple(JournalEntry(n, 1, 1, seen) for n, seen in enumerate(observations, 1))
    return fold(state, Batch(Cursor(), entries))


def repeated(state: RunState, *, kind: WarningKind | None = None) -> RunState:
    """The run after the round that it repeats, whose first cell is disturbed by that."""
    again = round_to_repeat(state)
    assert again is not None
    first, cells = len(state.cells), [state.request.plan.cells[index] for index in again.round.cells]
    cells = [changed(cell, index=first + n, redo=cell.redo + 1) for n, cell in enumerate(cells)]
    state = told(state, RoundRepeated(1, again.round.repeat, again.reason, tuple(cells)))
    states = [done(cell.index, kind if cell.index == first else None) for cell in cells]
    return replace(state, cells=(*state.cells[:first], *states))


def which(found: Disturbed | None) -> tuple[int, int] | None:
    return (found.round.repeat, found.round.redo) if found else None


@pytest.mark.parametrize("kind", ["others-cpu", "foreign-io", "engine-beside", "throttled", "hot", "gap"])
def test_a_round_is_repeated_for_what_was_seen_in_it_and_not_in_the_round_before(kind: str) -> None:
    found = round_to_repeat(a_run({5: WarningKind(kind)}))
    assert which(found) == (3, 0)
    assert found is not None
    assert found.reason == f"{WarningKind(kind).words} in cell 6, and none in round 2"


def test_what_persists_is_repeated_once_at_its_beginning_and_never_where_all_rounds_have_it() -> None:
    assert which(round_to_repeat(a_run({4: FOREIGN, 6: FOREIGN, 8: FOREIGN}))) == (3, 0)
    assert round_to_repeat(a_run(dict.fromkeys(range(10), FOREIGN))) is None
    assert round_to_repeat(a_run({0: FOREIGN, 3: FOREIGN})) is None, "the first round is compared with the second"
    assert which(round_to_repeat(a_run({0: FOREIGN}))) == (1, 0)


def test_figures_alone_never_repeat_a_round_nor_does_the_counter_alone() -> None:
    assert round_to_repeat(a_run({}, dear=(4,))) is None
    assert round_to_repeat(a_run({4: COLD})) is None
    assert which(round_to_repeat(a_run({4: COLD}, dear=(4,)))) == (3, 0)
    assert round_to_repeat(a_run({4: WarningKind.SHORT}, dear=(4,))) is None


def test_no_round_is_repeated_where_the_order_makes_none_or_cells_are_left() -> None:
    state = a_run({4: FOREIGN})
    plan = changed(state.request.plan, order=Order.SHUFFLED)
    assert round_to_repeat(replace(state, request=changed(state.request, plan=plan))) is None
    assert round_to_repeat(replace(state, cells=(*state.cells[:-1], build.running(9)))) is None


def test_repeated_rounds_take_at_most_a_fifth_of_the_planned_ones() -> None:
    assert round_to_repeat(a_run({2: FOREIGN}, rounds=4)) is None
    assert round_to_repeat(repeated(a_run({2: FOREIGN, 6: FOREIGN}, rounds=9))) is None
    assert which(round_to_repeat(repeated(a_run({2: FOREIGN, 6: FOREIGN}, rounds=10)))) == (4, 0)


def test_a_round_is_repeated_twice_at_most() -> None:
    once = repeated(a_run({2: FOREIGN}, rounds=20), kind=FOREIGN)
    assert which(round_to_repeat(once)) == (2, 1)
    twice = repeated(once, kind=WarningKind.HOT)
    assert [cell.redo for cell in twice.request.plan.cells[40:]] == [1, 1, 2, 2]
    assert round_to_repeat(twice) is None


def test_the_last_whole_repetition_of_a_round_counts() -> None:
    state = repeated(a_run({4: FOREIGN}))
    assert replaced_cells(state) == {4, 5}
    half = replace(state, cells=(*state.cells[:-1], build.running(11)))
    assert replaced_cells(half) == {10, 11}
    row = next(row for row in build_grid(half).rows if row.name == "xfs")
    assert (row.figure(Metric.DURABLE).n, row.notes) == (5, ())


def test_a_repeated_round_is_told_in_the_progress_the_grid_and_its_cells_heads() -> None:
    before, state = a_run({4: FOREIGN}), repeated(a_run({4: FOREIGN}))
    assert plain_lines(before, state)[0] == (
        "    round 3 runs again, 2 cells more: other disk I/O in cell 5, and none in round 2"
    )
    heads = [cell_head(state, index, "ext4", CellStatus.DONE).split() for index in (4, 10)]
    assert [head[:3] for head in heads] == [["5", "ext4", "#3"], ["11", "ext4", "#3b"]]
    noted = [one for one in warnings_seen(state) if one.kind is WarningKind.ROUND_REPEATED]
    assert [one.cells for one in noted] == [(4, 5, 10, 11)]


def test_cells_of_a_repeated_round_that_do_not_follow_the_runs_own_change_nothing() -> None:
    state = a_run({4: FOREIGN})
    for index in (0, 9, 11):
        again = RoundRepeated(1, 3, "", (changed(state.request.plan.cells[4], index=index, redo=1),))
        assert told(state, again) == state
    followed = RoundRepeated(1, 3, "", (changed(state.request.plan.cells[4], index=10, redo=1),))
    assert told(state, followed, CellStarted(10, 1)).current_cell == 10


def cold(state: RunState) -> set[int]:
    return {cell for one in build_grid(state).warnings if one.kind is COLD for cell in one.cells}


def test_cold_is_a_dear_load_before_which_memory_was_reported_and_every_one_where_all_of_a_row_had_that() -> None:
    assert cold(a_run({4: COLD, 6: COLD}, dear=(4, 8))) == {4}
    assert cold(a_run(dict.fromkeys(range(0, 10, 2), COLD))) == {0, 2, 4, 6, 8}
    assert round_to_repeat(a_run(dict.fromkeys(range(0, 10, 2), COLD), dear=(4,))) is None
    assert cold(a_run({}, reported=0.09 * GIB, dear=(4,))) == set(), "under a tenth of what was moved"


def test_memory_that_the_first_load_of_an_engine_found_taken_back_is_told_to_count_since_boot() -> None:
    def since_boot(state: RunState) -> list[tuple[int, ...]]:
        return [one.cells for one in build_grid(state).warnings if "of free memory back since boot; " in one.reason]

    state = a_run(dict.fromkeys(range(10), COLD))
    assert since_boot(state) == [(0,)]
    resumed = replace(state, cells=tuple(replace(cell, attempt=1 + (cell.index >= 4)) for cell in state.cells))
    assert since_boot(resumed) == [(0, 4)]
    # A pilot is a load before the first cell's.
    assert since_boot(replace(state, pilots=(PilotFinished(0, 1, ()),))) == []


def test_dear_loads_are_called_cold_where_the_kernel_does_not_count_and_no_round_is_repeated_for_it() -> None:
    state = a_run({}, dear=(4,), reported=None)
    assert (cold(state), round_to_repeat(state)) == ({4}, None)
    started = build.run([], []).started
    assert cold(replace(state, started=started)) == set(), "no hypervisor takes memory"


def test_loads_past_the_page_cache_are_never_cold() -> None:
    state = a_run({4: COLD}, dear=(4,))
    loads = (changed(build.LARGE_FILES, direct=True),)
    cells = tuple(changed(cell, workloads=loads) for cell in state.request.plan.cells)
    state = replace(state, request=changed(state.request, plan=changed(state.request.plan, cells=cells)))
    assert (cold(state), round_to_repeat(state)) == (set(), None)


def test_a_round_whose_loads_no_pilot_could_size_is_not_repeated() -> None:
    for is_settled, found in ((False, None), (True, (3, 0))):
        state = a_run({4: FOREIGN})
        loads = (changed(build.LARGE_FILES, sizing=Sizing(SizedBy.FILE_SIZE, 10, is_settled=is_settled)),)
        cells = tuple(changed(cell, workloads=loads) for cell in state.request.plan.cells)
        state = replace(state, request=changed(state.request, plan=changed(state.request.plan, cells=cells)))
        assert which(round_to_repeat(state)) == found, is_settled
