"""Reads the [[workload]] tables of a plan file: each by its keys, then what its keys say together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product

from fsconsole.catalog.tables import Table, make_all, nearest_words, raise_all
from fsconsole.errors.targets import PlanUnknownKey
from fsconsole.model.workload import (
    AS_CREATE,
    BUILT_IN,
    WHOLE_FILE,
    End,
    Layout,
    SizedBy,
    Sizing,
    SyncCall,
    Workload,
    WorkloadKind,
)
from fsconsole.plan.ffsb import expanded
from fsconsole.plan.fio_load import objection as fio_objection
from fsconsole.plan.generators import wrong_generator
from fsconsole.plan.keys import WORKLOAD, applies, read_table
from fsconsole.plan.planfile import DEFAULT_LOAD_TIME_S
from fsconsole.plan.requirements import wrong_requirements
from fsconsole.plan.sources import sources_objection
from fsconsole.text import GIB, SECTOR_BYTES

MAX_BLOCKS_BYTES = 16 * GIB
"""Of all threads together: a block is held in memory, and by readers once for each thread."""
MAX_DIRECTORIES = 1_000_000

_SEED_STEP = 0x9E3779B97F4A7C15
"""2**64 / golden ratio: neighbouring seeds give unlike numbers."""
_SIZED = frozenset({WorkloadKind.CREATE, WorkloadKind.APPEND})
"""Kinds that add to files and must say how much."""
_AT_PLACES = frozenset({WorkloadKind.RANDOM_READ, WorkloadKind.RANDOM_WRITE})

_Broken = tuple[str, str, str]
"""A key, what is wrong with it, and what is wanted instead."""


def read_workloads(tables: Sequence[Table]) -> tuple[Workload, ...]:
    """Return the workloads that the tables describe, in order; raises PlanUnknownKey, PlanBadValue, ProfileRefused."""
    tables = expanded(tables)
    workloads = make_all(partial(_read_workload, table) for table in tables)
    workloads = tuple(
        replace(load, size="auto") if is_sized_by_default(workloads, number) else load
        for number, load in enumerate(workloads)
    )
    make_all(partial(_check, workloads, number, table) for number, table in enumerate(tables))
    return workloads


def _check(workloads: Sequence[Workload], number: int, table: Table) -> None:
    """Raise PlanBadValue for what the keys of a workload say together; of each key the first reason."""
    raise_all(table.bad(*broken) for broken in _wrong_followers(workloads, number))
    load = replace(workloads[number], thread_counts=thread_counts_of(workloads, number))
    alone = (
        *_wrong_auto(workloads, number),
        *_wrong_sizes(table, load),
        *_wrong_total(load),
        *_idle_keys(table, load),
        *_wrong_mix(load),
        *_wrong_program(load),
        *_wrong_for_fio(workloads, number, load),
        *tuple(wrong_generator(load))[:1],
        *wrong_requirements(load),
    )
    broken: dict[str, _Broken] = {}
    for one in (*alone, *_without_files(table, workloads, number)):
        broken.setdefault(one[0], one)
    raise_all(table.bad(*one) for one in broken.values())


def source_of(workloads: Sequence[Workload], number: int) -> int | None:
    """Return the nearest create before a workload, that of the name it asks for; None where there is none."""
    wanted = workloads[number].of
    for other in range(number - 1, -1, -1):
        if workloads[other].kind is WorkloadKind.CREATE and wanted in ("", workloads[other].name):
            return other
    return None


def _uses_files(load: Workload) -> bool:
    """Return whether a workload works on the files of an earlier create."""
    is_copy = load.kind is WorkloadKind.COPY and not load.sources
    return is_copy or (load.kind in BUILT_IN and load.kind is not WorkloadKind.CREATE)


def thread_counts_of(workloads: Sequence[Workload], number: int) -> tuple[int, ...]:
    """Return a workload's numbers of threads, with AS_CREATE those of its create."""
    counts, source = workloads[number].thread_counts, source_of(workloads, number)
    return workloads[source].thread_counts if counts == AS_CREATE and source is not None else counts


def is_sized_by_default(workloads: Sequence[Workload], number: int) -> bool:
    """Return whether nothing but a pilot can say how large a workload is."""
    load = workloads[number]
    if load.size or (load.file_size_bytes and load.kind is not WorkloadKind.MIX) or load.limit_bytes or load.duration_s:
        return False
    if load.total_size_bytes or (load.size_weights and load.kind is WorkloadKind.CREATE):
        return False
    if load.kind is WorkloadKind.CREATE:
        return True
    if load.kind in _AT_PLACES:
        source = source_of(workloads, number)
        return not load.files and source is not None and is_sized(workloads, source)
    return load.kind is WorkloadKind.MIX and not load.files


def is_sized(workloads: Sequence[Workload], number: int) -> bool:
    """Return whether a pilot says how large a workload is."""
    return bool(workloads[number].size) or is_sized_by_default(workloads, number)


Choice = tuple[int, int]
"""Number of threads and block size in bytes."""


def axes_of(load: Workload) -> tuple[Choice, ...]:
    """Return every choice of the axes of a plan's workload."""
    return tuple(product(load.thread_counts, load.block_sizes or (load.block_size_bytes,)))


def workload_of(
    workloads: Sequence[Workload], number: int, choice: Choice, seed: int, load_time_s: float = DEFAULT_LOAD_TIME_S
) -> Workload:
    """Return a workload of a plan as a cell has it, with one choice of its axes; seed and load_time_s are the plan's."""
    threads, block_size_bytes = choice
    planned = workloads[number]
    is_create = planned.kind is WorkloadKind.CREATE
    is_limited = planned.limit_bytes or planned.duration_s
    chosen = _chosen(planned) if planned.size else None
    share = planned.total_size_bytes // (planned.files or threads)
    return replace(
        planned,
        threads=threads,
        thread_counts=(),
        block_size_bytes=block_size_bytes,
        block_sizes=(),
        of="",
        total_size_bytes=0,
        file_size_bytes=share - share % block_size_bytes or planned.file_size_bytes,
        files=planned.files or (threads if is_create and not is_limited and chosen is not SizedBy.FILES else 0),
        size="",
        sizing=Sizing(chosen, load_time_s) if chosen is not None else None,
        # Between operations a limit would wait for the end of a file, however large.
        end=End.AT_ONCE if planned.size and planned.kind in _AT_PLACES else planned.end,
        source=source_of(workloads, number) if _uses_files(planned) else None,
        seed=(seed + number * _SEED_STEP) % 2**63,
    )


def _chosen(planned: Workload) -> SizedBy:
    """Return what a pilot chooses for a workload of a plan."""
    if planned.kind in _AT_PLACES:
        return SizedBy.BYTES
    is_one = planned.kind is WorkloadKind.CREATE and not planned.file_size_bytes
    return SizedBy.FILE_SIZE if is_one else SizedBy.FILES


def _read_workload(table: Table) -> Workload:
    if table.has("fsync_every"):
        every = table.raw("fsync_every")
        same = every if isinstance(every, int) and every > 0 else "4"
        new = f'fsync = {same}, or fsync = "each-file", which leaves no closed file unsynced'
        raise PlanUnknownKey(table.path, table.key("fsync_every"), f"Write {new}.")
    found = read_table(table, WORKLOAD)
    found["name"] = found["name"] or found["kind"].value
    workload = Workload(**found, threads=found["thread_counts"][0], block_size_bytes=found["block_sizes"][0])
    is_limited = workload.limit_bytes or workload.duration_s
    if workload.kind is WorkloadKind.CREATE and not is_limited:
        return workload
    is_sized = workload.file_size_bytes or workload.size_weights
    if not is_sized and any(kind in _SIZED for kind, _ in workload.operations):
        table.raw("file_size")
    return workload


def _wrong_auto(loads: Sequence[Workload], number: int) -> Iterator[_Broken]:
    """Yield why a pilot can't choose a workload's size."""
    load = loads[number]
    if not load.size:
        return
    if load.kind not in (WorkloadKind.CREATE, WorkloadKind.MIX, *_AT_PLACES):
        yield (
            "size",
            f"a load of kind {load.kind.value} has the size of the files that it works on",
            "a create, a mix or random calls",
        )
    if load.limit_bytes or load.duration_s:
        yield "size", "its limit ends it already", "either size or a limit (bytes, duration)"
    if load.files and (load.file_size_bytes or load.kind is not WorkloadKind.CREATE):
        yield (
            "size",
            "nothing is left to be chosen",
            "a create with files or with file_size, not both; others without files",
        )
    if load.kind in _AT_PLACES:
        source = source_of(loads, number)
        if load.file_size_bytes or (source is not None and not loads[source].size):
            yield (
                "size",
                "its files have a size of their own",
                'a limit (bytes, duration), or size = "auto" for the create',
            )


def _wrong_sizes(table: Table, load: Workload) -> Iterator[_Broken]:
    most, blocks = max(load.thread_counts), load.block_sizes or (load.block_size_bytes,)
    block = max(blocks)
    if load.largest_file_bytes and block > load.largest_file_bytes and load.kind is not WorkloadKind.BONNIE:
        key = "block_size" if table.has("block_size") else "file_size"
        yield key, "one write is larger than the whole file", "block_size at most file_size"
    if load.kind is WorkloadKind.CREATE and 0 < load.files < most:
        yield "files", "some threads would have no file", "at least as many files as threads"
    if block * most > MAX_BLOCKS_BYTES:
        key = "block_size" if table.has("block_size") else "threads"
        yield key, "the blocks of all threads would fill the memory", "smaller blocks, or fewer threads"
    sectors = f"a multiple of {SECTOR_BYTES} bytes, or of the device's own blocks where those are larger"
    why = "direct I/O moves whole sectors (O_DIRECT, man 2 open)"
    if load.direct and any(size % SECTOR_BYTES for size in blocks):
        yield "block_size", why, sectors
    if load.direct and (load.file_size_bytes % SECTOR_BYTES or load.file_size_max_bytes % SECTOR_BYTES):
        yield "file_size", why, sectors
    if load.directories.layout is Layout.PER_COUNT and load.kind is WorkloadKind.CREATE:
        if not load.files and (load.limit_bytes or load.duration_s):
            why = "directories are made beforehand: say how many files at most"
            yield "directories", why, "files beside it"
        if load.files > MAX_DIRECTORIES * load.directories.files_per_directory:
            yield "directories", "too many directories", f"at most {MAX_DIRECTORIES} directories"


def _wrong_total(load: Workload) -> Iterator[_Broken]:
    """Yield why sizes drawn by weight, or the size of all files together, say nothing, or too little."""
    if load.size_weights and not load.creates:
        yield "file_sizes", "it makes no files", "a create, or a mix with create"
    if load.size_weights and (load.file_size_bytes or load.total_size_bytes or load.size):
        yield "file_sizes", "another key sizes its files already", "one of file_size, file_sizes, total_size and size"
    if load.size_weights and load.direct and any(size % SECTOR_BYTES for size, _ in load.size_weights):
        yield (
            "file_sizes",
            "direct I/O moves whole sectors (O_DIRECT, man 2 open)",
            f"multiples of {SECTOR_BYTES} bytes",
        )
    if not load.total_size_bytes:
        return
    if load.kind is not WorkloadKind.CREATE:
        yield "total_size", "it makes no files", "a create"
    if load.file_size_bytes or load.size or load.limit_bytes or load.duration_s:
        yield (
            "total_size",
            "another key sizes its files already",
            "total_size without file_size, size, bytes and duration",
        )
    if load.total_size_bytes < (load.files or max(load.thread_counts)) * max(load.block_sizes):
        yield "total_size", "less than a block for each file", "more, smaller blocks, or fewer files"


def _wrong_followers(loads: Sequence[Workload], number: int) -> Iterator[_Broken]:
    """Yield why a workload can't have as many threads as its create."""
    load = loads[number]
    if AS_CREATE[0] not in load.thread_counts:
        return
    if load.thread_counts != AS_CREATE:
        yield "threads", "as-create stands alone", '"as-create", or numbers'
    if load.kind is WorkloadKind.CREATE or source_of(loads, number) is None:
        yield "threads", "it uses the files of no create", "a number"


def _idle_keys(table: Table, load: Workload) -> Iterator[_Broken]:
    """Yield keys that would do nothing: a figure must not look as if they had done something."""
    for declared in WORKLOAD:
        if table.has(declared.name) and not applies(declared, load.kind):
            yield declared.name, f"a load of kind {load.kind.value} has none", "another kind"
    if load.end is End.AT_ONCE and not (load.limit_bytes or load.duration_s):
        yield "end", "nothing ends it early", "bytes or duration beside it"
    if load.weights and load.kind is not WorkloadKind.MIX:
        yield "weights", "only a mix has them", 'kind = "mix"'
    if load.ftruncate and not load.creates:
        yield "ftruncate", "it makes no files", "a create"
    if load.of and load.kind is WorkloadKind.CREATE:
        yield "of", "a create makes files of its own", "another kind"
    if load.syncs and not load.writes:
        yield "fsync", "it writes nothing", "a kind that writes"
    if load.sync_call is not SyncCall.FSYNC and not load.syncs:
        yield "sync_call", "nothing is synced", 'fsync = "each-file", "end" or a number of writes beside it'
    if not (load.reads or load.writes) and load.kind in BUILT_IN:
        for key in ("direct", "bytes"):
            if table.has(key) and table.raw(key) is not False:
                yield key, "it moves no data", "a kind that reads or writes"


def _wrong_program(load: Workload) -> Iterator[_Broken]:
    if load.kind is WorkloadKind.COMMAND and not load.argv:
        yield "argv", "required for a command", '["tar", "xf", "/srv/src.tar"]'
    if load.kind is WorkloadKind.FIO and not load.job:
        yield "job", "required for fio", "the path of a job file"
    if load.at_most_bytes and not load.sources:
        yield "at_most", "only sources can be cut", "sources beside it"
    if load.of and load.sources:
        yield "of", "sources are copied already", "either sources or of"
    is_by_name = load.kind is WorkloadKind.COPY and not load.at_most_bytes
    if load.sources and (why := sources_objection(load.sources, is_copied_by_name=is_by_name)):
        yield "sources", why, 'absolute paths, such as ["/srv/src.tar"]'


def _wrong_for_fio(loads: Sequence[Workload], number: int, load: Workload) -> Iterator[_Broken]:
    """Yield why fio can't make a load of a built-in kind as it is described."""
    for threads, block_size_bytes in product(load.thread_counts, load.block_sizes):
        broken = fio_objection(workload_of(loads, number, (threads, block_size_bytes), 0))
        if broken is not None:
            yield broken


def _wrong_mix(load: Workload) -> Iterator[_Broken]:
    if load.kind is not WorkloadKind.MIX:
        if load.operation_bytes:
            yield "operation_size", "only a mix has it", 'kind = "mix", or file_size'
        if load.picks_all:
            yield "pick", "only a mix draws files", 'kind = "mix"'
        return
    moves = [kind.value for kind, _ in load.weights if kind not in (WorkloadKind.READ, WorkloadKind.STAT)]
    if load.operation_bytes == WHOLE_FILE and {"append", *(kind.value for kind in _AT_PLACES)} & {*moves}:
        yield "operation_size", "only reads go to the end of a file", "a size"
    if load.picks_all and load.deletes:
        yield "pick", "a thread may draw a file that another one has deleted", 'pick = "own"'
    if not load.weights:
        yield "weights", "required for a mix", "{ read = 3, random-write = 1 }"
    if load.directories.layout is Layout.PER_COUNT:
        yield "directories", "a mix makes an unknown number of files", '"one" or "per-thread"'


def _without_files(table: Table, loads: Sequence[Workload], number: int) -> Iterator[_Broken]:
    """Yield why a workload has no files to work on, or that they are deleted by then."""
    load, source = loads[number], source_of(loads, number)
    if not _uses_files(load):
        return
    if load.kind is WorkloadKind.COPY and source is not None and is_sized(loads, source):
        yield "of" if table.has("of") else "kind", f"a pilot sizes '{loads[source].name}'", "a create with a size"
    if source is None:
        names = [other.name for other in loads[:number] if other.kind is WorkloadKind.CREATE]
        if load.of:
            yield "of", "no create of that name comes before it", nearest_words(load.of, names)
        elif not load.creates:
            wanted = "sources, or a create before it" if load.kind is WorkloadKind.COPY else "a create before it"
            yield "kind", "no create comes before it whose files it could use", wanted
        return
    for other in range(source + 1, number):
        if loads[other].deletes and source_of(loads, other) == source:
            why = f"'{loads[other].name}' has deleted files of '{loads[source].name}' by then"
            yield "of" if table.has("of") else "kind", why, "another create before it"
    is_at_places = any(kind in _AT_PLACES for kind, _ in load.operations)
    create = loads[source]
    made = create.file_size_bytes or min((size for size, _ in create.size_weights), default=0)
    made = made or create.total_size_bytes // (create.files or max(create.thread_counts))
    if is_at_places and made and max(load.block_sizes or (load.block_size_bytes,)) > made:
        key = "block_size" if table.has("block_size") else "kind"
        yield key, "one block is larger than a file that it uses", "at most the file's size"
