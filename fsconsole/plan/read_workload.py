"""Reads the [[workload]] tables of a plan file."""

from __future__ import annotations

from collections.abc import Sequence

from fsconsole import units
from fsconsole.catalog.tables import Table, nearest_words
from fsconsole.errors.targets import BadQuantity, PlanBadValue
from fsconsole.model.workload import (
    BUILT_IN,
    OPERATIONS,
    DataKind,
    Directories,
    End,
    Layout,
    Workload,
    WorkloadKind,
)
from fsconsole.plan import planfile
from fsconsole.plan.planfile import DEFAULT_BLOCK_SIZE_BYTES, WorkloadPlan
from fsconsole.plan.settings import read_settings
from fsconsole.text import SECTOR_BYTES

# Which workload's files another one works on, and a planned workload as the cell's own.

_SEED_STEP = 0x9E3779B97F4A7C15
"""2**64 / golden ratio: neighbouring seeds give unlike numbers."""


def source_of(workloads: Sequence[WorkloadPlan], number: int) -> int | None:
    """Return the nearest create before a workload, that of the name it asks for; None where there is none."""
    wanted = workloads[number].of
    for other in range(number - 1, -1, -1):
        candidate = workloads[other]
        if candidate.kind is WorkloadKind.CREATE and wanted in ("", candidate.name):
            return other
    return None


def workload_of(workloads: Sequence[WorkloadPlan], number: int, threads: int, seed: int) -> Workload:
    """Return a planned workload with one choice of threads; seed is the plan's."""
    planned = workloads[number]
    is_create = planned.kind is WorkloadKind.CREATE
    is_limited = planned.limit_bytes or planned.duration_s
    return Workload(
        name=planned.name,
        kind=planned.kind,
        threads=threads,
        files=planned.files or (threads if is_create and not is_limited else 0),
        file_size_bytes=planned.file_size_bytes,
        block_size_bytes=planned.block_size_bytes,
        directories=planned.directories,
        data=planned.data,
        cold=planned.cold,
        file_size_max_bytes=planned.file_size_max_bytes,
        zero_share=planned.zero_share,
        direct=planned.direct,
        fsync_every=planned.fsync_every,
        limit_bytes=planned.limit_bytes,
        duration_s=planned.duration_s,
        end=planned.end,
        weights=planned.weights,
        source=None if is_create else source_of(workloads, number),
        seed=(seed + number * _SEED_STEP) % 2**63,
        settings=planned.settings,
    )


# Whether the figures of a workload go together, and whether the files are there that it works on.

_MOVING = frozenset(OPERATIONS) - {WorkloadKind.STAT, WorkloadKind.DELETE}
_WRITING = frozenset({WorkloadKind.CREATE, WorkloadKind.APPEND, WorkloadKind.RANDOM_WRITE})
_AT_PLACES = frozenset({WorkloadKind.RANDOM_READ, WorkloadKind.RANDOM_WRITE})


def check_workload(table: Table, workload: WorkloadPlan) -> None:
    """Raise PlanBadValue where the keys of one workload don't go together."""
    _check_sizes(table, workload)
    _check_keys(table, workload)
    if workload.kind is WorkloadKind.MIX:
        _check_mix(table, workload)
    if workload.direct:
        _check_direct(table, workload)
    if workload.directories.layout is Layout.PER_COUNT:
        _check_directories(table, workload)


def check_sources(tables: Sequence[Table], workloads: Sequence[WorkloadPlan]) -> None:
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


def _without_source(table: Table, workload: WorkloadPlan, before: Sequence[WorkloadPlan]) -> PlanBadValue:
    names = [other.name for other in before if other.kind is WorkloadKind.CREATE]
    if workload.of:
        return table.bad("of", "no create of that name comes before it", nearest_words(workload.of, names))
    return table.bad("kind", "no create comes before it whose files it could work on", "a create before it")


def _check_not_gone(table: Table, workloads: Sequence[WorkloadPlan], number: int, source: int) -> None:
    for other in range(source + 1, number):
        if (
            _does(workloads[other], frozenset({WorkloadKind.DELETE}))
            and source_of(workloads, other) == source
        ):
            why = f"'{workloads[other].name}' has deleted files of '{workloads[source].name}' by then"
            raise table.bad("of" if table.has("of") else "kind", why, "another create before it")


def _check_sizes(table: Table, workload: WorkloadPlan) -> None:
    largest = max(workload.file_size_bytes, workload.file_size_max_bytes)
    if largest and workload.block_size_bytes > largest:
        key = "block_size" if table.has("block_size") else "file_size"
        raise table.bad(key, "one write is larger than the whole file", "block_size at most file_size")
    if workload.kind is WorkloadKind.CREATE and 0 < workload.files < max(workload.threads):
        raise table.bad("files", "some threads would have no file", "at least as many files as threads")
    memory_bytes = workload.block_size_bytes * max(workload.threads)
    if memory_bytes > planfile.MAX_BLOCKS_BYTES:
        key = "block_size" if table.has("block_size") else "threads"
        raise table.bad(
            key, "the blocks of all threads would fill the memory", "smaller blocks, or fewer threads"
        )


def _check_keys(table: Table, workload: WorkloadPlan) -> None:
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


def _check_mix(table: Table, workload: WorkloadPlan) -> None:
    if not workload.weights:
        raise table.bad("weights", "a mix is made of something", "{ read = 3, random-write = 1 }")
    if not (workload.files or workload.limit_bytes or workload.duration_s):
        raise table.bad("duration", "a mix needs an end", "duration, bytes or files (operations in all)")
    if workload.directories.layout is Layout.PER_COUNT:
        raise table.bad("directories", "nobody knows how many files a mix will make", '"one" or "per-thread"')


def _check_direct(table: Table, workload: WorkloadPlan) -> None:
    wanted = f"a multiple of {SECTOR_BYTES} bytes, or of the device's own blocks where those are larger"
    if workload.block_size_bytes % SECTOR_BYTES:
        raise table.bad("block_size", "direct I/O moves whole sectors (O_DIRECT, man 2 open)", wanted)
    if workload.file_size_bytes % SECTOR_BYTES or workload.file_size_max_bytes % SECTOR_BYTES:
        raise table.bad("file_size", "direct I/O moves whole sectors (O_DIRECT, man 2 open)", wanted)


def _check_directories(table: Table, workload: WorkloadPlan) -> None:
    if workload.kind is not WorkloadKind.CREATE:
        return
    if not workload.files and (workload.limit_bytes or workload.duration_s):
        raise table.bad(
            "directories", "directories are made beforehand: say how many files at most", "files beside it"
        )
    if workload.files > planfile.MAX_DIRECTORIES * workload.directories.files_per_directory:
        raise table.bad(
            "directories", "that makes too many of them", f"at most {planfile.MAX_DIRECTORIES} directories"
        )


def _does(workload: WorkloadPlan, kinds: frozenset[WorkloadKind]) -> bool:
    mixed = {kind for kind, _ in workload.weights}
    return bool(kinds & (mixed if workload.kind is WorkloadKind.MIX else {workload.kind}))


_KEYS = (
    "name", "kind", "of", "threads", "files", "file_size", "block_size", "directories", "data", "direct",
    "fsync_every", "bytes", "duration", "end", "weights", "cold", "with",
)  # fmt: skip
_SIZED = frozenset({WorkloadKind.CREATE, WorkloadKind.APPEND})
"""Kinds that add to files and must say how much."""
_SHARE = "a share between 0 and 1, the zeros in every 4 KiB, such as 0.5"


def read_workloads(tables: Sequence[Table]) -> tuple[WorkloadPlan, ...]:
    """Return the workloads that the tables describe, in order; raises PlanUnknownKey, PlanBadValue."""
    workloads = tuple(_read_workload(table) for table in tables)
    check_sources(tables, workloads)
    return workloads


def _read_workload(table: Table) -> WorkloadPlan:
    table.only(*_KEYS)
    table.raw("kind")
    kind = table.choice("kind", WorkloadKind, WorkloadKind.CREATE)
    weights = _weights(table)
    needs_size = kind in _SIZED or any(of in _SIZED for of, _ in weights)
    smallest, largest = _file_size(table, required=needs_size)
    data, zero_share = _data(table)
    workload = WorkloadPlan(
        name=_name(table, kind),
        kind=kind,
        of=table.text("of", ""),
        threads=table.integers("threads", 1, low=1, high=planfile.MAX_THREADS),
        files=table.integer("files", 0, low=1, high=planfile.MAX_FILES),
        file_size_bytes=smallest,
        file_size_max_bytes=largest,
        block_size_bytes=table.size(
            "block_size", DEFAULT_BLOCK_SIZE_BYTES, low=1, high=planfile.MAX_BLOCK_SIZE_BYTES
        ),
        directories=_directories(table),
        data=data,
        zero_share=zero_share,
        direct=table.flag("direct", default=False),
        fsync_every=table.integer("fsync_every", 0, low=0, high=planfile.MAX_FSYNC_EVERY),
        limit_bytes=table.size("bytes", 0, low=1, high=planfile.MAX_FILE_SIZE_BYTES),
        duration_s=_duration(table),
        end=table.choice("end", End, End.BETWEEN_OPERATIONS),
        weights=weights,
        cold=table.flag("cold", default=False),
        settings=read_settings(table.table("with")),
    )
    check_workload(table, workload)
    return workload


def _name(table: Table, kind: WorkloadKind) -> str:
    name = table.text("name", kind.value)
    if not name.strip() or len(name) > planfile.MAX_NAME_CHARACTERS:
        raise table.bad("name", "a workload needs a name", f"1 to {planfile.MAX_NAME_CHARACTERS} characters")
    return name


def _file_size(table: Table, *, required: bool) -> tuple[int, int]:
    """Return the smallest size of a file, and the largest where a range is given; 0 for what isn't said."""
    if not table.has("file_size") or not isinstance(table.raw("file_size"), list):
        default = None if required else 0
        return table.size("file_size", default, low=1, high=planfile.MAX_FILE_SIZE_BYTES), 0
    sizes = table.sizes("file_size", low=1, high=planfile.MAX_FILE_SIZE_BYTES)
    if len(sizes) != 2 or sizes[0] > sizes[1]:
        raise table.bad("file_size", "that is no range", 'a size, or a range such as ["4KiB", "64KiB"]')
    return sizes[0], sizes[1]


def _directories(table: Table) -> Directories:
    if not table.has("directories"):
        return Directories()
    if not isinstance(table.raw("directories"), str):
        count = table.integer("directories", low=1, high=planfile.MAX_FILES)
        return Directories(Layout.PER_COUNT, count)
    layout = table.choice("directories", Layout, Layout.ONE)
    if layout is Layout.PER_COUNT:
        raise table.bad(
            "directories", "give the number itself", '"one", "per-thread" or a number of files per directory'
        )
    return Directories(layout)


def _data(table: Table) -> tuple[DataKind, float]:
    if not table.has("data") or isinstance(table.raw("data"), str):
        word = table.text("data", DataKind.RANDOM.value)
        if word not in (DataKind.RANDOM.value, DataKind.ZERO.value):
            why = "give the share itself" if word == DataKind.COMPRESSIBLE.value else "there is no such data"
            raise table.bad("data", why, f'"random", "zero" or {_SHARE}')
        return DataKind(word), 0.0
    share = table.number("data")
    if not 0 < share < 1:
        raise table.bad("data", "that is no share of it", f'{_SHARE}; else "random" or "zero"')
    return DataKind.COMPRESSIBLE, share


def _duration(table: Table) -> float:
    if not table.has("duration"):
        return 0.0
    wanted = 'a time such as "60s" or "10min", of at least 10 ms and at most 30 days'
    text = table.text("duration", wanted=wanted)
    try:
        seconds = units.parse_seconds(text)
    except BadQuantity as error:
        raise table.bad("duration", f"it is not {error.wanted}", wanted) from error
    if not planfile.MIN_DURATION_S <= seconds <= planfile.MAX_DURATION_S:
        raise table.bad("duration", "it is out of bounds", wanted)
    return seconds


def _weights(table: Table) -> tuple[tuple[WorkloadKind, int], ...]:
    mix = table.table("weights")
    known = {kind.value: kind for kind in OPERATIONS}
    for name in mix.names():
        if name not in known:
            raise mix.bad(name, "a mix can't be made of it", nearest_words(name, known))
    return tuple((known[name], mix.integer(name, low=1, high=planfile.MAX_WEIGHT)) for name in mix.names())
