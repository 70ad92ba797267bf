"""Blocks of the grid: what stands together, what is compared with what, in which order, and in which words."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsconsole.catalog.loader import load_catalog
from fsconsole.errors.runs import TooManyPairs, UnknownBaseline, UnknownColumn
from fsconsole.model.events import FeatureSeen, Outcome, WarningKind
from fsconsole.model.figures import Measurement, Publication, PublishedRow
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import RAW, Cell, Order, Setting, Step, StepKind, Variant
from fsconsole.model.state import CellState, CellStatus, RunState, RunStatus, StepState
from fsconsole.model.verdicts import Compared, Scale, Verdict
from fsconsole.model.workload import Workload, WorkloadKind
from fsconsole.results.axes import OURS, common_words, numbered
from fsconsole.results.block_tables import captions, figures_table, verdict_table
from fsconsole.results.blocks import AS_PLANNED, Block, BlockKind, GridChoice, blocks_of
from fsconsole.results.changes import change_text, verdict_words
from fsconsole.results.csv import summary_csv
from fsconsole.results.figures import RowKey
from fsconsole.results.grid import build_grid
from fsconsole.results.json import render_json
from fsconsole.results.markdown import render_markdown
from fsconsole.results.table import table_lines
from fsconsole.results.text import ReportPage, render_text
from fsconsole.text import cells_of, printable
from tests.unit.results import build

STEADY = [1.0, 1.01, 0.99, 1.02, 0.98]
XFS, EXT4, BTRFS = (Variant(name, name) for name in ("xfs", "ext4", "btrfs"))
PLAIN = Setting()


def made(rows: dict[tuple[Variant, Setting], float], rounds: int = 5) -> RunState:
    """Return a run in rounds in which each row's durable figures are about FIGURES times its factor."""
    cells: list[Cell] = []
    states: list[CellState] = []
    for number in range(rounds):
        for place, ((variant, setting), factor) in enumerate(rows.items()):
            cells.append(replace(build.cell(len(cells), variant, repeat=number + 1), setting=setting))
            of = {Metric.DURABLE: factor * STEADY[(number + place) % 5]}
            states.append(build.done(len(states), factors=of, more={Metric.WRITTEN: 1e9}))
    return build.run(cells, states)


def ahead(value: str) -> Setting:
    return Setting((("read_ahead", value),))


THREE = made({(XFS, PLAIN): 1.0, (EXT4, PLAIN): 0.85, (BTRFS, PLAIN): 1.005})
AXIS = made(
    {
        (XFS, ahead("2MiB")): 1.2, (EXT4, ahead("2MiB")): 0.9, (XFS, ahead("16KiB")): 1.0, (EXT4, ahead("16KiB")): 0.5,
        (XFS, ahead("128KiB")): 1.1, (EXT4, ahead("128KiB")): 0.7,
    }
)  # fmt: skip


def load_block(state: RunState, choice: GridChoice = AS_PLANNED) -> Block:
    return blocks_of(state, build_grid(state), choice)[0]


def titles(block: Block) -> list[str]:
    return [row.title for row in block.rows]


def words(block: Block) -> dict[str, str]:
    return {row.title: verdict_words(row.compared, block.same) for row in block.rows if row.compared is not None}


READ = Workload("read back", WorkloadKind.READ, 4, 0, 0, 65536, source=0)


def test_each_load_has_a_block_the_life_has_one_and_raw_rows_have_one_each_with_its_own_figures() -> None:
    told = (
        (StepKind.MKFS, None, Metric.MKFS), (StepKind.WORKLOAD, 0, Metric.DURABLE), (StepKind.WORKLOAD, 1, Metric.READ),
        (StepKind.EXTENTS, None, Metric.EXTENTS_MEAN), (StepKind.CHECK, None, Metric.CHECK),
    )  # fmt: skip
    loads = (build.LARGE_FILES, READ)
    steps = tuple(Step(kind, "", workload=of) for kind, of, _ in told)
    done = tuple(
        StepState(number, kind, "", 0, Outcome.DONE, 1.0, measurements=(Measurement(metric, 7.0),))
        for number, (kind, _, metric) in enumerate(told)
    )
    streams = (Step(StepKind.RAW_WRITE, ""),)
    raw = StepState(
        0, StepKind.RAW_WRITE, "", 0, Outcome.DONE, 1.0, measurements=(Measurement(Metric.RAW_WRITE_1, 9e8),)
    )
    cells = [
        replace(build.cell(0), workloads=loads, steps=steps),
        replace(build.cell(1, Variant(RAW, RAW)), workloads=loads, steps=streams),
    ]
    states = [CellState(0, CellStatus.DONE, 1, "", done), CellState(1, CellStatus.DONE, 1, "", (raw,))]
    state = build.run(cells, states)
    found = blocks_of(state, build_grid(state))
    assert [(block.kind, block.name, block.metric, block.columns) for block in found] == [
        (BlockKind.LOAD, "large files", Metric.DURABLE, (Metric.DURABLE, Metric.OF_RAW_1, Metric.EXTENTS_MEAN)),
        (BlockKind.LOAD, "read back", Metric.READ, (Metric.READ,)),
        (BlockKind.LIFE, "filesystem", Metric.CHECK, (Metric.MKFS, Metric.CHECK)),
        (BlockKind.RAW, "raw device", Metric.RAW_WRITE_1, (Metric.RAW_WRITE_1,)),
    ]
    assert [titles(block) for block in found] == [["ext4 data=ordered"]] * 3 + [["raw"]]
    lines = list(csv.DictReader(io.StringIO(summary_csv(state, build_grid(state)))))
    assert [(line["block"], line["mkfs [s]"], line["read [B/s]"]) for line in lines] == [
        ("large files", "", ""), ("read back", "", "7"), ("filesystem", "7", ""), ("raw device", "", ""),
    ]  # fmt: skip
    chosen = (Metric.READ, Metric.CHECK, Metric.RECOVER)
    columns = [block.columns for block in blocks_of(state, build_grid(state), GridChoice(columns=chosen))]
    assert columns == [(), (Metric.READ,), (Metric.CHECK, Metric.RECOVER), ()]


def test_axes_are_columns_in_the_order_of_their_values_and_rows_are_compared_at_equal_ones() -> None:
    block = load_block(AXIS)
    assert block.axes == ("read_ahead",)
    assert [row.axes[0] for row in block.rows] == ["16KiB"] * 2 + ["128KiB"] * 2 + ["2MiB"] * 2
    assert [row.name for row in block.rows if row.is_baseline] == ["xfs"] * 3
    changes = {row.axes[0]: row.compared.change for row in block.rows if row.compared is not None}
    assert changes == {
        "16KiB": pytest.approx(-0.5, abs=0.02), "128KiB": pytest.approx(-0.364, abs=0.02),
        "2MiB": pytest.approx(-0.25, abs=0.02),
    }  # fmt: skip
    assert (block.baseline, block.family) == ("xfs", 3)
    assert sorted(["raid10", "raid6", "4", "2MiB", "16", "16KiB", "none"], key=numbered) == [
        "4", "16", "16KiB", "2MiB", "none", "raid6", "raid10",
    ]  # fmt: skip


def test_a_baseline_on_an_axis_compares_each_row_with_its_own_variant_there() -> None:
    block = load_block(AXIS, GridChoice(baseline="read-ahead=131072"))
    assert block.baseline == "read_ahead=128KiB"
    assert titles(block) == [f"{name}, {value}" for name in ("xfs", "ext4") for value in ("16KiB", "128KiB", "2MiB")]
    assert words(block) == {
        "xfs, 16KiB": "slower",
        "xfs, 2MiB": "faster",
        "ext4, 16KiB": "slower",
        "ext4, 2MiB": "faster",
    }
    # One variant alone: what the plan varies is compared with its lowest value, as planned.
    alone = made({(XFS, ahead(value)): factor for value, factor in (("2MiB", 1.2), ("16KiB", 1.0), ("128KiB", 1.1))})
    assert (load_block(alone).baseline, load_block(alone).family) == ("read_ahead=16KiB", 2)


def test_the_family_is_what_was_planned_and_a_baseline_chosen_afterwards_is_corrected_over_all_pairs() -> None:
    control = replace(XFS, label="xfs (control)", is_control=True)
    rows = {
        (XFS, PLAIN): 1.0,
        (control, PLAIN): 1.0,
        (EXT4, PLAIN): 0.85,
        (BTRFS, PLAIN): 1.0,
        (Variant(RAW, RAW), PLAIN): 1.0,
    }
    state = made(rows)
    failed = replace(state, cells=tuple(
        build.failed(cell.index) if planned.variant is BTRFS else cell
        for planned, cell in zip(state.request.plan.cells, state.cells, strict=True)
    ))  # fmt: skip
    for one in (state, failed):
        block = load_block(one)
        assert (block.baseline, block.family, block.notes) == ("xfs", 3, ())
        assert [row.name for row in block.rows if row.is_control] == ["xfs (control)"]
    chosen = load_block(state, GridChoice(baseline="ext4"))
    assert chosen.family == 6
    assert chosen.notes == ("Baseline chosen after the run: intervals are corrected over all 6 pairs.",)
    (wide,) = (row.compared for row in chosen.rows if row.name == "btrfs")
    (narrow,) = (row.compared for row in load_block(state).rows if row.name == "btrfs")
    assert wide is not None
    assert narrow is not None
    # Variants that came out equal are one row; they were planned as two.
    made_equal = (("mkfs", "crc", "1"), ("mount", "rw", "on"))
    twins = [replace(variant, filesystem="xfs", hidden_words=()) for variant in (BTRFS, EXT4)]
    state = made({(replace(XFS, hidden_words=("-m crc=0",)), PLAIN): 1.0, **{(twin, PLAIN): 1.1 for twin in twins}})
    read_back = [
        replace(cell, features=tuple(FeatureSeen(cell.index, 1, *of) for of in made_equal)) for cell in state.cells
    ]
    block = load_block(replace(state, cells=tuple(read_back)))
    assert (len(block.rows), block.family) == (2, 2)
    assert [row.compared.n for row in block.rows if row.compared is not None] == [5]


def test_all_pairs_are_compared_up_to_40_rows_and_of_more_none_is() -> None:
    block = load_block(THREE, GridChoice(all_pairs=True))
    assert [(pair.row, pair.other) for pair in block.pairs] == [("ext4", "xfs"), ("btrfs", "xfs"), ("btrfs", "ext4")]
    assert (block.family, block.notes) == (3, ("Intervals hold for all 3 pairs together.",))
    many = made({(Variant(f"xfs {number}", "xfs"), PLAIN): 1.0 for number in range(41)}, rounds=3)
    with pytest.raises(TooManyPairs, match="41 rows"):
        load_block(many, GridChoice(all_pairs=True))


def test_there_are_no_verdicts_before_the_last_round_nor_without_rounds_and_the_note_says_why() -> None:
    pending = replace(THREE, cells=(*THREE.cells[:-1], CellState(len(THREE.cells) - 1)), status=RunStatus.RUNNING)
    auto = replace(pending.request, plan=replace(pending.request.plan, is_auto=True))
    listed = replace(THREE.request, plan=replace(THREE.request.plan, order=Order.AS_LISTED))
    for state, why in (
        (pending, "Verdicts follow after the last round."),
        (replace(pending, request=auto), "Verdicts follow after round 5, 8 or 12."),
        (replace(THREE, request=listed), 'No verdicts: order = "as-listed" has no rounds'),
        (made({(XFS, PLAIN): 1.0, (EXT4, PLAIN): 0.8}, rounds=2), "No verdicts: they need at least 3 rounds; 5 is"),
    ):
        block = load_block(state)
        assert not block.is_compared
        assert block.notes[0].startswith(why), why
        assert why in " ".join(render_text(state, build_grid(state), standing="").split())
    # A look in the middle of such a run compares the rounds that are over.
    block = load_block(replace(pending, request=auto), GridChoice(look=4))
    assert [row.compared.n for row in block.rows if row.compared is not None] == [4, 4]
    assert block.notes == ("Rounds are auto: the intervals are at 99.9 %, so that all looks together err in 5 %.",)


def test_a_filesystem_s_name_stands_for_its_only_row_as_baseline() -> None:
    cells = [build.cell(n, variant, repeat=1 + n // 2) for n, variant in enumerate((build.XFS, build.EXT4) * 3)]
    state = build.run(cells, [build.done(n) for n in range(6)])
    assert load_block(state, GridChoice(baseline="ext4")).baseline == build.EXT4.label


def test_rows_are_sorted_by_any_column_axis_name_or_change_either_way() -> None:
    for sort_by, first, last in (
        ("", "ext4, 16KiB", "xfs, 2MiB"),
        ("durable", "xfs, 2MiB", "ext4, 16KiB"),
        ("read-ahead", "xfs, 16KiB", "ext4, 2MiB"),
        ("variant", "ext4, 2MiB", "xfs, 16KiB"),
        ("change", "xfs, 2MiB", "ext4, 16KiB"),
    ):
        block = load_block(AXIS, GridChoice(sort_by=sort_by))
        turned = load_block(AXIS, GridChoice(sort_by=sort_by, is_reversed=True))
        if sort_by:
            assert (titles(block)[0], titles(block)[-1]) == (first, last), sort_by
            assert block.sorted_by == sort_by.replace("-", "_")
            assert titles(turned)[0] != titles(block)[0], sort_by
    assert titles(load_block(AXIS))[0] == "xfs, 16KiB"
    assert "Sorted by read_ahead, then by durable, worst first." in captions(
        (load_block(AXIS),), build_grid(AXIS), is_reversed=True
    )
    assert "Sorted by variant, reversed." in captions(
        (load_block(AXIS, GridChoice(sort_by="variant", is_reversed=True)),), build_grid(AXIS), is_reversed=True
    )
    with pytest.raises(UnknownColumn) as caught:
        load_block(AXIS, GridChoice(sort_by="read_ahed"))
    assert "read_ahead" in caught.value.hint
    with pytest.raises(UnknownBaseline) as lost:
        load_block(AXIS, GridChoice(baseline="reiserfs"))
    assert "xfs, ext4, read_ahead=16KiB" in lost.value.hint


def test_redone_rounds_are_figures_where_asked_for_and_in_no_verdict() -> None:
    cells, states = list(THREE.request.plan.cells), list(THREE.cells)
    for old in cells[-3:]:
        cells.append(replace(old, index=len(cells), redo=1))
        states.append(build.done(len(states), factors={Metric.DURABLE: 3.0}, more={Metric.WRITTEN: 1e9}))
    state = build.run(cells, states)
    plain, whole = (blocks_of(state, build_grid(state, with_redone=more))[0] for more in (False, True))
    counts = [[row.row.figure(Metric.DURABLE).n for row in block.rows] for block in (plain, whole)]
    assert counts == [[5] * 3, [6] * 3]
    assert {row.name: row.compared for row in plain.rows} == {row.name: row.compared for row in whole.rows}

    figures = [{row.name: row.cells[0] for row in verdict_table(block).rows} for block in (plain, whole)]
    assert figures[0] == figures[1]


def test_a_check_that_found_damage_is_in_no_figure_beside_those_that_found_none() -> None:
    cells = [build.cell(index, (EXT4, XFS)[index % 2], repeat=index // 2 + 1) for index in range(10)]
    states = [
        build.done(index, factors={Metric.CHECK: STEADY[index // 2] * (1.5 if index % 2 else 1.0)})
        for index in range(10)
    ]
    states[2] = build.done(2, factors={Metric.CHECK: 20.0}, verdict="errors")
    state = build.run(cells, states)
    (life,) = (one for one in blocks_of(state, build_grid(state)) if one.kind is BlockKind.LIFE)
    assert [(row.name, row.is_baseline) for row in life.rows] == [("ext4", True), ("xfs", False)]
    shown = {row.name: row.cells for row in verdict_table(life).rows}
    assert (shown["ext4"][0], shown["ext4"][2], shown["xfs"][0]) == ("0.311", "4", "0.467")
    row, *_ = life.rows
    assert row.row.estimate(Metric.CHECK) == pytest.approx(0.312, rel=0.01)
    states[0], states[4], states[6], states[8] = (
        build.done(index, factors={Metric.CHECK: 20.0}, verdict="errors") for index in (0, 4, 6, 8)
    )
    (row,) = (row for row in build_grid(build.run(cells, states)).rows if row.key.variant is EXT4)
    assert row.estimate(Metric.CHECK) == pytest.approx(6.24)


def test_where_failed_rounds_turn_figures_against_a_change_a_note_has_those_that_were_compared() -> None:
    state = made({(EXT4, PLAIN): 1.0, (XFS, PLAIN): 1.3})
    states = list(state.cells)
    for index in (6, 8):
        states[index] = build.done(index, factors={Metric.DURABLE: 4.0}, more={Metric.WRITTEN: 1e9})
        states[index + 1] = build.failed(index + 1)
    block = load_block(replace(state, cells=tuple(states)))
    figures = {row.name: float(row.cells[0]) for row in verdict_table(block).rows}
    assert figures["xfs"] < figures["ext4"]
    assert words(block) == {"xfs": "faster"}
    (note,) = block.notes
    assert note.startswith("xfs and ext4 are compared over the 3 rounds that both finished, with figures of 53")
    assert not load_block(state).notes


def test_what_labels_hide_is_said_once_for_a_filesystem_and_words_of_fsconsole_itself_never() -> None:
    def key(label: str, mkfs: tuple[str, ...], mount: tuple[str, ...]) -> RowKey:
        return RowKey("/dev/x", None, PLAIN, Variant(label, label.split(maxsplit=1)[0], mkfs, mount), (), None)

    keys = [
        key("xfs", ("-K", "-m", "reflink=0,crc=1", "-i", "size=1024"), ("logbsize=256k",)),
        key("ext4 data=ordered", ("-E", "nodiscard,stride=4"), ("data=ordered", "noatime")),
        key("ext4 fast", ("-E", "nodiscard,stride=4"), ("data=writeback", "noatime")),
    ]
    assert common_words(keys) == (
        "xfs: -m reflink=0,crc=1 -i size=1024; logbsize=256k", "ext4: -E stride=4; noatime", "ext4 fast: data=writeback",
    )  # fmt: skip
    for filesystem in load_catalog().filesystems:
        given = filesystem.base_mkfs.split()
        pairs = {(given[0], value) for value in given[1].split(",")} if len(given) > 1 else {(one, "") for one in given}
        assert pairs <= OURS, filesystem.name


PICTURE = """\
variant  durable  vs xfs, 95 %    n  -20  0  +20  verdict
btrfs        412    0 [ -3.. +4]  5      [*]      same
xfs          410  baseline        5       |
ext4         349  -15 [-19..-11]  5  [*]  |       slower
"""


def test_at_80_columns_a_row_has_figure_change_interval_n_strip_and_one_word_and_names_keep_20_cells() -> None:
    assert table_lines(verdict_table(load_block(THREE)), 80, is_plain=True) == PICTURE.splitlines()
    label = "xfs -m reflink=0 -d agcount=64 logbsize=256k"
    values = [ahead(size) for size in ("16KiB", "128KiB")]
    state = made({(variant, of): 1.0 for variant in (replace(XFS, label=label), EXT4) for of in values})
    settings = [replace(cell, setting=Setting((*cell.setting.values, ("scheduler", cell.variant.label[:3]), ("dirty_bytes", str(cell.index % 4)))))
                for cell in state.request.plan.cells]  # fmt: skip
    for one in (state, build.run(settings, state.cells)):
        for choice in (AS_PLANNED, GridChoice(baseline="read_ahead=128KiB")):
            text = render_text(one, build_grid(one), standing="finished", choice=choice)
            assert max(map(cells_of, text.splitlines())) <= 80
            heads = [line for line in text.splitlines() if line.endswith("verdict")]
            assert all(line.index(" durable") >= 20 for line in heads if " durable" in line), text


WORDS = st.text(max_size=40)


@settings(max_examples=40)
@given(labels=st.lists(WORDS, min_size=2, max_size=3, unique=True), name=WORDS, value=WORDS, width=st.integers(40, 160))
def test_no_line_of_verdicts_is_wider_than_asked_for_and_none_acts_on_a_terminal(
    *, labels: list[str], name: str, value: str, width: int
) -> None:
    axes = [Setting(((name, one),)) for one in (value, f"{value}2")]
    state = made({(Variant(label, "xfs"), of): 1.0 for label in labels for of in axes}, rounds=3)
    grid = build_grid(state)
    for choice in (AS_PLANNED, GridChoice(all_pairs=True)):
        text = render_text(state, grid, standing="", choice=choice, page=ReportPage(width))
        assert all(cells_of(line) <= width for line in text.split("\n"))
        assert all(printable(line) == line for line in text.split("\n"))
        assert "verdict" in text


def test_published_rows_stand_in_wide_tables_too_with_their_primary_figure_among_the_verdicts() -> None:
    printed = replace(EXT4, as_printed="ext4 -I 256")
    state = made({(XFS, PLAIN): 1.0, (printed, PLAIN): 0.85})
    figures = (Measurement(Metric.DURABLE, 77e6), Measurement(Metric.WRITE, 99e6))
    publication = Publication(
        "p", "A study", "S", "2008", "two disks", "files", (PublishedRow("", "ext4 -I 256", figures),)
    )
    grid = build_grid(state, publication=publication)
    lines = render_text(state, grid, standing="", page=ReportPage(140)).splitlines()
    own, published = next((line, lines[at + 1]) for at, line in enumerate(lines) if line.startswith("ext4"))
    assert published.split()[:2] == ["published", "77.0"]
    head = next(line for line in lines if "verdict" in line)
    assert published.index("77.0") + 4 == head.index("durable") + len("durable") == own.index("349") + 3
    assert published.index("99.0") + 4 == head.index("write") + len("write")


def test_why_a_row_has_no_figures_is_told_whole_once() -> None:
    cells = [
        build.failed(cell.index) if planned.variant is BTRFS else cell
        for planned, cell in zip(THREE.request.plan.cells, THREE.cells, strict=True)
    ]
    text = render_text(replace(THREE, cells=tuple(cells)), build_grid(replace(THREE, cells=tuple(cells))), standing="")
    assert text.count("failed: mkfs: mkfs.xfs failed") == 1
    assert [line.split() for line in text.splitlines() if line.startswith("btrfs")][1:] == [["btrfs", "failed"]] * 3


def test_wide_pages_and_markdown_have_the_other_columns_to_the_right_of_the_verdict() -> None:
    grid = build_grid(THREE)
    text = render_text(THREE, grid, standing="finished", page=ReportPage(132))
    head = next(line for line in text.splitlines() if "verdict" in line)
    assert head.index("durable") < head.index("vs xfs, 95 %") < head.index("verdict") < head.index("write")
    assert text.count("verdict") == 2 + text.count("verdicts")
    table = [line for line in render_markdown(THREE, grid, standing="").splitlines() if line.startswith("| ")]
    assert table[4].startswith(r"| ext4 | 349 | -15 \[-19..-11\] | 5 | `[*]  \|` | slower | 812 |")


def test_json_and_the_summary_have_baseline_change_interval_n_verdict_and_further_rounds() -> None:
    noisy = made({(XFS, PLAIN): 1.0, (EXT4, PLAIN): 1.0})
    states = [
        build.done(cell.index, factors={Metric.DURABLE: 1.0 + 0.2 * (cell.index % 3)}, more={Metric.WRITTEN: 1e9})
        for cell in noisy.cells
    ]
    noisy = replace(noisy, cells=tuple(states))
    block = load_block(noisy)
    (of_row,) = (row.compared for row in block.rows if row.compared is not None)
    assert of_row.verdict is Verdict.UNDECIDED
    document = json.loads(render_json(noisy, build_grid(noisy), standing=""))["blocks"][0]
    (told,) = (row for row in document["rows"] if row["compared"])
    assert (document["baseline"], document["family"], document["metric"]) == ("xfs", 1, "durable")
    assert (told["name"], told["compared"]["n"], told["compared"]["change"]) == ("ext4", 5, of_row.change)
    assert told["compared"]["words"] == verdict_words(of_row, 0.1)
    line = list(csv.DictReader(io.StringIO(summary_csv(noisy, build_grid(noisy)))))[
        [row.name for row in block.rows].index("ext4")
    ]
    assert (line["baseline"], line["compared"], line["scale"], line["pair n"]) == ("xfs", "durable", "ratio", "5")
    assert [float(line[name]) for name in ("change", "low", "high")] == [of_row.change, of_row.low, of_row.high]
    assert (line["verdict"], line["more rounds"]) == ("undecided", str(of_row.more or ">30"))


def test_changes_are_per_cent_from_three_times_on_factors_and_else_in_their_unit() -> None:
    def told(
        change: float, low: float | None, high: float | None, metric: Metric = Metric.CHECK, **more: object
    ) -> str:
        scale = Scale.RATIO if metric is Metric.CHECK else Scale.DIFFERENCE
        found = Compared(scale, 1.0, 1.0, 5, change, low, high, Verdict.SLOWER)
        return change_text(replace(found, **more), metric)

    assert told(-0.15, -0.19, -0.10) == "-15 [-19..-10]"
    assert told(5.6, 4.9, 6.4) == "6.6 x [5.9..7.4]"
    assert told(25.0, 16.0, 36.0) == "26 x [17..37]"
    assert told(0.003, 0.001, 0.005) == "+0.3 [+0.1..+0.5]"
    assert told(0.003, -0.02, 0.03) == "0 [-2..+3]"
    assert told(0.008, 0.002, 0.014, Metric.DRAIN) == "+8.0 [+2.0..+14.0] ms"
    assert told(-4.0, -6.0, -2.0, Metric.CPU) == "-4.0 [-6.0..-2.0] %pt"
    assert told(-0.2, None, None, verdict=None, n=2) == "-20"
    assert told(0.001, -0.1, 0.1, verdict=None) == "-"


@pytest.mark.parametrize(
    ("compared", "word"),
    [
        ({"verdict": Verdict.SLOWER, "is_small": True}, "slower <10"),
        ({"verdict": Verdict.UNDECIDED, "more": 6}, "undecided +6"),
        ({"verdict": Verdict.UNDECIDED}, "undecided >30"),
        ({"verdict": None, "n": 2}, "n 2"),
        ({"verdict": None}, "unresolved"),
    ],
)
def test_a_verdict_is_one_word(compared: dict[str, object], word: str) -> None:
    found = Compared(Scale.RATIO, 1.0, 1.0, 5, 0.1, 0.05, 0.15, Verdict.SAME)
    assert verdict_words(replace(found, **compared), 0.1) == word


def test_a_warning_that_names_a_load_marks_rows_of_that_loads_block_alone() -> None:
    noted = [
        build.warning(0, WarningKind.CACHED, "'large files' was cached"),
        build.warning(0, WarningKind.OBSERVER, "busy"),
    ]
    cells = [build.cell(0, XFS)]
    state = build.run(cells, [build.done(0, warnings=tuple(noted))])
    grid = build_grid(state)
    marks = {block.kind: figures_table(block, grid).rows[0].cells[-1] for block in blocks_of(state, grid)}
    assert (marks[BlockKind.LOAD], marks[BlockKind.LIFE]) == ("ab", "b")
