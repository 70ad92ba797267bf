"""Rows of the grid: names, order, equal variants, columns, and shares of a raw row."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.errors import ExitCode
from fsconsole.errors.runs import UnknownColumn
from fsconsole.model.events import FeatureSeen, Outcome, PilotFinished, Settled, WarningKind
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric, column_named
from fsconsole.model.plan import RAW, Cell, Setting, Step, StepKind, Variant
from fsconsole.model.state import RAW_DEPTH, CellState, CellStatus, RunState, RunStatus, StepState
from fsconsole.model.workload import Workload, WorkloadKind
from fsconsole.results.blocks import blocks_of
from fsconsole.results.figures import cell_names
from fsconsole.results.grid import (
    GridRow,
    build_grid,
    columns_named,
    highest_first,
)
from fsconsole.text import KIB, MIB
from tests.unit.results import build
from tests.unit.results.build import cell, done, run

ORDERED, WRITEBACK = build.EXT4.label, build.EXT4_OTHER.label


def done_all(*cells: Cell) -> RunState:
    return build.run(cells, [build.done(number) for number in range(len(cells))])


def names_of(state: RunState, sort_by: Metric = Metric.DURABLE) -> list[str]:
    return [row.name for row in build_grid(state, sort_by=sort_by).rows]


def by_name(state: RunState) -> dict[str, GridRow]:
    return {row.name: row for row in build_grid(state).rows}


def test_rows_come_by_durable_from_the_highest_or_by_times_from_the_lowest_and_else_as_planned() -> None:
    assert names_of(build.demo()) == [WRITEBACK, ORDERED, "xfs", "btrfs"]
    assert names_of(build.demo(), Metric.CHECK)[:2] == [ORDERED, WRITEBACK]
    assert names_of(build.demo(), Metric.OBSERVER) == [ORDERED, WRITEBACK, "xfs", "btrfs"]


@given(st.lists(st.floats(0.0, 1e12), min_size=1, max_size=6), st.sampled_from([Metric.DURABLE, Metric.CPU]))
def test_any_figures_are_sorted_whole(factors: list[float], metric: Metric) -> None:
    cells = [build.cell(i, replace(build.XFS, label=f"v{i}")) for i in range(len(factors))]
    state = build.run(cells, [build.done(i, factors={metric: factor}) for i, factor in enumerate(factors)])
    grid = build_grid(state, sort_by=metric)
    medians = [value for row in grid.rows if (value := row.value(metric)) is not None]
    assert medians == sorted(medians, reverse=metric is Metric.DURABLE)
    assert len(grid.rows) == len(factors)


def test_a_row_without_figures_or_with_a_step_that_was_stopped_says_why() -> None:
    rows = by_name(build.demo())
    assert rows["btrfs"].notes == ("can't run: mkfs.btrfs is not installed (package btrfs-progs)",)
    assert rows["xfs"].notes == ("failed: mkfs: mkfs.xfs failed with exit code 1: no room",)
    assert rows["xfs"].figures == ()
    figures = (Measurement(Metric.WRITE, 1e6),)
    step = StepState(2, StepKind.WORKLOAD, "load", 0, Outcome.STOPPED, 1.0, measurements=figures)
    stopped = CellState(0, CellStatus.STOPPED, 1, "by the operator", (step,))
    (row,) = build_grid(build.run([build.cell(0)], [stopped])).rows
    assert (row.figures, row.notes) == ((), ("stopped: by the operator",))
    running = CellState(0, CellStatus.RUNNING, 1, "", build.finished_steps(build.FIGURES)[:4])
    (row,) = build_grid(build.run([build.cell(0)], [running], status=RunStatus.RUNNING)).rows
    assert row.value(Metric.DURABLE) is not None
    assert (row.value(Metric.CHECK), row.notes) == (None, ("running now",))


def test_repeats_are_one_row_with_median_n_spread_and_the_worst_verdict_and_far_apart_are_warned_of() -> None:
    grid = build_grid(build.repeated())
    durable = by_name(build.repeated())[ORDERED].figure(Metric.DURABLE)
    assert durable.n == 3
    assert durable.median == pytest.approx(410.2e6)
    assert durable.spread_percent == pytest.approx(4.0)
    (warning,) = grid.warnings
    assert (warning.kind, warning.cells) == (WarningKind.SPREAD, (1, 3, 5))
    assert "'xfs': durable figures lie 50 % apart" in warning.reason
    cells = [build.cell(i, repeat=i + 1) for i in range(3)]
    state = build.run(cells, [build.done(0), build.done(1, verdict="repaired"), build.done(2)])
    assert build_grid(state).rows[0].verdict == "repaired"


def test_a_repeat_that_failed_leaves_the_others_figures_and_is_told() -> None:
    state = build.repeated()
    cells = (*state.cells[:4], build.failed(4, "check: no"), CellState(5))
    rows = by_name(replace(state, cells=cells))
    assert rows[ORDERED].notes == ("1 of 3 failed: check: no",)
    assert rows["xfs"].notes == ("1 of 3 not run yet",)
    assert rows[ORDERED].figure(Metric.DURABLE).n == 2


def test_a_warning_of_many_cells_is_one_warning_and_a_run_without_cells_has_an_empty_grid() -> None:
    warnings = [(warning.kind, warning.cells) for warning in build_grid(build.demo()).warnings]
    assert warnings == [(WarningKind.SHORT, (0, 1)), (WarningKind.NOT_COMPARABLE, (0,))]
    empty = build_grid(build.run([], []))
    assert empty.rows == ()


def test_names_tell_rows_apart_by_the_fewest_words() -> None:
    def cells_with(*differing: dict[str, object]) -> list[Cell]:
        return [replace(build.cell(number), **how) for number, how in enumerate(differing)]

    def load(threads: int, name: str = "large files") -> Workload:
        return replace(build.LARGE_FILES, name=name, threads=threads)

    def setting(*values: tuple[str, str]) -> Setting:
        return Setting(values)

    ahead = [setting(("read_ahead", size), ("scheduler", "none")) for size in ("128KiB", "2MiB")]
    sized = [replace(build.XFS, mkfs_words=("-b", f"size={size}")) for size in (1024, 4096)]
    for cells, names in (
        ([{"workloads": (load(1),)}, {"workloads": (load(16),)}], ("1 thread", "16 threads")),
        (
            [{"target": f"/dev/sd{n}", "setting": one} for n, one in zip("ab", ahead, strict=True)],
            ("/dev/sda", "/dev/sdb"),
        ),
        ([{"setting": one} for one in ahead], ("read_ahead=128KiB", "read_ahead=2MiB")),
        ([{"variant": one} for one in sized], ("xfs -b size=1024", "xfs -b size=4096")),
    ):
        found = names_of(done_all(*cells_with(*cells)))
        assert sorted(name.partition(", ")[2] for name in found) == list(names)
    others = [{"workloads": (build.LARGE_FILES, load(threads, "others"))} for threads in (1, 4)]
    names = names_of(done_all(*cells_with(*others)))
    # A load that is not the row's own is told by its name and what differs, not whole.
    assert sorted(name.partition(", ")[2] for name in names) == [
        "large files, 16 threads, others 1 thread",
        "large files, 16 threads, others 4 threads",
        "others, 1 thread",
        "others, 4 threads",
    ]
    # As of a profile's two loads that share their name: their file set has another one.
    both = [{"workloads": (load(1, "others, file set"), load(threads, "others"))} for threads in (1, 4)]
    assert cell_names(build.request(cells_with(*both)).plan) == tuple(
        f"{build.EXT4.label}, others {count}" for count in ("1 thread", "4 threads")
    )


def test_two_workloads_in_one_cell_are_two_rows_that_share_mkfs_and_check() -> None:
    small = Workload("small files", WorkloadKind.CREATE, 4, 1000, 4 * KIB, 4 * KIB)
    steps = (
        Step(StepKind.MKFS, "mkfs"),
        Step(StepKind.WORKLOAD, "large files", workload=0),
        Step(StepKind.WORKLOAD, "small files", workload=1),
    )
    figures = ((Metric.MKFS, 0.5), (Metric.WRITE, 200e6), (Metric.WRITE, 3.0 * MIB))
    states = tuple(
        StepState(number, step.kind, step.title, 0, Outcome.DONE, 1.0, measurements=(Measurement(*figure),))
        for number, (step, figure) in enumerate(zip(steps, figures, strict=True))
    )
    cell = replace(build.cell(0), workloads=(build.LARGE_FILES, small), steps=steps)
    grid = build_grid(build.run([cell], [CellState(0, CellStatus.DONE, 1, "", states)]), sort_by=Metric.WRITE)
    found = [(row.name, [(metric, summary.median) for metric, summary in row.figures]) for row in grid.rows]
    assert found == [
        ("ext4 data=ordered, large files", [(Metric.WRITE, 200e6), (Metric.MKFS, 0.5)]),
        ("ext4 data=ordered, small files", [(Metric.WRITE, 3.0 * MIB), (Metric.MKFS, 0.5)]),
    ]


# Variants that came out equal: one row, only where nothing unseen could tell them apart.


PLAIN = Variant("plain", "ext4", hidden_words=("-E nodiscard",))
SAID = replace(PLAIN, label="said", mkfs_words=("-I", "256"))
MADE = (("mkfs", "inode_size", "256"), ("mkfs", "extent", "on"), ("mount", "data", "ordered"))


def seen(state: CellState, features=MADE) -> CellState:
    return replace(state, features=tuple(FeatureSeen(state.index, 1, *feature) for feature in features))


def equal_grid(variants, states):
    return build_grid(run([cell(number, variant) for number, variant in enumerate(variants)], states))


def equal_names(grid) -> dict[str, list[int]]:
    return {row.name: [figures.cell for figures in row.cells] for row in grid.rows}


def test_rows_of_which_the_same_was_read_back_are_one_with_a_warning() -> None:
    grid = equal_grid([PLAIN, SAID], [seen(done(0)), seen(done(1, factors={Metric.DURABLE: 0.5}))])
    assert equal_names(grid) == {"plain": [0, 1]}
    (warning,) = [w for w in grid.warnings if w.kind is WarningKind.EQUAL]
    assert (warning.reason, warning.cells) == ("'said' came out equal to 'plain'", (0, 1))
    assert grid.rows[0].figure(Metric.DURABLE).n == 2


def test_rows_that_may_differ_stay_apart() -> None:
    other, same = (*MADE[:2], ("mount", "data", "writeback")), [seen(done(0)), seen(done(1))]
    unsaid = {"hidden_words": None}
    for case, variants, states in (
        ("other features", [PLAIN, SAID], [seen(done(0)), seen(done(1), other)]),
        ("not mounted", [PLAIN, SAID], [seen(done(0), MADE[:2]), seen(done(1), MADE[:2])]),
        ("nothing read", [PLAIN, SAID], [done(0), done(1)]),
        ("hidden words", [PLAIN, replace(SAID, hidden_words=("-E discard",))], same),
        ("older journal", [replace(PLAIN, **unsaid), replace(SAID, **unsaid)], same),
        ("filesystem", [PLAIN, replace(SAID, filesystem="ext3")], same),
        ("control", [PLAIN, replace(PLAIN, label="plain (control)", is_control=True)], same),
    ):
        grid = equal_grid(variants, states)
        assert [len(row.cells) for row in grid.rows] == [1, 1], case
        assert not [w for w in grid.warnings if w.kind is WarningKind.EQUAL], case
    # Nor is a row joined whose repeats came out differently.
    grid = equal_grid([PLAIN, PLAIN, SAID], [seen(done(0)), seen(done(1), other), seen(done(2))])
    assert equal_names(grid) == {"plain": [0, 1], "said": [2]}


JOURNALLED = (("mkfs", "has_journal", "on"), ("mount", "barrier", "on"))
WITHOUT = {
    "barriers": (("mkfs", "has_journal", "on"), ("mount", "nobarrier", "on")),
    "a journal": (("mkfs", "extent", "on"), ("mount", "barrier", "on")),
}
BESIDE = (("mkfs", "data.bsize", "4096"), ("mount", "rw", "on"))


def unsafe_sides(*sides: tuple[str, tuple[tuple[str, str, str], ...]]) -> dict[str, tuple[int, ...]]:
    variants = [Variant(f"{name} {number}", name) for number, (name, _) in enumerate(sides)]
    grid = equal_grid(variants, [seen(done(number), made) for number, (_, made) in enumerate(sides)])
    return {noted.reason: noted.cells for noted in grid.warnings if noted.kind is WarningKind.UNSAFE_SIDE}


@pytest.mark.parametrize(("what", "them"), [("barriers", "them"), ("a journal", "it")])
def test_a_row_that_lacks_barriers_or_a_journal_is_told_only_beside_one_that_has_them(what: str, them: str) -> None:
    unsafe = ("ext4", WITHOUT[what])
    reason = f"'ext4 1' runs without {what}, other rows with {them}"
    for other in (("ext4", JOURNALLED), ("xfs", BESIDE)):
        assert unsafe_sides(other, unsafe) == {reason: (1,)}
    assert unsafe_sides(unsafe, unsafe, ("raw", ())) == {}
    assert unsafe_sides(("ext4", JOURNALLED), ("xfs", BESIDE), ("ext4", unsafe[1][:1])) == {}


# Columns by name, and those that are shown unasked.


def test_a_column_is_found_by_its_head_and_by_its_stored_name() -> None:
    for metric in list(Metric):
        assert column_named(metric.column) is metric, metric
        assert column_named(metric.value.upper().replace("_", "-")) is metric, metric
    assert column_named("foreign I/O") is Metric.FOREIGN_IO  # As plan files of earlier versions have it.


def test_the_column_of_others_disk_use_is_named_as_the_warning_of_it() -> None:
    assert Metric.FOREIGN_IO.column == WarningKind.FOREIGN_IO.words


def test_an_unknown_column_is_told_with_the_nearest_names_or_else_with_the_command_that_lists_all() -> None:
    with pytest.raises(UnknownColumn) as caught:
        column_named("durabel")
    assert str(caught.value) == "There is no column 'durabel'."
    assert caught.value.hint.startswith("Did you mean durable")
    assert caught.value.exit_code is ExitCode.USAGE
    with pytest.raises(UnknownColumn) as caught:
        column_named("foo")
    assert "foreign" not in caught.value.hint
    with pytest.raises(UnknownColumn, match="no column") as caught:
        column_named("\x1b[31m§§§")
    assert caught.value.hint == "`fsconsole results --help` lists all columns."


def test_columns_keep_their_order_and_come_once_and_rates_are_sorted_from_the_highest() -> None:
    assert columns_named("mkfs, write,,mkfs") == (Metric.MKFS, Metric.WRITE)
    with pytest.raises(UnknownColumn):
        columns_named(" , ")
    sorted_so = [highest_first(m) for m in (Metric.DURABLE, Metric.FILES_PER_S, Metric.CHECK, Metric.CPU)]
    assert sorted_so == [True, True, False, False]


SYNCS = (Metric.FSYNC_MEAN, Metric.FSYNC_P50, Metric.FSYNC_P99, Metric.FSYNC_MAX)


def test_reads_and_syncs_stand_behind_durable_and_others_give_way_so_that_a_block_grows_no_wider() -> None:
    for is_raw in (False, True):
        for more in ((Metric.READ,), SYNCS, (Metric.READ, Metric.OPS_PER_S), (Metric.READ, *SYNCS)):
            planned = cells_of_variants(build.XFS, *[RAW_ROW] * is_raw)
            states = [build.done(0, more=dict.fromkeys(more, 1.0)), *[raw_state(1, one=1e6, many=1e6)] * is_raw]
            if Metric.OPS_PER_S in more:
                mixed = (replace(planned[0].workloads[0], kind=WorkloadKind.MIX),)
                planned = [replace(cell, workloads=mixed) for cell in planned]
            shown = columns_of_loads(planned, states)
            shares = {Metric.OF_RAW_1, Metric.OF_RAW_N} & set(shown)
            assert len(shares) == 2 * is_raw
            place = shown.index(Metric.DURABLE) + 1
            kept = tuple(metric for metric in more if metric in shown)
            assert shown[place : place + len(kept)] == kept, more
            assert set(more) - set(kept) <= {Metric.FSYNC_P50, Metric.FSYNC_MAX}, more
            assert len(shown) <= 7, more
    # Of a load that neither mixes nor seeks, operations are no more than its calls.
    counted = build.done(0, more={Metric.OPS_PER_S: 1.0})
    usual = (Metric.WRITE, Metric.DURABLE, Metric.CPU, Metric.EXTENTS_MEAN)
    assert columns_of_loads(cells_of_variants(build.XFS), [counted]) == usual


def columns_of_loads(planned: list[Cell], states: list[CellState]) -> tuple[Metric, ...]:
    state = build.run(planned, states)
    return blocks_of(state, build_grid(state))[0].columns


# Shares of the raw row of the same device, settings and workload, and of no other.


RAW_ROW = Variant(RAW, RAW)
DURABLE = build.FIGURES[Metric.DURABLE]


def raw_state(index: int, *, one: float, many: float | None) -> CellState:
    figures = [Measurement(Metric.RAW_WRITE_1, one), Measurement(Metric.DURABLE, one)]
    if many is not None:
        figures += [Measurement(Metric.RAW_WRITE_N, many), Measurement(Metric.DURABLE, many)]
    step = StepState(1, StepKind.RAW_WRITE, "write", 0, Outcome.DONE, 1.0, measurements=tuple(figures))
    return CellState(index, CellStatus.DONE, 1, steps=(step,))


def cells_of_variants(*variants: Variant, setting: Setting | None = None, threads: int = 16) -> list[Cell]:
    workload: Workload = replace(build.LARGE_FILES, threads=threads)
    return [
        replace(build.cell(index, variant), setting=setting or Setting(), workloads=(workload,))
        for index, variant in enumerate(variants)
    ]


def shares(planned: list[Cell], states: list[CellState], name: str = "xfs") -> tuple[float | None, ...]:
    (row,) = (row for row in build_grid(build.run(planned, states)).rows if row.name == name)
    return row.value(Metric.OF_RAW_1), row.value(Metric.OF_RAW_N)


def test_both_shares_are_of_durable_and_may_exceed_100() -> None:
    planned = cells_of_variants(RAW_ROW, build.XFS)
    states = [raw_state(0, one=DURABLE / 2, many=DURABLE * 4), build.done(1)]
    assert shares(planned, states) == (pytest.approx(200), pytest.approx(25))
    assert shares(planned, states, RAW) == (None, None)
    assert {Metric.OF_RAW_1, Metric.OF_RAW_N} <= set(columns_of_loads(planned, states))
    # The median over the raw row's repeats counts.
    repeated = [replace(one, repeat=one.index + 1) for one in cells_of_variants(RAW_ROW, RAW_ROW, RAW_ROW)]
    raws = [raw_state(index, one=DURABLE * factor, many=DURABLE) for index, factor in enumerate((1, 2, 100))]
    found = shares([*repeated, build.cell(3, build.XFS)], [*raws, build.done(3)])
    assert found == (pytest.approx(50), pytest.approx(100))


def test_a_raw_row_stands_for_all_numbers_of_threads_and_is_named_by_its_pilot() -> None:
    raw, one = (cells_of_variants(RAW_ROW, build.XFS, threads=threads)[place] for place, threads in ((0, 64), (1, 1)))
    state = build.run([raw, one], [raw_state(0, one=DURABLE * 2, many=DURABLE * 4), build.done(1)])
    assert shares([raw, one], list(state.cells)) == (pytest.approx(50), pytest.approx(25))
    for depths, name in (((4, 4), "raw, depth 4"), ((4, 16), "raw, depth 4, reads 16")):
        settled = tuple(
            Settled(RAW_DEPTH.format(act), depth) for act, depth in zip(("write", "read"), depths, strict=True)
        )
        sizes = PilotFinished(1, 1, (Settled("files", 8, 0),))
        told = replace(state, pilots=(sizes, PilotFinished(0, 1, settled)))
        assert {row.name for row in build_grid(told).rows} == {name, "xfs"}
    elsewhere = replace(raw, target="/dev/loop9")
    told = build.run([elsewhere, replace(raw, index=1)], [raw_state(index, one=1.0, many=1.0) for index in (0, 1)])
    named = {row.key.target: row.name for row in build_grid(replace(told, pilots=(PilotFinished(0, 1, settled),))).rows}
    assert ["depth" in named[target] for target in ("/dev/loop9", raw.target)] == [True, False]


def test_a_raw_row_with_other_settings_or_without_figures_is_no_reference() -> None:
    (other,) = cells_of_variants(build.XFS, setting=Setting((("read_ahead", "2MiB"),)))
    planned = [*cells_of_variants(RAW_ROW), replace(other, index=1)]
    states = [raw_state(0, one=1e6, many=1e6), build.done(1)]
    assert shares(planned, states) == (None, None)
    assert not {Metric.OF_RAW_1, Metric.OF_RAW_N} & set(columns_of_loads(planned, states))
    planned = cells_of_variants(RAW_ROW, build.XFS)
    assert shares(planned, [build.failed(0), build.done(1)]) == (None, None)


def test_workloads_of_the_same_threads_stand_against_one_raw_row() -> None:
    two = (build.LARGE_FILES, replace(build.LARGE_FILES, name="more"))
    planned = [replace(cell, workloads=two) for cell in cells_of_variants(RAW_ROW, build.XFS)]
    write = replace(build.done(1).steps[2], number=1, kind=StepKind.RAW_WRITE)
    raw = replace(raw_state(0, one=DURABLE, many=DURABLE * 2), steps=(write,))
    grid = build_grid(build.run(planned, [raw, build.done(1)]))
    assert [row.name for row in grid.rows if row.key.variant.is_raw] == [RAW]


def test_workloads_stand_against_the_streams_under_their_own_settings() -> None:
    own = replace(build.LARGE_FILES, name="own", settings=(("nr_requests", "8"),))
    kinds = (StepKind.RAW_WRITE, StepKind.RAW_WRITE)
    steps = tuple(Step(kind, "write", workload=number) for number, kind in enumerate(kinds))
    raw, xfs = (replace(one, workloads=(build.LARGE_FILES, own)) for one in cells_of_variants(RAW_ROW, build.XFS))
    written = (raw_state(0, one=DURABLE * factor, many=DURABLE * factor).steps[0] for factor in (2, 4))
    known = CellState(0, CellStatus.DONE, 1, steps=tuple(replace(step, number=n) for n, step in enumerate(written)))
    grid = build_grid(build.run([replace(raw, steps=steps), replace(xfs, steps=())], [known, build.done(1)]))
    found = {row.key.workload: row.value(Metric.OF_RAW_N) for row in grid.rows if not row.key.variant.is_raw}
    assert found == {0: pytest.approx(50), 1: pytest.approx(25)}
