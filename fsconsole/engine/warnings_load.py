"""Warnings about a filesystem, its loads and their figures, each with a hint what to do."""

from __future__ import annotations

import errno
import os
import shlex
from collections.abc import Sequence
from dataclasses import replace

from fsconsole.catalog.filesystem import Scope
from fsconsole.catalog.loader import load_catalog
from fsconsole.catalog.words import Where, not_in_effect, split_flags, split_mount
from fsconsole.engine.work import CellWork, LoadWindow, StepResult
from fsconsole.inspect.checks import CheckVerdict, killed_for_memory
from fsconsole.inspect.features import Feature
from fsconsole.model.bonnie import BonnieTest
from fsconsole.model.events import FeatureSeen, Outcome, WarningKind
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import BONNIE_RATES, Metric
from fsconsole.model.plan import Step, StepKind
from fsconsole.model.workload import DataKind, Sizing, Workload, WorkloadKind
from fsconsole.plan.expand import filesystem_of
from fsconsole.plan.keys import MEMORY
from fsconsole.plan.steps import crash_objection
from fsconsole.system.files import cpu_count, memory_bytes
from fsconsole.telemetry.links import links_below
from fsconsole.units import format_bytes, format_percent, format_rate, format_seconds, parse_bytes
from fsconsole.workloads.protocol import LoadResult

SHORT_S = 10.0
MEMORY_SHARE = 0.25
"""Share of a load's bytes in memory above which its rate is a third or more too high. Measured on ext4 and xfs: 98 to 100 %
is still dirty after a load below the dirty limits, 1 to 13 % after one of at least twice dirty_bytes."""
NEARLY_FULL_PERCENT = 90.0
OBSERVER_PERCENT = 2.0
CPU_BOUND_PERCENT = 95.0
TELLS_CPU_S = 0.1
"""Thresholds of warnings."""

_COMPRESSING = frozenset({"compress", "compress-force"})
"""Mount options of btrfs; f2fs has compress_extension (Documentation/filesystems/f2fs.rst), and files of a load no extension."""
_NO_COMPRESSION = frozenset({"no", "none"})


def about_crash(work: CellWork) -> None:
    """Warn of a cell whose plan asks for a crash that is not tested, or only in part."""
    if not work.cell.after.crash:
        return
    if not any(step.kind is StepKind.CRASH_LOAD for step in work.cell.steps):
        no_crash(work, "dm-flakey is not used on an array")
    elif "nobarrier" in work.features:
        work.warn(
            WarningKind.POWER_LOSS,
            "power loss not tested: barriers are off, and the drive's cache keeps its data in the crash test",
            "Turn barriers on, unless the drives' caches are battery-backed or write-through.",
        )


def no_crash(work: CellWork, why: str) -> None:
    """Warn of a cell without a crash test, because dm-flakey is not available; why is the reason."""
    objection = crash_objection(work.cell, filesystem_of(work.cell, load_catalog()))
    work.warn(
        WarningKind.POWER_LOSS,
        f"no crash was tested on {work.cell.variant.filesystem}: {objection}, and {why}",
        "Install dmsetup and use a kernel with dm-flakey (DM_FLAKEY), or cut a test machine's power.",
    )


def about_load(work: CellWork, workload: Workload, result: LoadResult) -> None:
    """Warn of a load that is bound by the CPU, compressed, or ended by a full filesystem."""
    about_cpu(work, workload.name, result)
    about_compression(work, workload)
    about_bonnie(work, workload, result)
    if result.failures:
        is_quota = os.strerror(errno.EDQUOT) in result.failures
        quota = "A quota ended the writes, not the space: see `quota -s`, or use a smaller scale."
        hint = quota if is_quota else "Use a smaller scale or a larger device."
        work.warn(WarningKind.TARGET_FULL, result.failures, hint)


def about_bonnie(work: CellWork, workload: Workload, result: LoadResult) -> None:
    """Warn of tests of bonnie++ that were too quick for a rate, and of data that fits into the memory."""
    if workload.kind is not WorkloadKind.BONNIE:
        return
    told = {figure.metric for figure in result.told}
    quick = [
        test.column
        for test in BonnieTest
        if Metric(f"bonnie_{test.value}_latency") in told and BONNIE_RATES[test] not in told
    ]
    if quick:
        reason = f"'{workload.name}': bonnie++ printed +++++ for {', '.join(quick)}: under 500 ms, too quick to tell"
        work.warn(WarningKind.SHORT, reason, "Give it more data (bytes) or more files.")
    data_bytes = workload.limit_bytes * workload.threads
    limit = dict(work.cell.setting.values).get(MEMORY, "")
    # The load's memory cgroup bounds its page cache too.
    may_cache_bytes = min(parse_bytes(limit), memory_bytes()) if limit else memory_bytes()
    if 0 < data_bytes < 2 * may_cache_bytes:
        reason = f"'{workload.name}': {format_bytes(data_bytes)} of data is less than twice the memory"
        hint = (
            "block input and seeks are partly served from memory: make bytes twice the memory, or set a smaller memory."
        )
        work.warn(WarningKind.CACHED, reason, hint)


_WARM = "Set cold = true, and read no block twice: reads from the page cache don't measure the device."
_REREAD = "Read more data than fits memory (file_size, files), or set a smaller memory: blocks were read again after a cold start."


def about_cache(work: CellWork, workload: Workload, window: LoadWindow) -> None:
    """Warn of a rate measured in memory: data still dirty when the clock stopped, or read from the page cache."""
    if workload.direct:
        return
    result = window.result
    if result.written_bytes and window.dirty_bytes > MEMORY_SHARE * result.written_bytes:
        # Counted for the whole machine: what exceeds the load's bytes is other programs' or metadata.
        dirty_bytes = min(window.dirty_bytes, result.written_bytes)
        amounts = f"{format_bytes(dirty_bytes)} of {format_bytes(result.written_bytes)} written"
        work.warn(
            WarningKind.CACHED,
            f"'{workload.name}': {amounts} were still dirty when the last writer was done",
            "What 'write' shows is the speed of memory: go by 'durable', write more (file_size, files), or set a smaller dirty_bytes.",
        )
    # Where reads of the device are not counted (queue/iostats is 0), nothing tells.
    device_read_bytes = result.read_bytes if window.device_read_bytes is None else window.device_read_bytes
    cached_bytes = result.read_bytes - device_read_bytes
    if cached_bytes > MEMORY_SHARE * result.read_bytes:
        amounts = f"{format_bytes(cached_bytes)} of {format_bytes(result.read_bytes)} read"
        reason = f"'{workload.name}': {amounts} came from memory, not from the device"
        work.warn(WarningKind.CACHED, reason, _REREAD if workload.cold else _WARM)


def about_cpu(work: CellWork, name: str, result: LoadResult) -> None:
    """Warn if a writer used all of one CPU, or all writers together all CPUs."""
    if result.elapsed_s < TELLS_CPU_S:
        return
    shares = (
        (result.busiest_s, "the busiest writer used", "one CPU"),
        ((result.user_s + result.system_s) / cpu_count(), "the writers together used", "all CPUs"),
    )
    for used_s, who, whose in shares:
        percent = 100 * used_s / result.elapsed_s
        if percent >= CPU_BOUND_PERCENT:
            work.warn(
                WarningKind.CPU_BOUND,
                f"'{name}': {who} {format_percent(min(percent, 100))} of {whose}",
                "The CPU sets the pace, not the device: compare CPU/GiB too, or use more threads, larger blocks or direct = true.",
            )
            return


def about_compression(work: CellWork, workload: Workload) -> None:
    """Warn of zeros written to a filesystem that compresses: the device gets fewer bytes than the load counts."""
    if not workload.writes or workload.data is DataKind.RANDOM:
        return
    zeros = "zeros" if workload.data is DataKind.ZERO else f"{100 * workload.zero_share:.0f} % zeros"
    for name, value in work.features.items():
        if (name, value) == ("compress_extension", "*") or (name in _COMPRESSING and value not in _NO_COMPRESSION):
            work.warn(
                WarningKind.COMPRESSIBLE,
                f"'{workload.name}' writes {zeros}, and {name}={value} compresses them",
                'Set data = "random", or compare only rows that compress: real files compress differently.',
            )


def about_link(work: CellWork, step: Step, measurements: Sequence[Measurement]) -> None:
    """Warn of figures above the link speed of the target's disks. Raises KernelUnreadable."""
    name, rates = step.title.partition(":")[0], {Metric.DURABLE, Metric.READ}
    if step.workload is not None and not work.cell.variant.is_raw:
        workload = work.cell.workloads[step.workload]
        name, rates = workload.name, rates if workload.cold or workload.direct else {Metric.DURABLE}
    figures = [figure for figure in measurements if figure.metric in rates]
    links = links_below(f"/dev/{work.device_name}") if figures else ()
    most = sum(link.bytes_per_s for link in links)
    for figure in figures if links else ():
        if figure.value > most:
            words = ", ".join(dict.fromkeys(link.words for link in links))
            work.warn(
                WarningKind.FASTER_THAN_LINK,
                f"'{name}': {figure.metric.column} {format_rate(figure.value)} is above the link's speed ({words}, {format_rate(most)})",
                "A cache (controller, host of a virtual machine) or compression is measured, not the disk: "
                'write more than the cache holds, with data = "random".',
            )


def about_duration(work: CellWork, name: str, elapsed_s: float, sizing: Sizing | None = None) -> None:
    """Warn of a phase that was too short for reliable figures; elapsed_s includes the drain."""
    if elapsed_s >= SHORT_S:
        return
    why = f": {sizing.why}" if sizing is not None and sizing.why else ""
    hint = "Write more (file_size, files) before comparing variants that are close."
    if sizing is not None:
        hint = "Use a larger device before comparing variants that are close." if why else "Set a longer load_time."
    work.warn(WarningKind.SHORT, f"'{name}' took {format_seconds(elapsed_s)}{why}", hint)


def about_fullness(work: CellWork, root: int) -> None:
    """Warn of a nearly full filesystem; root is a descriptor of its root."""
    room = os.fstatvfs(root)
    used_percent = 100 * (1 - room.f_bavail / room.f_blocks) if room.f_blocks else 0.0
    if used_percent > NEARLY_FULL_PERCENT:
        work.warn(
            WarningKind.NEARLY_FULL,
            f"filesystem {format_percent(used_percent)} full after the load",
            "Filesystems allocate differently when nearly full: use a smaller scale.",
        )


def about_observer(work: CellWork, observer_percent: float) -> None:
    """Warn if the engine, with consoles and viewers, used a noticeable share of the CPUs."""
    if observer_percent > OBSERVER_PERCENT:
        work.warn(
            WarningKind.OBSERVER,
            f"fsconsole itself used {format_percent(observer_percent)} of the CPUs",
            "Close consoles that you do not need; a longer load dilutes the engine's fixed cost.",
        )


def about_samples(work: CellWork, lost: int) -> None:
    """Warn of gauge samples that the journal dropped."""
    if lost:
        work.warn(
            WarningKind.NOT_COUNTED,
            f"{lost} gauge samples were lost: the disk of the run folder didn't answer for too long",
            "The grid is not affected, plots have a gap: keep runs (--runs) on a disk that answers.",
        )


_JOURNAL = Where("the journal", "options")
_HINT = "Read this row as one without the option; `fsconsole catalog FS --probe` shows what this machine accepts."


def note_features(work: CellWork, scope: Scope, features: Sequence[Feature]) -> None:
    """Journal the effective features, and warn of requested ones that are not in effect."""
    for feature in features:
        work.run.journal.record(
            FeatureSeen(work.cell.index, work.run.attempt, feature.scope, feature.name, feature.value),
            durable=False,
        )
    seen = {feature.name: feature.value for feature in features}
    work.features |= seen
    variant = work.cell.variant
    filesystem = load_catalog().get(variant.filesystem)
    mkfs = split_flags(shlex.join(variant.mkfs_words), filesystem.mkfs_flags, _JOURNAL)
    mount = split_mount(",".join(variant.mount_words), filesystem, _JOURNAL)
    log = work.kernel_log.lines() if scope is Scope.MOUNT else ()
    for reason in not_in_effect(filesystem, mkfs, mount, {scope: seen}, log):
        work.warn(WarningKind.NOT_IN_EFFECT, reason, _HINT)
    driver = seen.get("driver", variant.filesystem)
    if scope is Scope.MOUNT and driver != variant.filesystem:
        work.warn(
            WarningKind.DRIVER,
            f"{variant.filesystem} uses the {driver} driver",
            "Read the figures as that driver's; ext3 has had none of its own since Linux 4.3.",
        )


_MEMORY_HINT = (
    "Use fewer threads or smaller blocks, or add memory: `dmesg` shows how much each process used, "
    "and whether the machine or a cgroup set the limit."
)


def with_killed(work: CellWork, step: Step, result: StepResult, said_before: int) -> StepResult:
    """Return the result; a failed step's reason names programs that the kernel's OOM killer ended during it.

    said_before is the number of lines in the cell's kernel log when the step started.
    """
    if result.outcome is not Outcome.FAILED and result.verdict != CheckVerdict.FAILED.value:
        return result
    names = killed_for_memory(work.kernel_log.lines()[said_before:])
    if not names:
        return result
    killed = "the generator" if step.kind is StepKind.WORKLOAD else " and ".join(names)
    why = f"{killed} was killed (out of memory)"
    work.warn(WarningKind.KERNEL_LOG, f"{step.kind.words}: {why}", _MEMORY_HINT)
    return replace(result, reason=f"{why}: {result.reason}")
