"""A number too large for a float, or for Python's own reader of digits, is refused like any other bad value."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.errors import FsconsoleError
from fsconsole.errors.targets import BadQuantity, PlanBadValue, PlanNotToml
from fsconsole.tui.screens.scratch_form import judge
from fsconsole.units import parse_bytes
from tests.unit.plan.examples import SMALLEST, parse

TOP = ("scale", "repeats", "seed", "schema", "title", "order", "equalise")
WORKLOAD = ("threads", "file_size", "data", "directories", "duration", "weights", "files", "block")
HUGE = st.builds(
    lambda sign, digit, digits: sign + digit * digits,
    st.sampled_from(("", "-")),
    st.sampled_from("19"),
    st.integers(290, 5000),
) | st.builds(lambda digit, digits: "0x" + digit * digits, st.sampled_from("1f"), st.integers(250, 5000))


@pytest.mark.parametrize("digits", [309, 4300])
def test_a_scale_too_large_for_a_float_is_a_bad_value(digits: int) -> None:
    with pytest.raises(PlanBadValue, match="scale") as caught:
        parse("scale = " + "9" * digits + "\n" + SMALLEST)
    assert "is too large" in str(caught.value)


def test_more_digits_than_python_reads_are_told_in_words() -> None:
    with pytest.raises(PlanNotToml, match="too many digits"):
        parse("scale = " + "9" * 4301 + "\n" + SMALLEST)


@given(st.sampled_from(TOP), HUGE)
def test_huge_numbers_at_the_top_of_a_plan_end_with_its_errors(key: str, number: str) -> None:
    with pytest.raises(FsconsoleError) as caught:
        parse(f"{key} = {number}\n{SMALLEST}")
    assert str(caught.value).isprintable()


@given(st.sampled_from(WORKLOAD), HUGE)
def test_huge_numbers_in_a_workload_end_with_the_plans_errors(key: str, number: str) -> None:
    with pytest.raises(FsconsoleError):
        parse(f'{SMALLEST}[[workload]]\nkind = "create"\n{key} = {number}\n')


@given(st.integers(290, 400), st.sampled_from(["", "K", "GiB", "MB"]))
def test_a_size_too_large_for_a_float_is_no_size(digits: int, unit: str) -> None:
    with pytest.raises(BadQuantity):
        parse_bytes("9" * digits + unit)
    assert not judge("9" * digits + unit, "/var/tmp", None).is_good
