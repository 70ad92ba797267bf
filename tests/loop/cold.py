"""Cold means cold: what a cell reads from its device, here on a loop device and in the lab's guests on arrays."""

from __future__ import annotations

from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Cell, StepKind
from fsconsole.model.state import CellState

READ_BY_BTRFS_MOUNT = 74
"""A mount of btrfs reads the first leaf of the tree of files (the root directory's) and the last (where orphans would be). A leaf
has 16 KiB, a file at least 440 bytes in it: with so many files or fewer nothing may be left that an rm has to read."""


def device_moved(
    cell: CellState, planned: Cell, metric: Metric = Metric.DEVICE_READ
) -> dict[tuple[StepKind, int | None], float]:
    """Return what the device read, or moved by another metric, in each kind of step, of loads in each load with its drain."""
    found: dict[tuple[StepKind, int | None], float] = {}
    for step in cell.steps:
        kind = StepKind.WORKLOAD if step.kind is StepKind.DRAIN else step.kind
        of = kind, planned.steps[step.number].workload
        found[of] = sum((one.value for one in step.measurements if one.metric is metric), found.get(of, 0))
    return found


def assert_cold(cell: CellState, planned: Cell) -> None:
    """Prove that the device was read in all that began with cold caches: loads, and the rm at the end."""
    read = device_moved(cell, planned)
    for number, load in enumerate(planned.workloads):
        if load.cold:
            assert read[StepKind.WORKLOAD, number] > 0, (planned.variant.label, load.name)
    if (StepKind.DELETE, None) in read:
        files = sum(one.value for step in cell.steps for one in step.measurements if one.metric is Metric.FILES_MAPPED)
        is_with_mount = planned.variant.filesystem == "btrfs" and files <= READ_BY_BTRFS_MOUNT
        of = StepKind.COLD_MOUNT if is_with_mount else StepKind.DELETE
        assert read[of, None] > 0, (planned.variant.label, of)
