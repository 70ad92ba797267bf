"""Durable figures stand against the raw row of the same device, settings and workload, and no other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fsconsole.model.events import Outcome
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import RAW, Cell, Setting, StepKind, Variant
from fsconsole.model.state import CellState, CellStatus, RunState, StepState
from fsconsole.model.workload import Workload
from fsconsole.results.grid import COLUMNS_WITH_RAW, DEFAULT_COLUMNS, Grid, build_grid, columns_for
from tests.unit.results import build

RAW_ROW = Variant(RAW, RAW)
DURABLE = build.FIGURES[Metric.DURABLE]


def raw_state(index: int, *, one: float, many: float | None) -> CellState:
    figures = [Measurement(Metric.RAW_WRITE_1, one), Measurement(Metric.DURABLE, one)]
    if many is not None:
        figures += [Measurement(Metric.RAW_WRITE_N, many), Measurement(Metric.DURABLE, many)]
    step = StepState(1, StepKind.RAW_WRITE, "write", 0, Outcome.DONE, 1.0, measurements=tuple(figures))
    return CellState(index, CellStatus.DONE, 1, steps=(step,))


def cells(*variants: Variant, setting: Setting | None = None, threads: int = 16) -> list[Cell]:
    workload: Workload = replace(build.LARGE_FILES, threads=threads)
    return [
        replace(build.cell(index, variant), setting=setting or Setting(), workloads=(workload,))
        for index, variant in enumerate(variants)
    ]


def shares(grid: Grid, name: str) -> tuple[float | None, ...]:
    (row,) = (row for row in grid.rows if row.name == name)
    figures = (row.figure(metric) for metric in (Metric.OF_RAW_1, Metric.OF_RAW_N))
    return tuple(figure.median if figure is not None else None for figure in figures)


def grid_of(planned: list[Cell], states: list[CellState]) -> Grid:
    state: RunState = build.run(planned, states)
    return build_grid(state)


def test_both_shares_are_of_durable_and_may_exceed_100() -> None:
    grid = grid_of(
        cells(RAW_ROW, build.XFS), [raw_state(0, one=DURABLE / 2, many=DURABLE * 4), build.done(1)]
    )
    assert shares(grid, "xfs") == (pytest.approx(200), pytest.approx(25))
    assert shares(grid, RAW) == (None, None)
    assert columns_for(grid) == COLUMNS_WITH_RAW


def test_the_raw_rows_median_over_its_repeats_counts() -> None:
    planned = [replace(cell, repeat=index + 1) for index, cell in enumerate(cells(RAW_ROW, RAW_ROW, RAW_ROW))]
    planned.append(build.cell(3, build.XFS))
    raws = [raw_state(index, one=DURABLE * factor, many=DURABLE) for index, factor in enumerate((1, 2, 100))]
    assert shares(grid_of(planned, [*raws, build.done(3)]), "xfs") == (pytest.approx(50), pytest.approx(100))


def test_one_thread_is_one_stream() -> None:
    states = [raw_state(0, one=DURABLE * 2, many=None), build.done(1)]
    assert shares(grid_of(cells(RAW_ROW, build.XFS, threads=1), states), "xfs") == (pytest.approx(50),) * 2
    assert shares(grid_of(cells(RAW_ROW, build.XFS, threads=4), states), "xfs") == (pytest.approx(50), None)


def test_a_raw_row_with_other_settings_is_no_reference() -> None:
    other = cells(build.XFS, setting=Setting((("read_ahead", "2MiB"),)))
    planned = [*cells(RAW_ROW), replace(other[0], index=1)]
    grid = grid_of(planned, [raw_state(0, one=1e6, many=1e6), build.done(1)])
    assert shares(grid, "xfs") == (None, None)
    assert columns_for(grid) == DEFAULT_COLUMNS


def test_rows_are_told_apart_by_the_settings_that_differ_and_by_no_other() -> None:
    planned = [
        replace(build.cell(index, build.XFS), setting=Setting((("read_ahead", value), ("scheduler", "none"))))
        for index, value in enumerate(("128KiB", "2MiB"))
    ]
    grid = grid_of(planned, [build.done(0), build.done(1)])
    assert sorted(row.name for row in grid.rows) == ["xfs, read_ahead=128KiB", "xfs, read_ahead=2MiB"]


def test_a_raw_row_without_figures_gives_no_shares() -> None:
    grid = grid_of(cells(RAW_ROW, build.XFS), [build.failed(0), build.done(1)])
    assert shares(grid, "xfs") == (None, None)


def test_workloads_of_the_same_threads_stand_against_one_raw_row() -> None:
    two = (build.LARGE_FILES, replace(build.LARGE_FILES, name="more"))
    planned = [replace(cell, workloads=two) for cell in cells(RAW_ROW, build.XFS)]
    write = replace(build.done(1).steps[2], number=1, kind=StepKind.RAW_WRITE)
    raw = replace(raw_state(0, one=DURABLE, many=DURABLE * 2), steps=(write,))
    grid = grid_of(planned, [raw, build.done(1)])
    assert [row.name for row in grid.rows if row.key.variant.is_raw] == [RAW]
