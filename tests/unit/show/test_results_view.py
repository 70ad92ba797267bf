"""The grid as its screen shows it."""

from __future__ import annotations

from dataclasses import replace

from fsconsole.client.runs import Look
from fsconsole.model.metrics import Metric
from fsconsole.plan.publications import find_publication
from fsconsole.results.grid import build_grid
from fsconsole.results.sentences import RunFindings
from fsconsole.show import results as screen
from fsconsole.show.results import Choice, GridView, arranged, pane_lines, sorted_by, with_baseline
from fsconsole.show.terminal import ASCII, SAFE
from tests.unit.results import build

UNASKED = Choice()
NOTHING = RunFindings()


def shown(choice: Choice = UNASKED) -> GridView:
    return arranged(build_grid(build.demo()), choice, SAFE)


def names(view: GridView) -> list[str]:
    return [row.name for row in view.table.rows]


def cell(view: GridView, row: str, column: Metric) -> str:
    (found,) = [one for one in view.table.rows if one.name == row]
    return found.cells[view.columns.index(column)]


EXT4, OTHER = "ext4 data=ordered", "ext4 data=writeback,nodelalloc"


def test_rows_stand_by_durable_figures_and_sorting_again_turns_the_order_round() -> None:
    assert names(shown()) == [OTHER, EXT4, "xfs", "btrfs"]
    assert shown().table.mark == SAFE.down
    assert shown().table.marked == shown().columns.index(Metric.DURABLE)
    once = sorted_by(Choice(), Metric.CHECK)
    assert names(shown(once))[:2] == [EXT4, OTHER]
    again = sorted_by(once, Metric.CHECK)
    assert names(shown(again)) == [OTHER, EXT4, "xfs", "btrfs"]
    assert shown(again).table.mark == SAFE.down
    assert "sorted by check, highest first" in shown(again).caption
    assert sorted_by(again, Metric.CHECK) == once


def test_the_baseline_keeps_its_figures_and_others_are_per_cent_of_it() -> None:
    plain = shown()
    key = next(row.key for row in plain.table.rows if row.name == EXT4)
    view = shown(with_baseline(Choice(), key))
    assert cell(view, EXT4, Metric.DURABLE) == cell(plain, EXT4, Metric.DURABLE)
    assert cell(view, OTHER, Metric.DURABLE) == "131%"
    assert cell(view, OTHER, Metric.WRITE) == "100%"
    assert cell(view, OTHER, Metric.CHECK) == "errors 1000%"
    assert EXT4 in view.caption
    assert with_baseline(with_baseline(Choice(), key), key) == Choice()
    view = shown(with_baseline(Choice(), plain.table.rows[0].key))
    assert [row.cells[-1:] for row in view.table.rows] == [row.cells[-1:] for row in plain.table.rows]
    state = build.run(
        [build.cell(0), build.cell(1, build.XFS)],
        [build.done(0, factors={Metric.DURABLE: 0.0}), build.done(1)],
    )
    grid = build_grid(state)
    key = next(row.id for row in grid.rows if row.name == EXT4)
    view = arranged(grid, with_baseline(Choice(), key), SAFE)
    assert cell(view, "xfs", Metric.DURABLE) == "-"


def test_keys_of_rows_survive_other_orders_and_are_different() -> None:
    keys = {row.name: row.key for row in shown().table.rows}
    assert {row.name: row.key for row in shown(sorted_by(Choice(), Metric.MKFS)).table.rows} == keys
    assert len(set(keys.values())) == len(keys)


def test_published_rows_are_labelled_and_never_ranked() -> None:
    publication = find_publication("bull-2008")
    view = shown(Choice(publication=publication))
    published = [row for row in view.table.rows if "published" in row.name]
    assert len(published) == len(publication.rows)
    assert all(row.tone == "weak" and view.row(row.key) is None for row in published)
    assert names(view)[:4] == [OTHER, EXT4, "xfs", "btrfs"]
    assert len({row.key for row in view.table.rows}) == len(view.table.rows)


def test_the_pane_says_a_rows_warnings_with_their_remedies_and_why_figures_are_missing() -> None:
    grid = shown().grid
    text, other, missing = (
        "\n".join(line.text for row in grid.rows if row.name == name for line in pane_lines(row, grid, NOTHING, 80))
        for name in (EXT4, OTHER, "btrfs")
    )
    assert "it took 3.1 s" in text
    assert "-> Write more before you compare variants that are close." in text
    assert ("loop device" in text, "loop device" in other) == (True, False)
    assert "mkfs.btrfs is not installed" in missing


def test_hostile_names_are_printable_and_a_plan_without_cells_says_so() -> None:
    evil = replace(build.EXT4, label="[/x]\x1b[31m\nüber")
    state = build.run([build.cell(0, evil)], [build.done(0)], title="\x1b]0;x\x07[/red]")
    view = arranged(build_grid(state), Choice(), ASCII)
    lines = [*screen.title_lines(Look(state, is_alive=False, standing="finished"), 80)]
    lines += pane_lines(view.grid.rows[0], view.grid, NOTHING, 80)
    assert all(line.text.isprintable() for line in lines)
    assert all(row.name.isprintable() for row in view.table.rows)
    view = arranged(build_grid(build.run([], [])), Choice(), SAFE)
    assert view.table.rows == ()
    assert view.caption == "The plan has no cells."


def test_every_metric_is_offered_once_in_a_group_and_those_without_figures_say_so() -> None:
    assert sorted(metric.value for _, metric in screen.grouped()) == sorted(metric.value for metric in Metric)
    assert all(group != "other" for group, _ in screen.grouped())
    rows = {row.key: row for row in screen.choice_table(build_grid(build.demo()), (Metric.CPU,)).rows}
    assert rows["cpu"].name == "[x] CPU"
    assert rows["cpu"].cells[1] == "1"
    assert rows["write"].name == "[ ] write"
    assert "no figures" in rows["latency_p99"].cells[2]


def test_columns_are_ticked_moved_and_never_all_taken_away() -> None:
    chosen = (Metric.WRITE, Metric.DURABLE)
    assert screen.toggled(chosen, Metric.CPU) == (*chosen, Metric.CPU)
    assert screen.toggled(chosen, Metric.WRITE) == (Metric.DURABLE,)
    assert screen.toggled((Metric.WRITE,), Metric.WRITE) == (Metric.WRITE,)
    assert screen.moved((*chosen, Metric.CPU), Metric.CPU, -1) == (Metric.WRITE, Metric.CPU, Metric.DURABLE)
    assert screen.moved(chosen, Metric.WRITE, -1) == chosen
    assert screen.moved(chosen, Metric.CPU, 1) == chosen


def test_exports_ask_for_what_is_shown() -> None:
    csv, _, json, markdown = screen.EXPORTS
    choice = Choice(sort_by=Metric.CPU, publication=find_publication("bull-2008"))
    words = screen.export_words("r1", "/runs", markdown, choice, (Metric.CPU, Metric.MKFS))
    assert words == (
        "results", "r1", "--runs", "/runs", "--format", "md", "--sort", "cpu",
        "--columns", "cpu,mkfs", "--with", "bull-2008",
    )  # fmt: skip
    assert "--with" not in screen.export_words("r1", "/runs", csv, choice, ())
    assert screen.path_for("/x/r1.summary.csv", json) == "/x/r1.json"
    assert screen.path_for("/x/mine.txt", json) == "/x/mine.txt"
