"""What an array left on its members belongs to the attempt that took it apart, and to no other."""

from __future__ import annotations

from fsconsole.journal.events import Batch, Cursor, JournalEntry
from fsconsole.journal.fold import fold, start
from fsconsole.model.events import CellFinished, CellStarted, MemberLeft, Observation, Outcome
from fsconsole.model.state import CellState
from tests.unit.journal.conftest import RequestMaker

FIRST, SECOND = MemberLeft(1, 1, 0, "aa"), MemberLeft(1, 1, 1, "bb")


def cell(make_request: RequestMaker, *seen: Observation) -> CellState:
    entries = tuple(JournalEntry(number, number, number, one) for number, one in enumerate(seen))
    return fold(start(make_request()), Batch(Cursor(), entries)).cells[1]


def test_each_member_is_known_by_what_was_left_on_it(make_request: RequestMaker) -> None:
    left = cell(make_request, CellStarted(1, 1), FIRST, SECOND, CellFinished(1, 1, Outcome.DONE)).left
    assert left == (FIRST, SECOND)


def test_a_cell_begun_again_has_left_nothing_yet(make_request: RequestMaker) -> None:
    assert cell(make_request, CellStarted(1, 1), FIRST, CellStarted(1, 2)).left == ()
    assert cell(make_request, CellStarted(1, 2), FIRST).left == ()
