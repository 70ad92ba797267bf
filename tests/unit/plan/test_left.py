from __future__ import annotations

from dataclasses import replace

from fsconsole.catalog.loader import load_catalog
from fsconsole.model.plan import Cell
from fsconsole.model.state import CellState, CellStatus, RunState
from fsconsole.plan.expand import estimate, plan_left
from tests.unit.results import build

KINDS = (CellStatus.DONE, CellStatus.UNKNOWN, CellStatus.SKIPPED, CellStatus.PENDING)


def begun(cells: tuple[Cell, ...]) -> RunState:
    states = tuple(CellState(index, status, 1) for index, status in enumerate(KINDS))
    return build.run(cells, states)


CELLS = tuple(build.cell(index, repeat=index + 1) for index in range(len(KINDS)))
CATALOG = load_catalog()


def test_what_is_left_costs_no_more_than_the_cells_that_are_left() -> None:
    state = begun(CELLS)
    left = plan_left(state, CATALOG)
    (target,) = state.request.targets
    sizes = {target.path: target.identity.size_bytes}
    assert [cell.index for cell in left.cells] == [1, 3]
    assert left.estimate == estimate(
        left.cells, sizes, CATALOG, state.request.plan.estimate.assumed_bytes_per_s
    )
    assert 0 < left.estimate.bytes_to_write < state.request.plan.estimate.bytes_to_write


def test_a_cell_that_the_engine_will_refuse_is_listed_and_breaks_no_figure() -> None:
    variant = replace(CELLS[1].variant, filesystem="nothing-known")
    unknown, elsewhere = replace(CELLS[1], variant=variant), replace(CELLS[3], target="/dev/elsewhere")
    strange = (CELLS[0], unknown, CELLS[2], elsewhere)
    left = plan_left(begun(strange), CATALOG)
    assert [cell.index for cell in left.cells] == [1, 3]
    assert left.estimate.bytes_to_write == 0
