"""Which workload's files another one works on, and a planned workload as the cell's own."""

from __future__ import annotations

from collections.abc import Sequence

from fsconsole.model.workload import Workload, WorkloadKind
from fsconsole.plan.planfile import WorkloadPlan

_SEED_STEP = 0x9E3779B97F4A7C15
"""2**64 / golden ratio: neighbouring seeds give unlike numbers."""


def source_of(workloads: Sequence[WorkloadPlan], number: int) -> int | None:
    """Return the nearest create before a workload, that of the name it asks for; None where there is none."""
    wanted = workloads[number].of
    for other in range(number - 1, -1, -1):
        candidate = workloads[other]
        if candidate.kind is WorkloadKind.CREATE and wanted in ("", candidate.name):
            return other
    return None


def workload_of(workloads: Sequence[WorkloadPlan], number: int, threads: int, seed: int) -> Workload:
    """Return a planned workload with one choice of threads; seed is the plan's."""
    planned = workloads[number]
    is_create = planned.kind is WorkloadKind.CREATE
    is_limited = planned.limit_bytes or planned.duration_s
    return Workload(
        name=planned.name,
        kind=planned.kind,
        threads=threads,
        files=planned.files or (threads if is_create and not is_limited else 0),
        file_size_bytes=planned.file_size_bytes,
        block_size_bytes=planned.block_size_bytes,
        directories=planned.directories,
        data=planned.data,
        cold=planned.cold,
        file_size_max_bytes=planned.file_size_max_bytes,
        zero_share=planned.zero_share,
        direct=planned.direct,
        fsync_every=planned.fsync_every,
        limit_bytes=planned.limit_bytes,
        duration_s=planned.duration_s,
        end=planned.end,
        weights=planned.weights,
        source=None if is_create else source_of(workloads, number),
        seed=(seed + number * _SEED_STEP) % 2**63,
        settings=planned.settings,
    )
