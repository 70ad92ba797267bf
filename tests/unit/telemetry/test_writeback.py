"""The watch over one load's writeback: typical and peak of its readings, events within its bounds, and what is lost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsconsole.model.metrics import Metric
from fsconsole.model.sample import BdiStats
from fsconsole.telemetry import writeback
from fsconsole.telemetry.trace_figures import TracedDisk, TraceFigures
from fsconsole.telemetry.trace_instance import remove_instance
from fsconsole.telemetry.writeback import Reading, WritebackWatch, traced_disks
from tests.unit.telemetry.made_sys import MadeSys
from tests.unit.telemetry.test_trace import FORMATS, LOOP3, PAGE, pages


class MadeTrace:
    """A trace whose buffers hold the recorded pages at each look, as often as they are given."""

    def __init__(self, looks: int, lost_events: int = 3) -> None:
        self.lost_events = lost_events
        self.page, self.formats, self.disks = PAGE, FORMATS, (TracedDisk(LOOP3),)
        self.looks, self.is_open, self.is_on = looks, True, True

    def pages(self) -> Iterator[bytes]:
        self.looks -= 1
        return iter(pages() if self.looks >= 0 else [])

    def turn_off(self) -> None:
        self.is_on = False

    def lost(self) -> int:
        return self.lost_events

    def close(self) -> None:
        self.is_open = False


def values(watch: WritebackWatch, until_ns: int = 100, *, wrote: bool = True) -> dict[Metric, float]:
    return {one.metric: one.value for one in watch.figures(until_ns, 2**62, wrote=wrote)}


def test_typical_is_the_median_and_the_peak_the_highest_of_readings_until_the_last_writer_is_done() -> None:
    watch = WritebackWatch("sdx", None, None)
    for at, (under, inodes, state, depth) in enumerate([(4, 1, 2, 0), (8, 3, 2, 5), (40, 2, 9, 7), (99, 99, 16, 6)]):
        stats = BdiStats(writeback_bytes=under * 4096, reclaimable_bytes=0, b_io=inodes, state=state)
        watch.readings.append(Reading(at, stats, depth))
    found = values(watch, until_ns=2)
    assert (found[Metric.BDI_WRITEBACK], found[Metric.BDI_WRITEBACK_MAX]) == (8 * 4096, 40 * 4096)
    assert (found[Metric.WRITEBACK_PAGES], found[Metric.WRITEBACK_PAGES_MAX]) == (8, 40)
    assert (found[Metric.BDI_B_IO], found[Metric.BDI_B_IO_MAX]) == (2, 3)
    # The most frequent state, and every bit that was set.
    assert (found[Metric.BDI_STATE], found[Metric.BDI_STATE_MAX]) == (2, 11)
    # What an older kernel doesn't tell has no figure.
    assert Metric.BDI_B_DIRTY not in found
    # Until the end of the drain, without the readings that saw no request.
    assert (found[Metric.QUEUE_DEPTH], found[Metric.QUEUE_DEPTH_MAX]) == (6, 7)
    assert Metric.BDI_WRITEBACK not in values(watch, wrote=False)
    assert Metric.WRITE_SEEK not in found


def test_a_watch_ends_with_its_trace_removed_and_what_waited_in_the_buffers_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The recorded events are older than this watch, also on a machine that was booted an hour ago.
    monkeypatch.setattr(writeback.time, "monotonic_ns", lambda: 10**15)
    trace = MadeTrace(looks=10**9)
    watch = WritebackWatch("no such device", "/nowhere/stats", trace)  # type: ignore[arg-type]
    watch.start()
    time.sleep(0.01)
    watch.stop()
    watch.stop()
    assert (trace.is_open, trace.is_on) == (False, False)
    assert len(watch.problems) == 2
    assert {problem.split(":")[0] for problem in watch.problems} == {"bdi", "queue"}
    assert watch.sums is not None
    found = values(watch)
    assert (watch.sums.events, found[Metric.TRACE_LOST]) == (0, 3)


@pytest.mark.parametrize(("share", "is_counted"), [(100.0, True), (-1.0, False)])
def test_pages_that_would_cost_too_much_cpu_are_dropped_and_told(
    monkeypatch: pytest.MonkeyPatch, share: float, is_counted: bool
) -> None:
    monkeypatch.setattr(writeback, "_STASH_BYTES", 1)
    monkeypatch.setattr(writeback, "_CPU_SHARE", share)
    monkeypatch.setattr(writeback.time, "monotonic_ns", lambda: 10**15)
    watch = WritebackWatch("no such device", None, MadeTrace(looks=1))  # type: ignore[arg-type]
    # As its thread does, a day after its start.
    watch._sums = TraceFigures((TracedDisk(LOOP3),), PAGE, FORMATS)
    watch._read(None, None)
    watch.stop()
    assert (watch.sums is not None and watch.sums.events > 0) == is_counted
    assert (watch.lost > 3) != is_counted
    assert values(watch)[Metric.TRACE_LOST] == watch.lost


def test_requests_of_an_array_are_those_of_its_members_and_of_a_partition_those_within_it(tmp_path: Path) -> None:
    sys = MadeSys(tmp_path)
    for name, number in (("sda", "8:0"), ("sdb", "8:16"), ("loop3", "7:3")):
        (sys.add(name) / "dev").write_text(f"{number}\n")
    (sys.add_partition("sda", "sda1") / "start").write_text("2048\n")
    part = sys.root / "class/block/sda1"
    (part / "size").write_text("1000\n")
    (sys.add("md0", members=("sda1", "sdb")) / "dev").write_text("9:0\n")
    root = str(tmp_path)
    assert traced_disks("loop3", root) == (TracedDisk(7 << 20 | 3, 0, 4096),)
    assert traced_disks("sda1", root) == (TracedDisk(8 << 20, 2048, 3048),)
    assert traced_disks("md0", root) == (TracedDisk(8 << 20, 2048, 3048), TracedDisk(8 << 20 | 16, 0, 4096))


def test_a_run_s_id_from_elsewhere_leads_to_no_other_directory(tmp_path: Path) -> None:
    (tmp_path / "instances/fsconsole-a").mkdir(parents=True)
    victim = tmp_path / "victim"
    victim.mkdir()
    with pytest.raises(OSError, match="Invalid"):
        remove_instance(str(tmp_path), "a/../../victim")
    assert victim.is_dir()
    assert remove_instance(str(tmp_path), "a")
    assert not remove_instance(str(tmp_path), "a")
