"""Metrics: the figures of a finished step, each with its unit and how it is measured."""

from __future__ import annotations

import difflib
from enum import Enum

from fsconsole.errors.runs import UnknownColumn
from fsconsole.model.bonnie import IN_KIB, RATES_OF_ALL, BonnieTest
from fsconsole.model.timed import SYNCS, Timed


class Unit(str, Enum):
    """Base units of stored values; rounded only when printed."""

    BYTES = "B"
    BYTES_PER_S = "B/s"
    SECONDS = "s"
    PERCENT = "%"
    COUNT = "count"
    PER_SECOND = "1/s"
    MILLISECONDS = "ms"
    """For latencies only: in seconds they would print as zeros."""


_OF_EACH = (
    ("ops_per_s", "ops/s", Unit.PER_SECOND, "{} calls of a mix / (last writer done - first writer started)"),
    ("mean", "mean", Unit.MILLISECONDS, "mean time of one {} call of a mix"),
    ("count", "calls", Unit.COUNT, "{} calls of a mix"),
    ("p50", "p50", Unit.MILLISECONDS, "median of these {} calls, within 6 %"),
    ("p99", "p99", Unit.MILLISECONDS, "99 % of these {} calls were no longer, within 6 %"),
    ("max", "max", Unit.MILLISECONDS, "the longest of these {} calls"),
)
_SPLIT = tuple(
    (f"{of.value.replace('-', '_')}_{name}", f"{of.value} {column}", unit, explanation.format(of.value))
    for of in Timed
    if of not in SYNCS
    for name, column, unit, explanation in _OF_EACH
)
"""A mix has these figures for each kind of call."""
RAW_DEPTHS = (1, 4, 16, 32)
"""Queue depths that a raw row's pilot tries."""
_PILOTS = tuple(
    (
        f"raw_pilot_{act}_{depth}",
        f"pilot {act} {depth}",
        Unit.BYTES_PER_S,
        f"raw {act}s of the pilot, {depth} at a time",
    )
    for act in ("write", "read")
    for depth in RAW_DEPTHS
)
_BONNIE = tuple(
    (f"bonnie_{test.value}{end}", test.column + of, unit, help_.format(test.help))
    for test in BonnieTest
    for end, of, unit, help_ in (
        ("", "", Unit.BYTES_PER_S if test in IN_KIB else Unit.PER_SECOND, "bonnie++'s rate of {}"),
        ("_cpu", " CPU", Unit.PERCENT, "bonnie++'s share of one CPU in its test: {}"),
        ("_latency", " latency", Unit.MILLISECONDS, "longest single call of bonnie++'s test: {}"),
    )
    if end or test not in RATES_OF_ALL
)
"""Each test of bonnie++ has its rate, CPU and latency; block output and input have the rates that all loads have."""

_BDI = (
    ("writeback", "BdiWriteback", Unit.BYTES, "bytes under writeback to this filesystem's device"),
    ("reclaimable", "BdiReclaimable", Unit.BYTES, "bytes dirty and not under writeback yet"),
    ("dirty_thresh", "BdiDirtyThresh", Unit.BYTES, "this device's share of DirtyThresh"),
    ("global_thresh", "DirtyThresh", Unit.BYTES, "dirty memory of the machine at which writers are throttled"),
    ("background_thresh", "BackgroundThresh", Unit.BYTES, "dirty memory of the machine at which writeback starts"),
    ("dirtied", "BdiDirtied", Unit.BYTES, "bytes dirtied since the device appeared"),
    ("written", "BdiWritten", Unit.BYTES, "bytes written back since the device appeared"),
    ("bandwidth", "BdiWriteBandwidth", Unit.BYTES_PER_S, "the kernel's estimate of the device's writeback speed"),
    ("b_dirty", "b_dirty", Unit.COUNT, "dirty inodes that wait for writeback"),
    ("b_io", "b_io", Unit.COUNT, "inodes that the current writeback is to write"),
    ("b_more_io", "b_more_io", Unit.COUNT, "inodes of which more is to be written in its next turn"),
    ("bdi_list", "bdi_list", Unit.COUNT, "1: the device is on the kernel's list of devices to write back"),
    (
        "state",
        "bdi state",
        Unit.COUNT,
        "bits of enum wb_state, in decimal; the kernel's file prints them in hexadecimal",
    ),
)
"""Fields of debugfs bdi/MAJ:MIN/stats (mm/backing-dev.c)."""
_FIELD_OF = {"bandwidth": "bandwidth_bytes_s"} | {
    name: name for name in ("b_dirty", "b_io", "b_more_io", "bdi_list", "state")
}
REASONS = (
    ("background", "dirty memory was above BackgroundThresh"),
    ("periodic", "every dirty_writeback_centisecs"),
    ("sync", "a call of sync or syncfs, the drain's among them"),
    ("vmscan", "memory reclaim asked for it"),
    ("fs_free_space", "the filesystem ran short of space for delayed allocation"),
)
"""Reasons of writeback (enum wb_reason, include/linux/backing-dev-defs.h) that have columns of their own."""
_OF_REASONS = tuple(
    row
    for reason, told in REASONS
    for row in (
        (
            f"starts_{reason}",
            f"wb {reason}",
            Unit.COUNT,
            f"events writeback_start with reason {reason}: {told}; only with trace",
        ),
        (f"nr_pages_{reason}", f"nr_pages {reason}", Unit.COUNT, "nr_pages of the same: median of those with a limit"),
    )
)
_READ_WHILE = "20 readings a second while the writers ran; only with trace"
_OF_BDI = tuple(
    row
    for name, column, unit, told in _BDI
    for row in (
        (f"bdi_{name}", column, unit, f"{told}; {'most frequent' if name == 'state' else 'median'} of {_READ_WHILE}"),
        (
            f"bdi_{name}_max",
            f"{column} peak",
            unit,
            f"{'all bits set' if name == 'state' else 'highest'} in the same readings",
        ),
    )
)
"""Typical and peak of each."""


class Metric(str, Enum):
    """Metrics: stored name, column head, unit, and how it is measured."""

    column: str
    unit: Unit
    help: str

    def __new__(cls, name: str, column: str = "", unit: Unit = Unit.COUNT, explanation: str = "") -> Metric:
        """Make a member; a look-up by name alone, Metric("write"), makes none."""
        metric = str.__new__(cls, name)
        metric._value_ = name
        metric.column, metric.unit, metric.help = column, unit, explanation
        return metric

    # fmt: off
    WRITE = ("write", "write", Unit.BYTES_PER_S,
        "bytes written / (last writer done - first writer started): what the application sees")
    DURABLE = "durable", "durable", Unit.BYTES_PER_S, "the same bytes / (drain done - first writer started)"
    WRITTEN = "written", "written", Unit.BYTES, "bytes that the writers handed to the kernel"
    WRITE_TIME = "write_time", "write time", Unit.SECONDS, "last writer done - first writer started"
    DRAIN = "drain", "drain", Unit.SECONDS, "syncfs and device flush after the last writer"
    FIRST_DONE = "first_done", "first done", Unit.SECONDS, "first writer started to first writer done"
    LAST_DONE = "last_done", "last done", Unit.SECONDS, "first writer started to last writer done"
    REAL = ("real", "real", Unit.SECONDS,
        "real time of the load, as time(1): first operation started to last one done; of a program: from its start to its exit")
    USER = "user", "user", Unit.SECONDS, "user time of the load's own processes"
    SYSTEM = "system", "sys", Unit.SECONDS, "system time of the load's own processes"
    REAL_DRAINED = "real_drained", "durable real", Unit.SECONDS, "real time of the load and its drain together"
    FILES_MADE = ("files_made", "files made", Unit.COUNT,
        "files, links and the like in the directory of a command or a copy after its drain")
    MADE = "made", "made", Unit.BYTES, "sizes of the files in that directory"
    SOURCE_FILES = "source_files", "source files", Unit.COUNT, "files and links of the load's sources"
    SOURCE_BYTES = "source_bytes", "source bytes", Unit.BYTES, "sizes of the files of the load's sources, read into memory before it"
    CPU = ("cpu", "CPU", Unit.PERCENT,
        "busy share of all CPUs, start to drain done: all but idle, waiting and stolen time, from /proc/stat; the sum of CPU by "
        "generator, kernel, others and observer, within 5 % (ticks)")
    CPU_GENERATOR = ("cpu_generator", "CPU (FFSB)", Unit.PERCENT,
        "CPU time of the writers / elapsed time with drain, in % of one CPU, as FFSB prints")
    CPU_FIO = ("cpu_fio", "CPU (fio)", Unit.SECONDS,
        "user and system time of fio's jobs by its own account (usr_cpu, sys_cpu): user + sys less fio's start and end")
    CPU_BY_GENERATOR = ("cpu_by_generator", "CPU by generator", Unit.PERCENT,
        "part of CPU: the load's own processes (rusage)")
    CPU_BY_KERNEL = ("cpu_by_kernel", "CPU by kernel", Unit.PERCENT,
        "part of CPU: kernel threads (writeback, journal, loop, md) and interrupts")
    CPU_BY_OTHERS = ("cpu_by_others", "CPU by others", Unit.PERCENT,
        "part of CPU: all other processes on this machine")
    CPU_PER_GIB = "cpu_per_gib", "CPU/GiB", Unit.SECONDS, "busy CPU seconds per GiB moved"
    GENERATOR_PER_GIB = ("generator_per_gib", "gen. CPU/GiB", Unit.SECONDS,
        "CPU seconds of the load's own processes per GiB moved, user and system")
    CPU_EFFICIENCY = ("cpu_efficiency", "CPU efficiency", Unit.BYTES_PER_S,
        "bytes moved per CPU second of the load's own processes: throughput / CPU share, as tiobench prints in MiB")
    """Never journalled: computed by results from GENERATOR_PER_GIB."""
    MEMORY_REPORTED = ("memory_reported", "mem. reported", Unit.BYTES,
        "free memory reported to the hypervisor, which takes it back, since the previous load (first load: since boot) "
        "until this load's end; its next use costs CPU time")
    FILES_PER_S = ("files_per_s", "files/s", Unit.PER_SECOND,
        "files finished / (last writer done - first writer started)")
    OPS_PER_S = ("ops_per_s", "ops/s", Unit.PER_SECOND,
        "blocks read and written, files statted and deleted / (last writer done - first writer started)")
    EXTENTS_MEAN = ("extents_mean", "extents/file", Unit.COUNT,
        "mean over all files of the workload, physically contiguous runs merged, as filefrag counts")
    EXTENTS_MEDIAN = "extents_median", "extents p50", Unit.COUNT, "median extents per file"
    EXTENTS_MAX = "extents_max", "extents max", Unit.COUNT, "most extents in one file"
    EXTENT_SIZE_MEDIAN = "extent_size_median", "extent size", Unit.BYTES, "median size of an extent"
    GROUPS_PER_FILE = ("groups_per_file", "AGs/file", Unit.COUNT,
        "xfs: mean number of allocation groups that the extents of a file lie in")
    LISTS_READ = ("lists_read", "lists read", Unit.PERCENT,
        "share of files whose extent list does not fit the inode, so that reading them reads more metadata first: by xfs_db or "
        "debugfs, of up to 64 files, evenly spread")
    FILES_MAPPED = "files_mapped", "files", Unit.COUNT, "files whose extents were read"
    FILES_COMPRESSED = ("files_compressed", "compressed", Unit.COUNT,
        "files with compressed extents; their extents don't mean fragmentation")
    MKFS = "mkfs", "mkfs", Unit.SECONDS, "real time of the mkfs command"
    MKFS_USER = "mkfs_user", "mkfs user", Unit.SECONDS, "user time of the mkfs command"
    MKFS_SYSTEM = "mkfs_system", "mkfs sys", Unit.SECONDS, "system time of the mkfs command"
    MOUNT = "mount", "mount", Unit.SECONDS, "real time of mounting the new, empty filesystem"
    AGE = "age", "age", Unit.SECONDS, "real time of ageing the new filesystem before its first load, flushes included"
    AGED_BYTES = "aged_bytes", "aged", Unit.BYTES, "bytes of the files that ageing has left, beside those of the loads"
    AGED_FILES = "aged_files", "aged files", Unit.COUNT, "number of these files"
    MOUNT_FILLED = ("mount_filled", "mount filled", Unit.SECONDS,
        "real time of mounting the filled filesystem from cold caches, before the delete")
    UNMOUNT = "unmount", "unmount", Unit.SECONDS, "real time of the first unmount after the last load"
    CHECK = "check", "check", Unit.SECONDS, "real time of the forced full check, unmounted"
    CHECK_USER = "check_user", "check user", Unit.SECONDS, "user time of the check"
    CHECK_SYSTEM = "check_system", "check sys", Unit.SECONDS, "system time of the check"
    CHECK_RSS = "check_rss", "check memory", Unit.BYTES, "peak resident memory of the check"
    QUICK_CHECK = ("quick_check", "quick check", Unit.SECONDS,
        "real time of the unforced check of the clean, filled filesystem, cold: e2fsck -p, as at boot")
    QUICK_CHECK_USER = "quick_check_user", "quick check user", Unit.SECONDS, "user time of the unforced check"
    QUICK_CHECK_SYSTEM = "quick_check_system", "quick check sys", Unit.SECONDS, "system time of the unforced check"
    CHECK_EMPTY = ("check_empty", "check empty", Unit.SECONDS,
        "real time of the same check of the new filesystem, before its first mount")
    CHECK_EMPTY_RSS = ("check_empty_rss", "check empty memory", Unit.BYTES,
        "peak resident memory of the check of the new filesystem")
    USED = ("used", "used", Unit.BYTES,
        "free space after mkfs - free space before the check (statfs): data and metadata of the files")
    INODES = ("inodes", "inodes", Unit.COUNT,
        "inodes in use before the check (statfs); btrfs doesn't count them")
    NON_CONTIGUOUS = ("non_contiguous", "non-contiguous", Unit.PERCENT,
        "share of fragmented files, as e2fsck prints it")
    DELETE = "delete", "delete", Unit.SECONDS, "real time of removing the tree, cold"
    DELETE_USER = "delete_user", "delete user", Unit.SECONDS, "user time of removing the tree"
    DELETE_SYSTEM = "delete_system", "delete sys", Unit.SECONDS, "system time of removing the tree"
    DELETE_DURABLE = ("delete_durable", "durable delete", Unit.SECONDS,
        "real time of removing the tree, unmounting, and one flush of the device")
    RECOVER = ("recover", "recover", Unit.SECONDS,
        "real time of the mount that replays the journal after a crash in the middle of a load, cold caches")
    RECOVER_FSCK = ("recover_fsck", "recover e2fsck", Unit.SECONDS,
        "real time of e2fsck -p after a second such crash; plus e2fsck -f -y if that gives up")
    RECOVER_FSCK_USER = "recover_fsck_user", "recover e2fsck user", Unit.SECONDS, "user time of e2fsck in this recovery"
    RECOVER_FSCK_SYSTEM = "recover_fsck_system", "recover e2fsck sys", Unit.SECONDS, "system time of e2fsck in this recovery"
    LOST_SYNCED = ("lost_synced", "lost", Unit.COUNT,
        "files synced before a crash that are missing or wrong after it: must be 0")
    SYNCED = "synced", "synced", Unit.COUNT, "files whose fsync returned before the crash"
    UNSYNCED = "unsynced", "unsynced", Unit.COUNT, "files written, but not synced, before the crash"
    UNSYNCED_WHOLE = "unsynced_whole", "unsynced whole", Unit.COUNT, "unsynced files that survived the crash whole"
    UNSYNCED_PART = ("unsynced_part", "unsynced part", Unit.COUNT,
        "unsynced files that survived with wrong content: empty, cut, zeros or foreign data")
    USABLE = "usable", "usable", Unit.BYTES, "free space after mkfs (statfs)"
    AVAILABLE = ("available", "available", Unit.BYTES,
        "usable without the blocks that are reserved for root, as df has it (tune2fs -r)")
    OVERHEAD = ("overhead", "overhead", Unit.PERCENT,
        "share of the device that is not usable on the empty filesystem")
    PEAK_DIRTY = ("peak_dirty", "peak dirty", Unit.BYTES,
        "highest Dirty + Writeback, from /proc/meminfo samples")
    OBSERVER = ("observer", "observer", Unit.PERCENT,
        "part of CPU: fsconsole itself: engine (sampler, journal), consoles and viewers")
    DEVICE_READ = "device_read", "device read", Unit.BYTES, "bytes that the device read in the load and its drain"
    DEVICE_WRITTEN = ("device_written", "device written", Unit.BYTES,
        "bytes that the device wrote in the load and its drain: data, metadata and journal")
    DEVICE_DISCARDED = "device_discarded", "device discarded", Unit.BYTES, "bytes that the device discarded in the same time"
    DEVICE_READS = "device_reads", "device reads", Unit.COUNT, "read requests to the device in the same time"
    DEVICE_WRITES = "device_writes", "device writes", Unit.COUNT, "write requests to the device in the same time"
    DEVICE_FLUSHES = "device_flushes", "device flushes", Unit.COUNT, "flushes of the device's cache in the same time"
    WRITE_AMPLIFICATION = ("write_amplification", "write amplif.", Unit.COUNT,
        "device written / written: above 1 for metadata and journal, below for compression")
    FOREIGN_IO = ("foreign_io", "other disk I/O", Unit.BYTES,
        "bytes read and written by other programs on the target's disk, in the load and its drain; a lower bound")
    RAW_WRITE_1 = ("raw_write_1", "raw write 1", Unit.BYTES_PER_S,
        "one sequential stream of O_DIRECT writes on the device, one at a time, flush included")
    RAW_WRITE_N = ("raw_write_n", "raw write N", Unit.BYTES_PER_S,
        "the same, N at a time: the fastest depth of the run's pilot (1, 4, 16, 32)")
    RAW_READ_1 = ("raw_read_1", "raw read 1", Unit.BYTES_PER_S,
        "one sequential stream of O_DIRECT reads of the written data, one at a time")
    RAW_READ_N = ("raw_read_n", "raw read N", Unit.BYTES_PER_S,
        "the same, N at a time: the pilot's fastest depth for reads")
    READTEST = ("readtest", "readtest", Unit.BYTES_PER_S,
        "3 s of reads from the device's start through the page cache, as hdparm -t")
    OF_RAW_1 = ("of_raw_1", "% raw 1", Unit.PERCENT,
        "durable in % of raw write 1 of the same run; may exceed 100")
    """Never journalled, as OF_RAW_N: computed by the grid from the raw row."""
    OF_RAW_N = ("of_raw_n", "% raw N", Unit.PERCENT,
        "durable in % of raw write N of the same run; may exceed 100")
    STALLS = ("stalls", "stalls", Unit.SECONDS,
        "time in which the device wrote nothing while writers waited, in whole sampling intervals")
    READ = ("read", "read", Unit.BYTES_PER_S,
        "bytes read / (last reader done - first reader started); from cold caches if the workload says cold")
    READ_BYTES = "read_bytes", "bytes read", Unit.BYTES, "bytes that the readers got from the kernel"
    READ_TIME = "read_time", "read time", Unit.SECONDS, "last reader done - first reader started"
    LATENCY_MEAN = ("latency_mean", "latency", Unit.MILLISECONDS,
        "mean time of one call that reads or writes a block, with the sync after it; stats, deletes: of one file. "
        "Mean, p95 and p99 only for up to 128 writers, which are processes")
    LATENCY_COUNT = "latency_count", "calls", Unit.COUNT, "calls that the latency is of"
    LATENCY_P50 = "latency_p50", "latency p50", Unit.MILLISECONDS, "median of the same, within 6 %"
    LATENCY_P95 = ("latency_p95", "latency p95", Unit.MILLISECONDS,
        "95 % of the same were no longer, within 6 %")
    LATENCY_P99 = ("latency_p99", "latency p99", Unit.MILLISECONDS,
        "99 % of the same were no longer, within 6 %")
    LATENCY_MAX = "latency_max", "latency max", Unit.MILLISECONDS, "the longest of the same"
    OVER_2_S = "over_2_s", "over 2 s", Unit.PERCENT, "share of the same that took more than 2 s"
    OVER_10_S = "over_10_s", "over 10 s", Unit.PERCENT, "share of the same that took more than 10 s"
    FSYNC_MEAN = "fsync_mean", "fsync", Unit.MILLISECONDS, "mean time of one fsync or fdatasync of the load"
    FSYNC_COUNT = "fsync_count", "fsyncs", Unit.COUNT, "calls of fsync or fdatasync by the load"
    FSYNC_P50 = "fsync_p50", "fsync p50", Unit.MILLISECONDS, "median of the same, within 6 %"
    FSYNC_P99 = "fsync_p99", "fsync p99", Unit.MILLISECONDS, "99 % of the same were no longer, within 6 %"
    FSYNC_MAX = "fsync_max", "fsync max", Unit.MILLISECONDS, "the longest of the same"
    ARRAY_SYNC = ("array_sync", "resync", Unit.SECONDS,
        "from creating the array until its resync was done")
    READ_BEYOND = ("read_beyond", "read beyond data", Unit.BYTES,
        "device read - bytes read, of a cold load of reads: extent lists above all (inodes are read before the clock starts), and data "
        "that was read twice for lack of memory; only with trace")
    META_READS = ("meta_reads", "meta reads", Unit.COUNT,
        "read requests that the filesystem marked as metadata (M in rwbs): xfs and btrfs mark all, ext4 all but extent lists (6.18), "
        "ext2 none; only with trace")
    SMALL_READS = ("small_reads", "small reads", Unit.COUNT,
        "read requests of at most 4 KiB, marked or not: of large files read from start to end those are extent lists and inodes; only with trace")
    META_READ = "meta_read", "meta read", Unit.BYTES, "bytes of the same requests"
    WRITE_SEEK = ("write_seek", "write seek", Unit.BYTES,
        "mean distance from the end of a write request to the start of the next one issued to the same disk, in load and drain, journal "
        "and metadata included; only with trace")
    WRITES_IN_ORDER = ("writes_in_order", "in order", Unit.PERCENT, "share of these requests that start where the one before ended")
    QUEUE_DEPTH = ("queue_depth", "queue depth", Unit.COUNT,
        "requests in flight at the device: median of 20 readings a second in load and drain, of those that saw any; only with trace")
    QUEUE_DEPTH_MAX = "queue_depth_max", "queue depth peak", Unit.COUNT, "the highest of the same readings"
    WRITEBACK_PAGES = ("writeback_pages", "pages wb", Unit.COUNT,
        "pages under writeback, BdiWriteback / page size: median of 20 readings a second while the writers ran; only with trace")
    WRITEBACK_PAGES_MAX = "writeback_pages_max", "pages wb peak", Unit.COUNT, "the highest of the same readings"
    INODE_PAGES = ("inode_pages", "pages/inode", Unit.COUNT,
        "mean pages that writeback wrote of one inode at a time (writeback_single_inode, those that wrote any); only with trace")
    INODE_PAGES_MAX = "inode_pages_max", "pages/inode max", Unit.COUNT, "the most of the same"
    NR_TO_WRITE = ("nr_to_write", "nr_to_write", Unit.COUNT,
        "pages that writeback may write of an inode at a time, in the same events: median of those with a limit")
    WRITEBACK_STARTS = ("writeback_starts", "wb starts", Unit.COUNT,
        "events writeback_start of the filesystem's device, in load and drain, of all reasons; only with trace")
    NR_PAGES = ("nr_pages", "nr_pages", Unit.COUNT,
        "pages that a writeback_start was still to write: median over all reasons, of those with a limit")
    NR_PAGES_LEAST = "nr_pages_least", "nr_pages least", Unit.COUNT, "the lowest of the same; negative: more was written than asked for"
    NR_PAGES_NEGATIVE = ("nr_pages_negative", "nr_pages < 0", Unit.COUNT,
        "events writeback_start with a negative nr_pages, as kernels of 2012 had")
    NR_PAGES_UNLIMITED = ("nr_pages_unlimited", "no nr_pages", Unit.COUNT,
        "events writeback_start without a limit: nr_pages near LONG_MAX, as background and sync have")
    TRACE_LOST = ("trace_lost", "lost events", Unit.COUNT,
        "traced events that found no room in the buffer or were not evaluated; figures of requests and writeback lack them")
    # fmt: on

    # As the manual of Enum makes members in a loop.
    _ignore_ = ["_members", "_row"]  # noqa: RUF012
    _members = vars()
    for _row in (*_SPLIT, *_PILOTS, *_BONNIE, *_OF_BDI, *_OF_REASONS):
        _members[_row[0].upper()] = _row


OF_MIXES = tuple(Metric(name) for name, *_ in _SPLIT)
OF_DEVICE = frozenset({
    Metric.DEVICE_READ, Metric.DEVICE_WRITTEN, Metric.DEVICE_DISCARDED, Metric.DEVICE_READS, Metric.DEVICE_WRITES,
    Metric.DEVICE_FLUSHES,
})  # fmt: skip
"""I/O of the target in a step."""
BONNIE_RATES = {test: Metric(RATES_OF_ALL.get(test, f"bonnie_{test.value}")) for test in BonnieTest}
"""Metric of each test's rate, in bonnie++'s order."""
OF_BONNIE = tuple(Metric(name) for name, *_ in _BONNIE)
PILOTS = tuple(Metric(name) for name, *_ in _PILOTS)
BDI_FIELDS = tuple(
    (Metric(f"bdi_{name}"), Metric(f"bdi_{name}_max"), _FIELD_OF.get(name, f"{name}_bytes")) for name, *_ in _BDI
)
"""Metric, its peak, and the field of BdiStats (model/sample.py)."""
OF_WRITEBACK = (
    Metric.WRITE_SEEK, Metric.WRITES_IN_ORDER, Metric.QUEUE_DEPTH, Metric.QUEUE_DEPTH_MAX, Metric.WRITEBACK_PAGES,
    Metric.WRITEBACK_PAGES_MAX, Metric.INODE_PAGES, Metric.INODE_PAGES_MAX, Metric.NR_TO_WRITE, Metric.WRITEBACK_STARTS,
    Metric.NR_PAGES, Metric.NR_PAGES_LEAST, Metric.NR_PAGES_NEGATIVE, Metric.NR_PAGES_UNLIMITED,
    *(Metric(f"{name}_{reason}") for reason, _ in REASONS for name in ("starts", "nr_pages")),
    Metric.READ_BEYOND, Metric.SMALL_READS, Metric.META_READS, Metric.META_READ, Metric.TRACE_LOST,
    *(metric for typical, peak, _ in BDI_FIELDS for metric in (typical, peak)),
)  # fmt: skip
"""Figures of loads with `trace = true`."""
OF_TRACED_WRITES = frozenset(OF_WRITEBACK) - {
    Metric.QUEUE_DEPTH, Metric.QUEUE_DEPTH_MAX, Metric.READ_BEYOND, Metric.SMALL_READS, Metric.META_READS, Metric.META_READ, Metric.TRACE_LOST,
}  # fmt: skip
"""Those that loads without writes have not."""


def column_named(name: str) -> Metric:
    """Return the metric of a column's head ("extents/file") or stored name ("extents_mean").

    Case, spaces, dashes and underscores don't matter. Raises UnknownColumn with the nearest names.
    """
    metric = _NAMES.get(_plain(name))
    if metric is None:
        raise UnknownColumn(name=name, nearest=nearest_columns(name))
    return metric


def nearest_columns(name: str) -> str:
    """Return column heads, those most like name first; some usual ones where none is like it."""
    close = difflib.get_close_matches(_plain(name)[:100], _NAMES, n=_NEAREST_SHOWN, cutoff=0.4)
    return ", ".join(dict.fromkeys(metric.column for metric in ([_NAMES[match] for match in close] or _USUAL)))


def _plain(name: str) -> str:
    return name.strip().casefold().replace("_", " ").replace("-", " ")


_FORMER = {"foreign I/O": Metric.FOREIGN_IO}
"""Column heads of earlier versions, which plan files may name."""
_NAMES = {_plain(metric.value): metric for metric in Metric} | {_plain(metric.column): metric for metric in Metric}
_NAMES |= {_plain(head): metric for head, metric in _FORMER.items()}
_USUAL = (Metric.WRITE, Metric.DURABLE, Metric.CPU, Metric.READ, Metric.OPS_PER_S, Metric.FSYNC_P99)
_NEAREST_SHOWN = 6
