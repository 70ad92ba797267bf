"""Curves over an axis: which there are, their intervals, and how they are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.errors.runs import NoCurves
from fsconsole.model.metrics import Metric
from fsconsole.model.state import RunState
from fsconsole.results.blocks import blocks_of
from fsconsole.results.curves import Curve, CurveChart, CurveChoice, Point, charts_of, numeric_axes, positions, top_of
from fsconsole.results.curves_svg import charts_svg
from fsconsole.results.curves_text import chart_lines, chart_text
from fsconsole.results.grid import build_grid
from tests.unit.results.build import EXT4, LARGE_FILES, XFS, cell, done, run


def over_threads(counts: Sequence[int] = (1, 4, 16), repeats: int = 3, rate: float = 1.0) -> RunState:
    """Durable of ext4 falls with the threads, that of xfs doesn't; rounds differ by 2 %."""
    cells, states = [], []
    for repeat in range(1, repeats + 1):
        for variant in (EXT4, XFS):
            for count in counts:
                index = len(cells)
                load = replace(LARGE_FILES, threads=count, files=count)
                cells.append(replace(cell(index, variant, repeat=repeat), workloads=(load,)))
                slower = count**0.5 if variant is EXT4 else 1.0
                states.append(done(index, factors={Metric.DURABLE: rate * (1 + 0.01 * repeat) / slower}))
    return run(cells, states)


def test_a_variant_is_a_curve_over_threads_with_the_interval_of_its_rounds() -> None:
    durable, *_ = charts_of([("run", over_threads())])
    assert (durable.metric, durable.axis) == (Metric.DURABLE, "threads")
    assert [value for _, value in durable.values] == ["1", "4", "16"]
    ext4, xfs = durable.curves
    assert (ext4.name, xfs.name) == (EXT4.label, XFS.label)
    assert ext4.points[0].y / ext4.points[2].y == pytest.approx(4)
    for point in durable.points:
        assert point.low is not None
        assert point.high is not None
        assert 0.9 * point.y < point.low < point.y < point.high < 1.1 * point.y


def test_fewer_than_three_rounds_have_no_interval_and_say_so() -> None:
    (durable, *_) = charts_of([("run", over_threads(repeats=2))])
    assert not durable.has_intervals
    assert "Intervals need 3 rounds." in chart_text(durable)


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (CurveChoice(axis="read_ahead"), "'read_ahead' is none of the axes threads"),
        (CurveChoice(variant="zfs"), "no variant 'zfs', of ext4 data=ordered, xfs"),
        (CurveChoice(metrics=(Metric.FSYNC_P99,)), "no load that varies along an axis has figures"),
    ],
)
def test_what_can_not_be_drawn_is_refused_with_what_can(choice: CurveChoice, words: str) -> None:
    with pytest.raises(NoCurves, match=words):
        charts_of([("run", over_threads())], choice)


def test_two_values_are_no_axis() -> None:
    state = over_threads(counts=(1, 16))
    assert not any(numeric_axes(block) for block in blocks_of(state, build_grid(state)))
    with pytest.raises(NoCurves, match="no axis has 3 or more"):
        charts_of([("run", state)])


def test_runs_are_curves_with_their_labels_of_one_variant_or_of_all() -> None:
    runs = [("6.1.0", over_threads()), ("6.12.0", over_threads(rate=1.2))]
    (durable, *_) = charts_of(runs)
    assert [curve.name for curve in durable.curves] == [
        f"{variant.label}, {kernel}" for kernel in ("6.1.0", "6.12.0") for variant in (EXT4, XFS)
    ]
    (durable, *_) = charts_of(runs, CurveChoice(variant="xfs"))
    assert [curve.name for curve in durable.curves] == ["6.1.0", "6.12.0"]
    assert durable.curves[1].points[0].y / durable.curves[0].points[0].y == pytest.approx(1.2)


def test_the_values_of_the_axis_stand_at_their_logarithms_and_zero_one_step_before() -> None:
    points = tuple(Point(str(x), x, 1.0) for x in (0, 1, 2, 4, 64))
    of = positions(CurveChart("", Metric.WRITE, "threads", (Curve("", points),)))
    assert list(of.values()) == pytest.approx([0, 1 / 7, 2 / 7, 3 / 7, 1])


def test_a_drawing_has_the_letters_of_its_curves_at_their_places() -> None:
    (durable, *_) = charts_of([("run", over_threads())])
    text = chart_text(durable)
    rows = text.splitlines()
    assert max(map(len, rows)) <= 80
    assert text.isascii()
    lines = {row.count("a") + row.count("b"): row for row in rows[2:19] if "a" in row or "b" in row}
    assert sum(row.count("a") for row in rows[2:19]) == 3
    assert sum(row.count("b") for row in rows[2:19]) == 3
    assert lines
    assert rows[2].split()[0] == "500"
    assert "0 +" in rows[18]
    assert rows[20].split() == ["1", "4", "16"]
    assert "a ext4 data=ordered" in text
    assert "| 95 % interval of each figure over its rounds." in text
    # The slope of ext4 falls to the right.
    heights = [next(n for n, row in enumerate(rows) if n > 1 and column < len(row) and row[column] == "a")
               for column in sorted(row.index("a") for row in rows[2:19] if "a" in row)]  # fmt: skip
    assert heights == sorted(heights)


FIGURES = st.floats(0, 1e15)


@st.composite
def charts(draw: st.DrawFn) -> CurveChart:
    """Anything that a run from elsewhere may hold."""
    metric = draw(st.sampled_from([Metric.DURABLE, Metric.LATENCY_MAX, Metric.EXTENTS_MEAN, Metric.CPU]))
    values = draw(st.lists(st.integers(0, 2**40), min_size=3, max_size=12, unique=True))
    curves = []
    for _ in range(draw(st.integers(1, 8))):
        points = []
        for value in sorted(values):
            y, low, high = draw(FIGURES), draw(st.none() | st.floats(-1e20, 1e20)), draw(st.floats(-1e20, 1e300))
            points.append(Point(str(value), value, y, low, None if low is None else high))
        curves.append(
            Curve(draw(st.text(st.characters(codec="ascii", categories=["L", "N", "P"]), max_size=90)), tuple(points))
        )
    return CurveChart("x" * draw(st.integers(0, 200)), metric, "threads", tuple(curves), draw(st.integers(0, 3)))


@given(charts(), st.integers(1, 200))
def test_any_chart_fits_its_width_and_is_a_whole_picture(chart: CurveChart, width: int) -> None:
    lines = chart_lines(chart, width)
    assert all(sum(len(text) for text, _ in line) <= max(40, width) + 1 for line in lines)
    tones = {tone for line in lines for _, tone in line}
    assert tones <= {"", *(f"map{number}" for number in range(min(6, len(chart.curves))))}
    assert top_of(chart, 1.0) > 0
    ElementTree.fromstring(charts_svg([chart]))  # noqa: S314 (it is our own)


def test_the_picture_has_a_line_a_name_and_an_interval_for_each_curve_and_escapes_names() -> None:
    (durable, *_) = charts_of([("run", over_threads())])
    hostile = replace(durable, curves=(replace(durable.curves[0], name='<script>"&'), *durable.curves[1:]))
    svg = charts_svg([hostile])
    assert "<script>" not in svg
    root = ElementTree.fromstring(svg)  # noqa: S314 (it is our own)
    assert len(root.findall(".//{*}circle")) == 6
    assert any("xfs" in (text.text or "") for text in root.iter("{http://www.w3.org/2000/svg}text"))


def test_an_interval_that_ends_above_the_scale_says_so() -> None:
    points = tuple(Point(str(x), x, 10.0, 1.0, high) for x, high in ((1, 11.0), (2, 1e9), (4, 12.0)))
    chart = CurveChart("load", Metric.EXTENTS_MEAN, "threads", (Curve("ext4", points),))
    text, svg = chart_text(chart), charts_svg([chart])
    assert text.splitlines()[2].count("^") == 1
    assert "^ it ends above the scale." in text
    assert "No cap: it ends above the scale." in svg
    (durable, *_) = charts_of([("run", over_threads())])
    assert "^" not in chart_text(durable)
