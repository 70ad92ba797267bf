from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.cli.plan_text import plan_lines
from fsconsole.model.variant import Variant
from fsconsole.plaintext import printable
from fsconsole.report.cells import cells_of
from tests.unit.analysis import build

CELLS = [build.cell(0), build.cell(1, build.EXT4_OTHER), build.cell(2, build.XFS, unavailable="no mkfs.xfs")]
PLAN = build.request(CELLS).plan


def _lines(*, every: bool = False, width: int = 80) -> list[str]:
    return list(plan_lines(PLAN, (), "", every=every, width=width))


def test_cells_stand_in_columns_and_what_all_share_is_left_out() -> None:
    lines = _lines()
    at = lines.index("Cells, in the order in which they run:")
    assert lines[at + 1 : at + 5] == [
        "  1  ext4 data=ordered",
        "  2  ext4 data=writeback,nodelalloc",
        "  3  xfs",
        "     cannot run: no mkfs.xfs",
    ]


def test_what_cells_differ_in_has_a_column() -> None:
    cells = (*CELLS[:1], replace(CELLS[1], repeat=2, target="/dev/loop8"))
    lines = list(plan_lines(replace(PLAN, cells=cells), (), "", every=False, width=80))
    assert "  1  ext4 data=ordered               repeat 1  /dev/loop7" in lines
    assert "  2  ext4 data=writeback,nodelalloc  repeat 2  /dev/loop8" in lines


def test_one_cell_is_shown_in_full_or_every_one() -> None:
    assert sum(", step by step" in line for line in _lines()) == 1
    assert sum(", step by step" in line for line in _lines(every=True)) == 3


@pytest.mark.parametrize("width", [20, 40, 80])
def test_a_command_stays_whole_on_a_narrow_terminal(width: int) -> None:
    assert "    $ mkfs.ext4 /dev/loop7" in _lines(width=width)


def test_the_command_that_agrees_can_be_copied() -> None:
    words = "fsconsole run demo --device /dev/sdb --consent 1234"
    assert f"    $ {words}" in plan_lines(PLAN, (), words, every=False, width=30)


def test_a_plan_without_cells_is_no_failure() -> None:
    assert "Nothing was touched." in plan_lines(replace(PLAN, cells=()), (), "", every=True, width=80)


@given(st.text(max_size=80), st.text(max_size=80), st.integers(40, 120))
def test_no_label_makes_a_line_wider_or_acts_on_the_terminal(label: str, title: str, width: int) -> None:
    plan = replace(PLAN, title=title, cells=(build.cell(0, Variant(label, "ext4")), *CELLS[1:]))
    lines = list(plan_lines(plan, (), "", every=True, width=width))
    assert all(cells_of(line) <= width for line in lines if "$ " not in line)
    assert all(printable(line) == line for line in lines)
