"""Shipped plans and publications, and the words of older papers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.catalog.loader import load_catalog
from fsconsole.errors.targets import PlanMissing, PublicationMissing
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import RAW, Plan, StepKind
from fsconsole.model.workload import Generator
from fsconsole.plan.draft import plan_to_toml
from fsconsole.plan.expand import build_plan, require_runnable, workload_choices
from fsconsole.plan.planfile import NO_DEVICE, TargetSpec
from fsconsole.plan.publications import find_publication, list_publications, read_publication
from fsconsole.plan.read import find_config, list_configs, parse_plan, read_plan, resolve_plan
from fsconsole.plan.shipped import is_recipe
from fsconsole.results.published import beside
from fsconsole.show.plan_text import plan_lines
from fsconsole.text import GIB, KIB, MIB
from fsconsole.workloads.dd import argvs

SCRATCH = TargetSpec("/dev/loop3", 2 * GIB, is_scratch=True)
FOUR = tuple(replace(SCRATCH, path=f"/dev/loop{number}") for number in range(3, 7))


NEED_GIB = {
    "cao-2005-tiobench": 8,
    "cao-2005-tiobench-as-printed": 8,
    "chinner-2012-aged": 4,
    "lowe-2009-check": 16,
    "lowe-2009-check-6-million": 100,
    "lowe-2009-bonnie": 16,
    "lowe-2009-shapes": 4,
    "lowe-2009-shapes-built-in": 4,
}
"""Plans that keep what no small device has room for: millions of files, data of four times the memory, 1 GiB beside aged files."""


def test_every_shipped_plan_can_be_run_on_scratch_devices() -> None:
    # A recipe may need more: a million files do (test_recipes.py).
    for path in (path for path in list_configs() if not is_recipe(path)):
        plan_file = read_plan(path)
        targets = FOUR if plan_file.arrays else FOUR[:1]
        if path.stem in NEED_GIB:
            targets = tuple(replace(target, size_bytes=NEED_GIB[path.stem] * GIB) for target in targets)
        plan = build_plan(plan_file, targets, load_catalog(), run_id="run", kernel="6.18.0")
        require_runnable(plan, str(path))
        assert plan.title


def test_every_shipped_plan_is_planned_whole_for_320_mib_with_its_commands_or_the_reason_why_not() -> None:
    for path in list_configs():
        plan_file = read_plan(path)
        targets = tuple(replace(target, size_bytes=320 * MIB, memory_limit="/limit") for target in FOUR)
        targets = targets if plan_file.arrays else targets[:1]
        plan = build_plan(plan_file, targets, load_catalog(), run_id="run", kernel="6.18.0", memory_bytes=4 * GIB)
        variants = {name for cell in plan.cells for name in (cell.variant.label, cell.variant.filesystem)}
        assert {variant.label or variant.filesystem for variant in plan_file.variants} <= variants, path
        rounds = [cell.repeat for cell in plan.cells]
        assert len({rounds.count(number) for number in range(1, plan_file.repeats + 1)}) == 1, path
        for cell in plan.cells:
            programs = {step.kind: [argv[0] for argv in step.commands] for step in cell.steps}
            if cell.variant.filesystem == RAW:
                assert {StepKind.RAW_WRITE, StepKind.RAW_READ} <= programs.keys()
                continue
            assert f"mkfs.{cell.variant.filesystem}" in programs[StepKind.MKFS], (path, cell.variant)
            assert programs[StepKind.MOUNT][0] == "mount"
            assert [step.workload for step in cell.steps if step.kind is StepKind.WORKLOAD] == [
                *range(len(cell.workloads))
            ]
        text = "\n".join(plan_lines(plan, (), "", every=False, width=80))
        assert all(why[:20] in text for why in {cell.unavailable for cell in plan.cells}), path


def test_the_memory_plan_of_2012_varies_the_dirty_limit_and_the_memory_of_the_loads() -> None:
    plan_file = read_plan(find_config("chinner-2012-memory"))
    target = replace(SCRATCH, size_bytes=64 * GIB, memory_limit="/limit")
    plan = build_plan(plan_file, (target,), load_catalog(), run_id="run", kernel="6.18.0", memory_bytes=4 * GIB)
    written = {
        tuple((write.path, int(write.value)) for step in cell.steps if step.kind is StepKind.SETTINGS for write in step.writes)
        for cell in plan.cells
    }  # fmt: skip
    limit = "/proc/sys/vm/dirty_bytes"
    by_axis = {(dict(of)[limit], dict(of)["/limit"]) for of in written}
    assert by_axis == {(dirty, memory) for dirty in (764400 * KIB, 8 * GIB) for memory in (4 * GIB, 64 * GIB)}
    assert {cell.variant.label for cell in plan.cells} == {"ext4", "xfs"}
    assert len(plan.cells) == 2 * 4 * plan_file.repeats


def test_the_shapes_of_2009_are_written_in_calls_of_128_kib() -> None:
    for name in ("lowe-2009-shapes", "lowe-2009-shapes-built-in"):
        for loads in workload_choices(read_plan(find_config(name))):
            makers = [load for load in loads if load.name.startswith("create")]
            assert [load.block_size_bytes for load in makers] == [128 * KIB] * 4, name
            assert [load.generator for load in makers] == [
                Generator.BUILT_IN if "built-in" in name else Generator.DD
            ] * 4
            assert name.endswith("built-in") or all("bs=131072" in argvs(load, "", None)[0] for load in makers)


def test_the_plan_of_arrays_compares_raid5_with_raid10_over_chunks_and_all_of_it_can_run() -> None:
    plan = build_plan(read_plan(find_config("whatif-arrays")), FOUR, load_catalog(), run_id="run")
    arrays = {(cell.array.level, cell.array.chunk_bytes) for cell in plan.cells if cell.array}
    assert arrays == {(level, size * KIB) for level in ("raid5", "raid10") for size in (64, 512)}
    assert {cell.unavailable for cell in plan.cells} == {""}
    assert {cell.members for cell in plan.cells} == {tuple(target.path for target in FOUR)}
    assert len(plan.cells) == 40
    # What is commented out in it is a plan too.
    text = find_config("whatif-arrays").read_text()
    commented = text[text.index("# [[array]]") : text.index("[[filesystem]]")].splitlines()
    knobs = [line.removeprefix("# ") for line in commented]
    axes = parse_plan("\n".join((text, *knobs)), "whatif-arrays").arrays
    assert axes[1].stripe_cache_sizes == (256, 4096)
    assert axes[1].consistency_policies == ("resync", "ppl")
    members = parse_plan(text.replace("# members", "members"), "whatif-arrays").arrays[0].members
    assert members == (4, 6)


def test_the_demo_has_five_rounds_of_five_variants_under_three_loads_of_a_gb_together_less_on_a_small_device() -> None:
    plan = build_plan(read_plan(find_config("demo")), (SCRATCH,), load_catalog(), run_id="run")
    assert plan.baseline == "ext4"
    for number in range(5):
        of_round = plan.cells[5 * number : 5 * number + 5]
        assert {cell.repeat for cell in of_round} == {number + 1}
        assert {cell.variant.label for cell in of_round} == {"ext4", "ext4 nodelalloc", "ext3", "xfs", "btrfs"}
    for cell in plan.cells:
        assert cell.unavailable == ""
        direct, small, buffered = cell.workloads
        assert (direct.direct, direct.syncs) == (True, False)
        assert small.syncs
        assert (buffered.direct, buffered.syncs) == (False, True)
        assert 950e6 < sum(load.total_bytes for load in cell.workloads) < 1100e6
    assert plan.notes == ()
    small_device = TargetSpec("/dev/loop3", 400 * MIB)
    plan = build_plan(read_plan(find_config("demo")), (small_device,), load_catalog(), run_id="run")
    assert all(not cell.unavailable for cell in plan.cells)
    assert sum(load.total_bytes for load in plan.cells[0].workloads) < 260 * MIB


def test_a_shipped_plan_is_found_by_its_name_and_a_file_by_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_config("demo") == find_config("demo.toml") == resolve_plan("demo")
    monkeypatch.chdir(tmp_path)
    Path("demo").mkdir()
    assert resolve_plan("demo") == find_config("demo")
    Path("mine.toml").write_text("")
    assert resolve_plan("mine.toml") == Path("mine.toml")
    for name in ["dmo", "", "../demo", "/etc", "a\0b", "x" * 5000]:
        with pytest.raises(PlanMissing) as caught:
            resolve_plan(name)
        assert str(caught.value).isprintable()
    for name, hint in (
        ("demmo", "Did you mean demo? Give"),
        ("demmo.toml", "Did you mean demo? Give"),
        ("nosuch.toml", "Give"),
    ):
        with pytest.raises(PlanMissing) as caught:
            resolve_plan(name)
        assert str(caught.value).endswith("no such file, and no shipped plan of that name.")
        assert caught.value.hint.startswith(f"{hint} a path, ")


HEAD = 'schema = 1\ntitle = "t"\nsource = "s"\ndate = "2008"\nmachine = "m"\nworkload = "w"\n'
COLUMNS = '[columns]\nspeed = { metric = "durable", unit = "MiB/s" }\n'


def test_every_shipped_publication_says_whose_it_is_and_has_figures_in_every_row() -> None:
    for path in list_publications():
        publication = read_publication(path)
        assert all((publication.title, publication.source, publication.date, publication.machine))
        assert all(row.figures or row.others for row in publication.rows)


def test_both_tables_of_the_large_file_study_are_whole_and_ffsbs_mb_are_mib() -> None:
    rows = find_publication("bull-2008").rows
    assert [sum(row.table == table for row in rows) for table in ("unpatched", "patched")] == [13, 18]
    assert sum(row.value(Metric.DELETE) is not None for row in rows) == 18
    assert sum(row.value(Metric.CHECK) is not None for row in rows) == 11 + 11
    (row,) = [r for r in rows if (r.as_printed, r.table) == ("ext4 -I 256 data=writeback", "patched")]
    assert row.value(Metric.DURABLE) == 76.9 * MIB
    assert [row.value(each) for each in (Metric.CPU_GENERATOR, Metric.DELETE, Metric.WRITE)] == [
        30.9,
        13.8,
        None,
    ]
    with pytest.raises(PublicationMissing) as caught:
        find_publication("bull-2009")
    assert "bull-2008" in caught.value.hint


def test_lowes_creates_and_deletes_are_whole_by_system_load_and_filesystem() -> None:
    """Sums of a transcription whose every figure was held against the page twice."""
    rows = find_publication("lowe-2009-shapes").rows
    sums = {
        table: [
            round(sum(row.value(metric) or 0.0 for row in of), 3)
            for metric in (Metric.REAL, Metric.USER, Metric.SYSTEM)
        ]
        for table in ("sl5", "fedora10", "either")
        if (of := [row for row in rows if row.table == table])
    }
    assert sums == {
        "sl5": [10538.607, 128.232, 1504.873],
        "fedora10": [12818.464, 187.729, 3396.352],
        "either": [43.322, 2.582, 13.094],
    }
    assert len({(row.table, row.load, row.as_printed) for row in rows}) == len(rows) == 28 + 46 + 1
    shapes = [
        f"{shape} x {size}" for shape, size in [("1MiB", "10GB"), *((s, "100GB") for s in ("1MiB", "10MiB", "10GiB"))]
    ]
    assert {row.load for row in rows} == {f"{what} {shape}" for what in ("create", "delete") for shape in shapes}
    # SL5 had no ext4; the one value that could be of either system is in neither's table.
    assert not [row for row in rows if row.table == "sl5" and "ext4" in row.as_printed]
    by = {(row.table, row.load, row.as_printed): row.value(Metric.REAL) for row in rows}
    assert by["fedora10", "delete 1MiB x 100GB", "ext4 barrier=1"] == 15.999
    assert by["sl5", "delete 1MiB x 100GB", "ext3 data=ordered"] == 1024.312
    assert by["sl5", "create 1MiB x 100GB", "xfs barrier"] == 2433.414
    assert by["fedora10", "create 10GiB x 100GB", "ext3 data=ordered"] == 671.748


def test_lowes_mkfs_df_and_fsck_are_there() -> None:
    ext4, large, ext3 = find_publication("lowe-2009-mkfs-mkfs").rows
    assert [row.value(Metric.MKFS) for row in (ext4, large, ext3)] == [282.252, 218.0, 1630.0]
    assert [row.value(Metric.MKFS_SYSTEM) for row in (ext4, large, ext3)] == [30.641, 18.0, 33.0]
    (df,) = find_publication("lowe-2009-mkfs-df").rows
    assert [one.value for one in df.others] == [9726161912, 171668, 1]
    assert df.value(Metric.AVAILABLE) == 9725580644 * KIB
    # 102400 blocks of 4 KiB are root's.
    assert 9726161912 - 171668 - 9725580644 == 102400 * 4
    (two,), (six,) = (find_publication(f"lowe-2009-fsck-{count}-million").rows for count in (2, 6))
    wanted = (Metric.RECOVER_FSCK, Metric.CHECK, Metric.NON_CONTIGUOUS, Metric.INODES)
    assert [two.value(Metric(f"recover_fsck_{time}")) for time in ("user", "system")] == [0.763, 0.401]
    assert [two.value(metric) for metric in wanted] == [1.251, 285.834, 19.8, 2003101]
    assert [six.value(metric) for metric in wanted] == [None, 747.0, 0.2, 6193839]
    assert six.value(Metric.QUICK_CHECK) == pytest.approx(0.854)


def test_lowes_seven_lines_of_csv_are_whole_but_for_what_was_too_quick() -> None:
    rows = find_publication("lowe-2009-csv").rows
    assert [len(row.figures) for row in rows] == [22, 24, 24, 24, 24, 24, 24]
    figures = [one for row in rows for one in row.figures]
    assert sum(one.value for one in figures if one.metric.unit.value == "B/s") == KIB * 4_862_065
    assert round(sum(one.value for one in figures if one.metric.unit.value != "B/s"), 1) == 6_636_931.6
    assert rows[0].value(Metric("bonnie_seq_stat")) is None


def test_every_row_of_lowes_bonnie_stands_beside_a_variant_of_its_plan_and_read_ahead_is_an_axis() -> None:
    plan_file = read_plan(find_config("lowe-2009-bonnie"))
    variants = {variant.as_printed for variant in plan_file.variants}
    assert variants == {row.as_printed for row in find_publication("lowe-2009-csv").rows}
    assert variants > {row.as_printed for row in find_publication("lowe-2009").rows}
    assert dict(plan_file.settings)["read_ahead"] == ("2MiB", "128KiB")


def test_caos_printed_ratio_stands_beside_every_run_of_his_plan() -> None:
    publication = find_publication("cao-2005-quoted")
    (row,) = publication.rows
    assert [(one.unit, one.value) for one in row.others] == [("%", 7), ("%", 10)]
    small = replace(SCRATCH, size_bytes=8 * GIB)
    plan = build_plan(
        read_plan(find_config("cao-2005-tiobench")), (small,), load_catalog(), run_id="run", memory_bytes=GIB // 2
    )
    assert plan.is_scaled
    assert beside(publication, [plan]).rows == publication.rows
    assert row.load in {load.name for cell in plan.cells for load in cell.workloads}


def test_every_field_of_chinners_mail_is_there_for_both_filesystems() -> None:
    ext4, xfs = find_publication("chinner-2012").rows
    assert (len(ext4.figures), len(xfs.figures)) == (15, 15)
    assert [xfs.other(f"extent {number}") for number in range(1, 7)] == [32, 32, 64, 128, 256, 420]
    (trace,) = find_publication("chinner-2012-trace").rows
    assert [one.value for one in trace.others] == [-898403, -911663, -931332, -951001, 6400, 7000]
    assert trace.value(Metric.NR_TO_WRITE) == 24576
    assert sum(one.value for one in ext4.figures if one.metric.unit.value == "B") == KIB * 593_138_648
    assert sum(one.value for one in xfs.figures if one.metric.unit.value == "B") == KIB * 795_376_524


def test_a_wrong_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    for text, words in [
        (HEAD + "colour = 1\n", "colour"),
        (HEAD + COLUMNS.replace("MiB/s", "s"), "not counted in"),
        (HEAD + COLUMNS.replace("durable", "fast"), "fast"),
        (HEAD + COLUMNS + '[[row]]\nas_printed = "x"\nfigures = { speed = "quick" }\n', "figures"),
        (HEAD + COLUMNS + '[[row]]\nas_printed = "x"\nfigures = { sped = 1 }\n', "sped"),
    ]:
        path.write_text(text)
        with pytest.raises((ValueError, KeyError), match=words):
            read_publication(path)


WORKLOAD = '[[workload]]\nkind = "create"\nthreads = 1\nfile_size = "1MiB"\n'
OF_2008 = """
schema = 1
[[variant]]
type = "ext4"
mkfs = "-I 256 -O ^flex_bg,uninit_groups,^metadata_csum,^64bit"
mount = "data=writeback"
as_printed = "-I 256 -O uninit_groups, data=writeback"
[[variant]]
type = "ext4"
mkfs = "-I 256 -O ^flex_bg,^uninit_bg,^metadata_csum,^64bit"
mount = "data=writeback,nomballoc"
as_printed = "-I 256, data=writeback,nomballoc"
"""


def build_of(text: str, kernel: str = "6.18.1") -> Plan:
    plan_file = parse_plan(text + WORKLOAD, "plan.toml")
    plan_file = replace(plan_file, repeats=1)
    return build_plan(plan_file, (NO_DEVICE,), load_catalog(), run_id="r", kernel=kernel)


def test_old_words_are_shown_under_todays_names_with_a_note_each() -> None:
    plan = build_of(OF_2008)
    assert plan.notes == ("uninit_groups is read as uninit_bg",)
    words = " ".join(word for cell in plan.cells for word in cell.variant.mkfs_words)
    assert "uninit_bg" in words
    assert "uninit_groups" not in words
    plan = build_of('schema = 1\n[[filesystem]]\ntype = "ext4"\nmkfs = { uninit_groups = ["on", "off"] }\n')
    assert plan.notes == ("uninit_groups is read as uninit_bg",)
    assert len(plan.cells) == 2
    assert build_of('schema = 1\n[[variant]]\ntype = "ext4"\nmkfs = "-O uninit_bg"\n').notes == ()


def test_what_2008_had_and_today_has_not_is_listed_with_the_kernels_words() -> None:
    base, nomballoc = sorted(build_of(OF_2008).cells, key=lambda cell: cell.unavailable)
    assert base.unavailable == ""
    assert "ext4: Unknown parameter 'nomballoc'" in nomballoc.unavailable
    assert "last taken by Linux 2.6.27" in nomballoc.unavailable
    assert not any("nomballoc" in cell.unavailable for cell in build_of(OF_2008, "2.6.26").cells)


def test_the_papers_own_words_are_kept_and_shown() -> None:
    plan = build_of(OF_2008)
    assert {cell.variant.as_printed for cell in plan.cells} == {
        "-I 256 -O uninit_groups, data=writeback",
        "-I 256, data=writeback,nomballoc",
    }
    shown = "\n".join(plan_lines(plan, (), "", every=False, width=80))
    assert "as printed: -I 256 -O uninit_groups, data=writeback" in shown
    plan_file = parse_plan(OF_2008 + WORKLOAD, "plan.toml")
    assert parse_plan(plan_to_toml(plan_file), "again.toml") == plan_file
