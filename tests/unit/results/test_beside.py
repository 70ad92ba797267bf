"""Published rows laid beside a run's own: under the row that they mean, labelled, and never ranked."""

from __future__ import annotations

import json
from dataclasses import replace

from fsconsole.model.figures import Measurement, Publication, PublishedRow
from fsconsole.model.metrics import Metric
from fsconsole.model.state import RunState
from fsconsole.results.grid import Grid, build_grid, columns_beside
from fsconsole.results.json import render_json
from fsconsole.results.markdown import render_markdown
from fsconsole.results.text import render_text
from tests.unit.results import build

PRINTED = "ext4 -I 256 data=ordered"


def row(table: str, words: str, durable: float, note: str = "") -> PublishedRow:
    figures = (Measurement(Metric.DURABLE, durable), Measurement(Metric.CHECK, 5336.0))
    return PublishedRow(table, words, figures, note)


PUBLICATION = Publication(
    "study", "A study", "Somebody, [/somewhere]", "2008-05", "two disks", "128 files",
    (row("first", PRINTED, 9999e6), row("second", PRINTED, 1e6), row("", "xfs", 2e6, "a note")),
)  # fmt: skip


def a_run() -> RunState:
    ext4 = replace(build.EXT4, as_printed=PRINTED)
    return build.run((build.cell(0, ext4), build.cell(1, build.BTRFS)), (build.done(0), build.done(1)))


def laid() -> tuple[RunState, Grid]:
    state = a_run()
    return state, build_grid(state, publication=PUBLICATION)


def test_a_published_row_stands_under_its_own_and_the_rest_at_the_end_and_none_is_ranked() -> None:
    state, grid = laid()
    text = render_text(state, grid, standing="finished", columns=columns_beside(grid))
    lines = [line for line in text.splitlines() if line.startswith(("ext4", "btrfs", "  published"))]
    assert [line[:24].rstrip() for line in lines] == [
        "ext4 data=ordered",
        "  published (first)",
        "  published (second)",
        "btrfs",
        "  published: xfs",
    ]
    assert "9999" in lines[1]
    assert "5336" in lines[1]
    assert "a note" in text
    assert (
        "Published: Somebody, [/somewhere], 2008-05; not of this run and not ranked with it."
        in text.replace("\n", " ")
    )
    _, grid = laid()
    assert [known.name for known in grid.rows] == ["ext4 data=ordered", "btrfs"]
    state, grid = laid()
    text = render_text(state, grid, standing="finished", columns=columns_beside(grid))
    assert max(map(len, text.splitlines())) <= 80


def test_markdown_and_json_say_what_is_published() -> None:
    state, grid = laid()
    text = render_markdown(state, grid, standing="finished", columns=columns_beside(grid))
    assert "| published (first) |" in text.replace("  published", "published")
    document = json.loads(render_json(state, grid, standing="finished"))
    assert document["published"]["rows"][0]["as_printed"] == PRINTED
    assert json.loads(render_json(state, build_grid(state), standing="finished"))["published"] is None
