from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.telemetry.rates import Restarted, counter_delta, forward_delta


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**31 - 1))
def test_a_64_bit_counter_gives_its_step_over_a_wrap_too(start: int, step: int) -> None:
    if start >= 2**32:
        assert counter_delta(start, (start + step) % 2**64) == step


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**31 - 1))
def test_a_32_bit_counter_gives_its_step_over_a_wrap_too(start: int, step: int) -> None:
    assert counter_delta(start, (start + step) % 2**32) == step


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_a_delta_is_never_negative(before: int, after: int) -> None:
    try:
        assert counter_delta(before, after) >= 0
    except Restarted:
        assert after < before


@pytest.mark.parametrize(("before", "after"), [(1_000_000, 0), (1_000_000, 999_999), (2**40, 5)])
def test_a_device_made_anew_is_not_a_wrap(before: int, after: int) -> None:
    with pytest.raises(Restarted):
        counter_delta(before, after)


@given(st.integers(0, 2**64), st.integers(0, 2**64))
def test_a_corrected_counter_stands_still(before: int, after: int) -> None:
    assert forward_delta(before, after) == max(0, after - before)
