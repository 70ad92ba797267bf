"""Sizes made to fit: file sizes shrink in whole blocks; threads and block sizes stay as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fsconsole.model.workload import Workload
from fsconsole.plan.planfile import Scale, ScaleKind

FIT_SHARE = 0.60
"""Of the smallest target's usable size: no filesystem is measured while it is nearly full."""


def written_bytes(workloads: Sequence[Workload]) -> int:
    """Return the bytes that the workloads of one cell add to its filesystem."""
    return sum(_added_bytes(workload, workloads) for workload in workloads)


def _added_bytes(workload: Workload, workloads: Sequence[Workload]) -> int:
    """Return what a workload adds; one that works on each file of its source once has as many as that has."""
    is_once = not workload.files and not workload.limit_bytes and not workload.duration_s
    if is_once and workload.source is not None:
        return replace(workload, files=workloads[workload.source].files).added_bytes
    return workload.added_bytes


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
    return replace(
        workload,
        file_size_bytes=_shrunk_size(workload.file_size_bytes, workload, factor),
        file_size_max_bytes=_shrunk_size(workload.file_size_max_bytes, workload, factor),
        limit_bytes=_shrunk_size(workload.limit_bytes, workload, factor),
    )


def _shrunk_size(size_bytes: int, workload: Workload, factor: float) -> int:
    block = workload.block_size_bytes
    return size_bytes if size_bytes <= block else max(1, int(size_bytes * factor) // block) * block
