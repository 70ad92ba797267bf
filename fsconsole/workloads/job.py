"""What the engine tells the host of the built-in generator: one JSON line, and the words that come back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from enum import Enum
from typing import TypeVar

from fsconsole.model.wire import Wire
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
from fsconsole.workloads.tree import SourceFiles

READY = "ready"
"""All writers wait at the barrier; directory says where below the tree they make files, empty where they don't."""
GO = "go"
"""The engine's answer to READY."""
DONE = "done"
"""All writers have ended; their counters say how."""
REFUSED = "refused"
"""The host could not set up the load; why says what was in the way."""

MAX_THREADS = 4096
MAX_BLOCK_BYTES = 2**30
MAX_DIRECTORIES = 10**6
_MAX_FILES = 2**40
_MAX_BYTES = 2**62

E = TypeVar("E", bound=Enum)


class BadJob(ValueError):
    """A line that is no job, or asks for what can't be."""


class Job(Wire, frozen=True):
    """One load, with all that the host needs to make it.

    tree is the directory to work in; tree_device is the st_dev that it must have. What the load makes goes into a
    new directory of the given name. source is what a load works on that makes no files of its own. counters is the
    number of the inherited descriptor of the counter page.
    """

    tree: str
    tree_device: int
    name: str
    workers: int
    counters: int
    workload: Workload
    source: SourceFiles | None = None


def job_to_line(job: Job) -> str:
    """Return the job as one line of JSON, without the line's end."""
    return json.dumps(asdict(job))


def job_from_line(line: str) -> Job:
    """Return the job in a line. Raises BadJob."""
    try:
        document = json.loads(line)
    except ValueError as error:
        raise BadJob("not JSON") from error
    fields = _Fields(document)
    workload = _workload(fields.inner("workload"))
    source = fields.inner("source") if fields.value("source") is not None else None
    return Job(
        tree=fields.text("tree"),
        tree_device=fields.whole("tree_device", 0, 2**64),
        name=_plain_name(fields.text("name")),
        workers=fields.whole("workers", 1, workload.threads),
        counters=fields.whole("counters", 3, 2**20),
        workload=workload,
        source=_source(source) if source is not None else None,
    )


class _Fields:
    """An object of a document; every method raises BadJob for a key that is missing or holds something else."""

    def __init__(self, document: object) -> None:
        if not isinstance(document, Mapping):
            raise BadJob("not an object")
        self._values: Mapping[str, object] = document

    def value(self, key: str) -> object:
        if key not in self._values:
            raise BadJob(f"{key} is missing")
        return self._values[key]

    def inner(self, key: str) -> _Fields:
        return _Fields(self.value(key))

    def text(self, key: str) -> str:
        value = self.value(key)
        if not isinstance(value, str):
            raise BadJob(f"{key} is not text")
        return value

    def truth(self, key: str) -> bool:
        value = self.value(key)
        if not isinstance(value, bool):
            raise BadJob(f"{key} is neither true nor false")
        return value

    def whole(self, key: str, least: int, most: int) -> int:
        return _whole(key, self.value(key), least, most)

    def number(self, key: str, most: float) -> float:
        value = self.value(key)
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= most:
            raise BadJob(f"{key} is {value!r}, and must be a number from 0 to {most}")
        return float(value)

    def word(self, key: str, kind: Callable[[str], E]) -> E:
        return _word(key, self.value(key), kind)

    def items(self, key: str) -> list[object]:
        value = self.value(key)
        if not isinstance(value, list):
            raise BadJob(f"{key} is not a list")
        return value


def _whole(key: str, value: object, least: int, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise BadJob(f"{key} is {value!r}, and must lie between {least} and {most}")
    return value


def _word(key: str, value: object, kind: Callable[[str], E]) -> E:
    if not isinstance(value, str):
        raise BadJob(f"{key} is not text")
    try:
        return kind(value)
    except ValueError as error:
        raise BadJob(f"unknown {key} {value!r}") from error


def _workload(fields: _Fields) -> Workload:
    workload = Workload(
        name=fields.text("name"),
        kind=fields.word("kind", WorkloadKind),
        threads=fields.whole("threads", 1, MAX_THREADS),
        files=fields.whole("files", 0, _MAX_FILES),
        file_size_bytes=fields.whole("file_size_bytes", 0, _MAX_BYTES),
        block_size_bytes=fields.whole("block_size_bytes", 1, MAX_BLOCK_BYTES),
        directories=_directories(fields.inner("directories")),
        data=fields.word("data", DataKind),
        cold=fields.truth("cold"),
        file_size_max_bytes=fields.whole("file_size_max_bytes", 0, _MAX_BYTES),
        zero_share=fields.number("zero_share", 1.0),
        direct=fields.truth("direct"),
        fsync_every=fields.whole("fsync_every", 0, 2**62),
        limit_bytes=fields.whole("limit_bytes", 0, _MAX_BYTES),
        duration_s=fields.number("duration_s", 1e9),
        end=fields.word("end", End),
        weights=tuple(_weight(item) for item in fields.items("weights")),
        source=None,
        seed=fields.whole("seed", 0, 2**64),
    )
    _check(workload)
    return workload


def _weight(item: object) -> tuple[WorkloadKind, int]:
    if not isinstance(item, list) or len(item) != 2:
        raise BadJob("weights is no list of pairs")
    kind = _word("weights", item[0], WorkloadKind)
    if kind not in OPERATIONS:
        raise BadJob(f"a mix can't be made of {kind.value}")
    return kind, _whole("weights", item[1], 1, 2**40)


def _directories(fields: _Fields) -> Directories:
    layout = fields.word("layout", Layout)
    least = 1 if layout is Layout.PER_COUNT else 0
    return Directories(layout, fields.whole("files_per_directory", least, _MAX_FILES))


def _source(fields: _Fields) -> SourceFiles:
    counts = tuple(_whole("counts", item, 0, _MAX_FILES) for item in fields.items("counts"))
    if not 1 <= len(counts) <= MAX_THREADS:
        raise BadJob(f"counts has {len(counts)} items, and must have 1 to {MAX_THREADS}")
    directory = _plain_name(fields.text("directory"))
    return SourceFiles(directory, _directories(fields.inner("directories")), counts)


def _check(workload: Workload) -> None:
    if workload.kind not in BUILT_IN:
        raise BadJob(f"{workload.kind.value} is not made by this generator")
    if not workload.operations:
        raise BadJob("weights is empty")
    directories = workload.directories
    most = MAX_DIRECTORIES * directories.files_per_directory
    if directories.layout is Layout.PER_COUNT and not 0 < workload.files <= most and workload.creates:
        raise BadJob(
            f"files_per_directory is {directories.files_per_directory}: that makes too many directories"
        )


def _plain_name(name: str) -> str:
    if name in {"", ".", ".."} or "/" in name or "\0" in name:
        raise BadJob(f"{name!r} can't name a directory")
    return name
