"""The last minute of the gauges, collected sample by sample."""

from __future__ import annotations

from msgspec.structs import replace

from fsconsole.model.sample import Pressure, Sample
from fsconsole.show.charts import RING_SLOTS, Ring
from fsconsole.show.minute import FIGURES, Minute
from tests.unit.results import build

S_NS = 10**9


def sample(at_s: float, write: float = 1e6, pressure: Pressure | None = None) -> Sample:
    made = build.sample(int(at_s * S_NS))
    return replace(made, devices=(replace(made.devices[0], write_bytes_s=write),), pressure=pressure)


def rings(*samples: Sample) -> dict[str, Ring]:
    minute = Minute()
    for each in samples:
        minute.add(each)
    return minute.rings()


def test_a_second_has_its_highest_figure_in_its_own_slot_and_what_is_older_than_a_minute_is_gone() -> None:
    # 2.25 samples a second: a second has two of them, or three.
    samples = [sample(number / 2.25, float(number * 37 % 101)) for number in range(400)]
    newest = samples[-1].monotonic_ns // S_NS
    highest: dict[int, float] = {}
    for each in samples:
        second = each.monotonic_ns // S_NS
        highest[second] = max(highest.get(second, 0.0), each.devices[0].write_bytes_s)
    found = rings(*samples)["write"]
    assert found.at == newest % RING_SLOTS
    for second in range(newest - RING_SLOTS + 1, newest + 1):
        assert found.slots[second % RING_SLOTS] == highest[second], second


def test_seconds_without_a_sample_are_gaps_and_those_of_the_lap_before_do_not_come_back() -> None:
    found = rings(*(sample(second) for second in (*range(50), 70)))["write"]
    known = {slot for slot, value in enumerate(found.slots) if value is not None}
    assert known == {*range(11, 50), 10}


def test_after_a_reboot_a_ring_has_its_own_seconds_alone() -> None:
    found = rings(*(sample(second) for second in (*range(5000, 5050), 3, 4)))["write"]
    assert {slot for slot, value in enumerate(found.slots) if value is not None} == {3, 4}


def test_a_gauge_that_was_never_available_has_no_ring_and_one_that_was_keeps_the_highest_of_what_is_known() -> None:
    assert {"I/O wait", "mem wait", "CPU wait", "temp"}.isdisjoint(rings(sample(1)))
    found = rings(sample(1.0, pressure=Pressure(io_some_percent=7.0)), sample(1.5))
    assert found["I/O wait"].slots[1] == 7.0
    assert found.keys() <= FIGURES.keys()
