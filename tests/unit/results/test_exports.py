"""A run as CSV, JSON and Markdown."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.model.contract import document_text
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Variant
from fsconsole.model.state import RunState
from fsconsole.results.csv import cells_csv, summary_csv, written
from fsconsole.results.grid import build_grid
from fsconsole.results.json import render_json
from fsconsole.results.markdown import escaped, render_markdown
from fsconsole.text import printable
from tests.unit.results import build


def _lines_of(state: RunState) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(cells_csv(state, build_grid(state)))))


def _summary(state: RunState) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(summary_csv(state, build_grid(state)))))


def _csv_head(metric: Metric) -> str:
    return f"{metric.column} [{metric.unit.value}]"


def test_every_cell_is_a_line_in_plan_order_below_the_head() -> None:
    lines = _lines_of(build.demo())
    assert [(line["cell"], line["variant"], line["outcome"]) for line in lines] == [
        ("1", "ext4 data=ordered", "done"),
        ("2", "ext4 data=writeback,nodelalloc", "done"),
        ("3", "xfs", "failed"),
        ("4", "btrfs", "unavailable"),
    ]
    assert lines[1]["check verdict"] == "errors"
    assert lines[3]["durable [B/s]"] == ""
    assert [line["warnings"] for line in lines] == ["short; not-comparable", "short", "", ""]
    assert _lines_of(build.run([], [])) == []
    assert _summary(build.run([], [])) == []


def test_columns_that_are_empty_in_all_lines_are_left_out_unless_they_were_chosen() -> None:
    state = build.demo()
    for text in (cells_csv(state, build_grid(state)), summary_csv(state, build_grid(state))):
        head, *lines = csv.reader(io.StringIO(text))
        known = head[head.index(next(name for name in head if name.endswith("]"))) :]
        assert _csv_head(Metric.DURABLE) in known
        assert [name for name in known if not any(line[head.index(name)] for line in lines)] == []
    chosen = cells_csv(state, build_grid(state), (Metric.LOST_SYNCED,))
    assert _csv_head(Metric.LOST_SYNCED) in chosen.splitlines()[0]


@given(st.lists(st.floats(0, allow_nan=False, allow_infinity=False), min_size=1, max_size=5))
def test_figures_read_back_as_the_same_numbers(factors: list[float]) -> None:
    cells = [build.cell(i, repeat=i + 1) for i in range(len(factors))]
    factors = [min(factor, 1e200) for factor in factors]
    state = build.run(cells, [build.done(i, factors={Metric.DURABLE: factor}) for i, factor in enumerate(factors)])
    read = [float(line[_csv_head(Metric.DURABLE)]) for line in _lines_of(state)]
    assert read == [cell.value(Metric.DURABLE) for cell in state.cells]


def test_the_summary_has_median_n_and_spread_of_each_row() -> None:
    lines = {(line["block"], line["variant"]): line for line in _summary(build.repeated())}
    assert list(lines) == [(block, name) for block, *names in (
        ("large files", "xfs", "ext4 data=ordered"), ("filesystem", "ext4 data=ordered", "xfs"),
    ) for name in names]  # fmt: skip
    ordered = lines["large files", "ext4 data=ordered"]
    assert float(ordered["durable [B/s]"]) == pytest.approx(410.2e6)
    assert float(ordered["durable median"]) == 410.2e6
    assert (ordered["durable n"], ordered["mkfs n"], ordered["verdict"]) == ("3", "0", "baseline")
    assert lines["filesystem", "xfs"]["verdict"] == "same"
    assert float(ordered["durable spread [%]"]) == pytest.approx(4.0)
    assert "observer [%]" not in ordered


def guarded(text: str) -> str:
    """Return a field as a spreadsheet gets it."""
    (_, (field,)) = csv.reader(io.StringIO(written(["field"], [[text]], for_spreadsheet=True), newline=""))
    return field


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_label_reads_back_as_it_was_printed(label: str, reason: str) -> None:
    state = build.run([build.cell(0, Variant(label, "ext4"))], [build.failed(0, reason)])
    (line,) = _lines_of(state)
    assert line["variant"] == printable(label or "ext4")
    assert line["reason"] == printable(reason)


def test_a_label_that_a_spreadsheet_would_compute_is_text_and_any_other_stays() -> None:
    for label in ("=1+1", "+1", "-m reflink=0", "@SUM(A1)", "  =1+1"):
        assert guarded(label) == f"'{label}", label
    for label in ("ext4 data=ordered", "xfs -m crc=1", "'=1", "-0.15", "-1e-07"):
        assert guarded(label) == label, label


@given(st.text(st.characters(exclude_characters="0123456789.")))
def test_no_text_begins_like_a_formula_or_holds_a_control_character(text: str) -> None:
    assert not guarded(text).lstrip().startswith(("=", "+", "-", "@"))
    assert printable(guarded(text)) == guarded(text)


# JSON.


def _document(state: RunState) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(render_json(state, build_grid(state), standing="finished"))
    return document


def test_the_document_has_these_keys_also_without_cells() -> None:
    document = _document(build.demo())
    assert set(document) == {
        "schema", "run", "machine", "targets", "metrics", "blocks", "rows", "requirements", "findings", "cells", "warnings",
        "published",
    }  # fmt: skip
    assert set(document["rows"][0]) == {
        "name", "target", "array", "setting", "variant", "workloads", "workload",
        "members", "cells", "figures", "check_verdict", "check_costs", "notes",
    }  # fmt: skip
    assert set(document["cells"][0]) == {
        "cell", "target", "array", "members", "variant", "repeat", "redo", "counts", "uuid", "equalise",
        "outcome", "attempt", "reason", "steps", "features", "warnings",
    }  # fmt: skip
    assert set(document["warnings"][0]) == {"kind", "reason", "hint", "cells"}
    assert document["schema"] == 4
    document = _document(build.run([], []))
    assert (document["rows"], document["cells"]) == ([], [])


def test_metrics_rows_and_steps_have_their_figures_with_units() -> None:
    metrics = _document(build.demo())["metrics"]
    assert set(metrics) == {metric.value for metric in Metric}
    assert metrics["durable"]["unit"] == "B/s"
    rows = {row["name"]: row for row in _document(build.repeated())["rows"]}
    durable = rows["ext4 data=ordered"]["figures"]["durable"]
    assert durable["values"] == [410.2e6, 410.2e6 * 1.02, 410.2e6 * 0.98]
    assert (durable["median"], durable["n"], durable["unit"]) == (410.2e6, 3, "B/s")
    steps = _document(build.demo())["cells"][0]["steps"]
    assert steps[1]["kind"] == "mkfs"
    assert steps[1]["measurements"] == [{"metric": "mkfs", "value": 0.0431, "unit": "s"}]


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_label_comes_back_and_acts_on_no_terminal(label: str) -> None:
    state = build.run([build.cell(0, Variant(label, "ext4"))], [build.failed(0, label)])
    text = render_json(state, build_grid(state), standing="finished")
    assert all(character == "\n" or (character.isascii() and character.isprintable()) for character in text)
    assert json.loads(text)["cells"][0]["variant"] == label


def test_a_del_character_is_escaped() -> None:
    assert document_text("\x7f\\x7f") == r'"\u007f\\x7f"'


# Markdown.


def _markdown(state: RunState) -> str:
    return render_markdown(state, build_grid(state), standing="finished")


def test_the_table_has_a_head_a_rule_and_a_line_per_row_with_notes_last() -> None:
    lines = _markdown(build.demo()).splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert table[0].startswith(r"| variant | write \[MB/s\] | durable \[MB/s\] |")
    assert table[1].startswith("| --- | ---: |")
    assert len(table) == 2 * (2 + 4)
    assert "| errors 3.120 |" in table[9]
    assert "failed: mkfs: mkfs.xfs failed" in table[4]
    table = [line for line in _markdown(build.demo()).splitlines() if line.startswith("|")]
    assert table[0].endswith("| notes |")
    table = table[:6]
    assert [line.count(" | ") for line in table] == [table[0].count(" | ")] * len(table)
    assert table[2].endswith("|  |")
    assert table[4].endswith("no room |")


@given(st.text(max_size=60))
def test_no_label_changes_the_table_s_shape(label: str) -> None:
    state = build.run([build.cell(0, Variant(label, "ext4"))], [build.failed(0, label)])
    table = [line for line in _markdown(state).split("\n") if line.startswith("|")]
    bars = {len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in table}
    assert len(table) == 3
    assert len(bars) == 1


def test_markup_is_escaped() -> None:
    assert escaped("<b>|`*_[x](y)") == r"\<b\>\|\`\*\_\[x\](y)"
    assert escaped("https://example.org") == r"https\://example.org"
    assert escaped("a\nb\x1b") == r"a\\nb\\x1b"


def test_warnings_and_facts_stand_below_their_headings_between_empty_lines() -> None:
    text = _markdown(build.demo())
    assert "- a **short** (cells 1-2): it took 3.1 s. Write more" in text
    assert "- Kernel 6.18.0 on box" in text
    assert "MB = 10^6 bytes" in text
    lines = ["", *_markdown(build.demo()).split("\n")]
    headings = [at for at, line in enumerate(lines) if line.startswith("#")]
    assert len(headings) == 5
    assert all(not lines[at - 1] and not lines[at + 1] for at in headings)
    assert "The plan has no cells." in _markdown(build.run([], []))
