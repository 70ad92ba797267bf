"""A table fitted into a width: nothing that names a row is lost, and every column can be reached."""

from __future__ import annotations

from fsconsole.results.table import Column, TableLayout, TableRow, TableValue, lay_out
from fsconsole.text import cells_of

COLUMNS = tuple(Column(f"column {number}", "MB/s") for number in range(8))
CELLS = tuple("12345" for _ in COLUMNS)


def table(*names: str, note: str = "") -> TableValue:
    return TableValue(
        "variant", COLUMNS, tuple(TableRow(name, name, CELLS, (note,) if note else ()) for name in names)
    )


def lines(layout: TableLayout, first: int = 0) -> list[str]:
    return [layout.row_line(line, first) for line in range(layout.height)]


def test_no_line_is_wider_than_the_table() -> None:
    for width in (20, 40, 80, 200):
        for name in ("xfs", "ext4 " + "data=writeback," * 9, "ü" * 90, "宽" * 60):
            layout = lay_out(table(name, "  published", note="why " * 50), width)
            for first in range(len(COLUMNS)):
                assert all(cells_of(line) <= width for line in lines(layout, first)), (width, name)
                assert (
                    all(cells_of(layout.head_line(line, first)) <= width for line in (0, 1)) or width == 20
                ), (width, name)


def test_a_long_name_is_shown_whole_above_its_figures_and_one_of_two_lines_beside_them() -> None:
    name = "ext4 as in 2008, uninit_bg, flex_bg 64 data=writeback,journal_async_commit"
    shown = lines(lay_out(table(name), 80))
    assert shown[0] == name
    assert "12345" in shown[1]
    first, second = lines(lay_out(table("ext4 data=writeback nodelalloc"), 95))[:2]
    assert first.startswith("ext4")
    assert "12345" in first
    assert second.strip()
    assert "12345" not in second


def test_every_column_comes_into_sight() -> None:
    layout = lay_out(table("a name that takes some room"), 40)
    first = 0
    for column in range(len(COLUMNS)):
        first = layout.first_for(column, first)
        assert column in layout.in_sight(first)
        assert f"column {column}" in layout.head_line(0, first)
    for column in reversed(range(len(COLUMNS))):
        first = layout.first_for(column, first)
        assert column in layout.in_sight(first)


def test_a_row_without_figures_says_why_beside_its_name_and_one_with_figures_below_it() -> None:
    layout = lay_out(TableValue("variant", COLUMNS, (TableRow("k", "btrfs", (), ("not installed",)),)), 80)
    assert lines(layout) == [f"{'btrfs':<{layout.name_width}}  not installed"]
    shown = lines(lay_out(table("xfs", note="1 of 2 not run yet"), 120))
    assert shown[1] == "    1 of 2 not run yet"


def test_lines_are_found_back_to_their_rows_also_where_there_are_none() -> None:
    layout = lay_out(table("xfs", "ext4 " + "nodelalloc," * 8, "btrfs"), 80)
    found = [layout.row_at(line) for line in range(layout.height)]
    assert found == sorted(found)
    assert set(found) == {0, 1, 2}
    assert lay_out(TableValue("variant", (), ()), 80).height == 0
    assert lines(lay_out(TableValue("variant", (), (TableRow("a", "alone", ()),)), 80)) == ["alone"]
