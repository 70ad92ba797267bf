"""Limits of dd and bonnie++: what a plan may ask of them, in words of the plan's keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from fsconsole.model.workload import DataKind, Generator, Layout, SyncAt, Workload, WorkloadKind
from fsconsole.text import GIB, MIB

_Broken = tuple[str, str, str]
"""A key, what is wrong with it, and what is wanted instead."""
_LEAST_CHUNK_BYTES, _MOST_CHUNK_BYTES = 256, MIB
"""Of bonnie++ -s SIZE:CHUNK, which must be a power of two (man 8 bonnie++)."""
_FILES_UNIT = 1024
_MOST_COPIES = 500
_MOST_FILE_BYTES = GIB


def wrong_generator(load: Workload) -> Iterator[_Broken]:
    """Yield what the load's generator can't do."""
    if load.generator is Generator.DD:
        yield from _wrong_dd(load)
    if load.kind is WorkloadKind.BONNIE:
        yield from _wrong_bonnie(load)


def with_data(choices: Sequence[tuple[Workload, ...]], memory_bytes: int) -> tuple[tuple[Workload, ...], ...]:
    """Return choices of workloads whose bonnie++ has twice the memory as its data, where the plan says nothing else."""
    twice = 2 * memory_bytes // MIB * MIB

    def sized(load: Workload) -> Workload:
        is_open = load.kind is WorkloadKind.BONNIE and not load.limit_bytes and not load.files
        return replace(load, limit_bytes=twice) if is_open else load

    return tuple(tuple(map(sized, choice)) for choice in choices)


def _wrong_dd(load: Workload) -> Iterator[_Broken]:
    if load.kind is not WorkloadKind.CREATE:
        yield "generator", f"one dd a file makes files, and this is a {load.kind.value}", 'kind = "create"'
    if load.thread_counts != (1,):
        yield "threads", "one dd runs after another", "1, or the built-in generator"
    if load.data is not DataKind.ZERO:
        yield "data", "dd reads /dev/zero", 'data = "zero"'
    if not load.files or not load.file_size_bytes or load.file_size_max_bytes or load.size:
        key = "file_size" if load.files else "files"
        yield key, "one dd a file needs their number and one size", "files and file_size"
    if load.limit_bytes or load.duration_s:
        yield "bytes" if load.limit_bytes else "duration", "each dd writes its whole file", "files and file_size alone"
    if load.directories.layout is Layout.PER_THREAD:
        yield "directories", "there are no threads", '"one", or a number of files per directory'
    if load.ftruncate:
        yield "ftruncate", "dd sets no size beforehand", "the built-in generator"
    if load.sync_at is SyncAt.END or load.fsync_every:
        yield "fsync", "dd syncs its file at the end, or never", '"each-file" or "never"'


def _wrong_bonnie(load: Workload) -> Iterator[_Broken]:
    for size in load.block_sizes:
        if not _LEAST_CHUNK_BYTES <= size <= _MOST_CHUNK_BYTES or size & (size - 1):
            yield "block_size", "bonnie++ takes powers of two", "256B to 1MiB, such as 8KiB"
    if load.limit_bytes % MIB:
        yield "bytes", "bonnie++ counts whole MiB", "a size such as 8GiB"
    if load.files % _FILES_UNIT:
        wanted = f"a multiple of {_FILES_UNIT}, such as {16 * _FILES_UNIT}"
        yield "files", f"bonnie++ counts files in units of {_FILES_UNIT}", wanted
    if load.largest_file_bytes and not load.files:
        yield "file_size", "there are no files", "files beside it; bytes is the size of the data"
    if load.largest_file_bytes > _MOST_FILE_BYTES:
        yield "file_size", "bonnie++ writes small files in its test of files", "at most 1GiB"
    if max(load.thread_counts) > _MOST_COPIES:
        yield "threads", "that many copies of bonnie++", f"at most {_MOST_COPIES}"
    if load.directories.layout is Layout.PER_THREAD:
        yield "directories", "bonnie++ has a number of directories", '"one", or a number of files per directory'
    if load.sync_at is not SyncAt.WRITES or load.fsync_every > 1:
        yield "fsync", "bonnie++ syncs after every write, or as its version does", '1 or "never"'
