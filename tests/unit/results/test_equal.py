"""Rows of variants that came out equal are one, and only where nothing unseen could tell them apart."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fsconsole.model.events import FeatureSeen, WarningKind
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Variant
from fsconsole.model.state import CellState
from fsconsole.results.grid import build_grid
from tests.unit.results.build import cell, done, run

PLAIN = Variant("plain", "ext4", hidden_words=("-E nodiscard",))
SAID = replace(PLAIN, label="said", mkfs_words=("-I", "256"))
MADE = (("mkfs", "inode_size", "256"), ("mkfs", "extent", "on"), ("mount", "data", "ordered"))


def seen(state: CellState, features=MADE) -> CellState:
    return replace(state, features=tuple(FeatureSeen(state.index, 1, *feature) for feature in features))


def grid_of(variants, states):
    return build_grid(run([cell(number, variant) for number, variant in enumerate(variants)], states))


def names(grid) -> dict[str, list[int]]:
    return {row.name: [figures.cell for figures in row.cells] for row in grid.rows}


def test_rows_of_which_the_same_was_read_back_are_one_with_a_warning() -> None:
    grid = grid_of([PLAIN, SAID], [seen(done(0)), seen(done(1, factors={Metric.DURABLE: 0.5}))])
    assert names(grid) == {"plain": [0, 1]}
    (warning,) = [w for w in grid.warnings if w.kind is WarningKind.EQUAL]
    assert warning.reason == "'said' came out equal to 'plain'"
    assert warning.cells == (0, 1)
    durable = grid.rows[0].figure(Metric.DURABLE)
    assert durable is not None
    assert durable.n == 2


OTHER = (*MADE[:2], ("mount", "data", "writeback"))


@pytest.mark.parametrize(
    ("variants", "states"),
    [
        ([PLAIN, SAID], [seen(done(0)), seen(done(1), OTHER)]),
        ([PLAIN, SAID], [seen(done(0), MADE[:2]), seen(done(1), MADE[:2])]),
        ([PLAIN, SAID], [done(0), done(1)]),
        ([PLAIN, replace(SAID, hidden_words=("-E discard",))], [seen(done(0)), seen(done(1))]),
        (
            [replace(PLAIN, hidden_words=None), replace(SAID, hidden_words=None)],
            [seen(done(0)), seen(done(1))],
        ),
        ([PLAIN, replace(SAID, filesystem="ext3")], [seen(done(0)), seen(done(1))]),
    ],
    ids=["other features", "not mounted", "nothing read", "hidden words", "older journal", "filesystem"],
)
def test_rows_that_may_differ_stay_apart(variants, states) -> None:
    grid = grid_of(variants, states)
    assert [len(row.cells) for row in grid.rows] == [1, 1]
    assert not [w for w in grid.warnings if w.kind is WarningKind.EQUAL]


def test_a_row_whose_repeats_came_out_differently_stays_alone() -> None:
    states = [seen(done(0)), seen(done(1), OTHER), seen(done(2))]
    grid = grid_of([PLAIN, PLAIN, SAID], states)
    assert names(grid) == {"plain": [0, 1], "said": [2]}
