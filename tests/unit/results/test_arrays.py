"""Where a cell is named its array is, and that an array was never synced stands with its figures."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

from fsconsole.model.plan import ArraySpec, Cell, Variant, array_words
from fsconsole.model.state import RunState
from fsconsole.results.csv import cells_csv
from fsconsole.results.figures import cell_names
from fsconsole.results.grid import build_grid
from fsconsole.results.json import render_json
from fsconsole.results.markdown import render_markdown
from fsconsole.results.text import ReportPage, render_text
from fsconsole.show.progress import finished_lines
from fsconsole.text import KIB
from tests.unit.results import build

MEMBERS = ("/dev/loop1", "/dev/loop2", "/dev/loop3", "/dev/loop4")
RAID5 = ArraySpec("raid5", 64 * KIB, assume_clean=True)
RAID10 = ArraySpec("raid10", 64 * KIB, assume_clean=True)


def on_array(index: int, spec: ArraySpec, *, count: int = 4) -> Cell:
    return replace(build.cell(index), array=spec, target="/dev/md/x", members=MEMBERS[:count])


def run_on(*specs: ArraySpec) -> RunState:
    cells = [on_array(number, spec) for number, spec in enumerate(specs)]
    return build.run(cells, [build.done(number) for number in range(len(cells))])


def names(*cells: Cell, is_brief: bool = False) -> list[str]:
    """What is said of each cell beside its variant."""
    found = cell_names(build.request(cells).plan, is_brief=is_brief)
    assert all(name.startswith("ext4 data=ordered, ") for name in found)
    return [name.partition(", ")[2] for name in found]


def test_an_array_is_told_in_words() -> None:
    for spec, members, words in (
        (ArraySpec("raid5", 64 * KIB, assume_clean=True), 4, "raid5 64KiB, 4 members, assume-clean"),
        (ArraySpec("linear"), 2, "linear, 2 members"),
        (ArraySpec("raid6", members=5), 0, "raid6, 5 members"),
        (
            ArraySpec("raid5", 0, 0, 4096, 0, "none", "ppl"),
            3,
            "raid5, 3 members, stripe cache 4096, 0 stripe threads, bitmap none, policy ppl",
        ),
        (ArraySpec("raid5", group_thread_count=1), 0, "raid5, 1 stripe thread"),
    ):
        assert array_words(spec, members) == words, (spec, members)


def test_a_cell_is_named_with_its_level_chunk_and_assume_clean_and_whatever_else_tells_arrays_apart() -> None:
    assert names(on_array(0, RAID5)) == ["raid5 64KiB, assume-clean"]
    bitmaps = [on_array(number, replace(RAID5, bitmap=kind)) for number, kind in enumerate(("none", "internal"))]
    assert names(*bitmaps) == [f"raid5 64KiB, bitmap {kind}, assume-clean" for kind in ("none", "internal")]
    members = [on_array(0, ArraySpec("raid5"), count=3), on_array(1, ArraySpec("raid5"), count=4)]
    assert names(*members) == ["raid5, 3 members", "raid5, 4 members"]
    assert len(build_grid(run_on(RAID5, RAID10, RAID5)).rows) == 2
    # Briefly, assume-clean is said only where it tells arrays apart.
    assert names(on_array(0, RAID5), on_array(1, RAID5), is_brief=True) == ["raid5 64KiB"] * 2
    synced = on_array(1, replace(RAID5, assume_clean=False))
    assert names(on_array(0, RAID5), synced, is_brief=True) == ["raid5 64KiB, assume-clean", "raid5 64KiB"]


def test_every_report_tells_of_the_array_and_what_assume_clean_means() -> None:
    state = run_on(RAID5, RAID10)
    grid = build_grid(state)
    for text in (
        render_text(state, grid, standing="done", page=ReportPage(120)),
        render_markdown(state, grid, standing="done"),
    ):
        rows = [line.replace("|", "").split()[:3] for line in text.splitlines()]
        assert rows.count(["ext4", "data=ordered", "raid10"]) == 2
        assert "no resync was done" in " ".join(text.split())
        told = "Together, an array made in each cell: raid10 64KiB, 4 members, assume-clean; raid5 64KiB"
        assert told in " ".join(text.split())
    synced = run_on(ArraySpec("raid5"))
    assert "\n  array: raid5, 4 members\n" in render_text(synced, build_grid(synced), standing="")
    assert "no resync" not in render_text(synced, build_grid(synced), standing="")


def test_a_table_for_machines_has_the_whole_array_and_its_members() -> None:
    state = run_on(RAID5)
    (line,) = csv.DictReader(io.StringIO(cells_csv(state, build_grid(state))))
    assert line["array"] == "raid5 64KiB, 4 members, assume-clean"
    assert line["members"] == " ".join(MEMBERS)
    document = json.loads(render_json(state, build_grid(state), standing=""))
    for told in (document["rows"][0], document["cells"][0]):
        assert told["array"]["level"] == "raid5"
        assert told["array"]["assume_clean"] is True
        assert told["members"] == list(MEMBERS)


def test_a_line_of_progress_names_the_array_whole_and_fits_80_columns() -> None:
    spec = ArraySpec("raid5", 512 * KIB, assume_clean=True)
    cells = [
        replace(on_array(number, spec), variant=variant)
        for number, variant in enumerate((Variant("ext4", "ext4"), Variant("btrfs", "btrfs")))
    ]
    lines = finished_lines(None, build.run(cells, [build.done(0), build.done(1)]))
    assert [line.count("raid5 512KiB, assume-clean") for line in lines] == [1, 1]
    assert max(map(len, lines)) <= 80
