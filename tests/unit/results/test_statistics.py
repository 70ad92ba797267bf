from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.results.figures import spread_percent, summarise

FIGURES = st.lists(st.floats(0.001, 1e12), min_size=1, max_size=9).map(tuple)


def test_the_median_of_an_even_number_lies_between_the_middle_two() -> None:
    assert summarise((1.0, 10.0, 2.0, 4.0)).median == 3.0


def test_the_spread_is_the_whole_range_over_the_median() -> None:
    assert spread_percent((90.0, 100.0, 120.0)) == pytest.approx(30.0)


def test_one_value_has_no_spread() -> None:
    assert summarise((5.0,)).spread_percent is None


def test_a_median_of_zero_has_no_spread() -> None:
    assert spread_percent((0.0, 0.0, 3.0)) is None


def test_a_spread_beyond_all_numbers_is_no_number() -> None:
    assert spread_percent((5e-324, 5e-324, 1e308)) is None


def test_the_median_of_the_largest_numbers_is_a_number() -> None:
    assert summarise((1.7e308, 1.7e308)).median == 1.7e308


def test_nothing_is_not_summarised() -> None:
    with pytest.raises(ValueError, match="no values"):
        summarise(())


@given(FIGURES)
def test_raw_values_are_kept_in_their_order(values: tuple[float, ...]) -> None:
    summary = summarise(values)
    assert (summary.values, summary.n) == (values, len(values))


@given(FIGURES)
def test_the_median_lies_within_the_values(values: tuple[float, ...]) -> None:
    assert min(values) <= summarise(values).median <= max(values)
