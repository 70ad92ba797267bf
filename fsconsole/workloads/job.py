"""What the engine tells the host of the built-in generator: one JSON line, and the words that come back."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from fsconsole.model.workload import DataKind, Directories, Layout

READY = "ready"
"""All writers wait at the barrier."""
GO = "go"
"""The engine's answer to READY."""
DONE = "done"
"""All writers have ended; their counters say how."""
REFUSED = "refused"
"""The host could not set up the load; why says what was in the way."""

MAX_THREADS = 4096
MAX_BLOCK_BYTES = 2**28
MAX_DIRECTORIES = 10**6


class BadJob(ValueError):
    """A line that is no job, or asks for what can't be."""


@dataclass(frozen=True, slots=True)
class Job:
    """One load, with all that the host needs to make it.

    tree is the directory to write in; tree_device is the st_dev that it must have. Thread i of threads
    writes the files i, i + threads, ... into a new directory of the given name. counters is the number
    of the inherited descriptor of the counter page.
    """

    tree: str
    tree_device: int
    name: str
    threads: int
    workers: int
    files: int
    file_size_bytes: int
    block_size_bytes: int
    layout: Layout
    files_per_directory: int
    data: DataKind
    counters: int

    @property
    def directories(self) -> Directories:
        """Where the files lie."""
        return Directories(self.layout, self.files_per_directory)


def job_to_line(job: Job) -> str:
    """Return the job as one line of JSON, without the line's end."""
    return json.dumps(asdict(job))


def job_from_line(line: str) -> Job:
    """Return the job in a line. Raises BadJob."""
    try:
        document = json.loads(line)
    except ValueError as error:
        raise BadJob("not JSON") from error
    match document:
        case {
            "tree": str(tree),
            "tree_device": int(tree_device),
            "name": str(name),
            "threads": int(threads),
            "workers": int(workers),
            "files": int(files),
            "file_size_bytes": int(file_size_bytes),
            "block_size_bytes": int(block_size_bytes),
            "layout": str(layout),
            "files_per_directory": int(files_per_directory),
            "data": str(data),
            "counters": int(counters),
        }:
            job = Job(
                tree, tree_device, name, threads, workers, files, file_size_bytes, block_size_bytes,
                _layout(layout), files_per_directory, _data(data), counters,
            )  # fmt: skip
            _check(job)
            return job
    raise BadJob("a key is missing, or holds something else than it should")


def _layout(word: str) -> Layout:
    if word not in {layout.value for layout in Layout}:
        raise BadJob(f"unknown layout {word!r}")
    return Layout(word)


def _data(word: str) -> DataKind:
    if word not in {kind.value for kind in DataKind}:
        raise BadJob(f"unknown data {word!r}")
    return DataKind(word)


def _check(job: Job) -> None:
    bounds = (
        ("threads", job.threads, 1, MAX_THREADS),
        ("workers", job.workers, 1, job.threads),
        ("files", job.files, 1, 2**40),
        ("file_size_bytes", job.file_size_bytes, 0, 2**62),
        ("block_size_bytes", job.block_size_bytes, 1, MAX_BLOCK_BYTES),
        ("counters", job.counters, 3, 2**20),
    )
    for name, value, least, most in bounds:
        if not least <= value <= most:
            raise BadJob(f"{name} is {value}, and must lie between {least} and {most}")
    if job.layout is Layout.PER_COUNT and job.files > MAX_DIRECTORIES * job.files_per_directory:
        raise BadJob(f"files_per_directory is {job.files_per_directory}: that makes too many directories")
    if job.name in {"", ".", ".."} or "/" in job.name or "\0" in job.name:
        raise BadJob(f"{job.name!r} can't name a directory")
