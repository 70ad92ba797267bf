"""Looks of `repeats = "auto"`, by made runs of two rows a round: when one is due, what it decides, what it skips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from msgspec.structs import replace as changed

from fsconsole.engine.rounds import look_at
from fsconsole.journal.events import Batch, Cursor, JournalEntry
from fsconsole.journal.fold import fold
from fsconsole.model.events import LookTaken, RoundRepeated, WarningKind
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import RAW, Variant
from fsconsole.model.rounds import due_look, is_look_possible, round_to_repeat
from fsconsole.model.state import CellState, CellStatus, RunState
from fsconsole.results.figures import cells_in_words, count_cells
from fsconsole.results.grid import build_grid
from fsconsole.results.spread import spread_of
from fsconsole.show.progress import plain_lines
from fsconsole.show.run import event_line
from fsconsole.text import GIB
from tests.unit.results import build

ALIKE = (1.0,) * 12
APART = (0.5, 2.0) * 6


def a_run(
    rounds: int,
    *,
    of_ext4: float = 1.0,
    of_xfs: Sequence[float] = ALIKE,
    noisy: Metric = Metric.DURABLE,
    warned: int = -1,
) -> RunState:
    """Twelve planned rounds, of which so many are over; one figure of each is so many times the usual."""
    cells = [build.cell(n, (build.EXT4, build.XFS)[n % 2], repeat=n // 2 + 1) for n in range(24)]
    states = []
    for n in range(24):
        foreign = (build.warning(n, WarningKind.FOREIGN_IO, "disturbed"),) * (n == warned)
        factors, written = {noisy: of_xfs[n // 2] if n % 2 else of_ext4}, {Metric.WRITTEN: float(GIB)}
        done = build.done(n, factors=factors, more=written, warnings=foreign)
        states.append(done if n < 2 * rounds else CellState(n))
    state = build.run(cells, states)
    plan = changed(state.request.plan, is_auto=True, baseline=build.EXT4.label)
    return replace(state, request=changed(state.request, plan=plan))


def told(state: RunState, *observations: LookTaken | RoundRepeated) -> RunState:
    entries = tuple(JournalEntry(n, 1, 1, seen) for n, seen in enumerate(observations, 1))
    return fold(state, Batch(Cursor(), entries))


def looked(state: RunState) -> RunState:
    return told(state, look_at(state, 1))


@pytest.mark.parametrize("noisy", [Metric.DURABLE, Metric.CHECK])
def test_a_look_decides_once_every_pair_of_every_block_is_decided(noisy: Metric) -> None:
    assert look_at(a_run(5), 1) == LookTaken(1, 5, decided=True, cells=24)
    assert look_at(a_run(5, of_xfs=(0.5,) * 12, noisy=noisy), 1).decided, "half is less, and certain"
    assert not look_at(a_run(5, of_xfs=APART, noisy=noisy), 1).decided


def test_a_look_waits_for_rounds_that_both_rows_finished_and_not_for_a_row_that_cannot_run() -> None:
    state = a_run(5)
    for status, is_decided in ((CellStatus.FAILED, False), (CellStatus.UNAVAILABLE, True)):
        cells = tuple(replace(c, status=status, steps=()) if c.index % 2 else c for c in state.cells)
        assert look_at(replace(state, cells=cells), 1).decided is is_decided, status
    of_raw = tuple(changed(c, variant=Variant("raw", RAW)) if c.index % 2 else c for c in state.request.plan.cells)
    plan = changed(state.request.plan, cells=of_raw)
    assert look_at(replace(state, request=changed(state.request, plan=plan)), 1).decided, "a raw row is not compared"


def test_figures_below_what_can_be_resolved_are_not_waited_for() -> None:
    instant = a_run(5, of_xfs=[factor / 1000 for factor in APART], noisy=Metric.CHECK, of_ext4=0.001)
    assert look_at(instant, 1).decided


def test_looks_are_due_after_rounds_5_8_and_12_and_only_once_their_cells_are_over() -> None:
    state = a_run(4)
    assert (due_look(state), is_look_possible(state)) == (5, False)
    for rounds in (5, 8, 12):
        state = replace(a_run(rounds, of_xfs=APART), looks=state.looks)
        assert (due_look(state), is_look_possible(state)) == (rounds, True)
        state = looked(state)
    assert [(look.round, look.decided) for look in state.looks] == [(5, False), (8, False), (12, False)]
    assert (due_look(state), is_look_possible(state)) == (0, False)
    assert due_look(build.demo()) == 0


def test_a_look_that_decides_skips_all_open_cells_at_once_and_says_so_in_one_line() -> None:
    before = a_run(5)
    state = looked(before)
    assert {(cell.status, cell.reason) for cell in state.cells[10:]} == {(CellStatus.SKIPPED, "decided after round 5")}
    assert {cell.status for cell in state.cells[:10]} == {CellStatus.DONE}
    assert cells_in_words(state) == "24 cells: 10 done, 14 skipped; decided after round 5"
    assert [row.notes for row in build_grid(state).rows] == [(), ()]
    assert plain_lines(before, state) == ("    all decided after round 5: 14 cells skipped",)
    assert (due_look(state), round_to_repeat(state)) == (0, None)
    undecided = a_run(5, of_xfs=APART)
    assert looked(undecided).cells == undecided.cells
    assert plain_lines(undecided, looked(undecided)) == ("    not all decided after round 5",)


def test_a_disturbed_round_is_repeated_before_the_look_at_most_one_in_five_rounds() -> None:
    state = a_run(5, of_xfs=APART, warned=6)
    again = round_to_repeat(state)
    assert again is not None
    assert again.round.repeat == 4
    cells = tuple(changed(state.request.plan.cells[n], index=24 + n - 6, redo=1) for n in (6, 7))
    state = told(state, RoundRepeated(1, 4, again.reason, cells))
    assert not is_look_possible(state), "its repetition is still to run"
    assert cells_in_words(state).startswith("26 cells (24 planned + 2 repeated): ")
    assert count_cells(state).words.endswith(" of 26 cells (24 planned + 2 repeated)")
    runs = replace(state, current_cell=24, cells=(*state.cells[:24], build.running(24), state.cells[25]))
    assert event_line(build.snapshot(runs), 80) == "round 4 again (2 cells): other disk I/O"
    state = replace(state, cells=(*state.cells[:24], build.done(24), build.done(25)))
    assert (round_to_repeat(state), is_look_possible(state)) == (None, True)
    state = looked(state)
    assert state.looks[0].cells == 26
    warned = tuple(replace(build.done(n), warnings=(build.warning(n, WarningKind.FOREIGN_IO, "x"),)) for n in (10,))
    rest = tuple(build.done(n) for n in range(11, 24))
    done = replace(state, cells=(*state.cells[:10], *warned, *rest, *state.cells[24:]))
    again = round_to_repeat(told(done, LookTaken(1, 8, decided=False, cells=26)))
    assert again is not None, "two of twelve may be repeated"
    assert again.reason.endswith("none in round 4 when it was repeated"), "round 6 ran after that"


def test_the_spread_of_a_run_is_the_middle_one_of_its_rows() -> None:
    assert spread_of(a_run(2)) is None
    assert spread_of(a_run(5)) == 0
    spread = spread_of(a_run(5, of_xfs=(0.9, 1.1, 1.0, 1.1, 0.9, *ALIKE)))
    assert spread is not None
    assert 0.04 < spread < 0.06, "half of 10 %, since ext4 has none"
