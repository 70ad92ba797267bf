"""Columns of a block: figures that belong to it, those shown unasked, and the primary one."""

from __future__ import annotations

from collections.abc import Sequence

from fsconsole.model.bonnie import BonnieTest
from fsconsole.model.figures import Publication
from fsconsole.model.metrics import BONNIE_RATES, OF_BONNIE, OF_TRACED_WRITES, OF_WRITEBACK, PILOTS, Metric
from fsconsole.model.workload import BUILT_IN, Generator, Workload, WorkloadKind
from fsconsole.results.grid import GridRow

OF_LIFE = (
    Metric.MKFS, Metric.MKFS_USER, Metric.MKFS_SYSTEM, Metric.MOUNT, Metric.MOUNT_FILLED, Metric.UNMOUNT, Metric.RECOVER,
    Metric.AGE, Metric.AGED_BYTES, Metric.AGED_FILES,
    Metric.RECOVER_FSCK, Metric.RECOVER_FSCK_USER, Metric.RECOVER_FSCK_SYSTEM, Metric.SYNCED, Metric.LOST_SYNCED, Metric.UNSYNCED, Metric.UNSYNCED_WHOLE, Metric.UNSYNCED_PART,
    Metric.CHECK, Metric.CHECK_USER, Metric.CHECK_SYSTEM, Metric.CHECK_RSS, Metric.CHECK_EMPTY, Metric.CHECK_EMPTY_RSS,
    Metric.QUICK_CHECK, Metric.QUICK_CHECK_USER, Metric.QUICK_CHECK_SYSTEM,
    Metric.USED, Metric.INODES, Metric.NON_CONTIGUOUS, Metric.USABLE, Metric.AVAILABLE, Metric.OVERHEAD, Metric.DELETE, Metric.DELETE_USER,
    Metric.DELETE_SYSTEM, Metric.DELETE_DURABLE, Metric.ARRAY_SYNC,
)  # fmt: skip
"""Figures of a filesystem's whole life: one of each, however many loads it had."""
_OF_RAW = (Metric.RAW_WRITE_1, Metric.RAW_WRITE_N, Metric.RAW_READ_1, Metric.RAW_READ_N, Metric.READTEST, *PILOTS)
_OF_FILES = frozenset({
    Metric.EXTENTS_MEAN, Metric.EXTENTS_MEDIAN, Metric.EXTENTS_MAX, Metric.EXTENT_SIZE_MEDIAN, Metric.FILES_MAPPED,
    Metric.FILES_COMPRESSED, Metric.GROUPS_PER_FILE, Metric.LISTS_READ,
})  # fmt: skip

SPECIAL = frozenset((*OF_BONNIE, *OF_WRITEBACK))
"""Published figures of these alone make no column: a run without them has dozens of others to show."""

_SYNCS = (Metric.FSYNC_MEAN, Metric.FSYNC_P50, Metric.FSYNC_P99, Metric.FSYNC_MAX)
_CALLS = (Metric.OPS_PER_S, Metric.LATENCY_MEAN, Metric.LATENCY_P99)
_SHOWN = (
    Metric.WRITE, Metric.DURABLE, Metric.READ, *_CALLS, *_SYNCS, Metric.OF_RAW_1, Metric.OF_RAW_N, Metric.CPU,
    Metric.EXTENTS_MEAN, Metric.WRITE_SEEK, Metric.WRITEBACK_PAGES, Metric.READ_BEYOND,
)  # fmt: skip
_SHOWN_OF_LIFE = (
    Metric.MKFS, Metric.MOUNT_FILLED, Metric.RECOVER, Metric.LOST_SYNCED, Metric.QUICK_CHECK, Metric.CHECK, Metric.DELETE_DURABLE,
    Metric.DELETE, Metric.OVERHEAD,
)  # fmt: skip
GIVE_WAY = (
    Metric.OVERHEAD,
    Metric.WRITEBACK_PAGES,
    Metric.EXTENTS_MEAN,
    Metric.CPU,
    Metric.FSYNC_MAX,
    Metric.FSYNC_P50,
    Metric.LATENCY_P99,
    Metric.LATENCY_MEAN,
)
"""Columns that make room for others, the first one first."""
_MOST = 7
"""Columns that fit 80 cells beside names of 20, spread and warnings."""

_COUNTED = frozenset({
    WorkloadKind.RANDOM_READ, WorkloadKind.RANDOM_WRITE, WorkloadKind.MIX, WorkloadKind.STAT, WorkloadKind.DELETE,
})  # fmt: skip
"""Loads whose figure is operations; those of other loads are no more than their calls."""
_MIXED = frozenset({WorkloadKind.FIO})
"""Loads whose figure may be bytes or calls: both are shown."""
_SHOWN_OF_BONNIE = tuple(
    BONNIE_RATES[test]
    for test in (
        BonnieTest.PUT_BLOCK, BonnieTest.GET_BLOCK, BonnieTest.SEEKS, BonnieTest.SEQ_CREATE, BonnieTest.RAN_CREATE,
        BonnieTest.SEQ_DELETE, BonnieTest.RAN_DELETE,
    )
)  # fmt: skip
"""bonnie++'s rates without those of single bytes, which show the CPU, and of stats."""
_TIMED = frozenset({WorkloadKind.COMMAND})
"""Loads whose figures are times, since the bytes that they move are unknown."""
_COPY_TIMES = (Metric.DURABLE, Metric.REAL, Metric.USER, Metric.SYSTEM)
_REMOVAL_TIMES = (Metric.DELETE, Metric.DELETE_USER, Metric.DELETE_SYSTEM)
"""Of a plan that copies: the times of its rm, as Peiffer 2005 has them."""
_TIMES = (Metric.REAL_DRAINED, Metric.REAL, Metric.USER, Metric.SYSTEM)


def belongs(metric: Metric, load: Workload | None, loads: Sequence[Workload] = (), *, is_raw: bool = False) -> bool:
    """Return whether a metric is one of a block's: of a load among the loads of its cells, None: of the life; or raw."""
    if is_raw or metric in _OF_RAW:
        return is_raw and metric in _OF_RAW
    if load is None or metric in OF_LIFE:
        return load is None and metric in OF_LIFE
    if metric in OF_TRACED_WRITES and not load.changes:
        return False
    # Files are counted for the load that makes them; where none does, for all.
    return metric not in _OF_FILES or _makes(load) or not any(map(_makes, loads))


def _makes(load: Workload) -> bool:
    return load.creates or load.kind not in BUILT_IN


def figures_in(block: Workload | None, rows: Sequence[GridRow], *, is_raw: bool = False) -> frozenset[Metric]:
    """Return the metrics of a block of which its rows have figures."""
    loads = rows[0].key.workloads if rows else ()
    present = {metric for row in rows for metric, _ in row.figures}
    return frozenset(metric for metric in present if belongs(metric, block, loads, is_raw=is_raw))


def columns_of(
    load: Workload | None,
    rows: Sequence[GridRow],
    publication: Publication | None,
    *,
    is_raw: bool = False,
) -> tuple[Metric, ...]:
    """Return the columns that a block shows unasked, as far as rows have them."""
    usual = _usual(load, rows, is_raw=is_raw)
    if publication is None or is_raw:
        return usual
    present = figures_in(load, rows)
    there = (metric for metric in publication.metrics if metric in present or metric not in SPECIAL)
    laid = tuple(metric for metric in there if belongs(metric, load, rows[0].key.workloads))
    # Scaled, or of another device, a publication keeps little: of a filesystem's life perhaps the inodes alone.
    keeps_none = load is None and not {*laid} & {*_SHOWN_OF_LIFE}
    own = usual if keeps_none else (Metric.WRITE, Metric.DURABLE, Metric.READ, Metric.CPU)
    return tuple(dict.fromkeys((*(metric for metric in own if metric in present), *laid)))


def _usual(load: Workload | None, rows: Sequence[GridRow], *, is_raw: bool) -> tuple[Metric, ...]:
    """Return the columns that a block shows unasked where nothing is laid beside it."""
    present = figures_in(load, rows, is_raw=is_raw)
    if is_raw:
        return tuple(metric for metric in _OF_RAW if metric in present and metric not in PILOTS)
    if load is not None and load.kind is WorkloadKind.BONNIE:
        return tuple(metric for metric in _SHOWN_OF_BONNIE if metric in present) or (primary_of(None, load, rows),)
    left_out = set() if load is None or load.kind in _COUNTED | _MIXED else set(_CALLS)
    # A delete in a directory has no unmount behind it.
    left_out |= {Metric.DELETE} if Metric.DELETE_DURABLE in present else set()
    first = _first_of(load, rows)
    usual = (*first, *(_SHOWN_OF_LIFE if load is None else _SHOWN))
    shown = [metric for metric in dict.fromkeys(usual) if metric in present - left_out.difference(first)]
    for metric in GIVE_WAY:
        if len(shown) > _MOST and metric in shown:
            shown.remove(metric)
    return tuple(shown) or (primary_of(None, load, rows),)


def _first_of(load: Workload | None, rows: Sequence[GridRow]) -> tuple[Metric, ...]:
    """Return the columns that stand first in a block whose figures are times."""
    if load is None:
        is_copied = any(one.kind is WorkloadKind.COPY for row in rows[:1] for one in row.key.workloads)
        return _REMOVAL_TIMES if is_copied else ()
    if load.kind is WorkloadKind.COPY:
        return _COPY_TIMES
    # One dd a file is how scripts were timed: real, user and sys of what makes and deletes the files.
    is_script = any(one.generator is Generator.DD for row in rows[:1] for one in row.key.workloads)
    return _TIMES if load.kind in _TIMED or (is_script and load.changes) else ()


def primary_of(wanted: Metric | None, load: Workload | None, rows: Sequence[GridRow]) -> Metric:
    """Return the metric that a block is compared in: the plan's, where rows have it, else by the kind of load."""
    present = figures_in(load, rows)
    usual: tuple[Metric, ...]
    if load is None:
        usual = (Metric.CHECK, Metric.DELETE_DURABLE, Metric.MKFS, Metric.DELETE)
    elif load.kind is WorkloadKind.BONNIE:
        usual = (*_SHOWN_OF_BONNIE, Metric.REAL)
    elif load.kind in _TIMED:
        usual = (Metric.REAL_DRAINED, Metric.REAL)
    elif load.kind in _COUNTED:
        usual = (Metric.OPS_PER_S, Metric.DURABLE, Metric.READ)
    else:
        is_read = load.kind is WorkloadKind.READ
        usual = (Metric.READ, Metric.DURABLE) if is_read else (Metric.DURABLE, Metric.READ, Metric.OPS_PER_S)
    return next((metric for metric in (wanted, *usual) if metric in present and metric is not None), usual[0])
