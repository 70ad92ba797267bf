"""Texts in columns, tables fitted into a width, and lines that are searched."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fsconsole.results.table import Column, TableLayout, TableRow, TableValue, lay_out
from fsconsole.show.lines import Line, matching, matching_words
from fsconsole.text import cells_of, pad_left, pad_right, printable, shorten_middle, wrap

# Texts in terminal cells.


TEXTS = st.text(max_size=120).map(printable)


@given(TEXTS, st.integers(2, 60), st.integers(1, 4))
def test_a_shortened_or_wrapped_text_fits_and_loses_nothing_but_spaces_where_it_has_the_lines(
    text: str, width: int, most: int
) -> None:
    assert cells_of(shorten_middle(text, width - 2)) <= width - 2
    few, whole = wrap(text, width, max_lines=most), wrap(text, width, max_lines=1000)
    assert 1 <= len(few) <= most
    assert max(map(cells_of, (*few, *whole))) <= width
    assert "".join(whole).replace(" ", "") == text.replace(" ", "")


def test_lines_break_after_spaces_and_commas_and_what_goes_is_the_middle() -> None:
    assert wrap("ext4 data=writeback,nodelalloc", 22) == ["ext4 data=writeback,", "nodelalloc"]
    assert wrap("ext4 data=ordered", 16) == ["ext4", "data=ordered"]
    assert shorten_middle("ext4 data=writeback,nodelalloc", 17) == "ext4 da...delalloc"[:7] + "...elalloc"
    assert cells_of("日本") == 4
    assert cells_of("e\u0301") == 1
    assert pad_right("日", 4) == "日  "
    assert pad_left("日", 4) == "  日"


# Tables: nothing that names a row is lost, and every column can be reached.


COLUMNS = tuple(Column(f"column {number}", "MB/s") for number in range(8))
CELLS = tuple("12345" for _ in COLUMNS)


def table(*names: str, note: str = "") -> TableValue:
    return TableValue("variant", COLUMNS, tuple(TableRow(name, name, CELLS, (note,) if note else ()) for name in names))


def lines(layout: TableLayout, first: int = 0) -> list[str]:
    return [layout.row_line(line, first) for line in range(layout.height)]


def test_no_line_is_wider_than_the_table() -> None:
    for width in (20, 40, 80, 200):
        for name in ("xfs", "ext4 " + "data=writeback," * 9, "ü" * 90, "宽" * 60):
            layout = lay_out(table(name, "  published", note="why " * 50), width)
            for first in range(len(COLUMNS)):
                assert all(cells_of(line) <= width for line in lines(layout, first)), (width, name)
                assert all(cells_of(layout.head_line(line, first)) <= width for line in (0, 1)) or width == 20, (
                    width,
                    name,
                )


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


# Which lines of a list have some words in them, and how that is told.


LINES = (
    Line("g journal", "journal", is_heading=True),
    Line("data", "data", value="mount", found_by="journal what is written first uninit_groups"),
    Line("commit", "commit", value="mount 5,30", found_by="journal seconds"),
    Line("g blocks", "blocks", is_heading=True),
    Line("size", "block_size", value="mkfs", found_by="blocks bytes per block"),
)


def test_lines_with_all_words_are_found_below_their_headings_and_counted() -> None:
    for text, keys in {
        "JOURNAL first": ["g journal", "data"],
        "mount seconds": ["g journal", "commit"],
        "block_s": ["g blocks", "size"],
        "uninit_gr": ["g journal", "data"],
        "  ": [line.key for line in LINES],
        "nothing like it": [],
    }.items():
        assert [line.key for line in matching(LINES, text)] == keys, text
    assert matching_words(LINES, "journal", "options") == "2 of 3 options match 'journal'"
    assert matching_words(LINES, " block ", "options") == "1 of 3 options matches 'block'"
    assert matching_words(LINES, "\x1b[/x]", "options") == "0 of 3 options match '\\x1b[/x]'"
