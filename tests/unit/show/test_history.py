from __future__ import annotations

import tracemalloc
from dataclasses import replace

import pytest

from fsconsole.journal.past import Point
from fsconsole.model.state import CellStatus, RunState, RunStatus
from fsconsole.show.history import FIRST_SLOT_S, MAX_SLOTS, MINUTE_S, Keeper, Tracer
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


def test_a_short_cell_keeps_every_sample_in_a_slot_of_its_own() -> None:
    tracer = Tracer(0, 0)
    for number in range(20):
        tracer.add(point(number * 0.5, write=number))
    assert [at for at, _ in tracer.trace().points] == [number * 0.5 for number in range(20)]


def test_a_peak_is_never_thinned_away() -> None:
    tracer = Tracer(0, 0)
    for number in range(100_000):
        tracer.add(point(number * 0.5, write=9e9 if number == 777 else 1e6))
    trace = tracer.trace()
    assert len(trace.points) <= MAX_SLOTS
    (peak,) = [at for at, figures in trace.points if figures[0] == 9e9]
    assert peak <= 777 * 0.5 < peak + trace.slot_s


@pytest.mark.parametrize("samples", [1, 479, 480, 481, 5000])
def test_a_curve_is_the_same_in_whatever_order_its_points_come(samples: int) -> None:
    points = [point(number * 0.5, write=float(number % 97)) for number in range(samples)]
    step = next(number for number in (7, 11, 13) if samples % number)
    shuffled = [points[number * step % samples] for number in range(samples)]
    one, other = Tracer(0, 0), Tracer(0, 0)
    for each in points:
        one.add(each)
    for each in shuffled:
        other.add(each)
    assert one.trace() == other.trace()


def test_what_was_before_the_cells_beginning_is_no_part_of_its_curve() -> None:
    tracer = Tracer(0, 100 * S_NS)
    tracer.add(point(99))
    tracer.add(point(101))
    assert [at for at, _ in tracer.trace().points] == [1.0]


def test_absent_rates_are_not_zero() -> None:
    tracer = Tracer(0, 0)
    tracer.add(point(0, write=None))
    tracer.add(point(1, write=0.0))
    assert [figures[0] for _, figures in tracer.trace().points] == [None, 0.0]


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


def test_another_cell_makes_the_former_one_the_curve_behind() -> None:
    state = state_of(0, 10, 20)
    keeper = Keeper()
    keeper.add([point(1), point(11, 1), point(15, None), point(21, 2)], state)
    history = keeper.history()
    assert (history.current.cell, history.previous.cell) == (2, 1)
    assert history.current.points[0][0] == 1.0


def test_a_cell_that_is_begun_again_has_a_curve_of_its_own() -> None:
    keeper = Keeper()
    keeper.add([point(1), point(2)], state_of(0))
    keeper.add([point(51), point(52)], state_of(50))
    history = keeper.history()
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


def test_reading_backwards_ends_at_the_cell_that_is_not_shown() -> None:
    keeper = Keeper()
    state = state_of(0, 100)
    assert keeper.add_older([point(150, 1), point(50, 0)], state)
    assert keeper.add_older([point(40, 0)], state)
    three = state_of(0, 100, 200)
    assert not Keeper().add_older([point(250, 2), point(150, 1), point(50, 0)], three)


def test_nothing_of_the_time_before_a_reboot_is_in_a_curve() -> None:
    keeper = Keeper()
    assert not keeper.add_older([point(20), point(10), point(90_000)], state_of(5))
    assert [at for at, _ in keeper.history().current.points] == [5.0, 15.0]


def test_the_last_minute_is_a_minute() -> None:
    keeper = Keeper()
    keeper.add((point(number / 4) for number in range(4 * 300)), state_of(0))
    recent = keeper.history().recent
    assert (recent[-1][0] - recent[0][0]) / S_NS == pytest.approx(MINUTE_S)
    assert len(recent) == MINUTE_S / FIRST_SLOT_S + 1


def test_the_best_rates_are_of_all_that_was_seen() -> None:
    keeper = Keeper()
    keeper.add_older([point(2, write=5e6), point(1, write=None)], state_of(0))
    keeper.add([point(3, write=1e6)], state_of(0))
    assert keeper.history().best_write_bytes_s == 5e6
