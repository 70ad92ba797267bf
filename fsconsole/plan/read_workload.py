"""Reads the [[workload]] tables of a plan file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fsconsole.catalog.tables import Table, nearest_words
from fsconsole.errors.targets import PlanBadValue
from fsconsole.model.workload import BUILT_IN, OPERATIONS, End, Layout, Workload, WorkloadKind
from fsconsole.plan.keys import WORKLOAD, read_keys
from fsconsole.text import GIB, SECTOR_BYTES

MAX_BLOCKS_BYTES = 16 * GIB
"""Of all threads together: a block is held in memory, and by readers once for each thread."""
MAX_DIRECTORIES = 1_000_000

# Source lookup, and a workload of a plan as a cell has it.

_SEED_STEP = 0x9E3779B97F4A7C15
"""2**64 / golden ratio: neighbouring seeds give unlike numbers."""


def source_of(workloads: Sequence[Workload], number: int) -> int | None:
    """Return the nearest create before a workload, that of the name it asks for; None where there is none."""
    wanted = workloads[number].of
    for other in range(number - 1, -1, -1):
        candidate = workloads[other]
        if candidate.kind is WorkloadKind.CREATE and wanted in ("", candidate.name):
            return other
    return None


def workload_of(workloads: Sequence[Workload], number: int, threads: int, seed: int) -> Workload:
    """Return a workload of a plan as a cell has it, with one choice of threads; seed is the plan's."""
    planned = workloads[number]
    is_create = planned.kind is WorkloadKind.CREATE
    is_limited = planned.limit_bytes or planned.duration_s
    return replace(
        planned,
        threads=threads,
        thread_counts=(),
        of="",
        files=planned.files or (threads if is_create and not is_limited else 0),
        source=None if is_create else source_of(workloads, number),
        seed=(seed + number * _SEED_STEP) % 2**63,
    )


# Whether the figures of a workload go together, and whether the files are there that it works on.

_MOVING = frozenset(OPERATIONS) - {WorkloadKind.STAT, WorkloadKind.DELETE}
_WRITING = frozenset({WorkloadKind.CREATE, WorkloadKind.APPEND, WorkloadKind.RANDOM_WRITE})
_AT_PLACES = frozenset({WorkloadKind.RANDOM_READ, WorkloadKind.RANDOM_WRITE})


def check_workload(table: Table, workload: Workload) -> None:
    """Raise PlanBadValue where the keys of one workload don't go together."""
    _check_sizes(table, workload)
    _check_keys(table, workload)
    if workload.kind is WorkloadKind.MIX:
        _check_mix(table, workload)
    if workload.direct:
        _check_direct(table, workload)
    if workload.directories.layout is Layout.PER_COUNT:
        _check_directories(table, workload)


def check_sources(tables: Sequence[Table], workloads: Sequence[Workload]) -> None:
    """Raise PlanBadValue where a workload has no files to work on, or where they are gone by then."""
    for number, (table, workload) in enumerate(zip(tables, workloads, strict=True)):
        if workload.kind not in BUILT_IN or workload.kind is WorkloadKind.CREATE:
            continue
        source = source_of(workloads, number)
        if source is None:
            if workload.of or not _does(workload, frozenset({WorkloadKind.CREATE})):
                raise _without_source(table, workload, workloads[:number])
            continue
        _check_not_gone(table, workloads, number, source)
        smallest = workloads[source].file_size_bytes
        if _does(workload, _AT_PLACES) and workload.block_size_bytes > smallest:
            key = "block_size" if table.has("block_size") else "kind"
            raise table.bad(
                key, "one block is larger than a file that it works on", "at most the file's size"
            )


def _without_source(table: Table, workload: Workload, before: Sequence[Workload]) -> PlanBadValue:
    names = [other.name for other in before if other.kind is WorkloadKind.CREATE]
    if workload.of:
        return table.bad("of", "no create of that name comes before it", nearest_words(workload.of, names))
    return table.bad("kind", "no create comes before it whose files it could work on", "a create before it")


def _check_not_gone(table: Table, workloads: Sequence[Workload], number: int, source: int) -> None:
    for other in range(source + 1, number):
        if (
            _does(workloads[other], frozenset({WorkloadKind.DELETE}))
            and source_of(workloads, other) == source
        ):
            why = f"'{workloads[other].name}' has deleted files of '{workloads[source].name}' by then"
            raise table.bad("of" if table.has("of") else "kind", why, "another create before it")


def _check_sizes(table: Table, workload: Workload) -> None:
    largest = max(workload.file_size_bytes, workload.file_size_max_bytes)
    if largest and workload.block_size_bytes > largest:
        key = "block_size" if table.has("block_size") else "file_size"
        raise table.bad(key, "one write is larger than the whole file", "block_size at most file_size")
    if workload.kind is WorkloadKind.CREATE and 0 < workload.files < max(workload.thread_counts):
        raise table.bad("files", "some threads would have no file", "at least as many files as threads")
    memory_bytes = workload.block_size_bytes * max(workload.thread_counts)
    if memory_bytes > MAX_BLOCKS_BYTES:
        key = "block_size" if table.has("block_size") else "threads"
        raise table.bad(
            key, "the blocks of all threads would fill the memory", "smaller blocks, or fewer threads"
        )


def _check_keys(table: Table, workload: Workload) -> None:
    """Refuse keys that would do nothing: a figure must not look as if they had done something."""
    is_limited = workload.limit_bytes or workload.duration_s
    if workload.end is End.AT_ONCE and not is_limited:
        raise table.bad("end", "nothing ends it early", "bytes or duration beside it")
    if workload.weights and workload.kind is not WorkloadKind.MIX:
        raise table.bad("weights", "only a mix has them", 'kind = "mix"')
    if workload.of and workload.kind is WorkloadKind.CREATE:
        raise table.bad("of", "a create makes files of its own", "another kind")
    if workload.fsync_every and not _does(workload, _WRITING):
        raise table.bad("fsync_every", "it writes nothing", "a kind that writes")
    if not _does(workload, _MOVING) and workload.kind in BUILT_IN:
        for key in ("direct", "bytes"):
            if table.has(key) and table.raw(key) is not False:
                raise table.bad(key, "it moves no data", "a kind that reads or writes")


def _check_mix(table: Table, workload: Workload) -> None:
    if not workload.weights:
        raise table.bad("weights", "a mix is made of something", "{ read = 3, random-write = 1 }")
    if not (workload.files or workload.limit_bytes or workload.duration_s):
        raise table.bad("duration", "a mix needs an end", "duration, bytes or files (operations in all)")
    if workload.directories.layout is Layout.PER_COUNT:
        raise table.bad("directories", "nobody knows how many files a mix will make", '"one" or "per-thread"')


def _check_direct(table: Table, workload: Workload) -> None:
    wanted = f"a multiple of {SECTOR_BYTES} bytes, or of the device's own blocks where those are larger"
    if workload.block_size_bytes % SECTOR_BYTES:
        raise table.bad("block_size", "direct I/O moves whole sectors (O_DIRECT, man 2 open)", wanted)
    if workload.file_size_bytes % SECTOR_BYTES or workload.file_size_max_bytes % SECTOR_BYTES:
        raise table.bad("file_size", "direct I/O moves whole sectors (O_DIRECT, man 2 open)", wanted)


def _check_directories(table: Table, workload: Workload) -> None:
    if workload.kind is not WorkloadKind.CREATE:
        return
    if not workload.files and (workload.limit_bytes or workload.duration_s):
        raise table.bad(
            "directories", "directories are made beforehand: say how many files at most", "files beside it"
        )
    if workload.files > MAX_DIRECTORIES * workload.directories.files_per_directory:
        raise table.bad(
            "directories", "that makes too many of them", f"at most {MAX_DIRECTORIES} directories"
        )


def _does(workload: Workload, kinds: frozenset[WorkloadKind]) -> bool:
    mixed = {kind for kind, _ in workload.weights}
    return bool(kinds & (mixed if workload.kind is WorkloadKind.MIX else {workload.kind}))


_SIZED = frozenset({WorkloadKind.CREATE, WorkloadKind.APPEND})
"""Kinds that add to files and must say how much."""


def read_workloads(tables: Sequence[Table]) -> tuple[Workload, ...]:
    """Return the workloads that the tables describe, in order; raises PlanUnknownKey, PlanBadValue."""
    workloads = tuple(_read_workload(table) for table in tables)
    check_sources(tables, workloads)
    return workloads


def _read_workload(table: Table) -> Workload:
    table.only(*(key.name for key in WORKLOAD))
    found = read_keys(table, WORKLOAD)
    workload = Workload(
        **found | {"name": found["name"] or found["kind"].value}, threads=found["thread_counts"][0]
    )
    if not workload.file_size_bytes and _does(workload, _SIZED):
        table.raw("file_size")
    check_workload(table, workload)
    return workload
