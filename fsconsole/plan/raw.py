"""Streams of raw rows: sizes, commands and cost."""

from __future__ import annotations

from collections.abc import Sequence

from fsconsole.model.metrics import RAW_DEPTHS
from fsconsole.model.plan import Cell, Step, StepKind
from fsconsole.model.workload import Workload
from fsconsole.plan.planfile import TargetSpec, unsized, written_bytes
from fsconsole.system.isolation import python_argv
from fsconsole.text import GIB, MIB
from fsconsole.units import format_bytes_exact

BLOCK_BYTES = MIB
"""Size of a direct write or read: large enough that the call's overhead is small on any disk."""
STREAM_S = 10.0
"""Least time of a stream, unless it reaches the end of the device."""
PILOT_BYTES, PILOT_S = 256 * MIB, 1.0
"""Least time of each stream of the pilot."""
READTEST_S = 3.0
_UNSAID_BYTES = GIB
"""Least bytes of a stream if the plan's workloads write nothing, or a pilot sizes them."""
# A raw row can be repeated by hand.
_STREAM = python_argv("-m", "fsconsole.workloads.raw")
_READTEST = python_argv("-m", "fsconsole", "readtest")
_DEPTHS = f"{', '.join(map(str, RAW_DEPTHS[:-1]))} or {RAW_DEPTHS[-1]}"


def stream_bytes(target_bytes: int, workloads: Sequence[Workload]) -> int:
    """Return the least bytes of a stream: what the workloads write, or the whole device; target_bytes 0: not known."""
    # What a pilot sizes has no size yet, and the row's commands are agreed to before it.
    wanted = written_bytes([unsized(load) for load in workloads]) or _UNSAID_BYTES
    return max(BLOCK_BYTES, min(wanted, target_bytes or wanted) // BLOCK_BYTES * BLOCK_BYTES)


def raw_bytes(cell: Cell, target_bytes: int, bytes_per_s: float) -> int:
    """Return the bytes that a raw row writes to a target at that rate, without its pilot; it reads as many."""
    least = max(stream_bytes(target_bytes, cell.workloads), int(STREAM_S * bytes_per_s))
    return 2 * len(cell.raw_parts) * min(least, target_bytes or least)


def pilot_bytes(target_bytes: int, bytes_per_s: float) -> int:
    """Return the bytes that a pilot writes to a target at that rate; it reads as many."""
    least = max(PILOT_BYTES, int(PILOT_S * bytes_per_s))
    return len(RAW_DEPTHS) * min(least, target_bytes or least)


def raw_reasons(target: TargetSpec) -> tuple[str, ...]:
    """Return why a raw row can't run."""
    if target.size_bytes == 0 or target.size_bytes >= BLOCK_BYTES:
        return ()
    return (f"{target.path} has no room for a block of {format_bytes_exact(BLOCK_BYTES)}",)


def pilot_step(target: TargetSpec) -> Step:
    """Return the pilot that chooses the depth, which a run makes once for each device or array."""
    size = min(PILOT_BYTES, target.size_bytes // BLOCK_BYTES * BLOCK_BYTES or PILOT_BYTES)
    commands = (_argv(act, target, depth, size, PILOT_S) for act in ("write", "read") for depth in RAW_DEPTHS)
    return Step(
        StepKind.RAW_PILOT,
        f"pilot, once for each device: write straight to {target.path} and read back, {_DEPTHS} direct calls at a time,"
        f" each for {PILOT_S:g} s",
        tuple(commands),
        f"overwrites {target.path}",
    )


def stream_step(kind: StepKind, target: TargetSpec, workloads: Sequence[Workload], depths: Sequence[int]) -> Step:
    """Return a stream's step: with one depth, or a command for each depth, of which the pilot chooses one."""
    act, preposition = ("write", "to") if kind is StepKind.RAW_WRITE else ("read", "from")
    size = stream_bytes(target.size_bytes, workloads)
    many = "1 at a time" if len(depths) == 1 else f"{_DEPTHS} at a time, whichever the pilot chose"
    least = f"{format_bytes_exact(size)} and {STREAM_S:g} s at least"
    flush = "; then flush" if act == "write" else ""
    return Step(
        kind,
        f"{act} straight {preposition} {target.path}: direct {act}s of {format_bytes_exact(BLOCK_BYTES)}, {many}, {least}{flush}",
        tuple(_argv(act, target, depth, size, STREAM_S) for depth in depths),
        changes=f"overwrites {target.path}" if act == "write" else "",
    )


def readtest_step(target: TargetSpec) -> Step:
    """Return the buffered read test."""
    argv = (*_READTEST, target.path, "--json", "--watched")
    return Step(
        StepKind.READTEST,
        f"read {target.path} for {READTEST_S:g} s through the page cache",
        (argv,),
        least_s=READTEST_S,
    )


def _argv(act: str, target: TargetSpec, depth: int, size: int, seconds: float) -> tuple[str, ...]:
    bounds = ("--bytes", str(size), "--block", str(BLOCK_BYTES), "--seconds", f"{seconds:g}")
    return (*_STREAM, act, target.path, "--depth", str(depth), *bounds)


def depth_of(argv: Sequence[str]) -> int:
    """Return the depth of a stream's command."""
    return int(argv[argv.index("--depth") + 1])
