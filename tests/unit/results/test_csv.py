from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Variant
from fsconsole.model.state import RunState
from fsconsole.results.csv import cells_csv, guarded, summary_csv
from fsconsole.results.grid import build_grid
from fsconsole.text import printable
from tests.unit.results import build


def _cells(state: RunState) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(cells_csv(state, build_grid(state)))))


def _summary(state: RunState) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(summary_csv(state, build_grid(state)))))


def _head(metric: Metric) -> str:
    return f"{metric.column} [{metric.unit.value}]"


def test_every_cell_is_a_line_in_plan_order() -> None:
    lines = _cells(build.demo())
    assert [(line["cell"], line["variant"], line["status"]) for line in lines] == [
        ("1", "ext4 data=ordered", "done"),
        ("2", "ext4 data=writeback,nodelalloc", "done"),
        ("3", "xfs", "failed"),
        ("4", "btrfs", "unavailable"),
    ]
    assert lines[1]["check verdict"] == "errors"
    assert lines[3]["durable [B/s]"] == ""


@given(st.lists(st.floats(0, allow_nan=False, allow_infinity=False), min_size=1, max_size=5))
def test_figures_read_back_as_the_same_numbers(factors: list[float]) -> None:
    cells = [build.cell(i, repeat=i + 1) for i in range(len(factors))]
    factors = [min(factor, 1e200) for factor in factors]
    state = build.run(
        cells, [build.done(i, factors={Metric.DURABLE: factor}) for i, factor in enumerate(factors)]
    )
    read = [float(line[_head(Metric.DURABLE)]) for line in _cells(state)]
    assert read == [cell.value(Metric.DURABLE) for cell in state.cells]


def test_the_summary_has_median_n_and_spread_of_each_row() -> None:
    lines = {line["variant"]: line for line in _summary(build.repeated())}
    ordered = lines["ext4 data=ordered"]
    assert float(ordered["durable [B/s]"]) == 410.2e6
    assert ordered["durable n"] == "3"
    assert float(ordered["durable spread [%]"]) == pytest.approx(4.0)
    assert (ordered["observer [%]"], ordered["observer n"]) == ("", "0")


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_label_reads_back_as_it_was_guarded(label: str, reason: str) -> None:
    state = build.run([build.cell(0, Variant(label, "ext4"))], [build.failed(0, reason)])
    (line,) = _cells(state)
    assert line["variant"] == guarded(label or "ext4")
    assert line["reason"] == guarded(reason)


@pytest.mark.parametrize("label", ["=1+1", "+1", "-1", "@SUM(A1)", "  =1+1"])
def test_a_label_that_a_spreadsheet_would_compute_is_text(label: str) -> None:
    assert guarded(label) == f"'{label}"


@pytest.mark.parametrize("label", ["ext4 data=ordered", "xfs -m crc=1", "'=1"])
def test_any_other_label_stays_as_it_is(label: str) -> None:
    assert guarded(label) == label


@given(st.text())
def test_no_text_begins_like_a_formula_or_holds_a_control_character(text: str) -> None:
    assert not guarded(text).lstrip().startswith(("=", "+", "-", "@"))
    assert printable(guarded(text)) == guarded(text)


def test_a_run_without_cells_is_a_head_alone() -> None:
    assert _cells(build.run([], [])) == []
    assert _summary(build.run([], [])) == []
