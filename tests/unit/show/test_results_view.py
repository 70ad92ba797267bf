"""A run's blocks as the Results screen shows them."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from fsconsole.client.runs import Look
from fsconsole.errors.runs import UnknownBaseline
from fsconsole.model.events import WarningKind
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Setting
from fsconsole.model.state import CellState, CellStatus, RunState, RunStatus
from fsconsole.plan.publications import all_publications, find_publication
from fsconsole.results.blocks import BlockKind
from fsconsole.results.grid import build_grid
from fsconsole.results.sentences import RunFindings
from fsconsole.show import results as screen
from fsconsole.show.results import BlockView, Choice, arranged, changed, compared_by, pane_lines, sorted_by
from fsconsole.show.terminal import ASCII, SAFE
from fsconsole.text import cells_of
from tests.unit.results import build
from tests.unit.results.test_compare import STEADY, rounds

UNASKED = Choice()
NOTHING = RunFindings()
STEP = [1.0, 1.02, 0.97, 1.01, 0.99]
VERDICTS = rounds(
    {"xfs": STEP, "ext4": [0.85 * one for one in STEP], "btrfs": STEP, "jfs": [1.3, 0.7, 0.9, 1.2, 0.8]},
    metric=Metric.DURABLE,
)
"""ext4 is slower than xfs, btrfs the same, of jfs nothing is decided."""


def shown(choice: Choice = UNASKED, state: RunState | None = None) -> BlockView:
    state = state or build.demo()
    return arranged(state, build_grid(state), choice, SAFE)


def names(view: BlockView) -> list[str]:
    return [row.name for row in view.table.rows]


def pane(view: BlockView, name: str, width: int = 80) -> list[str]:
    (key,) = [row.key for row in view.table.rows if row.name == name]
    return [line.text for line in pane_lines(view, key, NOTHING, width)]


EXT4, OTHER = "ext4 data=ordered", "ext4 data=writeback,nodelalloc"


def test_rows_stand_by_the_primary_column_and_sorting_again_turns_the_order_round() -> None:
    view = shown()
    assert names(view) == [OTHER, EXT4, "xfs", "btrfs"]
    assert view.table.mark == SAFE.down
    assert view.table.marked == view.sorts.index("durable")
    block = view.block
    assert block is not None
    first = sorted_by(Choice(), block, "durable")
    assert names(shown(first)) == [EXT4, OTHER, "xfs", "btrfs"]
    assert shown(first).table.mark == SAFE.up
    assert shown(state=VERDICTS).caption == "durable against xfs; sorted by durable, highest first"
    assert not sorted_by(first, block, "CPU").of_blocks.is_reversed


def test_the_pane_tells_verdict_rounds_and_other_columns_of_the_block_s_own_figures() -> None:
    view = shown(state=VERDICTS)
    slower = "\n".join(pane(view, "ext4", 100))
    assert "Slower: durable 348 against 409 MB/s of xfs; change -15 [-15..-15] % over 5 rounds." in slower
    assert "write 812" in slower
    assert "Same: " in "\n".join(pane(view, "btrfs"))
    assert "The difference is less than 10 % either way." in "\n".join(pane(view, "btrfs"))
    undecided = "\n".join(pane(view, "jfs"))
    assert "Undecided: " in undecided
    assert "further rounds" in undecided
    assert "The baseline: xfs." in pane(view, "xfs")


def test_raw_values_are_dots_on_one_scale_with_those_of_the_baseline() -> None:
    for width in (60, 80, 130):
        lines = pane(shown(state=VERDICTS), "ext4", width)
        own, base = (next(line for line in lines if line.startswith(f"{name:<7} |")) for name in ("ext4", "xfs"))
        assert (len(own), len(base)) == (width, width)
        assert own.index("o") < own.rindex("o") < base.index("o") < base.rindex("o")
        counts = [sum(1 if c == "o" else int(c) for c in line[9:-1] if c != " ") for line in (own, base)]
        assert counts == [5, 5]
    evil = replace(VERDICTS, cells=(build.done(0, factors={Metric.DURABLE: float("inf")}), *VERDICTS.cells[1:]))
    assert not any("|" in line for line in pane(shown(state=evil), "xfs"))


def test_another_baseline_is_said_to_be_chosen_after_the_run_and_chosen_again_it_is_the_plan_s() -> None:
    view = shown(state=VERDICTS)
    assert view.block is not None
    choice = compared_by(Choice(), view.block, "ext4")
    other = shown(choice, VERDICTS)
    assert other.block is not None
    assert "chosen after the run" in other.caption
    assert "Faster: " in "\n".join(pane(other, "btrfs"))
    assert compared_by(choice, other.block, "ext4") == Choice()
    assert compared_by(Choice(), view.block, "xfs") == Choice()
    assert compared_by(choice, other.block, screen.AS_PLAN_SAYS) == Choice()
    pairs = compared_by(choice, other.block, screen.ALL_PAIRS)
    assert pairs.of_blocks.all_pairs
    assert compared_by(pairs, other.block, "ext4") == choice
    with pytest.raises(UnknownBaseline):
        shown(changed(Choice(), baseline="zfs"), VERDICTS)


def test_where_rows_differ_in_more_than_the_variant_each_value_is_offered_as_baseline_and_to_sort_by() -> None:
    ahead = [Setting((("read_ahead", value),)) for value in ("2MiB", "128KiB")]
    cells = [replace(build.cell(at, (build.EXT4, build.XFS)[at % 2]), setting=ahead[at // 2]) for at in range(4)]
    view = shown(state=build.run(cells, [build.done(at) for at in range(4)]))
    assert view.block is not None
    offered = [line.key for line in screen.baseline_lines(view.block, UNASKED, "xfs")]
    assert offered == ["xfs", EXT4, "read_ahead=128KiB", "read_ahead=2MiB", screen.AS_PLAN_SAYS, screen.ALL_PAIRS]
    assert {"variant", "read_ahead", "durable", "CPU"} <= {line.key for line in screen.sort_lines(view.block)}
    assert view.sorts[:3] == ("read_ahead", "write", "durable")


def test_all_pairs_stand_in_the_table_and_each_is_told_in_the_pane() -> None:
    view = shown(changed(Choice(), all_pairs=True), VERDICTS)
    assert len(view.table.rows) == 6
    told = "\n".join(pane(view, "btrfs vs ext4"))
    assert "btrfs against ext4" in told
    assert "Faster: " in told


def test_while_a_run_goes_on_there_are_figures_and_when_verdicts_follow() -> None:
    left = (*VERDICTS.cells[:-1], CellState(len(VERDICTS.cells) - 1, CellStatus.PENDING))
    view = shown(state=replace(VERDICTS, cells=left, status=RunStatus.RUNNING))
    assert view.caption.startswith("Verdicts follow after the last round; sorted by")
    assert not any("slower" in text for row in view.table.rows for text in row.cells)
    assert "durable" in view.sorts
    assert "Slower" not in "\n".join(pane(view, "ext4"))


def test_blocks_are_named_and_where_there_is_no_room_the_one_that_is_shown_has_its_number() -> None:
    view = shown(replace(Choice(), at=1), VERDICTS)
    assert screen.block_names(view, 80) == ((" large files ", False), (" filesystem ", True))
    assert screen.block_names(view, 24) == ((" 2 of 2: filesystem ", True),)
    assert shown(replace(Choice(), at=-1), VERDICTS).block == view.block
    assert view.block is not None
    assert view.block.kind is BlockKind.LIFE


def test_keys_of_rows_survive_other_orders_and_are_different() -> None:
    view = shown()
    assert view.block is not None
    keys = {row.name: row.key for row in view.table.rows}
    assert {row.name: row.key for row in shown(sorted_by(Choice(), view.block, "CPU")).table.rows} == keys
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
    view = shown()
    text, other, missing = ("\n".join(pane(view, name)) for name in (EXT4, OTHER, "btrfs"))
    assert "it took 3.1 s" in text
    assert "-> Write more before you compare variants that are close." in text
    assert ("loop device" in text, "loop device" in other) == (True, False)
    assert "mkfs.btrfs is not installed" in missing


def test_hostile_names_are_printable_and_a_plan_without_cells_says_so() -> None:
    evil = replace(build.EXT4, label="[/x]\x1b[31m\nüber")
    cells = [build.cell(at, variant, repeat=at // 2 + 1) for at, variant in enumerate((evil, build.XFS) * 3)]
    state = build.run(cells, [build.done(at, more=STEADY) for at in range(6)], title="\x1b]0;x\x07[/red]")
    view = arranged(state, build_grid(state), Choice(), ASCII)
    lines = [*screen.title_lines(Look(state, is_alive=False, standing="finished"), build_grid(state), 80)]
    for row in view.table.rows:
        lines += pane_lines(view, row.key, NOTHING, 80)
    assert all(line.text.isprintable() for line in lines)
    assert all(row.name.isprintable() for row in view.table.rows)
    assert all(name.isprintable() for name, _ in screen.block_names(view, 80))
    view = shown(state=build.run([], []))
    assert view.table.rows == ()
    assert view.caption == "The plan has no cells."
    assert pane_lines(view, "", NOTHING, 80) == ()


def test_the_head_has_the_whole_status_and_of_a_long_title_the_ends() -> None:
    title = "ext4, xfs and btrfs on the new array of four disks: mail, video, the nightly backup and its restore " * 2
    gone = "/srv/fsconsole/scratch/of/the/new/array/scratch-9a1edf9b.img"
    standing = f"engine died in workload of cell 6; it can't be resumed, its scratch file {gone} is gone"
    state = build.run([build.cell(0)], [build.done(0)], title=title)
    lines = screen.title_lines(Look(state, is_alive=False, standing=standing), build_grid(state), 80)
    assert [line.tone for line in lines[:3]] == ["strong", "strong", ""]
    status = "".join(line.text for line in lines[2:]).replace(" ", "")
    assert standing.replace(" ", "") in status
    assert "..." in "".join(line.text for line in lines[:2])
    assert max(cells_of(line.text) for line in lines) <= 80


def test_the_head_says_that_a_quarter_of_the_cells_or_more_were_disturbed_and_which_key_says_by_what() -> None:
    for disturbed, said in ((0, False), (1, False), (2, True), (6, True)):
        noted = [build.warning(at, WarningKind.FOREIGN_IO) for at in range(disturbed)]
        warned = [build.done(at, warnings=tuple(one for one in noted if one.cell == at)) for at in range(6)]
        state = build.run([build.cell(at, repeat=at + 1) for at in range(6)], warned)
        look = Look(state, is_alive=False, standing="finished")
        last = screen.title_lines(look, build_grid(state), 80)[-1].text
        wanted = f"Disturbed: {disturbed} of 6 cells. A says by what, and what to do."
        assert (last == wanted) is said, last


def test_the_line_above_the_pane_keeps_what_is_said_and_cuts_the_baselines_name() -> None:
    long = replace(build.EXT4, label="ext4 on the new array with data=writeback and all that goes with it")
    cells = [build.cell(at, variant, repeat=at // 2 + 1) for at, variant in enumerate((long, build.XFS) * 3)]
    state = build.run(cells, [build.done(at, more=STEADY) for at in range(6)])
    caption = arranged(state, build_grid(state), Choice(), ASCII, 80).caption
    assert cells_of(caption) <= 76
    assert re.fullmatch(r"durable against ext4 on.*\.\.\..*with it; sorted by durable, highest first", caption), caption


def test_no_two_tables_of_a_study_are_offered_in_the_same_words() -> None:
    offered = [line.name for line in screen.compare_lines((), all_publications(), is_with=True)]
    assert len(set(offered)) == len(offered) > 10


def test_every_metric_is_offered_once_in_a_group_those_without_figures_last() -> None:
    assert sorted(metric.value for _, metric in screen.grouped()) == sorted(metric.value for metric in Metric)
    assert all(group != "other" for group, _ in screen.grouped())
    block = shown().block
    assert block is not None
    listed = screen.choice_table(block, (Metric.CPU,)).rows
    rows = {row.key: row for row in listed}
    assert rows["cpu"].name == "[x] CPU"
    assert rows["cpu"].cells[1] == "1"
    assert rows["write"].name == "[ ] write"
    assert (rows["durable"].name, rows["durable"].cells[2]) == ("[x] durable", "decides: always shown, with bars")
    assert "no figures" in rows["latency_p99"].cells[2]
    without = ["no figures" in row.cells[2] for row in listed]
    assert without == sorted(without)


def test_columns_are_ticked_moved_and_never_all_taken_away_and_other_blocks_keep_theirs() -> None:
    chosen = (Metric.WRITE, Metric.DURABLE)
    assert screen.toggled(chosen, Metric.CPU) == (*chosen, Metric.CPU)
    assert screen.toggled(chosen, Metric.WRITE) == (Metric.DURABLE,)
    assert screen.toggled((Metric.WRITE,), Metric.WRITE) == (Metric.WRITE,)
    assert screen.moved((*chosen, Metric.CPU), Metric.CPU, -1) == (Metric.WRITE, Metric.CPU, Metric.DURABLE)
    assert screen.moved(chosen, Metric.WRITE, -1) == chosen
    assert screen.moved(chosen, Metric.CPU, 1) == chosen
    view = shown()
    choice = screen.with_columns(Choice(), view, (Metric.CPU, Metric.WRITE))
    load, life = shown(choice).blocks
    assert load.columns == (Metric.CPU, Metric.WRITE)
    assert life.columns == view.blocks[1].columns
    assert screen.with_columns(choice, shown(choice), ()) == Choice()


def test_exports_ask_for_what_is_shown() -> None:
    text, csv, _, json, markdown, _ = screen.EXPORTS
    choice = changed(
        Choice(publication=find_publication("bull-2008")),
        sort_by="CPU", is_reversed=True, baseline="xfs", all_pairs=True, with_redone=True,
        columns=(Metric.CPU, Metric.MKFS),
    )  # fmt: skip
    words = screen.export_words("r1", "/runs", markdown, choice)
    assert words == (
        "results", "r1", "--runs", "/runs", "--format", "md", "--sort", "CPU", "--reverse", "--baseline", "xfs",
        "--all-pairs", "--with-redone", "--columns", "cpu,mkfs", "--with", "bull-2008",
    )  # fmt: skip
    assert "--with" not in screen.export_words("r1", "/runs", csv, choice)
    assert screen.export_words("r1", "/runs", text, Choice()) == (
        "results",
        "r1",
        "--runs",
        "/runs",
        "--format",
        "table",
    )
    assert screen.path_for("/x/r1.summary.csv", json) == "/x/r1.json"
    assert screen.path_for("/x/mine.log", json) == "/x/mine.log"
    summary = next(export for export in screen.EXPORTS if export.is_summary)
    assert [screen.other_ending(path, json) for path in ("/x/a.json", "/x/a.log", "/x/a.csv")] == ["", "", "CSV"]
    assert [screen.other_ending(path, summary) for path in ("/x/a.csv", "/x/a.md")] == ["", "Markdown"]
