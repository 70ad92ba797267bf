from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.telemetry.machine import (
    CpuReading,
    CpuTimes,
    busy_between,
    cpu_shares,
    cpu_snapshot,
    parse_cpu,
    per_cpu_shares,
)
from fsconsole.telemetry.rates import Unreadable
from tests.unit.telemetry.data import kernels_with, recorded

ticks = st.integers(min_value=0, max_value=2**40)
steal = st.none() | ticks
times = st.builds(CpuTimes, *(ticks for _ in CpuTimes._fields))
steps = st.builds(CpuTimes, *(st.integers(0, 10_000) for _ in CpuTimes._fields))


def plus(start: CpuTimes, step: CpuTimes) -> CpuTimes:
    return CpuTimes(*((getattr(start, f) or 0) + (getattr(step, f) or 0) for f in CpuTimes._fields))


@pytest.mark.parametrize("kernel", kernels_with("stat"))
def test_every_kernels_stat_gives_the_whole_machine_and_each_cpu(kernel: str) -> None:
    reading = parse_cpu(recorded(kernel, "stat"))
    assert len(reading.per_cpu) >= 2
    total = reading.total.user
    assert abs(total - sum(cpu.user for _, cpu in reading.per_cpu)) <= len(reading.per_cpu)


def test_columns_are_taken_in_the_order_of_the_man_page() -> None:
    reading = parse_cpu("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\nintr 5\n")
    assert reading.total == CpuTimes(1, 2, 3, 4, 5, 6, 7, 8)


def test_an_old_kernel_without_steal_has_none() -> None:
    total = parse_cpu("cpu 1 2 3 4 5 6 7\n").total
    assert total == CpuTimes(1, 2, 3, 4, 5, 6, 7, None)
    assert cpu_shares(total, total).steal is None


def test_a_cpu_that_is_offline_is_not_counted() -> None:
    assert [number for number, _ in parse_cpu(recorded("4.4", "stat")).per_cpu] == [0, 1, 3]


@pytest.mark.parametrize(
    "text", ["", "intr 1 2 3\n", "cpu  1 2 3\n", "cpu  1 2 3 x\n", "cpux 1 2 3 4\n", "cpu  1 2 3 4\ncpu0\n"]
)
def test_another_file_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_cpu(text)


def test_guest_time_is_not_counted_twice() -> None:
    # man 5 proc_stat: guest is in user already; 100 ticks of user, all of them guest.
    before = parse_cpu("cpu 0 0 0 0 0 0 0 0 0 0\n").total
    after = parse_cpu("cpu 100 0 0 100 0 0 0 0 100 0\n").total
    assert cpu_shares(before, after).busy == 50.0


def test_stolen_time_is_in_no_share() -> None:
    before, after = CpuTimes(0, 0, 0, 0), CpuTimes(user=50, nice=0, system=0, idle=50, steal=900)
    assert cpu_shares(before, after._replace(steal=None)).user == 50.0
    before = before._replace(steal=0)
    assert (cpu_shares(before, after).user, cpu_shares(before, after).steal) == (50.0, 90.0)


def test_waiting_for_io_is_not_busy() -> None:
    before, after = CpuTimes(0, 0, 0, 0), CpuTimes(user=10, nice=0, system=20, idle=30, iowait=40)
    assert cpu_shares(before, after).busy == pytest.approx(30.0)


@given(times, steps)
def test_shares_add_up_to_the_whole(before: CpuTimes, step: CpuTimes) -> None:
    shares = cpu_shares(before, plus(before, step))
    whole = shares.busy + shares.idle + shares.iowait
    spent = sum(getattr(step, f) for f in CpuTimes._fields) - step.steal
    assert whole == pytest.approx(100.0 if spent else 0.0)


@given(times, times)
def test_no_share_is_below_zero_even_if_the_kernel_corrects_a_counter(
    before: CpuTimes, after: CpuTimes
) -> None:
    shares = cpu_shares(before, after)
    assert min(shares.user, shares.system, shares.iowait, shares.idle) >= 0


def test_each_cpu_has_its_own_share_and_a_new_one_waits_for_its_second_reading() -> None:
    idle, busy = CpuTimes(0, 0, 0, 100), CpuTimes(100, 0, 0, 0)
    before = CpuReading(CpuTimes(0, 0, 0, 0), ((0, CpuTimes(0, 0, 0, 0)), (2, CpuTimes(0, 0, 0, 0))))
    after = CpuReading(CpuTimes(0, 0, 0, 0), ((0, idle), (1, busy), (2, busy)))
    shares = per_cpu_shares(before, after)
    assert [(cpu.number, cpu.shares.busy) for cpu in shares] == [(0, 0.0), (2, 100.0)]
    assert shares[1].shares.user == 100.0


@given(times, steps)
def test_busy_time_of_a_step_counts_kernel_work_and_no_waiting(before: CpuTimes, step: CpuTimes) -> None:
    ticks_per_s = os.sysconf("SC_CLK_TCK")
    time = busy_between(before, plus(before, step))
    busy = step.user + step.nice + step.system + step.irq + step.softirq
    assert time.busy_s == pytest.approx(busy / ticks_per_s)
    assert time.available_s == pytest.approx((busy + step.idle + step.iowait) / ticks_per_s)
    assert busy_between(before, plus(before, step._replace(steal=0))) == time


def test_this_machine_has_been_busy() -> None:
    before = cpu_snapshot()
    assert before.user > 0
    assert busy_between(before, cpu_snapshot()).busy_s >= 0


def test_a_cpu_that_was_unplugged_is_left_out_and_the_others_keep_their_numbers() -> None:
    idle = CpuTimes(0, 0, 0, 100)
    before = CpuReading(idle, ((0, idle), (1, idle), (2, idle)))
    after = CpuReading(idle, ((0, idle), (2, CpuTimes(50, 0, 0, 150))))
    assert [(cpu.number, cpu.shares.busy) for cpu in per_cpu_shares(before, after)] == [(0, 0.0), (2, 50.0)]


@given(st.text(max_size=120) | st.text("cpu0123456789 \n", max_size=200))
def test_any_text_is_times_or_unreadable(text: str) -> None:
    try:
        parse_cpu(text)
    except Unreadable:
        return
