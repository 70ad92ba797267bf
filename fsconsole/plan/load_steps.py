"""The steps of a cell's workloads: what is made ready, the load, what is brought to the device, the extents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fsconsole import units
from fsconsole.model.step import Step, StepKind
from fsconsole.model.workload import BUILT_IN, DataKind, End, Workload, WorkloadKind

Argv = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mounts:
    """How a cell's filesystem is mounted and unmounted, on which device, and the tree that loads work on."""

    device: str
    tree: str
    mount: Argv
    unmount: Argv


def load_steps(number: int, workload: Workload, mounts: Mounts) -> Iterator[Step]:
    """Yield the steps of one workload; what changes nothing leaves nothing to be brought to the device."""
    yield Step(StepKind.QUIESCE, "wait until Dirty and Writeback are near zero", workload=number)
    if workload.cold:
        yield Step(
            StepKind.COLD,
            "make all caches cold: unmount, sync, write 3 to /proc/sys/vm/drop_caches, mount",
            (mounts.unmount, ("sync",), mounts.mount),
            f"mounts {mounts.device}",
            workload=number,
        )
    changes = f"writes below {mounts.tree}" if workload.changes else ""
    yield Step(StepKind.WORKLOAD, workload_title(workload), changes=changes, workload=number)
    if workload.changes:
        yield Step(StepKind.DRAIN, "syncfs, then fsync of the device: one flush", workload=number)


def extent_steps(workloads: Sequence[Workload]) -> Iterator[Step]:
    """Yield one count of all files, or where several workloads make some, one for each of them."""
    makers = [
        number
        for number, workload in enumerate(workloads)
        if workload.creates or workload.kind not in BUILT_IN
    ]
    if len(makers) < 2:
        yield Step(StepKind.EXTENTS, "count the extents of every file")
        return
    for number in makers:
        title = f"count the extents of every file of {workloads[number].name}"
        yield Step(StepKind.EXTENTS, title, workload=number)


def workload_title(workload: Workload) -> str:
    """Return a workload in one line, with its numbers."""
    head = f"{workload.name}: {_what(workload)} {_files(workload)} by {_counted(workload.threads, 'thread')}"
    return ", ".join([head + _blocks(workload), *_words(workload)])


def _what(workload: Workload) -> str:
    weights = ", ".join(f"{weight} {kind.value}" for kind, weight in workload.weights)
    return workload.kind.value + (f" ({weights})" if weights else "")


def _files(workload: Workload) -> str:
    size = _sizes(workload)
    if workload.kind is WorkloadKind.CREATE:
        files = _counted(workload.files, "file") if workload.files else "files"
        return f"{files} of {size}"
    if workload.kind is WorkloadKind.MIX:
        files = _counted(workload.files, "operation") if workload.files else "operations"
        return f"{files} on files" + (f" of {size}" if workload.file_size_bytes else "")
    files = _counted(workload.files, "file") if workload.files else "every file"
    if not workload.file_size_bytes or not (workload.reads or workload.writes):
        return files
    return f"{size} {'to' if workload.kind is WorkloadKind.APPEND else 'in'} {files}"


def _sizes(workload: Workload) -> str:
    smallest = units.format_bytes_exact(workload.file_size_bytes)
    if workload.file_size_max_bytes <= workload.file_size_bytes:
        return smallest
    return f"{smallest} to {units.format_bytes_exact(workload.file_size_max_bytes)}"


def _blocks(workload: Workload) -> str:
    calls = " and ".join([*(["reads"] if workload.reads else []), *(["writes"] if workload.writes else [])])
    if not calls and workload.kind in BUILT_IN:
        return ""
    direct = "direct " if workload.direct else ""
    return f" in {direct}{calls or 'writes'} of {units.format_bytes_exact(workload.block_size_bytes)}"


def _words(workload: Workload) -> Iterator[str]:
    if workload.writes or workload.kind not in BUILT_IN:
        share = f" (zeros: {workload.zero_share:g})" if workload.data is DataKind.COMPRESSIBLE else ""
        yield f"{workload.data.value} data{share}"
    if workload.fsync_every:
        yield f"fsync after every {workload.fsync_every} writes"
    end = " at once" if workload.end is End.AT_ONCE else ""
    if workload.limit_bytes:
        yield f"until {units.format_bytes_exact(workload.limit_bytes)} are moved{end}"
    if workload.duration_s:
        yield f"for {workload.duration_s:g} s{end}"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
