"""Warnings of what disturbs a figure: each in the case that sets it off, and in one that doesn't."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from fsconsole.engine import runner, warnings_load, warnings_machine
from fsconsole.engine.hangs import HangDetector
from fsconsole.engine.steps import load
from fsconsole.engine.work import CellWork, LoadWindow, StepResult
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.events import WarningKind
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Setting, Step, StepKind
from fsconsole.model.run import RunRequest
from fsconsole.model.workload import DataKind, SizedBy, Sizing, Workload, WorkloadKind
from fsconsole.telemetry.links import Link
from fsconsole.workloads.protocol import LoadResult
from tests.unit.results import build

CPUS = os.cpu_count() or 1


class Work:
    """A cell's work as far as warnings look at it."""

    def __init__(self, *workloads: Workload) -> None:
        self.told: list[tuple[WarningKind, str]] = []
        self.hints: list[str] = []
        self.features: dict[str, str] = {}
        self.traffic = None
        self.cell = SimpleNamespace(target="/dev/sdz", workloads=workloads, variant=build.EXT4)
        self.run = SimpleNamespace(requests=SimpleNamespace(interrupting=False))
        self.own, self.place, self.device_name = None, None, "sdz"

    def warn(self, kind: WarningKind, reason: str, hint: str) -> None:
        self.told.append((kind, reason))
        self.hints.append(hint)

    @property
    def as_cell(self) -> CellWork:
        return cast("CellWork", self)


def a_load(kind: WorkloadKind = WorkloadKind.CREATE, **more: object) -> Workload:
    return Workload("load", kind, 1, 1, 2**20, 2**16, **more)  # type: ignore[arg-type]


def ended(elapsed_s: float, cpu_s: float, busiest_s: float) -> LoadResult:
    return LoadResult((), 1, 1, 10**9, 2 * 10**9, int((1 + elapsed_s) * 1e9), cpu_s, 0.0, True,
                      busiest_s=busiest_s)  # fmt: skip


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (ended(10, 9.9, 9.9), "'load': the busiest writer used 99.0 % of one CPU"),
        # Many writers share all CPUs, each with a small part of one.
        (ended(10, 9.8 * CPUS, 1.2), "'load': the writers together used 98.0 % of all CPUs"),
        # What a process does at its end counts too.
        (ended(10, 10.1, 10.1), "'load': the busiest writer used 100.0 % of one CPU"),
        (ended(10, 9.0, 9.0), ""),
        (ended(0.05, 0.05, 0.05), ""),
    ],
)
def test_a_load_whose_writers_had_a_whole_cpu_or_all_of_them_is_told(result: LoadResult, reason: str) -> None:
    work = Work()
    warnings_load.about_load(work.as_cell, a_load(WorkloadKind.STAT), result)
    told = [told for kind, told in work.told if kind is WarningKind.CPU_BOUND]
    assert told == ([reason] if reason else [])


@pytest.mark.parametrize(
    ("number", "hint"), [(errno.EDQUOT, "A quota ended the writes"), (errno.ENOSPC, "Use a smaller scale or a larger")]
)
def test_a_quota_is_told_from_a_full_filesystem(number: int, hint: str) -> None:
    work = Work()
    full = replace(ended(0.05, 0.05, 0.05), failures=f"1 of 2 writers stopped: {os.strerror(number)}")
    warnings_load.about_load(work.as_cell, a_load(WorkloadKind.STAT), full)
    assert work.told == [(WarningKind.TARGET_FULL, full.failures)]
    assert work.hints[0].startswith(hint)


HALF = {"data": DataKind.COMPRESSIBLE, "zero_share": 0.5}


@pytest.mark.parametrize(
    ("option", "data", "reason"),
    [
        ("compress=zstd:3", HALF, "'load' writes 50 % zeros, and compress=zstd:3 compresses them"),
        ("compress-force=lzo", {"data": DataKind.ZERO}, "'load' writes zeros, and compress-force=lzo compresses them"),
        ("compress_extension=*", HALF, "'load' writes 50 % zeros, and compress_extension=* compresses them"),
        ("compress=zstd:3", {}, ""),
        ("compress=no", HALF, ""),
        ("space_cache=v2", HALF, ""),
        # Files of a load have no extension (f2fs).
        ("compress_extension=txt", HALF, ""),
    ],
)
def test_zeros_on_a_filesystem_that_compresses_are_told(option: str, data: dict[str, object], reason: str) -> None:
    work = Work()
    work.features = dict([option.split("=")])
    warnings_load.about_compression(work.as_cell, a_load(**data))
    assert work.told == ([(WarningKind.COMPRESSIBLE, reason)] if reason else [])


DRAIN, READ = Step(StepKind.DRAIN, "drain", workload=0), Step(StepKind.WORKLOAD, "load: read", workload=0)


@pytest.mark.parametrize(
    ("step", "workload", "figure", "reason"),
    [
        (DRAIN, a_load(), Measurement(Metric.DURABLE, 601e6), "'load': durable 601 MB/s is above the link's speed (SATA 3 Gb/s, 600 MB/s)"),
        (DRAIN, a_load(), Measurement(Metric.DURABLE, 599e6), ""),
        (READ, a_load(WorkloadKind.READ, cold=True), Measurement(Metric.READ, 2e9),
         "'load': read 2000 MB/s is above the link's speed (SATA 3 Gb/s, 600 MB/s)"),
        # What comes out of the page cache, or goes into it, uses no link.
        (READ, a_load(WorkloadKind.READ), Measurement(Metric.READ, 2e9), ""),
        (DRAIN, a_load(), Measurement(Metric.WRITE, 2e9), ""),
    ],
)  # fmt: skip
def test_a_figure_above_what_the_link_carries_is_told(monkeypatch, step, workload, figure, reason):
    # Two links, which together carry 600 MB/s.
    monkeypatch.setattr(warnings_load, "links_below", lambda _: (Link("SATA 3 Gb/s", 300e6),) * 2)
    work = Work(workload)
    warnings_load.about_link(work.as_cell, step, (figure,))
    assert work.told == ([(WarningKind.FASTER_THAN_LINK, reason)] if reason else [])
    # A device without a link that is known has no limit.
    monkeypatch.setattr(warnings_load, "links_below", lambda _: ())
    work = Work(workload)
    warnings_load.about_link(work.as_cell, step, (figure,))
    assert work.told == []


def test_a_governor_other_than_performance_is_named_and_a_machine_without_any_has_none(tmp_path: Path) -> None:
    def governors(*names: str) -> tuple[str, ...]:
        for number, name in enumerate(names):
            place = tmp_path / f"devices/system/cpu/cpu{number}/cpufreq/scaling_governor"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(f"{name}\n")
        return warnings_machine.governors(str(tmp_path))

    assert governors() == ()
    assert governors("performance", "performance") == ()
    assert governors("performance", "powersave") == ("powersave",)
    assert governors("schedutil", "powersave") == ("powersave", "schedutil")


def test_the_governor_is_told_once_for_the_whole_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    request = cast("RunRequest", SimpleNamespace(targets=()))
    for names in ((), ("powersave",)):
        told: list[tuple[int | None, WarningKind]] = []
        journal = SimpleNamespace(record=lambda seen, durable, told=told: told.append((seen.cell, seen.kind)))
        monkeypatch.setattr(warnings_machine, "governors", lambda names=names: names)
        warnings_machine.about_run(request, str(tmp_path), cast("JournalWriter", journal), 1)
        assert told == [(None, WarningKind.GOVERNOR)] * len(names)


def test_links_are_looked_at_when_a_step_has_figures_and_no_clock_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warnings_load, "links_below", lambda _: (Link("SATA 6 Gb/s", 600e6),))
    monkeypatch.setattr(runner, "_handled", lambda *_: StepResult((Measurement(Metric.DURABLE, 1e9),)))
    monkeypatch.setattr(runner, "_with_absence", lambda _, result: result)
    monkeypatch.setattr(runner, "reap_strangers", lambda _: ())
    work = Work(a_load())
    journal = SimpleNamespace(record=lambda *_, **__: None)
    sampler, places = SimpleNamespace(set_place=lambda *_: None), SimpleNamespace(proc="/proc")
    work.run = SimpleNamespace(journal=journal, sampler=sampler, attempt=1, detector=HangDetector(), places=places)
    work.cell.index, work.cell.is_closed_by_next = 0, lambda _: False
    more = {"step_number": 0, "kernel_log": SimpleNamespace(lines=lambda: ()), "write_kept": lambda: None}
    vars(work).update(more)
    runner.run_step(work.as_cell, DRAIN)
    assert [kind for kind, _ in work.told] == [WarningKind.FASTER_THAN_LINK]


@pytest.mark.parametrize(
    ("busy_polls", "reason"),
    [
        (0, ""),
        (3, "mkfs left inode tables to ext4lazyinit: the load waited 300.0 s for it"),
        (99, "ext4lazyinit still wrote inode tables when the load started, after a wait of 10 min 00 s"),
    ],
)
def test_lazy_initialisation_is_waited_for_ten_minutes_and_told(monkeypatch, busy_polls, reason):
    now_s = [0.0]

    def sleep(_seconds: float) -> None:
        now_s[0] += 100

    monkeypatch.setattr(load, "time", SimpleNamespace(monotonic=lambda: now_s[0], sleep=sleep))
    monkeypatch.setattr(load, "is_running", lambda name: name == "ext4lazyinit" and now_s[0] < 100 * busy_polls)
    work = Work()
    load.await_lazy_init(work.as_cell)
    assert [told.replace("5 min 00 s", "300.0 s") for _, told in work.told] == ([reason] if reason else [])
    assert all("lazy_init" in hint for hint in work.hints)


@pytest.mark.parametrize(
    ("workload", "dirty", "device_read", "told"),
    [
        (a_load(), 0.98, 0.0, "'load': 980.0 KiB of 1000.0 KiB written were still dirty when the last writer was done"),
        (a_load(), 0.13, 0.0, ""),
        (a_load(direct=True), 0.98, 0.0, ""),
        # More than the load wrote is others' or metadata.
        (
            a_load(),
            2.2,
            0.0,
            "'load': 1000.0 KiB of 1000.0 KiB written were still dirty when the last writer was done",
        ),
        (
            a_load(WorkloadKind.READ),
            0.0,
            0.5,
            "'load': 500.0 KiB of 1000.0 KiB read came from memory, not from the device",
        ),
        # The read-ahead of others' blocks, and metadata, are more than what was asked for.
        (a_load(WorkloadKind.READ), 0.0, 1.1, ""),
        # Of a load that writes nothing, what is dirty is others'.
        (a_load(WorkloadKind.READ), 0.98, 0.92, ""),
        # Nobody has counted what the device read.
        (a_load(WorkloadKind.READ), 0.0, None, ""),
    ],
)
def test_a_load_whose_bytes_were_in_memory_is_called_cached(
    workload: Workload, dirty: float, device_read: float | None, told: str
) -> None:
    size, work = 1000 * 2**10, Work()
    read = size if workload.reads else 0
    result = LoadResult((), size - read, 1, 10**9, 2 * 10**9, 12 * 10**9, 1.0, 0.0, True, read_bytes=read)
    device_read_bytes = None if device_read is None else int(device_read * size)
    window = SimpleNamespace(result=result, dirty_bytes=int(dirty * size), device_read_bytes=device_read_bytes)
    warnings_load.about_cache(work.as_cell, workload, cast("LoadWindow", window))
    assert work.told == ([(WarningKind.CACHED, told)] if told else [])


@pytest.mark.parametrize(
    ("limit", "is_told"), [("", True), ("2GiB", False), ("4GiB", False), ("5GiB", True), ("64GiB", True)]
)
def test_data_of_bonnie_are_cached_if_under_twice_the_memory_that_the_load_may_have(
    limit: str, is_told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warnings_load, "memory_bytes", lambda: 24 * 2**30)
    work, workload = Work(), a_load(WorkloadKind.BONNIE, limit_bytes=8 * 2**30)
    work.cell.setting = Setting((("memory", limit),) if limit else ())
    warnings_load.about_bonnie(work.as_cell, workload, ended(60, 30, 30))
    assert [kind for kind, _ in work.told] == [WarningKind.CACHED] * is_told


def test_reads_of_memory_are_advised_by_whether_they_began_cold() -> None:
    for cold, advice in ((False, "Set cold = true"), (True, "Read more data than fits memory")):
        result = LoadResult((), 0, 1, 10**9, 2 * 10**9, 12 * 10**9, 1.0, 0.0, True, read_bytes=1000)
        window = SimpleNamespace(result=result, dirty_bytes=0, device_read_bytes=500)
        work = Work()
        warnings_load.about_cache(work.as_cell, a_load(WorkloadKind.READ, cold=cold), cast("LoadWindow", window))
        (hint,) = work.hints
        assert hint.startswith(advice)


def test_a_load_is_short_by_its_time_with_the_drain_and_says_what_kept_it_so() -> None:
    work, sizing = Work(), Sizing(SizedBy.FILES, 10.0, is_settled=True, why="it may use at most 60 % of the inodes")
    warnings_load.about_duration(work.as_cell, "load", 10.1, sizing)
    assert work.told == []
    warnings_load.about_duration(work.as_cell, "load", 2.0, sizing)
    assert work.told == [(WarningKind.SHORT, "'load' took 2.00 s: it may use at most 60 % of the inodes")]
    assert work.hints == ["Use a larger device before comparing variants that are close."]
