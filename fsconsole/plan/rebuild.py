"""A cell's steps made once more from what the cell says: to compare them, or for a device that has another name now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fsconsole.catalog.filesystem import Catalog, Filesystem
from fsconsole.model.plan import Cell, Plan
from fsconsole.model.step import Step
from fsconsole.plan.array_place import array_place
from fsconsole.plan.array_steps import ArrayLife
from fsconsole.plan.expand import array_uuid
from fsconsole.plan.steps import Life, cell_steps
from fsconsole.plan.target import TargetSpec


def filesystem_of(cell: Cell, catalog: Catalog) -> Filesystem | None:
    """Return the cell's filesystem; None for a raw row, and for one that the catalog doesn't hold."""
    found = (filesystem for filesystem in catalog.filesystems if filesystem.name == cell.variant.filesystem)
    return next(found, None)


def rebuilt_steps(
    cell: Cell, devices: Sequence[TargetSpec], filesystem: Filesystem | None, run_id: str
) -> tuple[Step, ...]:
    """Return the steps that a cell comes to on its devices: one target, or the members of its array in their order."""
    spec, members = cell.array, tuple(devices)
    return cell_steps(
        Life(
            target=array_place(spec, members) if spec else members[0],
            array=ArrayLife(spec, members, array_uuid(run_id, cell.index)) if spec else None,
            filesystem=filesystem,
            variant=cell.variant,
            workloads=cell.workloads,
            setting=cell.setting,
            equalise=cell.equalise,
            after=cell.after,
            uuid=cell.uuid,
        )
    )


def moved_plan(plan: Plan, now: Mapping[str, TargetSpec], catalog: Catalog, run_id: str) -> Plan:
    """Return the plan with its cells on the devices that their targets are called by now; now is by old path."""
    cells = tuple(_moved(cell, now, catalog, run_id) for cell in plan.cells)
    targets = tuple(now[path].path if path in now else path for path in plan.targets)
    return replace(plan, cells=cells, targets=targets)


def _moved(cell: Cell, now: Mapping[str, TargetSpec], catalog: Catalog, run_id: str) -> Cell:
    devices = [now[path] for path in cell.devices if path in now]
    paths = tuple(device.path for device in devices)
    if len(devices) < len(cell.devices) or paths == cell.devices:
        return cell
    steps = rebuilt_steps(cell, devices, filesystem_of(cell, catalog), run_id)
    if cell.array is None:
        return replace(cell, target=paths[0], steps=steps)
    return replace(cell, members=paths, steps=steps)
