"""A cell's steps made once more from what the cell says: to compare them, or for a device that has another name now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fsconsole.catalog.filesystem import Catalog, Filesystem
from fsconsole.model.plan import Cell, Plan
from fsconsole.model.step import Step
from fsconsole.plan.steps import Life, cell_steps
from fsconsole.plan.target import TargetSpec


def filesystem_of(cell: Cell, catalog: Catalog) -> Filesystem | None:
    """Return the cell's filesystem; None for a raw row, and for one that the catalog doesn't hold."""
    found = (filesystem for filesystem in catalog.filesystems if filesystem.name == cell.variant.filesystem)
    return next(found, None)


def rebuilt_steps(cell: Cell, target: TargetSpec, filesystem: Filesystem | None) -> tuple[Step, ...]:
    """Return the steps that a cell comes to on a target."""
    return cell_steps(
        Life(
            target=target,
            filesystem=filesystem,
            variant=cell.variant,
            workloads=cell.workloads,
            setting=cell.setting,
            equalise=cell.equalise,
            after=cell.after,
            uuid=cell.uuid,
        )
    )


def moved_plan(plan: Plan, moves: Mapping[str, TargetSpec], catalog: Catalog) -> Plan:
    """Return the plan with its cells on the devices that their targets are called by now; moves are by old path."""
    cells = tuple(_moved(cell, moves.get(cell.target), catalog) for cell in plan.cells)
    targets = tuple(moves[path].path if path in moves else path for path in plan.targets)
    return replace(plan, cells=cells, targets=targets)


def _moved(cell: Cell, target: TargetSpec | None, catalog: Catalog) -> Cell:
    if target is None or target.path == cell.target:
        return cell
    steps = rebuilt_steps(cell, target, filesystem_of(cell, catalog))
    return replace(cell, target=target.path, steps=steps)
