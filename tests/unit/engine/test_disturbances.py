"""Warnings of what else used the machine: each at its threshold, and none right below it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest
from msgspec.structs import replace

from fsconsole.engine import disturbances
from fsconsole.engine.work import CellWork, ClockAndCpu, LoadWindow
from fsconsole.model.events import WarningKind
from fsconsole.model.metrics import Metric
from fsconsole.model.workload import WorkloadKind
from fsconsole.telemetry.heat import Heat
from fsconsole.telemetry.machine import CpuTimes
from fsconsole.telemetry.others import CpuUse, CpuUser, Processes
from fsconsole.telemetry.sampler import Gap
from fsconsole.telemetry.traffic import ForeignIo, Traffic
from fsconsole.text import MIB
from tests.unit.engine.test_warnings import Work, a_load, ended

NOBODY = Processes({}, {})
NO_GAP = Gap(0.0)


def shares(
    others_s: float, generator_s: float, monkeypatch: pytest.MonkeyPatch
) -> tuple[dict[Metric, float], Work]:  # fmt: skip
    """Return the CPU figures of a load of 10 s on two CPUs that were busy for 12 s, 1 s of it in interrupts."""
    monkeypatch.setattr(disturbances, "read_processes", lambda: NOBODY)
    use = CpuUse(kernel_s=2.0, viewers_s=0.1, others_s=others_s, biggest=CpuUser("stress", 4711, others_s / 2))
    monkeypatch.setattr(disturbances, "cpu_use", lambda *_: use)
    work = Work()
    begin, end = (
        ClockAndCpu(0, CpuTimes(0, 0, 0, 0), 3.0), ClockAndCpu(10**10, CpuTimes(500, 0, 600, 800, 0, 30, 70), 3.2)
    )  # fmt: skip
    result = ended(10, generator_s, 0)
    window = SimpleNamespace(
        processes=NOBODY, result=result, begin=begin, handle=SimpleNamespace(workload=a_load()), gauged=()
    )
    figures = disturbances.cpu_figures(work.as_cell, cast("LoadWindow", window), end)
    return {one.metric: one.value for one in figures}, work


def test_a_load_s_cpu_is_split_into_shares_of_all_cpus_and_others_over_5_percent_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parts, work = shares(1.0, 7.0, monkeypatch)
    assert {metric: round(share, 6) for metric, share in parts.items() if metric is not Metric.CPU_PER_GIB} == {
        Metric.CPU: 60.0, Metric.CPU_BY_GENERATOR: 35.0, Metric.CPU_BY_KERNEL: 15.0, Metric.OBSERVER: 1.5,
        Metric.CPU_BY_OTHERS: 5.0,
    }  # fmt: skip
    assert work.told == []
    _, work = shares(1.02, 7.0, monkeypatch)
    ((kind, reason),) = work.told
    assert kind is WarningKind.OTHERS_CPU
    assert reason == "other processes used 5.1 % of the CPUs during 'load', most of it stress (process 4711): 2.5 %"


def test_others_are_never_more_than_what_is_left_of_what_was_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    parts, work = shares(3600.0, 8.5, monkeypatch)
    assert parts[Metric.CPU_BY_OTHERS] == pytest.approx(1.0)
    assert work.told == []


@pytest.mark.parametrize(
    ("kind", "file_bytes", "is_told"),
    [
        (WorkloadKind.CREATE, MIB, True),
        (WorkloadKind.CREATE, MIB - 1, False),
        (WorkloadKind.RANDOM_WRITE, MIB, False),
    ],
)
def test_what_the_target_reads_is_foreign_in_a_load_that_reads_nothing_itself(
    kind: WorkloadKind, file_bytes: int, *, is_told: bool
) -> None:
    work, load = Work(), replace(a_load(kind), file_size_bytes=file_bytes)
    moved = Traffic(100, 16 * MIB, 300, 150 * MIB, None, 3)
    window = SimpleNamespace(
        traffic=SimpleNamespace(close=lambda: None, of_target=lambda: moved, foreign=tuple),
        handle=SimpleNamespace(workload=load), result=SimpleNamespace(written_bytes=100 * MIB), processes=NOBODY,
    )  # fmt: skip
    figures = {one.metric: one.value for one in disturbances.device_figures(work.as_cell, cast("LoadWindow", window))}
    assert figures[Metric.WRITE_AMPLIFICATION] == 1.5
    assert figures.get(Metric.FOREIGN_IO) == (16 * MIB if is_told else None)
    assert [kind for kind, _ in work.told] == [WarningKind.FOREIGN_IO] * is_told


@pytest.mark.parametrize(
    ("foreign", "is_too_much"),
    [
        (ForeignIo("sda", 16 * MIB - 1, 0, 0, 0, 0), False),
        (ForeignIo("sda", 0, 16 * MIB, 0, 0, 0), True),
        (ForeignIo("sda", 10 * MIB, 10 * MIB, 0, 400 * MIB, 0), False),
        (ForeignIo("sda", 10 * MIB, 11 * MIB, 0, 400 * MIB, 0), True),
        (ForeignIo("sda", 4096, 0, 200, 400 * MIB, 3999), True),
        (ForeignIo("sda", 4096, 0, 200, 400 * MIB, 4000), False),
        (ForeignIo("sda", 4096, 0, 199, 400 * MIB, 0), False),
    ],
)
def test_foreign_io_disturbs_by_its_bytes_or_by_its_requests_beside_the_run_s_own(
    foreign: ForeignIo, *, is_too_much: bool
) -> None:
    assert disturbances.is_disturbing(foreign) is is_too_much


def test_engines_beside_throttled_cpus_and_hot_drives_are_told_at_the_cell_s_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def told(
        counts: dict[str, int], beside: dict[str, int], *hot: Heat, gap: Gap = NO_GAP
    ) -> list[tuple[WarningKind, str]]:
        monkeypatch.setattr(disturbances, "read_throttles", lambda: counts)
        monkeypatch.setattr(disturbances, "too_hot", lambda _: hot)
        work = SimpleNamespace(
            run=SimpleNamespace(beside=SimpleNamespace(seen=beside), sampler=SimpleNamespace(longest_gap=lambda: gap)),
            heat={},
            told=[],
            device_names=(),
        )
        work.warn = lambda kind, reason, _: work.told.append((kind, reason))
        disturbances.about_end(cast("CellWork", work), {"cpu0": 5, "cpu1": 5})
        return cast("list[tuple[WarningKind, str]]", work.told)

    assert told({"cpu0": 5, "cpu1": 5, "cpu2": 9}, {}) == []
    assert told({"cpu0": 6, "cpu1": 9}, {"sdc": 4711, "sdb": 4711}, Heat("sda", 71.2, 70.0)) == [
        (WarningKind.ENGINE_BESIDE, "another run (engine process 4711) used sdb, sdc during this cell"),
        (WarningKind.THROTTLED, "heat slowed 2 CPUs during the cell: cpu1 was throttled 4 times"),
        (WarningKind.HOT, "sda at 71 C, limit 70 C"),
    ]
    stopped, suspended = told({}, {}, gap=Gap(20.0)), told({}, {}, gap=Gap(20.0, 18.0))
    said = "fsconsole did not run for 20.0 s during the cell: "
    assert stopped == [(WarningKind.GAP, f"{said}a signal stopped it, or the machine was too busy")]
    assert suspended == [(WarningKind.GAP, f"{said}the machine was suspended for 18.0 s of it")]
