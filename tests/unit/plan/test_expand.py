"""A plan file applied to devices: all cells, in order, sizes, estimates, reasons for what is left out."""

from __future__ import annotations

import uuid
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.catalog.loader import load_catalog
from fsconsole.errors.targets import PlanBadValue
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Cell, Equalise, StepKind
from fsconsole.model.state import CellState, CellStatus, RunState
from fsconsole.model.workload import Workload
from fsconsole.plan import expand
from fsconsole.plan.planfile import TargetSpec, written_bytes
from fsconsole.show.plan_text import size_words
from fsconsole.text import GIB, KIB, MIB, TIB
from fsconsole.units import format_bytes, format_guess
from tests.unit.plan.examples import DESIGN, DEVICE, SMALLEST, VARIANT, WORKLOAD, build, labels, parse
from tests.unit.results import build as made

TWO = "[[variant]]\ntype = 'ext4'\nmount = 'data=ordered'\n[[variant]]\ntype = 'xfs'\n"
EXT4 = "ext4 data=ordered"
SCRATCH = TargetSpec("/dev/loop3", GIB, is_scratch=True)


def checklist(mkfs: str = "", mount: str = "", exclude: str = "[]", head: str = "order = 'as-listed'") -> str:
    return (
        f"schema = 1\n{head}\n[[filesystem]]\ntype = 'ext4'\n"
        f"mkfs = {{ {mkfs} }}\nmount = {{ {mount} }}\nexclude = {exclude}\n{WORKLOAD}"
    )


def test_a_checklist_is_multiplied_out_and_labels_name_only_what_differs() -> None:
    plan = build(checklist("inode_size = 256", "data = ['ordered', 'writeback'], delalloc = ['on', 'off']"))
    datas, delallocs = ("data=ordered", "data=writeback"), ("delalloc", "nodelalloc")
    assert labels(plan) == [f"ext4 {data} {delalloc}" for data in datas for delalloc in delallocs]
    assert all("-I" in cell.variant.mkfs_words for cell in plan.cells)


@pytest.mark.parametrize(
    ("mkfs", "mount", "names"),
    [
        ("", "delalloc = ['on', 'off']", ["ext4 delalloc", "ext4 nodelalloc"]),
        ("", "delalloc = 'off'", ["ext4 nodelalloc"]),
        ("inode_size = 512", "data = 'writeback'", ["ext4 -I 512 data=writeback"]),
        ("", "", ["ext4"]),
    ],
)
def test_the_only_row_of_a_filesystem_shows_its_options_and_is_the_baseline_by_the_filesystems_name(
    mkfs: str, mount: str, names: list[str]
) -> None:
    geometry = "geometry = { chunk = '64KiB', data_disks = 4 }"
    assert labels(build(checklist(mkfs, mount))) == names
    assert sorted(labels(build(checklist(mkfs, mount, head=geometry)))) == names, "the plan's stripes are no choice"
    if len(names) == 1:
        assert build(checklist(mkfs, mount, head="baseline = 'ext4'")).baseline == names[0]


def test_combinations_that_are_excluded_or_cannot_be_are_left_out_the_latter_with_the_reason() -> None:
    options = "flex_bg = ['off', 'on'], flex_bg_size = "
    plan = build(checklist(options + "[16, 64]", exclude="[{ flex_bg = 'off' }]"))
    assert (labels(plan), plan.notes) == (["ext4 -G 16", "ext4 -G 64"], ())
    plan = build(checklist(options + "64", "data = ['ordered', 'journal'], delalloc = 'on'"))
    assert labels(plan) == ["ext4 flex_bg -G 64 data=ordered delalloc"]
    assert len(plan.notes) == 3
    assert any("can't mount with both data=journal and delalloc" in note for note in plan.notes)
    assert any("Flex_bg feature not enabled" in note for note in plan.notes)


def test_variants_that_come_to_the_same_words_are_one_and_none_share_a_label() -> None:
    same = "[[variant]]\ntype = 'ext4'\nmount = 'nobarrier,noatime'\n[[variant]]\ntype = 'ext4'\nmount = 'noatime,barrier=0'\n"
    plan = build("schema = 1\n" + same + WORKLOAD)
    assert len(plan.cells) == 1
    assert "the same variant is there already" in plan.notes[0]
    twice = "[[variant]]\ntype = 'ext4'\nlabel = 'a'\n[[variant]]\ntype = 'xfs'\nlabel = 'a'\n"
    with pytest.raises(PlanBadValue, match="two variants have it"):
        build("schema = 1\n" + twice + WORKLOAD)


def test_a_list_of_threads_makes_a_cell_for_each_and_files_default_to_one_per_thread() -> None:
    text = "order = 'as-listed'\n" + SMALLEST.replace("threads = 4", "threads = [1, 16, 128]")
    loads = [cell.workloads[0] for cell in build(text).cells]
    assert [(load.threads, load.files) for load in loads] == [(1, 1), (16, 16), (128, 128)]


def test_as_listed_repeats_each_cell() -> None:
    text = "schema = 1\nrepeats = 2\norder = 'ORDER'\n" + TWO + WORKLOAD
    listed = [(c.variant.filesystem, c.repeat) for c in build(text.replace("ORDER", "as-listed")).cells]
    assert listed == [("ext4", 1), ("ext4", 2), ("xfs", 1), ("xfs", 2)]


def test_a_control_is_the_baseline_once_more_as_a_row_of_its_own() -> None:
    plan = build("schema = 1\ncontrol = true\nraw = true\norder = 'as-listed'\n" + TWO + WORKLOAD)
    assert labels(plan) == ["raw", EXT4, f"{EXT4} (control)", "xfs"]
    base, control = (cell.variant for cell in plan.cells[1:3])
    assert control == replace(base, label=f"{EXT4} (control)", is_control=True)
    assert plan.baseline == EXT4
    taken = TWO.replace("'xfs'", f"'xfs'\nlabel = '{EXT4} (control)'")
    with pytest.raises(PlanBadValue, match="two variants have it"):
        build("schema = 1\ncontrol = true\n" + taken + WORKLOAD)


def test_auto_plans_the_rounds_of_its_last_look_and_wants_rounds() -> None:
    text = "schema = 1\nrepeats = 'auto'\nsame = 5\nprimary = 'write'\n" + TWO + WORKLOAD
    plan = build(text)
    assert (plan.is_auto, plan.repeats, len(plan.cells)) == (True, 12, 24)
    assert (plan.same, plan.primary, plan.notes) == (0.05, Metric.WRITE, ())
    (note,) = build(text.replace("write", "fsync p99")).notes
    assert "no load has the primary column 'fsync p99'" in note
    with pytest.raises(PlanBadValue, match="only rounds have them"):
        build("order = 'shuffled'\n" + text)


@given(seed=st.integers(min_value=0, max_value=2**63 - 1))
def test_rounds_follow_one_another_and_each_has_every_cell_once(seed: int) -> None:
    cells = build(f"schema = 1\nrepeats = 4\nseed = {seed}\n" + TWO + WORKLOAD).cells
    assert [cell.repeat for cell in cells] == [1, 1, 2, 2, 3, 3, 4, 4]
    assert all({c.variant.filesystem for c in cells[first : first + 2]} == {"ext4", "xfs"} for first in range(0, 8, 2))


def test_the_order_within_a_round_is_shuffled() -> None:
    cells = build("schema = 1\nrepeats = 12\n" + TWO + WORKLOAD).cells
    assert {cells[first].variant.filesystem for first in range(0, 24, 2)} == {"ext4", "xfs"}


@given(seed=st.integers(min_value=0, max_value=2**63 - 1))
def test_shuffling_keeps_every_cell_and_is_repeated_by_its_seed(seed: int) -> None:
    text = f"schema = 1\nrepeats = 5\nseed = {seed}\n" + TWO + WORKLOAD
    first, second = build(text), build(text)
    assert first == second
    assert first.seed == seed
    assert Counter((c.variant.label, c.repeat) for c in first.cells) == Counter(
        (label, repeat) for label in (EXT4, "xfs") for repeat in range(1, 6)
    )
    assert [cell.index for cell in first.cells] == list(range(10))


def test_different_seeds_make_different_orders_and_every_target_has_all_cells() -> None:
    text = "schema = 1\nrepeats = 10\nseed = SEED\n" + TWO + WORKLOAD
    orders = {tuple(labels(build(text.replace("SEED", str(seed))))) for seed in range(5)}
    assert len(orders) > 1
    plan = build("schema = 1\n" + TWO + WORKLOAD, DEVICE, SCRATCH)
    assert plan.targets == ("/dev/loop7", "/dev/loop3")
    assert Counter(cell.target for cell in plan.cells) == {"/dev/loop7": 2, "/dev/loop3": 2}


def test_uuids_are_the_runs_own_one_for_each_cell_and_the_same_when_computed_again() -> None:
    plan = build("schema = 1\nrepeats = 3\n" + TWO + WORKLOAD, run_id="20260101-a")
    uuids = [cell.uuid for cell in plan.cells]
    assert len(set(uuids)) == 6
    assert uuids == [expand.cell_uuid("20260101-a", index) for index in range(6)]
    assert all(str(uuid.UUID(text)) == text for text in uuids)
    assert not set(uuids) & {expand.cell_uuid("20260101-b", index) for index in range(6)}


def test_what_this_version_does_not_run_is_a_cell_that_says_so() -> None:
    plan = build(DESIGN)
    assert Counter(cell.variant.is_raw for cell in plan.cells)[True] == len(plan.cells) // 7
    reasons = plan.cells[0].unavailable
    assert "raid5 needs at least 2 members" in reasons
    assert plan.estimate.bytes_to_write == 0
    with pytest.raises(PlanBadValue, match="no cell of this plan can be run"):
        expand.require_runnable(plan, "plan.toml")
    one = build("schema = 1\n" + TWO + WORKLOAD, TargetSpec("/dev/x", 100 * MIB))
    assert sorted(bool(cell.unavailable) for cell in one.cells) == [False, True]
    expand.require_runnable(one, "plan.toml")


def test_too_many_cells_are_refused_before_they_are_made() -> None:
    axes = ", ".join(f"{name} = {list(range(1, 101))}" for name in ("stride", "stripe_width", "inode_ratio"))
    with pytest.raises(PlanBadValue, match="1000000 combinations"):
        build(checklist(axes))
    with pytest.raises(PlanBadValue, match="too many cells"):
        build("repeats = 1000\n" + SMALLEST.replace("threads = 4", f"threads = {list(range(1, 12))}"))


def test_a_factor_shrinks_files_in_whole_blocks_never_below_one_and_leaves_threads_and_blocks() -> None:
    for factor, size, shrunk in [("0.25", "1000KiB", 192 * KIB), ("0.001", "1MiB", 64 * KIB)]:
        (cell,) = build(f"scale = {factor}\n" + SMALLEST.replace("1MiB", size)).cells
        (workload,) = cell.workloads
        assert workload.file_size_bytes == shrunk
        assert (workload.threads, workload.block_size_bytes) == (4, 64 * KIB)


@given(threads=st.integers(1, 512), size=st.integers(1, 2**40), device=st.integers(300 * MIB, 16 * GIB))
def test_fit_keeps_within_its_share_of_the_device_or_at_one_block_per_file(
    threads: int, size: int, device: int
) -> None:
    load = f"[[workload]]\nkind = 'create'\nthreads = {threads}\nfile_size = {size}\nblock_size = 1\n"
    (cell,) = build("schema = 1\nscale = 'fit'\n" + VARIANT + load, TargetSpec("/dev/x", device)).cells
    (workload,) = cell.workloads
    assert workload.file_size_bytes <= size
    assert workload.total_bytes <= device * 0.60 or workload.file_size_bytes == 1
    if size * threads <= device * 0.55:
        assert workload.file_size_bytes == size


def test_fit_without_a_device_leaves_sizes_and_scaling_is_noted_where_it_happens() -> None:
    text = "schema = 1\nscale = 'fit'\n" + VARIANT + WORKLOAD.replace('"1MiB"', '"1GiB"')
    assert build(text, TargetSpec("DEVICE", 0)).cells[0].workloads[0].file_size_bytes == GIB
    plan = build(text)
    assert plan.cells[0].workloads[0].file_size_bytes < GIB
    assert any(note.startswith("loads scaled by 0.") for note in plan.notes)


def test_a_device_that_is_too_small_or_too_full_makes_its_cells_unavailable() -> None:
    large = WORKLOAD.replace('"1MiB"', '"2GiB"')
    for filesystem, load, size, why in [
        ("xfs", WORKLOAD, 100 * MIB, "xfs needs at least 300.0 MiB"),
        ("ext3", WORKLOAD, 17 * TIB, "at most 16.0 TiB"),
        ("ext4", large, 4 * GIB, 'use scale = "fit"'),
    ]:
        text = f"schema = 1\n[[variant]]\ntype = '{filesystem}'\n{load}"
        assert why in build(text, TargetSpec("/dev/x", size)).cells[0].unavailable


def test_the_gate_is_told_how_large_a_device_must_and_may_be() -> None:
    catalog = load_catalog()
    plan = parse("schema = 1\n" + TWO + WORKLOAD)
    assert expand.size_bounds(plan, catalog) == (8 * MIB, 2**63 - 1)
    assert expand.size_bounds(parse("schema = 1\n" + TWO + WORKLOAD.replace('"1MiB"', '"1GiB"')), catalog)[0] == 4 * GIB
    fitted = parse("schema = 1\nscale = 'fit'\n" + TWO + WORKLOAD.replace('"1MiB"', '"1GiB"'))
    assert expand.size_bounds(fitted, catalog)[0] == 8 * MIB


def test_a_device_without_discard_is_not_discarded_and_the_plan_says_so() -> None:
    plan = build(SMALLEST, replace(DEVICE, can_discard=False))
    (cell,) = plan.cells
    assert cell.equalise is Equalise.NONE
    assert StepKind.EQUALISE not in [step.kind for step in cell.steps]
    assert "offers no discard" in plan.notes[0]
    # A scratch device never has one: it is zeroed.
    plan = build(SMALLEST, replace(SCRATCH, can_discard=False))
    assert StepKind.EQUALISE in [step.kind for step in plan.cells[0].steps]
    assert plan.notes == ()


def test_a_load_with_a_time_limit_counts_at_most_what_the_disk_takes_in_that_time_and_is_said_to_be_a_limit() -> None:
    ends = "file_size = '16KiB'\nblock_size = '16KiB'\nduration = '60s'\nweights = { create = 1, read = 1 }\n"
    mix = SMALLEST + "[[workload]]\nkind = 'mix'\n" + ends
    found = build(mix).estimate
    assert found.timed_bytes > 0
    most = 60 * found.assumed_bytes_per_s * build(mix).repeats
    assert found.timed_bytes == pytest.approx(most, rel=0.01)
    assert found.bytes_to_write > found.timed_bytes
    fixed = build(SMALLEST).estimate
    assert fixed.timed_bytes == 0
    assert "up to" not in size_words(fixed)
    reading = mix.replace("create = 1, read = 1", "read = 1, stat = 1")
    assert build(reading).estimate.timed_bytes == 0


def test_bytes_of_a_load_that_only_time_ends_are_told_as_time_and_of_one_that_a_size_ends_sooner_as_a_limit() -> None:
    mix = "[[workload]]\nkind = 'mix'\nfile_size = '16KiB'\nblock_size = '16KiB'\nduration = '60s'\nweights = { create = 1, read = 1 }\n"
    timed = build(SMALLEST + mix).estimate
    sure = format_bytes(build(SMALLEST).estimate.bytes_to_write)
    lasts = format_guess(60 * build(SMALLEST + mix).repeats)
    assert size_words(timed) == f"{sure} to write and {lasts} of timed loads"
    assert size_words(timed, "written", is_short=True) == f"{sure} written and {lasts} of loads"
    ends_sooner = build(f"{SMALLEST}{mix}bytes = '1MiB'\n").estimate
    assert (ends_sooner.timed_s, size_words(ends_sooner)) == (
        0,
        f"up to {format_bytes(ends_sooner.bytes_to_write)} to write",
    )
    assert ends_sooner.bytes_to_write < 2 * build(SMALLEST).estimate.bytes_to_write


def test_bytes_to_write_count_workload_inode_tables_and_equalising() -> None:
    load = 4 * MIB
    tables = int(4 * GIB * 0.016)
    expected = {"discard": 0, "none": 0, "zero": 4 * GIB, "precondition": 8 * GIB}
    for how, passes in expected.items():
        plan = build(f"equalise = '{how}'\n" + SMALLEST)
        assert plan.estimate.bytes_to_write == load + tables + passes
        assert plan.estimate.elapsed_s > plan.estimate.bytes_to_write / plan.estimate.assumed_bytes_per_s


def test_a_time_limit_and_a_disk_that_turns_are_in_the_estimate() -> None:
    plan = build(SMALLEST)
    limited = build(SMALLEST + "[[workload]]\nkind = 'stat'\nduration = '10min'\n")
    assert limited.estimate.elapsed_s - plan.estimate.elapsed_s == 600
    sizes = {DEVICE.path: DEVICE.size_bytes}
    turning, flash = (
        expand.estimate(plan.cells, sizes, load_catalog(), rate)
        for rate in (expand.ROTATING_BYTES_PER_S, expand.FLASH_BYTES_PER_S)
    )
    assert turning.elapsed_s > flash.elapsed_s


def workloads(*lines: str, head: str = "schema = 1\n") -> tuple[Workload, ...]:
    (cell,) = build(head + VARIANT + "\n".join(("[[workload]]", *lines)) + "\n").cells
    return cell.workloads


CREATE = ("kind = 'create'", "threads = 4", "file_size = '1MiB'")


def test_reads_and_overwrites_take_no_room_and_appends_and_the_creates_of_a_mix_do() -> None:
    more = workloads(
        *CREATE, "[[workload]]", "kind = 'read'", "[[workload]]", "kind = 'random-write'",
        "[[workload]]", "kind = 'append'", "file_size = '512KiB'",
    )  # fmt: skip
    assert (written_bytes(workloads(*CREATE)), written_bytes(more)) == (4 * MIB, 6 * MIB)
    weights = "weights = { read = 2, create = 1, stat = 1 }"
    _, mix = workloads(*CREATE, "[[workload]]", "kind = 'mix'", weights, "file_size = '1MiB'", "files = 80")
    assert (mix.added_bytes, mix.total_bytes) == (20 * MIB, 60 * MIB)


def test_a_range_counts_by_its_middle_and_a_limit_by_what_it_lets_through() -> None:
    (ranged,) = workloads("kind = 'create'", "files = 100", "file_size = ['512KiB', '1536KiB']")
    (limited,) = workloads("kind = 'create'", "file_size = '1MiB'", "bytes = '10MiB'")
    (both,) = workloads("kind = 'create'", "files = 3", "file_size = '1MiB'", "bytes = '10MiB'")
    (timed,) = workloads("kind = 'create'", "file_size = '1MiB'", "duration = '1min'")
    assert [w.added_bytes for w in (ranged, limited, both, timed)] == [100 * MIB, 10 * MIB, 3 * MIB, 0]
    assert (limited.files, both.files, timed.files) == (0, 3, 0)


def test_ranges_and_limits_shrink_in_whole_blocks_with_the_files() -> None:
    ranged = ("kind = 'create'", "file_size = ['128KiB', '1MiB']", "bytes = '8MiB'")
    (made,) = workloads(*ranged, head="schema = 1\nscale = 0.3\n")
    assert (made.file_size_bytes, made.file_size_max_bytes) == (64 * KIB, 256 * KIB)
    assert made.limit_bytes == 38 * 64 * KIB


def test_every_workload_has_a_seed_of_its_own_that_the_plans_seed_decides() -> None:
    text = SMALLEST + "[[workload]]\nkind = 'read'\n"
    seeds = [[w.seed for w in build(text.replace("schema = 1", head)).cells[0].workloads] for head in (
        "schema = 1", "schema = 1\nseed = 2", "schema = 1\nseed = 2",
    )]  # fmt: skip
    assert seeds[1] == seeds[2]
    assert len({*seeds[0], *seeds[1]}) == 4


KINDS = (CellStatus.DONE, CellStatus.UNKNOWN, CellStatus.SKIPPED, CellStatus.PENDING)


def begun(cells: tuple[Cell, ...]) -> RunState:
    states = tuple(CellState(index, status, 1) for index, status in enumerate(KINDS))
    return made.run(cells, states)


CELLS = tuple(made.cell(index, repeat=index + 1) for index in range(len(KINDS)))


def test_what_is_left_costs_no_more_than_the_cells_that_are_left() -> None:
    state = begun(CELLS)
    left = expand.plan_left(state, load_catalog())
    (target,) = state.request.targets
    sizes = {target.path: target.identity.size_bytes}
    assert [cell.index for cell in left.cells] == [1, 3]
    whole = state.request.plan.estimate
    assert left.estimate == expand.estimate(left.cells, sizes, load_catalog(), whole.assumed_bytes_per_s)
    assert 0 < left.estimate.bytes_to_write < whole.bytes_to_write


def test_a_cell_that_the_engine_will_refuse_is_listed_and_breaks_no_figure() -> None:
    variant = replace(CELLS[1].variant, filesystem="nothing-known")
    unknown, elsewhere = replace(CELLS[1], variant=variant), replace(CELLS[3], target="/dev/elsewhere")
    strange = (CELLS[0], unknown, CELLS[2], elsewhere)
    left = expand.plan_left(begun(strange), load_catalog())
    assert [cell.index for cell in left.cells] == [1, 3]
    assert left.estimate.bytes_to_write == 0
