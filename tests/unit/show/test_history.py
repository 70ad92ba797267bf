from __future__ import annotations

import tracemalloc
from dataclasses import replace

import pytest

from fsconsole.journal.past import Point, point_of
from fsconsole.model.sample import LoadProgress, Sample
from fsconsole.model.state import CellState, CellStatus, RunState, RunStatus
from fsconsole.show.history import APP, DEVICE, FIRST_SLOT_S, MAX_SLOTS, MINUTE_S, Keeper, Trace, Tracer, ghost_of
from tests.unit.results import build

S_NS = 10**9


def sample(at_s: float, cell: int | None = 0, write: float | None = 1e6, *, app: float | None = None) -> Sample:
    made = build.sample(int(at_s * S_NS))
    target = replace(made.devices[0], write_bytes_s=write or 0.0, read_bytes_s=0.0)
    load = None if app is None else LoadProgress(1, 1, 1, 1, app)
    return replace(made, cell=cell, devices=() if write is None else (target,), load=load)


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
    # One in three seconds: more than there are slots, too.
    per_hour = 1200
    assert per_hour > 2 * MAX_SLOTS
    tracemalloc.start()
    try:
        kept = []
        for hour in range(12):
            keeper.add((sample((hour * per_hour + number) * 3) for number in range(per_hour)), state)
            kept.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert max(kept[1:]) < 1.2 * kept[0] + 50_000
    assert len(keeper.history().current.points) <= MAX_SLOTS


def test_another_cell_and_the_same_begun_again_have_a_curve_of_their_own() -> None:
    keeper = Keeper()
    keeper.add([sample(1), sample(11, 1), sample(15, None), sample(21, 2)], state_of(0, 10, 20))
    history = keeper.history()
    assert history.current.cell == keeper.cell == 2
    assert history.current.points[0][0] == 1.0
    again = Keeper()
    again.add([sample(1), sample(2)], state_of(0))
    again.add([sample(51), sample(52)], state_of(50))
    assert [at for at, _ in again.history().current.points] == [1.0, 2.0]


def test_a_curve_has_what_the_devices_moved_and_what_the_application_saw() -> None:
    keeper = Keeper()
    keeper.add([sample(1, write=5e6, app=9e6), sample(2, write=5e6)], state_of(0))
    assert [(figures[DEVICE], figures[APP]) for _, figures in keeper.history().current.points] == [
        (5e6, 9e6),
        (5e6, None),
    ]


def test_the_ghost_is_the_last_finished_cell_of_the_same_variant() -> None:
    cells = [build.cell(0), build.cell(1, build.XFS), build.cell(2), build.cell(3), build.cell(4, build.XFS)]
    states = [build.done(0), build.done(1), build.done(2), build.running(3), CellState(4)]
    state = build.run(cells, states, status=RunStatus.RUNNING)
    assert ghost_of(state, 3) == 2
    assert ghost_of(state, 4) == 1
    failed = replace(state, cells=(*states[:2], build.failed(2), *states[3:]))
    assert ghost_of(failed, 3) == 0
    assert ghost_of(build.run(cells[:2], [build.done(0), CellState(1)]), 1) is None


def test_the_past_read_backwards_gives_what_was_seen_live() -> None:
    state = state_of(0, 100, 200)
    samples = [sample(second, second // 100, write=float(second * 7 % 50)) for second in range(290)]
    live, late = Keeper(), Keeper()
    live.add(samples, state)
    late.add(samples[-1:], state)
    late.add_minute(samples[-100:-1])
    assert not late.add_older(map(point_of, reversed(samples[:-1])), state)
    assert late.history().current == live.history().current
    assert late.history().recent == live.history().recent
    assert late.history().minute == live.history().minute


def test_reading_backwards_ends_at_the_cell_that_is_not_shown_and_at_a_reboot() -> None:
    keeper, state = Keeper(), state_of(0, 100)
    assert keeper.add_older([point(150, 1)], state)
    assert not keeper.add_older([point(40, 0)], state)
    rebooted = Keeper()
    assert not rebooted.add_older([point(20), point(10), point(90_000)], state_of(5))
    assert [at for at, _ in rebooted.history().current.points] == [5.0, 15.0]


def test_the_last_minute_is_a_minute_and_the_best_rates_are_of_all_that_was_seen() -> None:
    keeper = Keeper()
    keeper.add((sample(number / 4) for number in range(4 * 300)), state_of(0))
    recent = keeper.history().recent
    assert (recent[-1].monotonic_ns - recent[0].monotonic_ns) / S_NS == pytest.approx(MINUTE_S)
    assert len(recent) == MINUTE_S / FIRST_SLOT_S + 1
    best = Keeper()
    # Those of the past come from the journal; what prepared the device, whose zeros may count twice, is in neither.
    best.add_best(5e6, None)
    best.add([replace(sample(2, write=9e6), step="equalise"), sample(3, write=1e6)], state_of(0))
    assert best.history().best_write_bytes_s == 5e6
    best.add([sample(4, write=6e6)], state_of(0))
    assert best.history().best_write_bytes_s == 6e6
