"""The figures of a finished step, each with its unit and the words that say how it was taken."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Unit(str, Enum):
    """What a stored value counts. Values are stored in these base units, and rounded only when printed."""

    BYTES = "B"
    BYTES_PER_S = "B/s"
    SECONDS = "s"
    PERCENT = "%"
    COUNT = "count"
    PER_SECOND = "1/s"
    MILLISECONDS = "ms"
    """Of latencies alone, which would be all zeros in seconds."""


class Metric(str, Enum):
    """Names of measurements as stored in the journal."""

    WRITE = "write"
    DURABLE = "durable"
    WRITTEN = "written"
    WRITE_TIME = "write_time"
    DRAIN = "drain"
    FIRST_DONE = "first_done"
    LAST_DONE = "last_done"
    CPU = "cpu"
    CPU_GENERATOR = "cpu_generator"
    CPU_PER_GIB = "cpu_per_gib"
    FILES_PER_S = "files_per_s"
    EXTENTS_MEAN = "extents_mean"
    EXTENTS_MEDIAN = "extents_median"
    EXTENTS_MAX = "extents_max"
    EXTENT_SIZE_MEDIAN = "extent_size_median"
    FILES_MAPPED = "files_mapped"
    FILES_COMPRESSED = "files_compressed"
    MKFS = "mkfs"
    MKFS_USER = "mkfs_user"
    MKFS_SYSTEM = "mkfs_system"
    MOUNT = "mount"
    UNMOUNT = "unmount"
    CHECK = "check"
    CHECK_USER = "check_user"
    CHECK_SYSTEM = "check_system"
    CHECK_RSS = "check_rss"
    NON_CONTIGUOUS = "non_contiguous"
    DELETE = "delete"
    DELETE_USER = "delete_user"
    DELETE_SYSTEM = "delete_system"
    DELETE_DURABLE = "delete_durable"
    USABLE = "usable"
    OVERHEAD = "overhead"
    PEAK_DIRTY = "peak_dirty"
    OBSERVER = "observer"
    RAW_WRITE_1 = "raw_write_1"
    RAW_WRITE_N = "raw_write_n"
    RAW_READ_1 = "raw_read_1"
    RAW_READ_N = "raw_read_n"
    READTEST = "readtest"
    OF_RAW_1 = "of_raw_1"
    """Never journalled, as OF_RAW_N: the grid sets durable figures against the raw row."""
    OF_RAW_N = "of_raw_n"
    STALLS = "stalls"
    READ = "read"
    READ_BYTES = "read_bytes"
    READ_TIME = "read_time"
    LATENCY_MEAN = "latency_mean"
    LATENCY_P50 = "latency_p50"
    LATENCY_P95 = "latency_p95"
    LATENCY_P99 = "latency_p99"
    LATENCY_MAX = "latency_max"
    OVER_2_S = "over_2_s"
    OVER_10_S = "over_10_s"
    ARRAY_SYNC = "array_sync"


@dataclass(frozen=True, slots=True)
class Definition:
    """How a metric is called in a grid's head, its unit, and how it is taken, in one sentence."""

    metric: Metric
    column: str
    unit: Unit
    help: str


DEFINITIONS: dict[Metric, Definition] = {
    d.metric: d
    for d in (
        Definition(
            Metric.WRITE,
            "write",
            Unit.BYTES_PER_S,
            "bytes written / (last writer done - first writer started): what the application sees",
        ),
        Definition(
            Metric.DURABLE,
            "durable",
            Unit.BYTES_PER_S,
            "the same bytes / (drain done - first writer started)",
        ),
        Definition(Metric.WRITTEN, "written", Unit.BYTES, "bytes that the writers handed to the kernel"),
        Definition(Metric.WRITE_TIME, "write time", Unit.SECONDS, "last writer done - first writer started"),
        Definition(Metric.DRAIN, "drain", Unit.SECONDS, "syncfs and device flush after the last writer"),
        Definition(
            Metric.FIRST_DONE,
            "first done",
            Unit.SECONDS,
            "first writer started to first writer done",
        ),
        Definition(Metric.LAST_DONE, "last done", Unit.SECONDS, "first writer started to last writer done"),
        Definition(
            Metric.CPU,
            "CPU",
            Unit.PERCENT,
            "busy share of all CPUs, start to drain done, from /proc/stat; kernel writeback counts",
        ),
        Definition(
            Metric.CPU_GENERATOR,
            "CPU (FFSB)",
            Unit.PERCENT,
            "the generator's own CPU time / elapsed, sync included, as FFSB prints",
        ),
        Definition(Metric.CPU_PER_GIB, "CPU/GiB", Unit.SECONDS, "busy CPU seconds per GiB moved"),
        Definition(
            Metric.FILES_PER_S,
            "files/s",
            Unit.PER_SECOND,
            "files finished / (last writer done - first writer started)",
        ),
        Definition(
            Metric.EXTENTS_MEAN,
            "extents/file",
            Unit.COUNT,
            "mean over all files of the workload, physically contiguous runs merged, as filefrag counts",
        ),
        Definition(Metric.EXTENTS_MEDIAN, "extents p50", Unit.COUNT, "median extents per file"),
        Definition(Metric.EXTENTS_MAX, "extents max", Unit.COUNT, "most extents in one file"),
        Definition(Metric.EXTENT_SIZE_MEDIAN, "extent size", Unit.BYTES, "median size of an extent"),
        Definition(Metric.FILES_MAPPED, "files", Unit.COUNT, "files whose extents were read"),
        Definition(
            Metric.FILES_COMPRESSED,
            "compressed",
            Unit.COUNT,
            "files with compressed extents, which are not fragments",
        ),
        Definition(Metric.MKFS, "mkfs", Unit.SECONDS, "real time of the mkfs command"),
        Definition(Metric.MKFS_USER, "mkfs user", Unit.SECONDS, "user time of the mkfs command"),
        Definition(Metric.MKFS_SYSTEM, "mkfs sys", Unit.SECONDS, "system time of the mkfs command"),
        Definition(Metric.MOUNT, "mount", Unit.SECONDS, "real time of the mount command"),
        Definition(Metric.UNMOUNT, "unmount", Unit.SECONDS, "real time of unmounting the loaded filesystem"),
        Definition(Metric.CHECK, "check", Unit.SECONDS, "real time of the forced full check, unmounted"),
        Definition(Metric.CHECK_USER, "check user", Unit.SECONDS, "user time of the check"),
        Definition(Metric.CHECK_SYSTEM, "check sys", Unit.SECONDS, "system time of the check"),
        Definition(Metric.CHECK_RSS, "check memory", Unit.BYTES, "peak resident memory of the check"),
        Definition(
            Metric.NON_CONTIGUOUS,
            "non-contiguous",
            Unit.PERCENT,
            "e2fsck's own share of fragmented files",
        ),
        Definition(Metric.DELETE, "delete", Unit.SECONDS, "real time of removing the tree, cold"),
        Definition(Metric.DELETE_USER, "delete user", Unit.SECONDS, "user time of removing the tree"),
        Definition(Metric.DELETE_SYSTEM, "delete sys", Unit.SECONDS, "system time of removing the tree"),
        Definition(
            Metric.DELETE_DURABLE,
            "durable delete",
            Unit.SECONDS,
            "removing the tree and unmounting",
        ),
        Definition(Metric.USABLE, "usable", Unit.BYTES, "free space after mkfs (statfs)"),
        Definition(
            Metric.OVERHEAD,
            "overhead",
            Unit.PERCENT,
            "share of the device that the empty filesystem keeps to itself",
        ),
        Definition(
            Metric.PEAK_DIRTY,
            "peak dirty",
            Unit.BYTES,
            "highest Dirty + Writeback, from /proc/meminfo samples",
        ),
        Definition(
            Metric.OBSERVER,
            "observer",
            Unit.PERCENT,
            "CPU of the engine's own process (sampler, journal) as share of all CPUs; no viewer's, each below 1 % of one CPU",
        ),
        Definition(
            Metric.RAW_WRITE_1,
            "raw write 1",
            Unit.BYTES_PER_S,
            "one sequential O_DIRECT stream straight on the device, its flush included",
        ),
        Definition(
            Metric.RAW_WRITE_N,
            "raw write N",
            Unit.BYTES_PER_S,
            "the same with as many streams as the workload has threads, each in a region of its own",
        ),
        Definition(
            Metric.RAW_READ_1,
            "raw read 1",
            Unit.BYTES_PER_S,
            "what the one stream wrote, read back with O_DIRECT",
        ),
        Definition(
            Metric.RAW_READ_N, "raw read N", Unit.BYTES_PER_S, "what the N streams wrote, read back likewise"
        ),
        Definition(
            Metric.READTEST,
            "readtest",
            Unit.BYTES_PER_S,
            "3 s of reading from the device's beginning through the page cache, as hdparm -t",
        ),
        Definition(
            Metric.OF_RAW_1,
            "% raw 1",
            Unit.PERCENT,
            "% of raw: durable against one raw stream of the same run; may exceed 100",
        ),
        Definition(
            Metric.OF_RAW_N,
            "% raw N",
            Unit.PERCENT,
            "% of raw: durable against as many raw streams as the workload has threads; may exceed 100",
        ),
        Definition(
            Metric.STALLS,
            "stalls",
            Unit.SECONDS,
            "time in which the device wrote nothing while writers waited, in whole sampling intervals",
        ),
        Definition(
            Metric.READ,
            "read",
            Unit.BYTES_PER_S,
            "bytes read / (last reader done - first reader started); cold where the workload says so",
        ),
        Definition(Metric.READ_BYTES, "bytes read", Unit.BYTES, "bytes that the readers got from the kernel"),
        Definition(Metric.READ_TIME, "read time", Unit.SECONDS, "last reader done - first reader started"),
        Definition(
            Metric.LATENCY_MEAN,
            "latency",
            Unit.MILLISECONDS,
            "mean time of one call that reads or writes a block; of stats and deletes: of one file",
        ),
        Definition(
            Metric.LATENCY_P50,
            "latency p50",
            Unit.MILLISECONDS,
            "median of the same, within 6 %",
        ),
        Definition(
            Metric.LATENCY_P95,
            "latency p95",
            Unit.MILLISECONDS,
            "95 % of the same were no longer, within 6 %",
        ),
        Definition(
            Metric.LATENCY_P99,
            "latency p99",
            Unit.MILLISECONDS,
            "99 % of the same were no longer, within 6 %",
        ),
        Definition(Metric.LATENCY_MAX, "latency max", Unit.MILLISECONDS, "the longest of the same"),
        Definition(Metric.OVER_2_S, "over 2 s", Unit.PERCENT, "share of the same that took more than 2 s"),
        Definition(Metric.OVER_10_S, "over 10 s", Unit.PERCENT, "share of the same that took more than 10 s"),
        Definition(
            Metric.ARRAY_SYNC,
            "resync",
            Unit.SECONDS,
            "from the array's making until its members were in step",
        ),
    )
}
