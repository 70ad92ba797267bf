from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fsconsole.telemetry import rates
from tests.unit.telemetry.made_sys import refuses

WIDE = 2**64
steps = st.integers(0, 2**31 - 1)


@given(st.sampled_from([rates.INT_WIDTH, WIDE]), st.integers(0, WIDE - 1), steps)
def test_a_counter_gives_its_step_over_a_wrap_too(width: int, start: int, step: int) -> None:
    start %= width
    assert rates.counter_delta(start, (start + step) % width, width) == step
    assert rates.LONG_WIDTH in {rates.INT_WIDTH, WIDE}


@given(st.integers(0, WIDE - 1), st.integers(0, WIDE - 1), st.sampled_from([rates.INT_WIDTH, WIDE]))
def test_a_delta_is_never_negative_and_never_absurd(before: int, after: int, width: int) -> None:
    try:
        assert 0 <= rates.counter_delta(before, after, width) < 2**48
    except rates.Restarted:
        assert after < before or after - before >= 2**48


def test_a_device_made_anew_is_not_a_wrap() -> None:
    anew = [
        (1_000_000, 0, rates.INT_WIDTH),
        (1_000_000, 999_999, WIDE),
        (2**40, 5, rates.INT_WIDTH),
        # On a kernel of 64 bits 2 TB do not wrap: another device has written 1000 sectors.
        (4_000_000_000, 1000, WIDE),
    ]
    assert [case for case in anew if not refuses(rates.counter_delta, *case, error=rates.Restarted)] == []


@given(st.integers(0, 2**64), st.integers(0, 2**64))
def test_a_corrected_counter_stands_still(before: int, after: int) -> None:
    assert rates.forward_delta(before, after) == max(0, after - before)


def test_a_share_is_never_above_the_whole() -> None:
    assert (rates.share_percent(0.25, 0.5), rates.share_percent(0.6, 0.5)) == (50.0, 100.0)


def test_numbers_of_lines_leave_out_what_is_none() -> None:
    text = "Dirty: 12 kB\nstate: ff\nHuge: 99999999999999999999 kB\n\nalone\nMinus: -4 kB\nOdd: \u0663 kB\n"
    assert rates.kernel_numbers(text, ":") == {"Dirty": 12}


def test_a_number_stands_behind_its_name_at_the_beginning_of_a_line() -> None:
    text = "nr_dirty 7\nnr_dirty_threshold 12\nWriteback:  4 kB\nWritebackTmp: 5 kB\nodd: x\nlast:"
    assert rates.kernel_number(text, "nr_dirty ") == 7
    assert rates.kernel_number(text, "nr_dirty_threshold ") == 12
    assert rates.kernel_number(text, "Writeback:") == 4
    for name in ("dirty ", "odd:", "last:", "none:"):
        assert rates.kernel_number(text, name) is None
    assert rates.kernel_number("big: 99999999999999999999", "big:") is None


@given(st.dictionaries(st.text("abc_", min_size=1, max_size=5), st.integers(0, 2**52), max_size=6))
def test_one_number_is_what_all_numbers_say(numbers: dict[str, int]) -> None:
    text = "".join(f"{name}: {number} kB\n" for name, number in numbers.items())
    assert {name: rates.kernel_number(text, f"{name}:") for name in numbers} == rates.kernel_numbers(text, ":")


@given(st.text(max_size=200))
def test_no_text_makes_the_reader_of_lines_fail_and_what_is_called_a_number_is_one(text: str) -> None:
    assert all(0 <= number < 2**63 // 1024 for number in rates.kernel_numbers(text, ":").values())
    assert not rates.is_number(text) or int(text) >= 0


def test_a_number_is_read_as_long_as_its_bytes_can_be_kept() -> None:
    most = rates.MOST // 1024
    assert rates.kernel_number(f"Dirty: {most} kB", "Dirty:") == most
    assert rates.kernel_number(f"Dirty: {most + 1} kB", "Dirty:") is None
