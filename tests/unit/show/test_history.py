from __future__ import annotations

import tracemalloc
from dataclasses import replace

import pytest

from fsconsole.journal.past import Point
from fsconsole.model.state import CellStatus, RunState, RunStatus
from fsconsole.show.history import FIRST_SLOT_S, MAX_SLOTS, MINUTE_S, Keeper, Trace, Tracer
from tests.unit.results import build

S_NS = 10**9


def point(at_s: float, cell: int | None = 0, write: float | None = 1e6, *, cpu: float = 10.0) -> Point:
    return Point(int(at_s * S_NS), cell, write, 0.0, 4096.0, cpu)


def state_of(*began_s: int) -> RunState:
    """A run whose cells began at these seconds, by their first steps."""
    cells = tuple(build.cell(index) for index in range(len(began_s)))
    states = []
    for index, began in enumerate(began_s):
        cell = build.running(index, status=CellStatus.DONE)
        steps = tuple(replace(step, started_monotonic_ns=began * S_NS) for step in cell.steps)
        states.append(replace(cell, steps=steps))
    return build.run(cells, states, status=RunStatus.RUNNING)


def traced(*points: Point, began_ns: int = 0) -> Trace:
    tracer = Tracer(0, began_ns)
    for each in points:
        tracer.add(each)
    return tracer.trace()


def test_a_short_cell_keeps_every_sample_in_a_slot_of_its_own_and_absent_rates_absent() -> None:
    trace = traced(*(point(number * 0.5, write=number) for number in range(20)))
    assert [at for at, _ in trace.points] == [number * 0.5 for number in range(20)]
    # What was before the cell's beginning is no part of its curve.
    assert [at for at, _ in traced(point(99), point(101), began_ns=100 * S_NS).points] == [1.0]
    absent = traced(point(0, write=None), point(1, write=0.0))
    assert [figures[0] for _, figures in absent.points] == [None, 0.0]


def test_a_peak_is_never_thinned_away() -> None:
    trace = traced(*(point(number * 0.5, write=9e9 if number == 777 else 1e6) for number in range(100_000)))
    assert len(trace.points) <= MAX_SLOTS
    (peak,) = [at for at, figures in trace.points if figures[0] == 9e9]
    assert peak <= 777 * 0.5 < peak + trace.slot_s


def test_a_curve_is_the_same_in_whatever_order_its_points_come() -> None:
    for samples in (1, 479, 480, 481, 5000):
        points = [point(number * 0.5, write=float(number % 97)) for number in range(samples)]
        step = next(number for number in (7, 11, 13) if samples % number)
        shuffled = [points[number * step % samples] for number in range(samples)]
        assert traced(*points) == traced(*shuffled), samples


def test_memory_is_flat_over_twelve_hours() -> None:
    state = state_of(0)
    keeper = Keeper()
    per_hour = 2 * 3600
    tracemalloc.start()
    try:
        kept = []
        for hour in range(12):
            keeper.add((point((hour * per_hour + number) / 2) for number in range(per_hour)), state)
            kept.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert max(kept[1:]) < 1.2 * kept[0] + 50_000
    assert len(keeper.history().current.points) <= MAX_SLOTS


def test_another_cell_makes_the_former_one_the_curve_behind_and_the_same_begun_again_none() -> None:
    keeper = Keeper()
    keeper.add([point(1), point(11, 1), point(15, None), point(21, 2)], state_of(0, 10, 20))
    history = keeper.history()
    assert (history.current.cell, history.previous.cell) == (2, 1)
    assert history.current.points[0][0] == 1.0
    again = Keeper()
    again.add([point(1), point(2)], state_of(0))
    again.add([point(51), point(52)], state_of(50))
    history = again.history()
    assert [at for at, _ in history.current.points] == [1.0, 2.0]
    assert history.previous is None


def test_the_past_read_backwards_gives_what_was_seen_live() -> None:
    state = state_of(0, 100, 200)
    points = [point(second, second // 100, write=float(second * 7 % 50)) for second in range(290)]
    live, late = Keeper(), Keeper()
    live.add(points, state)
    late.add(points[-1:], state)
    assert not late.add_older(reversed(points[:-1]), state)
    assert late.history().current == live.history().current
    assert late.history().previous == live.history().previous
    assert late.history().recent == live.history().recent


def test_reading_backwards_ends_at_the_cell_that_is_not_shown_and_at_a_reboot() -> None:
    keeper, state = Keeper(), state_of(0, 100)
    assert keeper.add_older([point(150, 1), point(50, 0)], state)
    assert keeper.add_older([point(40, 0)], state)
    three = state_of(0, 100, 200)
    assert not Keeper().add_older([point(250, 2), point(150, 1), point(50, 0)], three)
    rebooted = Keeper()
    assert not rebooted.add_older([point(20), point(10), point(90_000)], state_of(5))
    assert [at for at, _ in rebooted.history().current.points] == [5.0, 15.0]


def test_the_last_minute_is_a_minute_and_the_best_rates_are_of_all_that_was_seen() -> None:
    keeper = Keeper()
    keeper.add((point(number / 4) for number in range(4 * 300)), state_of(0))
    recent = keeper.history().recent
    assert (recent[-1][0] - recent[0][0]) / S_NS == pytest.approx(MINUTE_S)
    assert len(recent) == MINUTE_S / FIRST_SLOT_S + 1
    best = Keeper()
    best.add_older([point(2, write=5e6), point(1, write=None)], state_of(0))
    best.add([point(3, write=1e6)], state_of(0))
    assert best.history().best_write_bytes_s == 5e6
