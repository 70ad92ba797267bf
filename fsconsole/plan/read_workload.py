"""Reads one [[workload]] of a plan file."""

from __future__ import annotations

from fsconsole.catalog.tables import Table
from fsconsole.model.workload import DataKind, Directories, Layout, WorkloadKind
from fsconsole.plan import limits
from fsconsole.plan.planfile import DEFAULT_BLOCK_SIZE_BYTES, WorkloadPlan
from fsconsole.plan.settings import read_settings

_KEYS = (
    "name", "kind", "threads", "files", "file_size", "block_size", "directories", "data", "cold", "with",
)  # fmt: skip
_SIZED = (WorkloadKind.CREATE, WorkloadKind.APPEND, WorkloadKind.RANDOM_WRITE, WorkloadKind.MIX)
"""Kinds that write files and must say how large."""


def read_workload(table: Table) -> WorkloadPlan:
    """Return the workload that a table describes; raises PlanUnknownKey, PlanBadValue."""
    table.only(*_KEYS)
    table.raw("kind")
    kind = table.choice("kind", WorkloadKind, WorkloadKind.CREATE)
    workload = WorkloadPlan(
        name=_name(table, kind),
        kind=kind,
        threads=table.integers("threads", 1, low=1, high=limits.MAX_THREADS),
        files=table.integer("files", 0, low=1, high=limits.MAX_FILES),
        file_size_bytes=table.size(
            "file_size", None if kind in _SIZED else 0, low=1, high=limits.MAX_FILE_SIZE_BYTES
        ),
        block_size_bytes=table.size(
            "block_size", DEFAULT_BLOCK_SIZE_BYTES, low=1, high=limits.MAX_BLOCK_SIZE_BYTES
        ),
        directories=_directories(table),
        data=table.choice("data", DataKind, DataKind.RANDOM),
        cold=table.flag("cold", default=False),
        settings=read_settings(table.table("with")),
    )
    return _fitting(table, workload)


def _name(table: Table, kind: WorkloadKind) -> str:
    name = table.text("name", kind.value)
    if not name.strip() or len(name) > limits.MAX_NAME_CHARACTERS:
        raise table.bad("name", "a workload needs a name", f"1 to {limits.MAX_NAME_CHARACTERS} characters")
    return name


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


def _fitting(table: Table, workload: WorkloadPlan) -> WorkloadPlan:
    """Return the workload where its figures go together."""
    if workload.file_size_bytes and workload.block_size_bytes > workload.file_size_bytes:
        key = "block_size" if table.has("block_size") else "file_size"
        raise table.bad(key, "one write is larger than the whole file", "block_size at most file_size")
    if workload.files and workload.files < max(workload.threads):
        raise table.bad("files", "some threads would have no file", "at least as many files as threads")
    return workload
