"""Gauges, plots and histograms as columns of characters."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from fsconsole.show.charts import (
    GaugeValue,
    HistogramValue,
    Part,
    PlotValue,
    Ring,
    Series,
    Strips,
    Threshold,
    round_above,
)
from fsconsole.show.history import History, Trace
from fsconsole.show.run import Plotted, strips
from fsconsole.show.terminal import ASCII, SAFE, WIDE, Glyphs
from fsconsole.text import MIB
from fsconsole.tui.terminal import allowed
from fsconsole.tui.widgets.drawing import (
    _EDGE,
    NO_FIGURES,
    REDUCED,
    Line,
    columns_of,
    difference,
    gauge_line,
    histogram_lines,
    plot_lines,
    ring_cells,
    strips_lines,
)
from tests.unit.show.test_run import loading

SETS = pytest.mark.parametrize("glyphs", [ASCII, SAFE, WIDE], ids=["ascii", "safe", "wide"])
TEXTS = st.one_of(st.text(max_size=12), st.text("aB9 \u4e2d\u0301\ufe0f\u200d\u2764é", max_size=12))
NUMBERS = st.one_of(st.floats(), st.floats(0, 100), st.integers(-5, 100).map(float))
MARKS = st.lists(st.builds(Threshold, NUMBERS, TEXTS), max_size=3).map(tuple)
KINDS = st.sampled_from(["user", "system", "iowait", "irq", "read", "nonsense"])
PARTS = st.lists(st.builds(Part, NUMBERS, KINDS), max_size=4).map(tuple)
RINGS = st.builds(
    Ring, st.lists(st.one_of(st.none(), NUMBERS), min_size=60, max_size=60).map(tuple), st.integers(0, 59)
)
GAUGES = st.builds(
    GaugeValue, TEXTS, st.one_of(st.none(), NUMBERS), NUMBERS, TEXTS, MARKS, PARTS, TEXTS, st.one_of(st.none(), RINGS)
)
POINTS = st.lists(st.tuples(NUMBERS, NUMBERS), max_size=20).map(tuple)
SERIES = st.lists(st.builds(Series, TEXTS, POINTS, KINDS, st.booleans()), max_size=5).map(tuple)
PLOTS = st.builds(PlotValue, SERIES, NUMBERS, NUMBERS, NUMBERS, TEXTS, TEXTS, MARKS, steps=MARKS)
STRIPS = st.builds(Strips, st.lists(PLOTS, min_size=1, max_size=2).map(tuple))
HISTOGRAMS = st.builds(HistogramValue, st.lists(st.tuples(TEXTS, NUMBERS, TEXTS), max_size=5).map(tuple))
WIDTHS = st.integers(0, 130)


def words_of(line: Line) -> str:
    return "".join(character for character, _ in line)


def gauge(value: GaugeValue, width: int = 60, glyphs: Glyphs = ASCII) -> Line:
    return gauge_line(value, width, glyphs, label_width=6, text_width=10)


def of_set(lines: tuple[Line, ...], glyphs: Glyphs) -> bool:
    drawn = {character for line in lines for character, _ in line}
    odd = {character for character in drawn if not (character.isascii() and character.isprintable())}
    return odd <= allowed(glyphs) or (glyphs == WIDE and all(character.isprintable() for character in odd))


@SETS
@given(value=GAUGES, width=WIDTHS)
def test_a_gauge_has_its_width_and_the_sets_characters(glyphs: Glyphs, value: GaugeValue, width: int) -> None:
    line = gauge(value, width, glyphs)
    assert len(line) == width
    assert cell_len(words_of(line)) == width
    assert of_set((line,), glyphs)


@SETS
@given(value=PLOTS, width=WIDTHS, height=st.integers(0, 20))
def test_a_plot_has_its_size_and_the_sets_characters(glyphs: Glyphs, value: PlotValue, width: int, height: int) -> None:
    lines = plot_lines(value, width, height, glyphs)
    assert [cell_len(words_of(line)) for line in lines] == [width] * height
    assert of_set(lines, glyphs)


@SETS
@given(value=HISTOGRAMS, width=WIDTHS)
def test_a_histogram_has_its_size_and_the_sets_characters(glyphs: Glyphs, value: HistogramValue, width: int) -> None:
    lines = histogram_lines(value, width, glyphs)
    assert [cell_len(words_of(line)) for line in lines] == [width] * len(value.rows)
    assert of_set(lines, glyphs)


def bar_length(value: float, maximum: float) -> int:
    line = gauge(GaugeValue("x", value, maximum, "1"))
    return sum(1 for character, kind in line if kind == "value" or character == ">")


@given(one=st.floats(0, 200), other=st.floats(0, 200))
def test_a_higher_value_has_no_shorter_bar(one: float, other: float) -> None:
    assert bar_length(min(one, other), 100) <= bar_length(max(one, other), 100)


def test_a_bar_has_the_true_scale_and_more_than_that_is_marked() -> None:
    whole = bar_length(100, 100)
    assert bar_length(50, 100) == whole // 2
    assert bar_length(0, 100) == 0
    assert "#>]" in words_of(gauge(GaugeValue("x", 101, 100, "101")))
    assert ">" not in words_of(gauge(GaugeValue("x", 100, 100, "100")))


def test_a_gauge_says_its_name_figure_and_thresholds_as_far_as_there_is_room() -> None:
    one = (Threshold(40, "start"), Threshold(80, "limit"))
    for value, width, line in (
        (GaugeValue("PSI", None, 1, ""), 60, "PSI    n/a"),
        (GaugeValue("PSI", math.nan, 1, "kernel"), 60, "PSI    n/a (kernel)"),
        (
            GaugeValue("dirty", 10, 100, "10", one),
            60,
            "dirty  [####            |start          |limit  ]         10",
        ),
        # In a narrow place the figure stays.
        (GaugeValue("dirty", 10, 100, "10 MiB"), 16, "dirty  10 MiB"),
    ):
        assert words_of(gauge(value, width)).rstrip() == line
    # A name without room is left out, and its mark stays.
    narrow = words_of(gauge(GaugeValue("dirty", 90, 100, "90", (Threshold(40, "start"), Threshold(95, "limit")))))
    assert narrow.count("|") == 2
    assert "start" not in narrow


def test_parts_differ_without_colours() -> None:
    parts = tuple(Part(1, kind) for kind in ("user", "system", "iowait", "irq"))
    for glyphs in (ASCII, SAFE, WIDE):
        words = words_of(gauge(GaugeValue("CPU", 4, 4, "4", parts=parts), glyphs=glyphs))
        assert len(set(words.partition("[")[2].partition("]")[0])) == 4


def plot(*series: Series, width: int = 21, height: int = 6, marks: tuple[Threshold, ...] = ()) -> list[str]:
    value = PlotValue(series, 0, 10, 100, "100", "10 s", marks)
    return [words_of(line) for line in plot_lines(value, width, height, ASCII)]


def test_a_plot_shows_a_curve_on_its_scale() -> None:
    rising = Series("w", tuple((x, x * 10) for x in range(1, 11)), "write")
    assert plot(rising, width=24) == [
        "100|                 __#",
        "   |           __#######",
        "   |       __###########",
        "   |  _#################",
        "  0+--------------------",
        "    10 s   # w          ",
    ]


def test_a_column_has_the_points_around_it_and_missing_samples_are_a_gap() -> None:
    for points, span, count, columns in (
        (((0, 5), (1, 0), (2, 5), (3, 5), (8, 5), (9, 5)), (0, 10), 10, [5, 0, 5, 5, *[None] * 4, 5, 5]),
        (((0, 1), (1, math.nan), (2, 1)), (0, 3), 3, [1, None, 1]),
        # Few points fill the columns between them.
        (((0, 1), (5, 2), (10, 3)), (0, 10), 5, [1, 2, 2, 3, 3]),
    ):
        assert columns_of(Series("w", points, "w"), *span, count) == columns, points
    # Zero is drawn, and a gap is not; nor are points outside the scale.
    bottom = plot(Series("w", tuple((x, 0 if x < 5 else math.nan) for x in range(10)), "w"), width=14)[3]
    assert bottom == "   |_____     "
    assert columns_of(Series("w", ((-5, 9), (5, 1), (15, 9)), "w"), 0, 10, 2)[1] == 1


def test_many_points_a_column_are_reduced_to_the_highest_and_that_is_said() -> None:
    series = Series("w", tuple((x / 100, 90.0 if x == 555 else 1.0) for x in range(1000)), "w")
    assert max(y or 0 for y in columns_of(series, 0, 10, 10)) == 90
    assert REDUCED in plot(series, width=60)[-1]
    assert REDUCED not in plot(Series("w", ((1, 1),), "w"), width=60)[-1]


def test_the_curve_behind_is_faint_and_does_not_hide_the_one_in_front() -> None:
    front = Series("now", tuple((x, 30) for x in range(11)), "w")
    behind = Series("before", tuple((x, 80) for x in range(11)), "w", behind=True)
    lines = plot(front, behind, width=40, height=12)
    assert lines[2].count(".") == 36
    assert "." not in lines[9]
    assert lines[9].count("#") == 36
    assert ". before" in lines[-1]


def test_a_curve_at_zero_does_not_hide_the_area() -> None:
    area = Series("w", tuple((x, 60) for x in range(6)), "w")
    line = Series("r", tuple((x, 0) for x in range(11)), "r")
    assert plot(area, line, width=24)[3] == "   |###########*********"


def test_a_threshold_is_a_line_with_its_name_which_stands_on_it_at_the_top() -> None:
    series = Series("w", ((1, 1),), "w")
    lines = plot(series, width=24, height=12, marks=(Threshold(50, "lim"),))
    assert "lim|--------------------" in lines
    lines = plot(series, width=24, marks=(Threshold(100, "limit"),))
    assert lines[0] == "  100|-limit -----------"


def test_nothing_yet_is_said_in_words() -> None:
    assert any(NO_FIGURES in line for line in plot(width=40))


def test_the_longest_bar_is_the_highest_count_and_a_small_one_is_seen() -> None:
    lines = histogram_lines(HistogramValue((("4 KiB", 1, "1"), ("1 MiB", 1000, "1000"), ("none", 0, "0"))), 30, ASCII)
    assert [words_of(line) for line in lines] == [
        "4 KiB #                      1",
        "1 MiB ################### 1000",
        " none                        0",
    ]


def test_a_difference_is_the_columns_that_changed() -> None:
    before, after = gauge(GaugeValue("x", 1, 9, "1")), gauge(GaugeValue("x", 1, 9, "2"))
    assert difference(before, before) == (0, 0)
    assert difference(before, after) == (59, 1)


@SETS
@given(value=STRIPS, width=WIDTHS, height=st.integers(0, 30))
def test_strips_have_their_size_and_the_sets_characters(glyphs: Glyphs, value: Strips, width: int, height: int) -> None:
    lines = strips_lines(value, width, height, glyphs)
    assert [len(line) for line in lines] == [width] * height
    assert of_set(lines, glyphs)


def strip(*series: Series, top: float = 100, steps: tuple[Threshold, ...] = ()) -> PlotValue:
    return PlotValue(series, 0, 10, top, f"{top} MB/s", "0 to 10 s", steps=steps)


def test_strips_share_their_left_edge_and_their_axis_names_the_steps_where_they_begin() -> None:
    moved = Series("disk 30 MB/s", tuple((x, 30) for x in range(11)), "w")
    dirty = Series("dirty 5 MiB", ((1, 80), (2, 80)), "d")
    steps = (Threshold(0, "workload"), Threshold(5, "drain"), Threshold(9.9, "release"))
    value = Strips((strip(moved, steps=steps), strip(dirty, top=200)))
    lines = [words_of(line) for line in strips_lines(value, 71, 10, ASCII)]
    grid = [line for line in lines if line[10] == "|"]
    assert len(grid) == 8
    assert lines[7].startswith("  200 MB/s|")
    axis = next(line for line in lines if line[10] == "+" and "workload" in line)
    assert axis.startswith("         0+workload----")
    assert axis.index("drain") == 11 + 30 + 1
    assert axis.endswith(" 0 to 10 s")
    assert "release" not in axis
    assert all(line[11 + 30] == "|" for line in lines[:3])
    assert lines[-1].strip() == "# disk 30 MB/s   # dirty 5 MiB"
    assert len(strips_lines(value, 71, 5, ASCII)) == 5


def test_a_ring_keeps_each_second_in_its_column_and_leaves_the_one_after_the_newest_empty() -> None:
    before = Ring(tuple(None if slot == 39 else 50.0 for slot in range(60)), 38)
    after = Ring(tuple(100.0 if slot == 39 else 50.0 for slot in range(60)), 39)
    for width in (60, 30, 20):
        old, new = (words_of(ring_cells(one, 100.0, width, ASCII, "cpu")) for one in (before, after))
        assert len(new) == width
        changed = [column for column in range(width) if old[column] != new[column]]
        assert len(changed) <= 2
        assert new[39 // (60 // width)] == "#"
        assert new[(39 // (60 // width) + 1) % width] == " "


def test_a_ring_takes_the_place_of_the_bar_in_80_columns_and_stands_beside_it_in_120() -> None:
    ring = Ring((50.0,) * 60, 59)
    value = GaugeValue("CPU", 50, 100, "user 50", history=ring)
    narrow, wide = (words_of(gauge_line(value, width, ASCII, label_width=9, text_width=34)) for width in (80, 120))
    assert "[" not in narrow
    assert "60 s  ::::" in narrow
    for text, end in (
        ("410 MB/s of peak 820", "to 1000 MB/s"),
        ("1299 MB/s of peak 1347", "1500 MB/s"),
        ("x" * 34, ""),
    ):
        rate = GaugeValue("write", 410, 1000, text, history=ring, end=end.removeprefix("to ") or "1500 MB/s")
        narrow = words_of(gauge_line(rate, 80, ASCII, label_width=9, text_width=34))
        assert narrow[10:45] == f"{text}{end.rjust(34 - len(text))} "
        assert narrow[45:50] == "60 s "
    assert "[###" in wide
    assert " 60 s " in wide


def test_the_end_of_a_scale_stands_behind_a_bar_that_covers_it() -> None:
    for value, ending in (
        (100, "500 MB/s]                       100 MB/s"),
        (480, " ] to 500 MB/s           480 MB/s"),
    ):
        gauge = GaugeValue("write", value, 500, f"{value} MB/s", end="500 MB/s")
        shown = words_of(gauge_line(gauge, 102, ASCII, label_width=9, text_width=30))
        assert shown.endswith(ending)
        assert (len(shown), shown.count("500 MB/s")) == (102, 1)


def test_a_scale_ends_at_a_round_number_that_no_value_reaches() -> None:
    for value in (0.3, 1.0, 9.9, 365, 1000, 1409, 9_999_999):
        assert value < round_above(value) <= 1.6 * value
    assert round_above(0) == round_above(math.inf) == round_above(math.nan) == 0


def test_of_a_whole_cells_chart_what_is_painted_stays_where_it_is_when_figures_come() -> None:
    def at(figures: int) -> list[Line]:
        points = tuple((4 + n / 2, (40e6 + n % 2 * 9e6, None, n % 2 * 3 * MIB, 10.0)) for n in range(figures))
        snapshot = replace(loading(), history=History(Trace(1, 0.5, points)))
        value = strips(snapshot, Plotted.MOVED, last_minute=False, width=80)
        # All but the names of the curves.
        return list(strips_lines(value, 80, 12, SAFE))[:-1]

    for before, after in pairwise(map(at, range(3, 16))):
        painted = [line.index((" ", "text"), _EDGE + 1) for line in before if ("█", "write") in line]
        newest = max(painted) - 1
        assert [line[:newest] for line in after] == [line[:newest] for line in before]
        assert after != before
