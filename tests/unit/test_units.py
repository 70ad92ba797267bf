from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.errors.targets import BadQuantity
from fsconsole.units import (
    fixed,
    format_elapsed,
    format_guess,
    format_seconds,
    parse_bytes,
    parse_seconds,
    shared_decimals,
)


@pytest.mark.parametrize(
    ("values", "decimals"),
    [
        ((), 0),
        ((0.0, 0.0), 0),
        ((812.0, 410.0), 0),
        ((812.0, 78.94), 1),
        ((5336.2, 12.3), 1),
        ((5336.2, 0.0431), 3),
        ((0.00912, 0.0324), 3),
        ((0.0019, 0.0038), 4),
        ((1.02, 6.38), 2),
        ((math.inf, 12.3), 1),
        ((1e-300,), 6),
    ],
)
def test_figures_of_a_column_have_as_many_decimals_as_the_smallest_needs(
    values: tuple[float, ...], decimals: int
) -> None:
    assert shared_decimals(values) == decimals


@given(st.lists(st.floats(0.01, 1e6), min_size=1))
def test_no_figure_of_a_column_is_rounded_to_nothing(values: list[float]) -> None:
    assert all(float(fixed(value, shared_decimals(values))) > 0 for value in values)


@pytest.mark.parametrize(
    ("elapsed_s", "duration", "clock", "guess"),
    [
        (0.00912, "0.009 s", "0.0 s", "0 s"),
        (0.0431, "0.043 s", "0.0 s", "0 s"),
        (12.34, "12.3 s", "12.3 s", "12 s"),
        (242.0, "4 min 02 s", "4 min 02 s", "4 min 02 s"),
        (7500.0, "2 h 05 min", "2 h 05 min", "2 h 05 min"),
    ],
)
def test_a_duration_is_as_fine_as_it_is_known(elapsed_s: float, duration: str, clock: str, guess: str) -> None:
    assert format_seconds(elapsed_s) == duration
    assert format_elapsed(elapsed_s) == clock
    assert format_guess(elapsed_s) == guess


def test_a_size_means_the_same_in_small_letters_but_for_k() -> None:
    for small, usual in (("64m", "64M"), ("64mb", "64MB"), ("64mib", "64MiB"), ("4g", "4GiB"), ("2KIB", "2KiB")):
        assert parse_bytes(small) == parse_bytes(usual), small
    assert (parse_bytes("4k"), parse_bytes("4K")) == (4000, 4096)


@pytest.mark.parametrize("text", [str(2**63), "8388608TiB", "0.5", "1.0001KiB"])
def test_a_size_is_a_whole_number_of_bytes_below_8_eib(text: str) -> None:
    with pytest.raises(BadQuantity, match="whole number of bytes below 8 EiB"):
        parse_bytes(text)


@given(st.integers(1, 10**6), st.integers(0, 6))
def test_a_size_with_decimals_is_as_exact_as_it_was_written(digits: int, decimals: int) -> None:
    text = f"{digits:07d}"
    point = len(text) - decimals
    assert parse_bytes(f"{text[:point]}.{text[point:] or '0'}MB") == digits * 10 ** (6 - decimals)


@pytest.mark.parametrize(
    ("text", "size"), [("4.1GB", 4_100_000_000), ("0.00", 0), (f"{2**62 + 1}", 2**62 + 1), ("0.5KiB", 512)]
)
def test_a_size_may_have_a_decimal_point(text: str, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize("text", ["9" * 5000, f"{'0' * 5000}.1", f"1.{'1' * 5000}", f"{2**63}.0"])
def test_digits_without_end_are_refused_as_any_other_size(text: str) -> None:
    with pytest.raises(BadQuantity):
        parse_bytes(text)


def test_what_is_no_size_or_no_time_is_shown_examples_of_that_alone() -> None:
    for parse, own, others in ((parse_bytes, "64KiB", "30s"), (parse_seconds, "30s", "KiB")):
        for text in ("", "much", "3 parsecs", "-1"):
            with pytest.raises(BadQuantity) as refused:
                parse(text)
            assert own in refused.value.hint
            assert others not in refused.value.hint
