"""Published figures: what is shipped, in base units, and what a wrong file is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsconsole.errors import FsconsoleError
from fsconsole.errors.targets import PlanBadValue, PlanMissing, PlanNotToml, PlanUnknownKey
from fsconsole.model.metrics import Metric
from fsconsole.plan.publications import find_publication, list_publications, read_publication
from fsconsole.text import MIB

HEAD = 'schema = 1\ntitle = "t"\nsource = "s"\ndate = "2008"\nmachine = "m"\nworkload = "w"\n'
COLUMNS = '[columns]\nspeed = { metric = "durable", unit = "MiB/s" }\n'


@pytest.mark.parametrize("path", list_publications(), ids=lambda path: path.stem)
def test_every_shipped_publication_says_whose_it_is_and_has_figures_in_every_row(path: Path) -> None:
    publication = read_publication(path)
    assert all((publication.title, publication.source, publication.date, publication.machine))
    assert all(row.figures for row in publication.rows)


def test_both_tables_of_the_large_file_study_are_whole() -> None:
    rows = find_publication("bull-2008").rows
    assert [sum(row.table == table for row in rows) for table in ("unpatched", "patched")] == [13, 18]
    assert sum(row.value(Metric.DELETE) is not None for row in rows) == 18
    assert sum(row.value(Metric.CHECK) is not None for row in rows) == 11 + 11


def test_what_ffsb_calls_mb_is_counted_in_mib() -> None:
    row = next(
        row for row in find_publication("bull-2008").rows
        if row.as_printed == "ext4 -I 256 data=writeback" and row.table == "patched"
    )  # fmt: skip
    assert row.value(Metric.DURABLE) == 76.9 * MIB
    assert row.value(Metric.CPU_GENERATOR) == 30.9
    assert row.value(Metric.DELETE) == 13.8
    assert row.value(Metric.WRITE) is None


def test_a_name_that_is_not_shipped_is_told_with_the_nearest() -> None:
    with pytest.raises(PlanMissing, match="bull-2008"):
        find_publication("bull-2009")


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("schema = ", PlanNotToml, "Invalid value"),
        (HEAD + "colour = 1\n", PlanUnknownKey, "colour"),
        (HEAD + '[columns]\nspeed = { metric = "durable", unit = "s" }\n', PlanBadValue, "not counted in it"),
        (HEAD + '[columns]\nspeed = { metric = "fast", unit = "s" }\n', PlanBadValue, "not a valid value"),
        (HEAD + COLUMNS + '[[row]]\nas_printed = "x"\nspeed = "quick"\n', PlanBadValue, "must be a number"),
        (HEAD + COLUMNS + '[[row]]\nas_printed = "x"\nsped = 1\n', PlanUnknownKey, "row[0].sped"),
        (HEAD + COLUMNS + "[[row]]\nspeed = 1\n", PlanBadValue, "missing"),
    ],
)
def test_a_wrong_file_is_told_by_its_key(
    tmp_path: Path, text: str, error: type[FsconsoleError], words: str
) -> None:
    path = tmp_path / "p.toml"
    path.write_text(text)
    with pytest.raises(error) as caught:
        read_publication(path)
    assert words in str(caught.value)
