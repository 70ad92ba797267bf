"""Messages between the engine and the built-in generator's host: a JSON line each, and GO."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from enum import Enum

from fsconsole.model.wire import Mismatch, Wire, decode_whole, encode
from fsconsole.model.workload import BUILT_IN, OPERATIONS, Layout, Workload
from fsconsole.workloads.tree import SourceFiles

GO = "go"
"""The engine's answer to READY."""

MAX_THREADS = 4096
MAX_BLOCK_BYTES = 2**30
MAX_DIRECTORIES = 10**6
_MAX_FILES = 2**40
_MAX_BYTES = 2**62


class Stage(str, Enum):
    """Progress of the host."""

    READY = "ready"
    """All writers wait at the barrier; directory is where below the tree they make files, empty where they don't."""
    DONE = "done"
    """All writers have ended; their counters say how."""
    REFUSED = "refused"
    """The host could not set up the load; why says what was in the way."""
    DIED = "died"
    """Nothing was told any more; never sent."""


class LoadReport(Wire, frozen=True, omit_defaults=True):
    """One line from the process that makes a load."""

    event: Stage
    why: str = ""


class HostReport(LoadReport, frozen=True):
    """One line from the host; CPU times are those of its workers from GO on."""

    directory: str = ""
    user_s: float = 0.0
    system_s: float = 0.0
    busiest_s: float = 0.0
    """Of the worker that used the most."""


def tell(message: Wire) -> None:
    """Print a message as a line, at once."""
    sys.stdout.write(encode(message) + "\n")
    sys.stdout.flush()


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
    origin: str = ""
    """Of a crash's load, whose writers stamp their blocks with it: hexadecimal; empty for others."""
    tree_inode: int = 0
    """The st_ino that tree must have; 0: any. Other users may rename what is in their directories."""


def job_from_line(line: str) -> Job:
    """Return the job in a line. Raises Mismatch, also for a job that can't be done."""
    job = decode_whole(Job, line)
    for name, value, least, most in _bounds(job):
        if not least <= value <= most:
            raise Mismatch(f"must be from {least} to {most}, is {value!r}", name)
    for name in (job.name, *([job.source.directory] if job.source else [])):
        if name in {"", ".", ".."} or "/" in name or "\0" in name:
            raise Mismatch(f"{name!r} can't name a directory")
    workload = job.workload
    if workload.kind not in BUILT_IN:
        raise Mismatch(f"{workload.kind.value} is not made by this generator")
    if not workload.operations or not {kind for kind, _ in workload.weights} <= {*OPERATIONS}:
        raise Mismatch("a mix must be made of operations on files", "workload.weights")
    return job


def _bounds(job: Job) -> Iterator[tuple[str, float, float, float]]:
    workload = job.workload
    yield "workload.threads", workload.threads, 1, MAX_THREADS
    yield "workers", job.workers, 1, workload.threads
    yield "tree_device", job.tree_device, 0, 2**64
    yield "tree_inode", job.tree_inode, 0, 2**64
    yield "counters", job.counters, 3, 2**20
    yield "files", workload.files, 0, _MAX_FILES
    yield "block_size_bytes", workload.block_size_bytes, 1, MAX_BLOCK_BYTES
    for size, weight in workload.size_weights:
        yield "size_weights", size, 0, _MAX_BYTES
        yield "size_weights", weight, 1, 2**40
    for name in ("file_size_bytes", "file_size_max_bytes", "limit_bytes", "fsync_every", "operation_bytes"):
        yield name, getattr(workload, name), 0, _MAX_BYTES
    yield "zero_share", workload.zero_share, 0, 1
    yield "duration_s", workload.duration_s, 0, 1e9
    yield "seed", workload.seed, 0, 2**64
    for _, weight in workload.weights:
        yield "weights", weight, 1, 2**40
    if workload.directories.layout is Layout.PER_COUNT and workload.creates:
        yield "files", workload.files, 1, MAX_DIRECTORIES * workload.directories.files_per_directory
    for directories in (workload.directories, *([job.source.directories] if job.source else [])):
        least = 1 if directories.layout is Layout.PER_COUNT else 0
        yield "files_per_directory", directories.files_per_directory, least, _MAX_FILES
    if job.source:
        yield "threads of the source", len(job.source.counts), 1, MAX_THREADS
        for count in job.source.counts:
            yield "counts", count, 0, _MAX_FILES
