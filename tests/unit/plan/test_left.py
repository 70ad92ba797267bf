from __future__ import annotations

from dataclasses import replace

import pytest

from fsconsole.catalog.filesystem import Catalog
from fsconsole.catalog.loader import load_catalog
from fsconsole.model.plan import Cell
from fsconsole.model.state import CellState, CellStatus, RunState
from fsconsole.plan.expand import estimate, plan_left
from tests.unit.results import build

KINDS = (CellStatus.DONE, CellStatus.UNKNOWN, CellStatus.SKIPPED, CellStatus.PENDING)


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog()


def begun(cells: tuple[Cell, ...]) -> RunState:
    states = tuple(CellState(index, status, 1) for index, status in enumerate(KINDS))
    return build.run(cells, states)


@pytest.fixture
def cells() -> tuple[Cell, ...]:
    return tuple(build.cell(index, repeat=index + 1) for index in range(len(KINDS)))


def test_what_is_left_costs_no_more_than_the_cells_that_are_left(
    catalog: Catalog, cells: tuple[Cell, ...]
) -> None:
    state = begun(cells)
    left = plan_left(state, catalog)
    (target,) = state.request.targets
    sizes = {target.path: target.identity.size_bytes}
    assert [cell.index for cell in left.cells] == [1, 3]
    assert left.estimate == estimate(
        left.cells, sizes, catalog, state.request.plan.estimate.assumed_bytes_per_s
    )
    assert 0 < left.estimate.bytes_to_write < state.request.plan.estimate.bytes_to_write


def test_a_cell_that_the_engine_will_refuse_is_listed_and_breaks_no_figure(
    catalog: Catalog, cells: tuple[Cell, ...]
) -> None:
    variant = replace(cells[1].variant, filesystem="nothing-known")
    strange = (
        cells[0],
        replace(cells[1], variant=variant),
        cells[2],
        replace(cells[3], target="/dev/elsewhere"),
    )
    left = plan_left(begun(strange), catalog)
    assert [cell.index for cell in left.cells] == [1, 3]
    assert left.estimate.bytes_to_write == 0
