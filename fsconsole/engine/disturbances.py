"""Detects disturbances of a cell: other processes on the CPUs, foreign I/O, other runs, heat."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from fsconsole.engine import warnings_load
from fsconsole.engine.work import GAP_HINT, CellWork, ClockAndCpu, LoadWindow, StepResult
from fsconsole.model.events import Outcome, WarningKind
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import CLOSED_BY, Step, StepKind
from fsconsole.model.workload import Workload, WorkloadKind
from fsconsole.system.processes import is_stopped, own_pid_in_host_proc, processes_below
from fsconsole.telemetry.block import watched_tree
from fsconsole.telemetry.heat import read_throttles, too_hot
from fsconsole.telemetry.machine import busy_between, interrupts_between
from fsconsole.telemetry.others import CpuUser, cpu_use, most_io, read_processes, viewers_among
from fsconsole.telemetry.traffic import ForeignIo, TrafficWindow, device_measurements
from fsconsole.text import MIB
from fsconsole.units import format_bytes, format_percent, format_seconds
from fsconsole.workloads import protocol

OTHERS_CPU_PERCENT = 5.0
"""Of all CPUs."""
FOREIGN_PERCENT = 5.0
"""Of the run's own bytes, or requests."""
FOREIGN_BYTES, FOREIGN_REQUESTS = 16 * MIB, 200
"""Below these limits it is an idle system's background I/O: its logs, and the run's own."""
_LARGE_FILE_BYTES = MIB
"""Creating smaller files re-reads directories that were evicted from the page cache."""


def cpu_figures(work: CellWork, window: LoadWindow, end: ClockAndCpu) -> tuple[Measurement, ...]:
    """Return a load's CPU figures, split by user, and warn of other processes and of the engine itself."""
    after, engine = read_processes(), own_pid_in_host_proc()
    use = cpu_use(window.processes, after, engine, viewers_among(after))
    elapsed_s = (end.monotonic_ns - window.begin.monotonic_ns) / 1e9
    busy_s, available_s = busy_between(window.begin.cpu, end.cpu, elapsed_s)
    if available_s <= 0:
        return protocol.cpu_measurements(busy_s, available_s, window.result.moved_bytes)
    generator_s = window.result.user_s + window.result.system_s
    kernel_s = use.kernel_s + interrupts_between(window.begin.cpu, end.cpu)
    observer_s = end.engine_s - window.begin.engine_s + use.viewers_s
    # Where idle times are sampled at ticks, too, the parts are all that is exact.
    busy_s = max(busy_s, generator_s + kernel_s + observer_s)
    # A load of some ticks may have parts that come to more than the CPUs had by /proc/stat.
    available_s = max(available_s, busy_s)
    # A process that ended may have used most of its time before the load: cap others at the unattributed busy time.
    others_s = max(0.0, min(use.others_s, busy_s - generator_s - kernel_s - observer_s))
    parts = {
        Metric.CPU_BY_GENERATOR: generator_s,
        Metric.CPU_BY_KERNEL: kernel_s,
        Metric.OBSERVER: observer_s,
        Metric.CPU_BY_OTHERS: others_s,
    }
    shares = {metric: 100 * (used_s / available_s) for metric, used_s in parts.items()}
    warnings_load.about_observer(work, shares[Metric.OBSERVER])
    _about_others(work, window.handle.workload.name, shares[Metric.CPU_BY_OTHERS], use.biggest, available_s)
    figures = protocol.cpu_measurements(busy_s, available_s, window.result.moved_bytes)
    return (*figures, *(Measurement(metric, share) for metric, share in shares.items()))


def _about_others(work: CellWork, load: str, percent: float, biggest: CpuUser | None, available_s: float) -> None:
    if percent <= OTHERS_CPU_PERCENT:
        return
    who = f", most of it {biggest}: {format_percent(100 * biggest.used_s / available_s)}" if biggest else ""
    work.warn(
        WarningKind.OTHERS_CPU,
        f"other processes used {format_percent(percent)} of the CPUs during '{load}'{who}",
        "Stop or postpone them (cron jobs, updates, monitoring), and run these cells again.",
    )


def device_figures(work: CellWork, window: LoadWindow) -> tuple[Measurement, ...]:
    """Return the target's I/O in a load's window, which is closed, and warn of foreign I/O on its disks."""
    workload, result = window.handle.workload, window.result
    moved, foreign = window.traffic.of_target(), list(window.traffic.foreign())
    if moved is not None and _needs_no_reads(workload):
        # Reads by others of the target itself show in no difference between disk and target; a create reads nothing.
        foreign.append(ForeignIo(work.device_name, moved.read_bytes, 0, 0, moved.written_bytes, 0))
    _about_foreign(work, f"'{workload.name}'", foreign, window)
    # A kernel that doesn't count an array's or a volume's writes shows none (dm before 6.4).
    if moved is None or (result.written_bytes and not moved.writes):
        return ()
    figures = device_measurements(moved, result.written_bytes)
    total = sum(one.moved_bytes for one in foreign)
    return (*figures, Measurement(Metric.FOREIGN_IO, total)) if foreign else figures


def _needs_no_reads(workload: Workload) -> bool:
    return workload.kind is WorkloadKind.CREATE and workload.file_size_bytes >= _LARGE_FILE_BYTES


def _about_foreign(work: CellWork, during: str, foreign: Sequence[ForeignIo], window: LoadWindow | None = None) -> None:
    for one in filter(is_disturbing, foreign):
        reason = (
            f"other programs read {format_bytes(one.read_bytes)} and wrote {format_bytes(one.written_bytes)} on {one.disk}"
            f" during {during}; the run itself moved {format_bytes(one.own_bytes)} there"
        )
        if window is not None:
            who, moved_bytes = most_io(window.processes, read_processes(), own_pid_in_host_proc())
            reason += f"; most I/O on this machine: {who}, {format_bytes(moved_bytes)}" if who else ""
        work.warn(
            WarningKind.FOREIGN_IO,
            reason,
            "Stop or postpone them (backups, cron jobs, updates), or use a disk that nothing else uses; "
            "then run these cells again.",
        )


def is_disturbing(foreign: ForeignIo) -> bool:
    """Return whether others' I/O on a disk is too much for a figure to be trusted."""
    by_bytes = foreign.moved_bytes >= FOREIGN_BYTES and foreign.moved_bytes > foreign.own_bytes * FOREIGN_PERCENT / 100
    # A hard disk does some hundred requests a second, however small.
    enough = foreign.requests >= FOREIGN_REQUESTS
    return by_bytes or (enough and foreign.requests > foreign.own_requests * FOREIGN_PERCENT / 100)


_IN_LOADS = frozenset({StepKind.WORKLOAD, StepKind.DRAIN})
"""Measured as one window, which the load step opens and closes."""


def step_begins(work: CellWork, step: Step) -> None:
    """Start counting the target's I/O in a step; between two steps timed as one no file is read."""
    former = work.traffic
    if step.kind in _IN_LOADS:
        work.traffic = None
    elif former is not None and step.kind in CLOSED_BY.values():
        work.traffic = former.following()
    else:
        work.traffic = TrafficWindow(work.device_name)


def with_traffic(work: CellWork, step: Step, result: StepResult) -> StepResult:
    """Return a step's result with the target's I/O in it; warn of foreign I/O if the step was measured."""
    window = work.traffic
    if window is None or result.outcome is not Outcome.DONE:
        return result
    window.close()
    moved = window.of_target()
    if result.measurements and step.kind is not StepKind.WARM:
        # The engine's own reads of sources may be on the same disk.
        _about_foreign(work, step.kind.words, window.foreign())
    if moved is None or not any((moved.reads, moved.writes, moved.discarded_bytes, moved.flushes)):
        return result
    return replace(result, measurements=(*result.measurements, *device_measurements(moved)))


def note_heat(work: CellWork) -> None:
    """Note sensors of the machine and of the cell's disks that are at or above their limit."""
    devices = [one.name for name in work.device_names for one in watched_tree(name)]
    for heat in too_hot(devices):
        known = work.heat.get(heat.sensor)
        if known is None or heat.now_c > known.now_c:
            work.heat[heat.sensor] = heat


class StopWatch:
    """Looks from time to time whether a process of a load is stopped (SIGSTOP): its time runs on, and it does nothing."""

    def __init__(self, work: CellWork, pid: int) -> None:
        self._work, self._pid = work, pid
        self._period_s = work.run.sampler.gap_s
        self._next_s = time.monotonic() + self._period_s
        self._has_warned = False

    def look(self, load: str) -> None:
        """Warn, once, if it is time to look and one is stopped."""
        if self._has_warned or time.monotonic() < self._next_s:
            return
        proc = self._work.run.places.proc
        self._has_warned = any(is_stopped(pid, proc) for pid in processes_below(self._pid, proc))
        self._next_s = time.monotonic() + self._period_s
        if self._has_warned:
            self._work.warn(WarningKind.GAP, f"'{load}': its generator was stopped (SIGSTOP) for a while", GAP_HINT)


def _about_gap(work: CellWork) -> None:
    gap = work.run.sampler.longest_gap()
    if not gap.elapsed_s:
        return
    why = "a signal stopped it, or the machine was too busy"
    if gap.suspended_s:
        why = f"the machine was suspended for {format_seconds(gap.suspended_s)} of it"
    work.warn(
        WarningKind.GAP, f"fsconsole did not run for {format_seconds(gap.elapsed_s)} during the cell: {why}", GAP_HINT
    )


def about_end(work: CellWork, throttles: Mapping[str, int]) -> None:
    """Warn of gaps, other runs and heat during the cell; throttles are the counters read at its start."""
    _about_gap(work)
    beside = work.run.beside.seen
    for pid in dict.fromkeys(beside.values()):
        disks = ", ".join(sorted(disk for disk, engine in beside.items() if engine == pid))
        work.warn(
            WarningKind.ENGINE_BESIDE,
            f"another run (engine process {pid}) used {disks} during this cell",
            "Run one plan at a time (`fsconsole runs` lists them), then run these cells again.",
        )
    counts = {
        cpu: count - throttles[cpu] for cpu, count in read_throttles().items() if count > throttles.get(cpu, count)
    }
    if counts:
        cpu = max(counts, key=counts.__getitem__)
        work.warn(
            WarningKind.THROTTLED,
            f"heat slowed {len(counts)} CPU{'s' * (len(counts) > 1)} during the cell: {cpu} was throttled {counts[cpu]} times",
            "Check fans and air flow, let the machine cool down, and run these cells again.",
        )
    note_heat(work)
    if work.heat:
        work.warn(
            WarningKind.HOT,
            "; ".join(map(str, work.heat.values())),
            "Drives and CPUs at their limit slow down: check fans and air flow, and run these cells again.",
        )
