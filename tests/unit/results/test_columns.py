from __future__ import annotations

import pytest

from fsconsole.errors import ExitCode
from fsconsole.errors.runs import UnknownColumn
from fsconsole.model.metrics import Metric
from fsconsole.results.grid import (
    COLUMNS_WITH_RAW,
    DEFAULT_COLUMNS,
    column_named,
    columns_named,
    highest_first,
    with_read,
)


@pytest.mark.parametrize("metric", list(Metric))
def test_a_column_is_found_by_its_head_and_by_its_stored_name(metric: Metric) -> None:
    assert column_named(metric.column) is metric
    assert column_named(metric.value.upper().replace("_", "-")) is metric


def test_an_unknown_column_is_told_with_the_nearest_names() -> None:
    with pytest.raises(UnknownColumn) as caught:
        column_named("durabel")
    assert str(caught.value) == "There is no column 'durabel'."
    assert caught.value.hint.startswith("Did you mean durable")
    assert caught.value.exit_code is ExitCode.USAGE


def test_a_name_like_no_other_gets_the_usual_columns_for_a_hint() -> None:
    with pytest.raises(UnknownColumn, match="no column") as caught:
        column_named("\x1b[31m§§§")
    assert "write, durable, CPU" in caught.value.hint


def test_columns_keep_their_order_and_come_once() -> None:
    assert columns_named("mkfs, write,,mkfs") == (Metric.MKFS, Metric.WRITE)


def test_a_list_without_a_name_is_refused() -> None:
    with pytest.raises(UnknownColumn):
        columns_named(" , ")


def test_rates_are_sorted_from_the_highest_and_times_from_the_lowest() -> None:
    assert highest_first(Metric.DURABLE)
    assert highest_first(Metric.FILES_PER_S)
    assert not highest_first(Metric.CHECK)
    assert not highest_first(Metric.CPU)


@pytest.mark.parametrize("columns", [DEFAULT_COLUMNS, COLUMNS_WITH_RAW])
def test_reads_stand_behind_durable_and_the_grid_grows_no_wider(columns: tuple[Metric, ...]) -> None:
    shown = with_read(columns)
    assert len(shown) <= len(columns)
    assert shown[shown.index(Metric.DURABLE) + 1] is Metric.READ
    assert set(columns) - set(shown) <= {Metric.MKFS, Metric.CHECK, Metric.DELETE}


def test_beside_a_raw_row_mkfs_gives_way_to_both_shares_of_it() -> None:
    shares = {Metric.OF_RAW_1, Metric.OF_RAW_N}
    assert set(COLUMNS_WITH_RAW) == {*DEFAULT_COLUMNS, *shares} - {Metric.MKFS}
