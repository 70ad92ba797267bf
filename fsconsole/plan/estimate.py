"""What a plan will cost, before it costs anything."""

from __future__ import annotations

from collections.abc import Sequence

from fsconsole.catalog.filesystem import Catalog
from fsconsole.model.plan import Cell, Equalise, Estimate
from fsconsole.plan.array_place import usable_bytes
from fsconsole.plan.arrays import resyncs
from fsconsole.plan.raw import raw_bytes
from fsconsole.plan.scale import written_bytes

ROTATING_BYTES_PER_S = 150e6
FLASH_BYTES_PER_S = 500e6
"""Rates assumed for a disk that turns and for one that doesn't: the orders of today's disks, no promise."""
FIXED_CELL_S = 3.0
"""mkfs, mounts, check and delete of a small cell, taken together."""

_PASSES = {Equalise.DISCARD: 0, Equalise.NONE: 0, Equalise.ZERO: 1, Equalise.PRECONDITION: 2}
"""How often the whole target is written to make cells equal."""


def estimate(
    cells: Sequence[Cell], sizes: dict[str, int], catalog: Catalog, assumed_bytes_per_s: float
) -> Estimate:
    """Return bytes and seconds of all cells that can run; sizes maps paths of targets, or of members, to bytes."""
    running = [cell for cell in cells if not cell.unavailable]
    total = sum(_cell_bytes(cell, sizes, catalog) for cell in running)
    limited_s = sum(
        workload.duration_s for cell in running if not cell.variant.is_raw for workload in cell.workloads
    )
    elapsed_s = total / assumed_bytes_per_s + FIXED_CELL_S * len(running) + limited_s
    return Estimate(total, elapsed_s, assumed_bytes_per_s)


def _cell_bytes(cell: Cell, sizes: dict[str, int], catalog: Catalog) -> int:
    of_devices = [sizes[path] for path in cell.devices]
    size_bytes = usable_bytes(cell.array, of_devices) if cell.array else of_devices[0]
    equalise = _PASSES[cell.equalise] * sum(of_devices)
    if cell.array and resyncs(cell.array):
        # Redundancy is written once over; the members beside it are read.
        equalise += max(of_devices)
    if cell.variant.is_raw:
        return equalise + raw_bytes(size_bytes, cell.workloads)
    share = catalog.get(cell.variant.filesystem).metadata_share
    return equalise + int(share * size_bytes) + written_bytes(cell.workloads)
