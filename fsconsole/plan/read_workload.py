"""Reads the [[workload]] tables of a plan file."""

from __future__ import annotations

from collections.abc import Sequence

from fsconsole import units
from fsconsole.catalog.nearest import nearest_words
from fsconsole.catalog.tables import Table
from fsconsole.errors import BadQuantity
from fsconsole.model.workload import (
    OPERATIONS,
    DataKind,
    Directories,
    End,
    Layout,
    WorkloadKind,
)
from fsconsole.plan import limits
from fsconsole.plan.check_workload import check_sources, check_workload
from fsconsole.plan.planfile import DEFAULT_BLOCK_SIZE_BYTES, WorkloadPlan
from fsconsole.plan.settings import read_settings

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
        threads=table.integers("threads", 1, low=1, high=limits.MAX_THREADS),
        files=table.integer("files", 0, low=1, high=limits.MAX_FILES),
        file_size_bytes=smallest,
        file_size_max_bytes=largest,
        block_size_bytes=table.size(
            "block_size", DEFAULT_BLOCK_SIZE_BYTES, low=1, high=limits.MAX_BLOCK_SIZE_BYTES
        ),
        directories=_directories(table),
        data=data,
        zero_share=zero_share,
        direct=table.flag("direct", default=False),
        fsync_every=table.integer("fsync_every", 0, low=0, high=limits.MAX_FSYNC_EVERY),
        limit_bytes=table.size("bytes", 0, low=1, high=limits.MAX_FILE_SIZE_BYTES),
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
    if not name.strip() or len(name) > limits.MAX_NAME_CHARACTERS:
        raise table.bad("name", "a workload needs a name", f"1 to {limits.MAX_NAME_CHARACTERS} characters")
    return name


def _file_size(table: Table, *, required: bool) -> tuple[int, int]:
    """Return the smallest size of a file, and the largest where a range is given; 0 for what isn't said."""
    if not table.has("file_size") or not isinstance(table.raw("file_size"), list):
        default = None if required else 0
        return table.size("file_size", default, low=1, high=limits.MAX_FILE_SIZE_BYTES), 0
    sizes = table.sizes("file_size", low=1, high=limits.MAX_FILE_SIZE_BYTES)
    if len(sizes) != 2 or sizes[0] > sizes[1]:
        raise table.bad("file_size", "that is no range", 'a size, or a range such as ["4KiB", "64KiB"]')
    return sizes[0], sizes[1]


def _directories(table: Table) -> Directories:
    if not table.has("directories"):
        return Directories()
    if not isinstance(table.raw("directories"), str):
        count = table.integer("directories", low=1, high=limits.MAX_FILES)
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
    if not limits.MIN_DURATION_S <= seconds <= limits.MAX_DURATION_S:
        raise table.bad("duration", "it is out of bounds", wanted)
    return seconds


def _weights(table: Table) -> tuple[tuple[WorkloadKind, int], ...]:
    mix = table.table("weights")
    known = {kind.value: kind for kind in OPERATIONS}
    for name in mix.names():
        if name not in known:
            raise mix.bad(name, "a mix can't be made of it", nearest_words(name, known))
    return tuple((known[name], mix.integer(name, low=1, high=limits.MAX_WEIGHT)) for name in mix.names())
