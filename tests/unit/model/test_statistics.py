"""Quantiles, intervals, power and looks."""

from __future__ import annotations

import math

import pytest

from fsconsole.model.statistics import t_quantile


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
