"""Stalls: the device wrote nothing while writers waited."""

from __future__ import annotations

from dataclasses import replace

from fsconsole.model.sample import DeviceRates, LoadProgress, Role, Sample
from fsconsole.telemetry.sampler import StallClock
from tests.unit.results import build

BEGIN_NS = 100 * build.SECOND_NS
IDLE = DeviceRates("loop7", 0.0, 0.0, 0.0, 0.0, 12, 100.0, None)
WRITING = replace(IDLE, write_bytes_s=1e6)


def at(second: float, device: DeviceRates = IDLE, done: int = 0, running: int = 4) -> Sample:
    """Half a second of a load that has done so many bytes until now."""
    return replace(
        build.sample(),
        monotonic_ns=BEGIN_NS + round(second * 1e9),
        devices=(device,),
        load=LoadProgress(done, done // 1024, 0, running, 0.0),
    )


def stalled(*samples: Sample) -> float | None:
    clock = StallClock()
    clock.reset(BEGIN_NS)
    for sample in samples:
        clock.note(sample)
    return clock.stalled_s()


def test_intervals_without_a_write_in_which_no_writer_got_on_are_added_up() -> None:
    assert stalled(at(0.5, WRITING, 10), at(1.0, IDLE, 10), at(1.5, IDLE, 10), at(2.0, WRITING, 20)) == 1.0


def test_filling_memory_while_the_device_rests_is_no_stall() -> None:
    assert stalled(at(0.5, IDLE, 10), at(1.0, IDLE, 20)) == 0.0


def test_waiting_for_a_device_that_writes_is_no_stall() -> None:
    assert stalled(at(0.5, WRITING, 10), at(1.0, WRITING, 10)) == 0.0


def test_when_no_writer_runs_nobody_waits() -> None:
    assert stalled(at(0.5, WRITING, 10), at(1.0, IDLE, 10, running=0)) == 0.0


def test_what_was_before_the_load_does_not_count() -> None:
    assert stalled(at(0.125, IDLE, 0)) == 0.125


def test_members_that_write_are_the_targets_business() -> None:
    member = replace(WRITING, name="sda", role=Role.MEMBER, above="loop7")
    assert stalled(at(0.5, WRITING, 10), replace(at(1.0, IDLE, 10), devices=(IDLE, member))) == 0.5


def test_without_a_target_or_a_load_nothing_is_known() -> None:
    assert stalled() is None
    assert stalled(replace(at(0.5), devices=()), replace(at(1.0), load=None)) is None


def test_a_reset_forgets() -> None:
    clock = StallClock()
    clock.reset(BEGIN_NS)
    clock.note(at(0.5))
    assert clock.stalled_s() == 0.5
    clock.reset(BEGIN_NS)
    assert clock.stalled_s() is None
