"""Quantiles, intervals, power and looks."""

from __future__ import annotations

import math

import pytest

from fsconsole.model.statistics import (
    ALPHA,
    LOOK_ALPHAS,
    LOOKS,
    POWER,
    Interval,
    alpha_at,
    chance,
    detectable,
    interval,
    lower_bound,
    rounds_more,
    t_quantile,
    upper_bound,
    welch,
)


def test_quantiles_of_students_t_are_those_of_published_tables_and_of_closed_forms_far_out() -> None:
    table = {
        1: (6.313752, 12.706205, 63.656741, 636.619249),
        2: (2.919986, 4.302653, 9.924843, 31.599055),
        4: (2.131847, 2.776445, 4.604095, 8.610302),
        7: (1.894579, 2.364624, 3.499483, 5.407883),
        30: (1.697261, 2.042272, 2.749996, 3.645959),
        1000: (1.646379, 1.962339, 2.580755, 3.300283),
    }
    for freedom, values in table.items():
        for tail, value in zip((0.05, 0.025, 0.005, 0.0005), values, strict=True):
            assert t_quantile(tail, freedom) == pytest.approx(value, rel=1e-6), (freedom, tail)
    for tail in (0.3, 1e-3, 1e-5, 1e-8):
        root = math.sqrt(4 * tail * (1 - tail))
        assert t_quantile(tail, 1) == pytest.approx(1 / math.tan(math.pi * tail), rel=1e-9)
        assert t_quantile(tail, 2) == pytest.approx((1 - 2 * tail) * math.sqrt(2) / root, rel=1e-9)
        of_four = 2 * math.sqrt(math.cos(math.acos(root) / 3) / root - 1)
        assert t_quantile(tail, 4) == pytest.approx(of_four, rel=1e-9)
    # Welch's degrees of freedom are no whole numbers.
    assert t_quantile(0.025, 5) < t_quantile(0.025, 4.6) < t_quantile(0.025, 4)


def test_quantiles_and_power_are_those_of_scipy() -> None:
    stats = pytest.importorskip("scipy.stats", reason="SciPy comes with `./bootstrap test`")
    for freedom in (1, 2, 3, 4, 4.6, 7, 11, 11.3, 29, 100, 1e4):
        for tail in (0.4, 0.05, 0.025, 0.05 / 24, 0.045 / 24, 1e-3 / 24, 1e-3 / 2000):
            assert t_quantile(tail, freedom) == pytest.approx(stats.t.isf(tail, freedom), rel=1e-8), (tail, freedom)
    for n in (4, 5, 8, 12, 30):
        edge = stats.t.isf(0.05 / 24, n - 1)
        for shift in (0.0, 2.0, 5.0, 9.0):
            # The other tail is nothing for a true difference, where SciPy has no number for it.
            exact = stats.nct.sf(edge, n - 1, shift) * (1 if shift else 2)
            assert chance(shift / math.sqrt(n), 1.0, n, 0.05 / 12) == pytest.approx(exact, abs=0.005), (n, shift)
    numpy = pytest.importorskip("numpy")
    draw = numpy.random.default_rng(80)
    for mean, n in ((0.0, 12), (0.03, 12), (0.09, 15), (-0.02, 20)):
        logs = draw.normal(mean, 0.07, (20_000, n))
        half = stats.t.isf(0.05 / 24, n - 1) * logs.std(1, ddof=1) / math.sqrt(n) + 0.002
        found = abs(logs.mean(1))
        share = ((found > half) | (found + half <= 0.095)).mean()
        assert chance(mean, 0.07, n, 0.05 / 12, limit=0.095, slack=0.002) == pytest.approx(share, abs=0.012), (mean, n)
    own, other = [1.0, 2.0, 4.0, 3.5], [2.0, 9.0, 4.0, 7.0, 6.0, 8.0]
    exact = stats.ttest_ind(own, other, equal_var=False).confidence_interval(0.98)
    found = welch(own, other, 0.02)
    assert (found.low, found.high) == (pytest.approx(exact.low), pytest.approx(exact.high))


def test_bounds_on_one_side_are_ends_of_the_interval_with_twice_the_error() -> None:
    values = [1.0, 2.0, 4.0, 3.5, 2.5]
    both = interval(values, 0.10)
    assert (lower_bound(values), upper_bound(values)) == (both.low, both.high)
    assert both.mean == pytest.approx(2.6)
    # 2.1318 x 1.1937 / sqrt(5)
    assert both.half == pytest.approx(1.1381, abs=1e-3)


def test_welch_s_interval_needs_no_equal_spreads_and_equal_figures_have_none() -> None:
    assert welch([1.0, 1.0, 1.0], [3.0, 3.0], 0.05) == Interval(-2.0, -2.0, -2.0)
    # One side is exact: the other's degrees of freedom are all there are.
    values = [1.0, 2.0, 4.0, 3.5, 2.5]
    assert welch(values, [0.0] * 3, 0.05).low == pytest.approx(interval(values, 0.05).low)


def test_the_looks_share_the_whole_error_out_and_twelve_rounds_find_ten_per_cent() -> None:
    assert math.fsum(LOOK_ALPHAS) == pytest.approx(ALPHA)
    assert [alpha_at(number) for number in (5, 8, 12, 13)] == [*LOOK_ALPHAS, LOOK_ALPHAS[-1]]
    assert detectable(LOOKS[-1], 12, 0.05, LOOK_ALPHAS[-1]) <= 0.10
    # tests/simulate: 10.0 % at a spread of 5 % are found in 80 % of grids of 13 within 12 rounds.
    assert [round(100 * detectable(n, 12, 0.05)) for n in (5, 10, 20)] == [26, 11, 7]


def test_more_rounds_than_are_worth_it_are_not_told() -> None:
    assert rounds_more(0.05, 0.05, 5, 0.05, most=30) == 5
    assert rounds_more(0.05, 0.05, 5, 0.05, most=4) is None
    assert chance(0.05, 0.05, 10, 0.05) >= POWER > chance(0.05, 0.05, 9, 0.05)
    # What shows no difference is decided by being the same.
    assert rounds_more(0.0, 0.05, 5, 0.05, most=30) is None
    assert rounds_more(0.0, 0.05, 5, 0.05, most=30, limit=0.1) == 1
