from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Variant
from fsconsole.model.state import RunState
from fsconsole.results.grid import build_grid
from fsconsole.results.json import ascii_json, render_json
from tests.unit.results import build


def _document(state: RunState) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(render_json(state, build_grid(state), standing="finished"))
    return document


def test_the_document_has_these_keys() -> None:
    document = _document(build.demo())
    assert set(document) == {
        "schema", "run", "machine", "targets", "metrics", "sorted_by", "rows", "cells", "warnings", "published",
    }  # fmt: skip
    assert set(document["rows"][0]) == {
        "name", "target", "array", "setting", "variant", "workloads", "workload",
        "members", "cells", "figures", "check_verdict", "notes",
    }  # fmt: skip
    assert set(document["cells"][0]) == {
        "cell", "target", "array", "members", "variant", "repeat", "uuid", "equalise",
        "status", "attempt", "reason", "steps", "features", "warnings",
    }  # fmt: skip
    assert set(document["warnings"][0]) == {"kind", "reason", "hint", "cells"}
    assert document["schema"] == 1


def test_every_metric_is_defined_with_its_unit() -> None:
    metrics = _document(build.demo())["metrics"]
    assert set(metrics) == {metric.value for metric in Metric}
    assert metrics["durable"]["unit"] == "B/s"


def test_a_row_has_its_statistics_and_its_raw_values_with_the_unit() -> None:
    rows = {row["name"]: row for row in _document(build.repeated())["rows"]}
    durable = rows["ext4 data=ordered"]["figures"]["durable"]
    assert durable["values"] == [410.2e6, 410.2e6 * 1.02, 410.2e6 * 0.98]
    assert (durable["median"], durable["n"], durable["unit"]) == (410.2e6, 3, "B/s")


def test_a_cell_has_its_steps_with_their_figures() -> None:
    steps = _document(build.demo())["cells"][0]["steps"]
    assert steps[1]["kind"] == "mkfs"
    assert steps[1]["measurements"] == [{"metric": "mkfs", "value": 0.0431, "unit": "s"}]


def test_a_run_without_cells_is_a_document_too() -> None:
    document = _document(build.run([], []))
    assert (document["rows"], document["cells"]) == ([], [])


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_any_label_comes_back_and_acts_on_no_terminal(label: str) -> None:
    state = build.run([build.cell(0, Variant(label, "ext4"))], [build.failed(0, label)])
    text = render_json(state, build_grid(state), standing="finished")
    assert all(character == "\n" or (character.isascii() and character.isprintable()) for character in text)
    assert json.loads(text)["cells"][0]["variant"] == label


def test_a_del_character_is_escaped() -> None:
    assert ascii_json("\x7f\\x7f") == r'"\u007f\\x7f"'
