"""What a raw row does: streams straight on the device, one and as many as the workload has threads, and a read test.

Commands are programs of this interpreter (-I: nothing of the operator's environment is imported), so that a row
can be repeated by hand.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from fsconsole.model.step import Step, StepKind
from fsconsole.model.workload import Workload
from fsconsole.plan.scale import written_bytes
from fsconsole.plan.target import TargetSpec
from fsconsole.units import GIB, MIB, format_bytes_exact

BLOCK_BYTES = MIB
"""One direct write or read: large enough that its own cost is small on any disk."""
_UNSAID_BYTES = GIB
"""Where a plan's workloads write nothing by themselves."""
_STREAM = (sys.executable, "-I", "-m", "fsconsole.workloads.rawstream")
_READTEST = (sys.executable, "-I", "-m", "fsconsole", "readtest")


def raw_steps(target: TargetSpec, workloads: Sequence[Workload]) -> Iterator[Step]:
    """Yield the writes, then the reads of what they wrote, then the read test."""
    counts = _stream_counts(workloads)
    for streams, number in counts:
        yield Step(StepKind.QUIESCE, "wait until Dirty and Writeback are near zero", workload=number)
        yield _stream(StepKind.RAW_WRITE, target, workloads, streams, number)
    for streams, number in counts:
        yield _stream(StepKind.RAW_READ, target, workloads, streams, number)
    readtest = ((*_READTEST, target.path, "--json", "--watched"),)
    yield Step(StepKind.READTEST, f"read {target.path} for 3 s through the page cache", readtest)


def raw_bytes(target_bytes: int, workloads: Sequence[Workload]) -> int:
    """Return the bytes that a raw row writes to a target; target_bytes 0: not known."""
    return sum(
        streams * stream_bytes(target_bytes, workloads, streams) for streams, _ in _stream_counts(workloads)
    )


def stream_bytes(target_bytes: int, workloads: Sequence[Workload], streams: int) -> int:
    """Return the bytes of one stream, in whole blocks: together what the workloads write, or the whole device."""
    wanted = written_bytes(workloads) or _UNSAID_BYTES
    total = min(wanted, target_bytes) if target_bytes else wanted
    return max(1, total // streams // BLOCK_BYTES) * BLOCK_BYTES


def raw_reasons(target: TargetSpec, workloads: Sequence[Workload]) -> tuple[str, ...]:
    """Return why a raw row can't run: each stream needs a block of the device for itself."""
    most = max((workload.threads for workload in workloads), default=1)
    if target.size_bytes == 0 or target.size_bytes // most >= BLOCK_BYTES:
        return ()
    return (f"{target.path} has no room for {most} raw streams of {format_bytes_exact(BLOCK_BYTES)} each",)


def _stream_counts(workloads: Sequence[Workload]) -> tuple[tuple[int, int | None], ...]:
    """Return numbers of streams, each with the first workload of so many threads under the same settings.

    One stream stands for all of them.
    """
    first: dict[object, int] = {}
    for number, workload in enumerate(workloads):
        if workload.threads > 1:
            first.setdefault((workload.threads, workload.settings), number)
    return ((1, None), *((workloads[number].threads, number) for number in first.values()))


def _stream(
    kind: StepKind, target: TargetSpec, workloads: Sequence[Workload], streams: int, number: int | None
) -> Step:
    size = stream_bytes(target.size_bytes, workloads, streams)
    verb, preposition = ("write", "to") if kind is StepKind.RAW_WRITE else ("read", "from")
    argv = (
        *_STREAM, verb, target.path,
        "--streams", str(streams), "--bytes", str(size), "--block", str(BLOCK_BYTES),
    )  # fmt: skip
    each = "1 stream" if streams == 1 else f"{streams} streams"
    flush = "; then flush" if kind is StepKind.RAW_WRITE else ""
    return Step(
        kind,
        f"{verb} straight {preposition} {target.path}: {each} of {format_bytes_exact(size)}"
        f" in direct {verb}s of {format_bytes_exact(BLOCK_BYTES)}{flush}",
        (argv,),
        changes=f"overwrites {target.path}" if kind is StepKind.RAW_WRITE else "",
        workload=number,
    )
