"""A load of a built-in kind as options of fio: the same files, calls, blocks and syncs, one job for each thread."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from fsconsole.errors.runs import GeneratorFailed
from fsconsole.model.workload import DataKind, SyncAt, SyncCall, Workload, WorkloadKind
from fsconsole.text import error_reason
from fsconsole.workloads.tree import SourceFiles, namer

_RW = {
    WorkloadKind.CREATE: "write",
    WorkloadKind.APPEND: "write",
    WorkloadKind.READ: "read",
    WorkloadKind.RANDOM_READ: "randread",
    WorkloadKind.RANDOM_WRITE: "randwrite",
}
_AT_PLACES = frozenset({WorkloadKind.RANDOM_READ, WorkloadKind.RANDOM_WRITE})
_NAMES_CHARACTERS = 4000
"""fio takes 4,096 characters (PATH_MAX) of names at once; names of several options add up."""


def words(load: Workload, directory: str, source: SourceFiles | None) -> tuple[str, ...]:
    """Return fio's options; directory is the absolute path of the load's own, beside that of the source.

    Raises GeneratorFailed where the files of the source are not as the plan says.
    """
    found, made_bytes = list(_of_all(load)), _size_of_files(load, directory, source)
    for thread in range(load.threads):
        numbers = _numbers(load, thread, source)
        if not numbers:
            continue
        found.append(f"--name=t{thread:04d}")
        found += _sizes(load, thread, len(numbers), made_bytes)
        found += _files(load, numbers, source)
    return tuple(found)


def counts_of(load: Workload) -> tuple[int, ...]:
    """Return the files that each thread of a create makes."""
    if load.kind is not WorkloadKind.CREATE:
        return ()
    return tuple(len(range(thread, load.files, load.threads)) for thread in range(load.threads))


def _of_all(load: Workload) -> Iterator[str]:
    """Yield options of all jobs: nothing is advised, dropped or laid out that the built-in generator would not do."""
    yield from ("--name=global", "--ioengine=psync", "--group_reporting", f"--rw={_RW[load.kind]}")
    yield from (f"--bs={load.block_size_bytes}", "--openfiles=1", "--file_service_type=sequential")
    yield from ("--fallocate=none", "--invalidate=0", "--fadvise_hint=0")
    if load.kind in (WorkloadKind.CREATE, WorkloadKind.APPEND):
        yield "--create_on_open=1"
    else:
        yield "--allow_file_create=0"
    if load.kind in _AT_PLACES:
        yield "--norandommap"
    if load.writes:
        yield "--zero_buffers" if load.data is DataKind.ZERO else "--refill_buffers"
    if load.direct:
        yield "--direct=1"
    if load.duration_s:
        yield from ("--time_based", f"--runtime={round(load.duration_s * 1000)}ms")
    if load.fsync_every:
        yield f"--{load.sync_call.value}={load.fsync_every}"


def _numbers(load: Workload, thread: int, source: SourceFiles | None) -> Sequence[int]:
    if load.kind is WorkloadKind.CREATE:
        return range(thread, load.files, load.threads)
    return source.numbers(thread, load.threads, shared=True) if source is not None else ()


def _sizes(load: Workload, thread: int, files: int, made_bytes: int) -> Iterator[str]:
    """Yield the options of one job on so many files of made_bytes each."""
    size, block = load.file_size_bytes, load.block_size_bytes
    calls = files * (size or made_bytes) // block
    if load.kind is WorkloadKind.CREATE:
        yield from (f"--filesize={size}", f"--size={files * size}")
    elif load.kind is WorkloadKind.APPEND:
        yield from (f"--offset={made_bytes}", f"--filesize={made_bytes + size}")
    elif load.limit_bytes:
        share = load.limit_bytes // load.threads + (thread < load.limit_bytes % load.threads)
        calls = share // block
        yield f"--io_size={calls * block}"
    elif size:
        yield f"--io_size={size}" if load.kind in _AT_PLACES else f"--filesize={size}"
    # fio ends before the sync that is due after its last write.
    is_due = (
        load.fsync_every and load.sync_call is SyncCall.FSYNC and not load.duration_s and not calls % load.fsync_every
    )
    if load.writes and (is_due or load.sync_at is not SyncAt.WRITES):
        yield "--end_fsync=1"


def _size_of_files(load: Workload, directory: str, source: SourceFiles | None) -> int:
    """Return the size of each of the source's files; 0 without one. Raises GeneratorFailed where sizes differ."""
    if source is None or load.kind is WorkloadKind.CREATE:
        return 0
    root, name = (
        os.path.join(os.path.dirname(directory), source.directory),
        namer(source.directories, threads=source.threads),
    )
    numbers = {
        number for thread in range(source.threads) for number in source.numbers(thread, source.threads, shared=False)
    }
    try:
        sizes = {os.lstat(os.path.join(root, name(number))).st_size for number in numbers}
    except OSError as error:
        raise GeneratorFailed(f"{error.filename}: {error_reason(error)}") from error
    if len(sizes) != 1:
        raise GeneratorFailed(f"fio can't be told of files of {len(sizes)} sizes")
    return sizes.pop()


def _files(load: Workload, numbers: Sequence[int], source: SourceFiles | None) -> Iterator[str]:
    if load.kind is WorkloadKind.CREATE or source is None:
        name = namer(load.directories, threads=load.threads)
    else:
        name = namer(source.directories, threads=source.threads)
        yield f"--directory=../{source.directory}"
    line: list[str] = []
    for number in numbers:
        line.append(name(number))
        if len(line) * (len(line[0]) + 1) > _NAMES_CHARACTERS:
            yield f"--filename={':'.join(line)}"
            line = []
    if line:
        yield f"--filename={':'.join(line)}"
