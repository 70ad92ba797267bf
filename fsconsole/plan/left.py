"""What is left of a plan that was begun, and what that costs."""

from __future__ import annotations

from dataclasses import replace

from fsconsole.catalog.filesystem import Catalog
from fsconsole.model.plan import Cell, Plan
from fsconsole.model.state import OPEN_STATUSES, RunState
from fsconsole.plan.estimate import estimate
from fsconsole.plan.rebuild import filesystem_of


def plan_left(state: RunState, catalog: Catalog) -> Plan:
    """Return a run's plan with the cells alone that an engine would take up, and with the estimate of those."""
    whole = state.request.plan
    known = zip(whole.cells, state.cells, strict=True)
    cells = tuple(cell for cell, found in known if found.status in OPEN_STATUSES)
    sizes = {target.path: target.identity.size_bytes for target in state.request.targets}
    # The engine refuses any other cell of a damaged run folder: here it is listed all the same.
    counted = [cell for cell in cells if sizes.keys() >= set(cell.devices) and _is_known(cell, catalog)]
    cost = estimate(counted, sizes, catalog, whole.estimate.assumed_bytes_per_s)
    return replace(whole, cells=cells, estimate=cost)


def _is_known(cell: Cell, catalog: Catalog) -> bool:
    return cell.variant.is_raw or filesystem_of(cell, catalog) is not None
