"""Loads of the built-in kinds that fio can make call for call, and why it can't make others."""

from __future__ import annotations

from collections.abc import Iterator

from fsconsole.model.workload import (
    DataKind,
    End,
    Generator,
    SyncAt,
    SyncCall,
    Workload,
    WorkloadKind,
)

MAX_FILES = 20_000
"""fio is given each file's name, and a command line has at most 2 MiB (man 2 execve)."""
_KINDS = frozenset({
    WorkloadKind.CREATE, WorkloadKind.APPEND, WorkloadKind.READ, WorkloadKind.RANDOM_READ, WorkloadKind.RANDOM_WRITE,
})  # fmt: skip
_AT_PLACES = frozenset({WorkloadKind.RANDOM_READ, WorkloadKind.RANDOM_WRITE})


def objection(load: Workload) -> tuple[str, str, str] | None:
    """Return the key, the reason and what is wanted instead, where fio can't make a cell's load as it is described."""
    if load.generator is not Generator.FIO:
        return None
    return next(_objections(load), None)


def _objections(load: Workload) -> Iterator[tuple[str, str, str]]:
    if load.kind not in _KINDS:
        yield (
            "generator",
            f"fio has no load of kind {load.kind.value} that does the same calls",
            "the built-in generator",
        )
    if load.sizing is not None:
        yield "size", "a pilot sizes loads of the built-in generator alone", "file_size, and files"
    if load.file_size_max_bytes:
        yield "file_size", "fio draws sizes in another way", "one size"
    if load.ftruncate:
        yield "ftruncate", "fio sizes all files before its first write", "the built-in generator"
    if load.data is DataKind.COMPRESSIBLE:
        yield "data", "fio places the zeros of a block in another way", '"random" or "zero"'
    if load.file_size_bytes % load.block_size_bytes:
        yield "file_size", "fio leaves out the last, shorter block of a file", "a multiple of block_size"
    if load.files > MAX_FILES:
        yield "files", "fio is given the name of each file", f"at most {MAX_FILES:,} files"
    is_limited = load.limit_bytes or load.duration_s
    if load.kind is WorkloadKind.CREATE and is_limited:
        yield "files", "fio makes a number of files that is known beforehand", "files and file_size, and no limit"
    elif is_limited and load.end is not End.AT_ONCE:
        yield "end", "a limit ends fio after the current call", '"at-once"'
    if load.kind is not WorkloadKind.CREATE and load.files:
        yield "files", "fio uses each file once, or one file until a limit", "no files"
    yield from _objections_to_syncs(load, load.files, load.file_size_bytes)


def _objections_to_syncs(load: Workload, files: int, file_bytes: int) -> Iterator[tuple[str, str, str]]:
    """Yield what is against syncs of a load on so many files; with 0 files or bytes that isn't known yet."""
    if load.sync_at is not SyncAt.WRITES and load.sync_call is SyncCall.FDATASYNC:
        yield "sync_call", "fio ends files with fsync alone", '"fsync"'
    if load.sync_at is SyncAt.EACH_FILE and files > load.threads:
        yield (
            "fsync",
            "fio syncs each file at its close and all of them once more at its end",
            '"end", or one file for each thread',
        )
    if not load.fsync_every or load.duration_s or (load.sync_call is SyncCall.FSYNC and files == load.threads):
        return
    for number in {files // load.threads, -(-files // load.threads)}:
        calls = number * file_bytes // load.block_size_bytes
        if load.limit_bytes:
            calls = load.limit_bytes // load.threads // load.block_size_bytes
        if calls and not calls % load.fsync_every:
            yield (
                "fsync",
                "fio leaves out the sync after a thread's last write",
                "a number that doesn't divide its writes, or fsync and one file for each thread",
            )


def objection_to_files(load: Workload, source: Workload | None) -> str:
    """Return why fio can't use the files of a source as a cell's load does, as a clause; empty where it can."""
    if load.generator is not Generator.FIO or source is None:
        return ""
    return next(_objections_to_files(load, source), "")


def _objections_to_files(load: Workload, source: Workload) -> Iterator[str]:
    what = f"'{load.name}' can't be made by fio"
    if not source.files or source.file_size_max_bytes or source.limit_bytes or source.duration_s:
        yield f"{what}: it must know number and size of the files of '{source.name}' beforehand"
    if source.files > MAX_FILES:
        yield f"{what}: it is given the name of each file, and takes at most {MAX_FILES:,}"
    is_limited = load.limit_bytes or load.duration_s
    if (load.kind in _AT_PLACES or is_limited) and source.files != load.threads:
        yield f"{what}: it would stay with the first of a thread's files, so there must be one for each thread"
    if not load.file_size_bytes and source.file_size_bytes % load.block_size_bytes:
        yield f"{what}: it leaves out the last, shorter block of a file"
    for _, why, wanted in _objections_to_syncs(load, source.files, load.file_size_bytes or source.file_size_bytes):
        yield f"{what}: {why} (wanted: {wanted})"
