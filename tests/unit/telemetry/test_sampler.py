"""The sampler, and stalls: writers waited while the device wrote nothing."""

from __future__ import annotations

import os
import queue
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.model.load import SlotWord, ThreadState, slot_word
from fsconsole.model.metrics import Metric
from fsconsole.model.sample import DeviceRates, LoadProgress, Role, Sample, StepProgress
from fsconsole.system.memfd import CounterPage
from fsconsole.telemetry.sampler import Gap, GapClock, Sampler, Sources, StallClock, next_due_ns
from tests.conftest import wait_until
from tests.unit.results import build
from tests.unit.telemetry.made_sys import RECORDED, MadeSys

LIMIT_S = 30.0
PERIOD_S = 0.02


class Run:
    """A sampler with the queue that its samples go to."""

    def __init__(self, sources: Sources | None = None) -> None:
        self.samples: queue.Queue[Sample] = queue.Queue()
        self.sampler = Sampler(period_s=PERIOD_S, sink=self.samples.put, sources=sources)

    def __enter__(self) -> Run:
        self.sampler.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.sampler.stop()

    def next(self) -> Sample:
        return self.samples.get(timeout=LIMIT_S)

    def next_of(self, step: str) -> Sample:
        while True:
            sample = self.next()
            if sample.step == step:
                return sample


@pytest.fixture
def run():
    with Run() as started:
        yield started


def test_samples_come_with_what_this_machine_has_and_their_intervals_add_up(run: Run) -> None:
    samples = [run.next() for _ in range(5)]
    assert all(sample.interval_s > 0 for sample in samples)
    assert [b.monotonic_ns > a.monotonic_ns for a, b in pairwise(samples)] == [True] * 4
    assert [cpu.number for cpu in samples[0].per_cpu] == list(range(os.cpu_count() or 0))
    assert samples[0].writeback.threshold_bytes
    assert (samples[0].load, samples[0].bdi, samples[0].devices) == (None, None, ())
    passed_s = (samples[-1].monotonic_ns - samples[0].monotonic_ns) / 1e9
    assert sum(sample.interval_s for sample in samples[1:]) == pytest.approx(passed_s)


def test_a_sample_says_what_step_it_belongs_to_and_how_far_that_is(run: Run) -> None:
    assert run.sampler.place_in_words() == ""
    run.sampler.set_place(None, "gate")
    assert run.next_of("gate").cell is None
    assert run.sampler.place_in_words() == "device check"
    run.sampler.set_place(2, "array-sync")
    assert run.sampler.place_in_words() == "cell 3, array sync"
    assert run.next_of("array-sync").cell == 2
    run.sampler.tell_progress(StepProgress(41.7, 90.0))
    assert run.sampler.place_in_words() == "cell 3, array sync, 42 %"
    # Samples may have been on their way before the progress was told.
    wait_until(lambda: run.next_of("array-sync").progress == StepProgress(41.7, 90.0), "the progress")
    run.sampler.set_place(2, "mkfs")
    assert run.sampler.place_in_words() == "cell 3, mkfs"
    assert run.next_of("mkfs").progress is None


def test_a_loads_counters_become_progress(run: Run) -> None:
    made = Run()
    with CounterPage.create(1) as page:
        page.words[slot_word(0, SlotWord.BYTES)] = 500
        made.sampler.gauges.watch_load(page)
        with made:
            load = made.next().load
    # The first rate counts from when it was watched.
    assert load is not None
    assert load.bytes_s == 0.0
    with CounterPage.create(3) as page:
        page.words[slot_word(1, SlotWord.STATE)] = ThreadState.RUNNING
        run.sampler.gauges.watch_load(page)
        for thread in range(3):
            page.words[slot_word(thread, SlotWord.BYTES)] = 1000 * (thread + 1)
            page.words[slot_word(thread, SlotWord.FILES_DONE)] = 2
        run.sampler.set_place(0, "loaded")
        load = run.next_of("loaded").load
        run.sampler.gauges.watch_load(None)
    assert load is not None
    assert (load.bytes_done, load.files_done, load.threads_running) == (6000, 6, 1)
    run.sampler.set_place(0, "unloaded")
    assert run.next_of("unloaded").load is None


def test_a_source_that_fails_or_is_missing_is_absent_and_its_reason_is_counted(tmp_path: Path) -> None:
    (tmp_path / "io").write_text("some thing else\n")
    made = Run(Sources(pressure=str(tmp_path)))
    made.sampler.gauges.devices.watch("nosuchdisk")
    made.sampler.gauges.watch_bdi(str(tmp_path / "none"))
    with made:
        samples = [made.next() for _ in range(3)]
    assert [(sample.pressure, sample.bdi, sample.devices) for sample in samples] == [(None, None, ())] * 3
    problems = dict(made.sampler.gauges.problems())
    assert problems.pop("pressure io: Unreadable") >= 3
    lacking = ("pressure cpu", "pressure memory", "nosuchdisk", "bdi")
    assert problems.keys() == {f"{name}: No such file or directory" for name in lacking}
    assert made.sampler.gauges.devices.vanished() == ()


def test_without_its_foundations_there_is_no_sample_and_the_next_interval_covers_the_gap(
    tmp_path: Path,
) -> None:
    stat = tmp_path / "stat"
    stat.write_text("nothing\n")
    made = Run(Sources(stat=str(stat)))
    with made:
        wait_until(lambda: dict(made.sampler.gauges.problems()).get("cpu: Unreadable", 0) >= 4, "four readings")
        assert made.samples.empty()
        stat.write_text((RECORDED / "6.18" / "stat").read_text())
        sample = made.next()
    assert sample.interval_s > 2 * PERIOD_S


def test_a_device_file_of_this_machine_becomes_rates(tmp_path: Path) -> None:
    disk = tmp_path / "class/block/sdx"
    disk.mkdir(parents=True)
    (disk / "size").write_text("4096\n")
    (disk / "stat").write_text((RECORDED / "6.18" / "block_stat").read_text())
    (disk / "inflight").write_text("1 2\n")
    made = Run(Sources(sys=str(tmp_path)))
    made.sampler.gauges.devices.watch("sdx")
    made.sampler.gauges.devices.watch("sdx")
    with made:
        sample = made.next()
        (disk / "stat").write_text("0 " * 17)
        wait_until(lambda: "sdx: Restarted" in dict(made.sampler.gauges.problems()), "the counters to go back")
    (device,) = sample.devices
    assert (device.name, device.write_bytes_s, device.in_flight) == ("sdx", 0.0, 3)


def test_peak_dirty_is_the_highest_since_the_reset(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("Dirty: 100 kB\nWriteback: 11 kB\n")
    sampler = Sampler(period_s=1.0, sink=lambda sample: None, sources=Sources(meminfo=str(meminfo)))
    meminfo.write_text("Dirty: 10 kB\nWriteback: 1 kB\n")
    assert sampler.peak_dirty_bytes() == 11 * 1024
    meminfo.write_text("Dirty: 20 kB\nWriteback: 2 kB\n")
    assert sampler.peak_dirty_bytes() == 22 * 1024
    meminfo.write_text("Dirty: 5 kB\nWriteback: 0 kB\n")
    assert sampler.peak_dirty_bytes() == 22 * 1024
    sampler.reset_peak_dirty()
    assert sampler.peak_dirty_bytes() == 5 * 1024
    sampler.stop()


def test_a_load_that_stands_still_over_an_idle_device_is_a_stall(tmp_path: Path) -> None:
    MadeSys(tmp_path).add("sda")
    made = Run(Sources(sys=str(tmp_path)))
    made.sampler.gauges.devices.watch("sda")
    with CounterPage.create(1) as page:
        page.words[slot_word(0, SlotWord.STATE)] = ThreadState.RUNNING
        made.sampler.gauges.watch_load(page)
        made.sampler.reset_peak_dirty()
        assert made.sampler.stall_measurements() == ()
        with made:
            samples = [made.next() for _ in range(3)]
            made.sampler.gauges.watch_load(None)
    (stalls,) = made.sampler.stall_measurements()
    assert stalls.metric is Metric.STALLS
    assert stalls.value > sum(sample.interval_s for sample in samples[1:]) / 2
    made.sampler.reset_peak_dirty()
    assert made.sampler.stall_measurements() == ()


def test_a_device_that_goes_is_missed_and_its_rates_are_absent(tmp_path: Path) -> None:
    sys = MadeSys(tmp_path)
    sys.add("sda")
    sys.add("sdb")
    sys.add("md0", members=("sda", "sdb"))
    made = Run(Sources(sys=str(tmp_path)))
    made.sampler.gauges.devices.watch("md0")
    with made:
        assert [device.name for device in made.next().devices] == ["md0", "sda", "sdb"]
        # A member that fails is no loss of what was asked for.
        (tmp_path / "class/block/sdb/size").write_text("0\n")
        (tmp_path / "class/block/sdb/diskseq").write_text("8\n")
        wait_until(lambda: [d.name for d in made.next().devices] == ["md0", "sda"], "the member to be absent")
        assert made.sampler.gauges.devices.vanished() == ()
        (tmp_path / "class/block/md0/size").write_text("0\n")
        (tmp_path / "class/block/md0/diskseq").write_text("8\n")
        wait_until(lambda: made.sampler.gauges.devices.vanished() == ("md0",), "the array to be missed")
        wait_until(lambda: made.next().targets == (), "its rates to be absent")


def test_stopping_does_not_wait_for_the_next_sample_nor_for_a_start() -> None:
    Sampler(period_s=1.0, sink=lambda sample: None).stop()
    sampler = Sampler(period_s=3600.0, sink=lambda sample: None)
    sampler.start()
    sampler.stop()
    sampler.stop()


class Clocks:
    """CLOCK_BOOTTIME and CLOCK_MONOTONIC, moved by hand."""

    def __init__(self) -> None:
        self.boot_s, self.monotonic_s = 100.0, 50.0

    def __call__(self) -> tuple[int, int]:
        return round(self.boot_s * 1e9), round(self.monotonic_s * 1e9)

    def run(self, seconds: float) -> None:
        self.boot_s, self.monotonic_s = self.boot_s + seconds, self.monotonic_s + seconds


def test_gap_is_more_than_five_periods() -> None:
    clocks = Clocks()
    gaps = GapClock(10**9 // 2, clocks)
    for seconds in (0.5, 2.5, 0.1):
        clocks.run(seconds)
        gaps.note()
    assert gaps.longest() == Gap(0.0)
    clocks.run(20.0)
    # It may last until the cell's end.
    assert gaps.longest() == Gap(20.0)
    gaps.note()
    clocks.run(3.0)
    gaps.note()
    assert gaps.longest() == Gap(20.0)
    gaps.begin()
    clocks.run(2.0)
    gaps.note()
    assert gaps.longest() == Gap(0.0)


def test_suspended_machine_has_gap_by_boot_clock() -> None:
    clocks = Clocks()
    gaps = GapClock(10**9 // 2, clocks)
    clocks.run(0.5)
    clocks.boot_s += 30.0
    gaps.note()
    assert gaps.longest() == Gap(30.5, 30.0)


def test_stopped_sampler_has_gap(run: Run) -> None:
    run.next()
    assert run.sampler.longest_gap().elapsed_s < 1.0
    with run.sampler._lock:
        time.sleep(1.0)
    assert run.sampler.longest_gap().elapsed_s >= 0.9
    run.sampler.forget_gaps()
    assert run.sampler.longest_gap().elapsed_s < 0.9


@given(st.integers(0, 2**62), st.integers(1, 10**10), st.integers(0, 10**12))
def test_due_instants_lie_on_the_schedule_and_in_the_next_period(start: int, period: int, late: int) -> None:
    now = start + late
    due = next_due_ns(start, period, now)
    assert (due - start) % period == 0
    assert now < due <= now + period


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


def stalled(*samples: Sample, clock: StallClock | None = None) -> float | None:
    clock = clock or StallClock()
    clock.reset(BEGIN_NS)
    for sample in samples:
        clock.note(sample)
    return clock.stalled_s()


MEMBER = replace(WRITING, name="sda", role=Role.MEMBER, above="loop7")
STALLS = {
    "intervals without a write in which no writer got on are added up":
        ((at(0.5, WRITING, 10), at(1.0, IDLE, 10), at(1.5, IDLE, 10), at(2.0, WRITING, 20)), 1.0),
    "filling memory while the device rests is no stall": ((at(0.5, IDLE, 10), at(1.0, IDLE, 20)), 0.0),
    "waiting for a device that writes is none": ((at(0.5, WRITING, 10), at(1.0, WRITING, 10)), 0.0),
    "nobody waits when no writer runs": ((at(0.5, WRITING, 10), at(1.0, IDLE, 10, running=0)), 0.0),
    "what was before the load does not count": ((at(0.125, IDLE, 0),), 0.125),
    "a member that writes is the target's business":
        ((at(0.5, WRITING, 10), replace(at(1.0, IDLE, 10), devices=(IDLE, MEMBER))), 0.5),
}  # fmt: skip


def test_a_stall_is_an_interval_in_which_writers_waited_and_no_target_wrote() -> None:
    assert {why: stalled(*samples) for why, (samples, _) in STALLS.items()} == {
        why: stalled_s for why, (_, stalled_s) in STALLS.items()
    }


def test_without_a_target_or_a_load_nothing_is_known_and_a_reset_forgets() -> None:
    clock = StallClock()
    assert stalled(at(0.5), clock=clock) == 0.5
    assert stalled(clock=clock) is None
    assert stalled(replace(at(0.5), devices=()), replace(at(1.0), load=None)) is None
