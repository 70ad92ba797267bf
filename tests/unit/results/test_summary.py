"""The summary of a report: rows by verdict, and disturbed cells."""

from __future__ import annotations

from dataclasses import replace

from fsconsole.model.events import WarningKind
from fsconsole.model.metrics import Metric
from fsconsole.model.state import RunState
from fsconsole.model.verdicts import Verdict
from fsconsole.results.blocks import blocks_of
from fsconsole.results.figures import Noted
from fsconsole.results.grid import Grid, build_grid
from fsconsole.results.summary import _amount, summary_of
from tests.unit.results.test_blocks import BTRFS, EXT4, PLAIN, XFS, load_block, made

ROWS = {(EXT4, PLAIN): 1.0, (XFS, PLAIN): 2.0, (BTRFS, PLAIN): 0.5}


def said(state: RunState, grid: Grid) -> tuple[str, ...]:
    return summary_of(blocks_of(state, grid), grid, len(state.cells))


def test_each_block_says_by_how_much_its_rows_differ_and_that_none_is_faster_where_none_is() -> None:
    state = made(ROWS)
    (first, *_) = said(state, build_grid(state))
    block = load_block(state)
    assert block.metric is Metric.DURABLE
    assert first == f"{block.name}, durable, against ext4: faster: xfs +100%; slower: btrfs -50%."
    state = made({key: min(speed, 1.0) for key, speed in ROWS.items()})
    assert ": none faster; slower: btrfs -50%; same: xfs." in said(state, build_grid(state))[0]


def test_one_more_round_is_one_round() -> None:
    compared = next(row.compared for row in load_block(made(ROWS)).rows if row.compared is not None)
    told = [_amount(replace(compared, verdict=Verdict.UNDECIDED, more=more), Metric.DURABLE) for more in (1, 6)]
    assert told == [" (1 more round)", " (6 more rounds)"]


def test_a_run_of_which_a_quarter_was_disturbed_is_called_so_with_what_to_do() -> None:
    state = made(ROWS)
    grid = build_grid(state)
    for cells, is_said in ((3, False), (4, True)):
        warning = Noted(WarningKind.ENGINE_BESIDE, "another run", "wait for it", tuple(range(cells)))
        last = said(state, replace(grid, warnings=(warning,)))[-1]
        assert last.startswith("Disturbed: 4 of 15 cells (another fsconsole run). Run it again") is is_said
