"""Sizes made to fit: file sizes shrink in whole blocks; threads and block sizes stay as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fsconsole.model.workload import Workload, WorkloadKind
from fsconsole.plan.planfile import Scale, ScaleKind

FIT_SHARE = 0.60
"""Of the smallest target's usable size: no filesystem is measured while it is nearly full."""

WRITING = frozenset({WorkloadKind.CREATE, WorkloadKind.APPEND, WorkloadKind.MIX})
"""Kinds whose bytes take room."""


def written_bytes(workloads: Sequence[Workload]) -> int:
    """Return the bytes that the workloads of one cell add to its filesystem."""
    return sum(workload.total_bytes for workload in workloads if workload.kind in WRITING)


def scaled(workloads: tuple[Workload, ...], scale: Scale, usable_bytes: int) -> tuple[Workload, ...]:
    """Return one cell's workloads with their sizes shrunk; usable_bytes 0 (not known) fits everything."""
    factor = _factor(workloads, scale, usable_bytes)
    return tuple(_shrunk(workload, factor) for workload in workloads) if factor < 1 else workloads


def _factor(workloads: tuple[Workload, ...], scale: Scale, usable_bytes: int) -> float:
    if scale.kind is ScaleKind.FACTOR:
        return scale.factor
    wanted = written_bytes(workloads)
    if scale.kind is ScaleKind.NONE or wanted == 0 or usable_bytes == 0:
        return 1.0
    return min(1.0, usable_bytes * FIT_SHARE / wanted)


def _shrunk(workload: Workload, factor: float) -> Workload:
    block = workload.block_size_bytes
    if workload.file_size_bytes <= block:
        return workload
    blocks = int(workload.file_size_bytes * factor) // block
    return replace(workload, file_size_bytes=max(1, blocks) * block)
