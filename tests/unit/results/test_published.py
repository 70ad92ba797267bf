"""Published figures beside runs: as printed where sizes are, as ratios where the run was scaled."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from fsconsole.catalog.loader import load_catalog
from fsconsole.model.figures import Measurement, Publication, PublishedFigure, PublishedRow
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Keep, Plan, Scaling, Setting
from fsconsole.model.state import RunState
from fsconsole.plan.expand import build_plan
from fsconsole.plan.planfile import TargetSpec
from fsconsole.plan.publications import all_publications, find_publication
from fsconsole.plan.read import find_config, list_configs, read_plan
from fsconsole.results.blocks import BlockKind, blocks_of
from fsconsole.results.environment import Varied
from fsconsole.results.grid import build_grid
from fsconsole.results.json import render_json
from fsconsole.results.markdown import render_markdown
from fsconsole.results.published import STANDING, beside, ratio_text
from fsconsole.results.sides import compare_sides, sides_of
from fsconsole.results.sides_export import sides_csv, sides_json
from fsconsole.results.sides_text import sides_markdown, sides_text
from fsconsole.results.text import ReportPage, render_text
from fsconsole.text import GIB, KIB, MIB
from tests.unit.results import build

PRINTED = {"ext4 base": (7777e6, 41.0, 88.5), "xfs": (5555e6, 6.3, 77.25)}


def row(words: str, load: str = "", table: str = "") -> PublishedRow:
    durable, extents, check = PRINTED[words]
    figures = (
        Measurement(Metric.DURABLE, durable),
        Measurement(Metric.EXTENTS_MEAN, extents),
        Measurement(Metric.CHECK, check),
    )
    own = (
        PublishedFigure("seeks", "/s", 391.0 if words == "xfs" else 782.0),
        PublishedFigure("largest extent", "MB", 420.0, (Keep.FILE_SIZE,)),
    )
    return PublishedRow(table, words, figures, others=own, load=load)


STUDY = Publication("study", "A study", "S", "2012", "one disk", "files", (row("xfs"), row("ext4 base")))


def run_of(keep: Keep | None, *, is_scaled: bool = True, baseline: str = "ext4 data=ordered") -> RunState:
    cells = (
        build.cell(0, replace(build.EXT4, as_printed="ext4 base")),
        build.cell(1, replace(build.XFS, as_printed="xfs")),
    )
    state = build.run(cells, (build.done(0), build.done(1)))
    scaling = Scaling(keep, 0.04, 0.04, is_scaled) if keep is not None else None
    plan = replace(state.request.plan, scaling=scaling, baseline=baseline)
    return replace(state, request=replace(state.request, plan=plan))


def every_text(state: RunState, of: Publication) -> list[str]:
    """Return all that is written with a publication beside a run."""
    grid = build_grid(state, publication=of)
    found = compare_sides(sides_of([[state], of], ()))
    return [
        render_text(state, grid, standing="finished"),
        render_text(state, grid, standing="finished", page=ReportPage(width=160)),
        render_markdown(state, grid, standing="finished"),
        render_json(state, grid, standing="finished"),
        sides_text(found, 80),
        sides_markdown(found),
        sides_json(found),
        sides_csv(found),
    ]


ABSOLUTE = ("7777", "5555", "88.5", "77.2", "391", "782")
"""Of rates and times as printed."""


@pytest.mark.parametrize("keep", list(Keep))
def test_beside_a_scaled_run_no_published_rate_or_time_is_written_anywhere(keep: Keep) -> None:
    for text in every_text(run_of(keep), STUDY):
        assert not [figure for figure in ABSOLUTE if figure in text], text
    whole = every_text(run_of(keep, is_scaled=False), STUDY)
    assert all("7777" in text for text in whole)
    assert not any("ratio" in text for text in (*whole[:3], *whole[4:6]))


def test_ratios_are_to_the_published_row_of_the_runs_baseline_and_labelled() -> None:
    state = run_of(Keep.THREADS)
    text = render_text(state, build_grid(state, publication=STUDY), standing="finished")
    own, xfs, published = [line.split() for line in text.splitlines() if line.startswith(("ext4", "xfs", "  pub"))][:3]
    # What others are compared with has no line: 1.00x of itself tells nothing.
    assert (own[0], xfs[0], published[0]) == ("ext4", "xfs", "published")
    assert "0.714x" in published
    assert "0.154x" in published, "6.3 / 41 extents of files that are smaller here"
    said = "Loads are scaled by 0.04: published figures with x are ratios to the published row ext4 base, never MB/s or seconds."
    assert said in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80
    # Without its baseline among the published rows the table's first row is theirs.
    other = beside(STUDY, [run_of(Keep.THREADS, baseline="none").request.plan])
    assert {ratio.to for row in other.rows for ratio in row.ratios} == {"xfs"}


def test_what_follows_the_size_of_a_file_stands_where_that_was_kept() -> None:
    for keep in Keep:
        laid = beside(STUDY, [run_of(keep).request.plan])
        extents = [row.value(Metric.EXTENTS_MEAN) for row in laid.rows]
        assert extents == ([6.3, 41.0] if keep in (Keep.FILE_SIZE, Keep.FILL) else [None])
        largest = [row.other("largest extent") for row in laid.rows if row.as_printed == "xfs"]
        assert largest == ([420.0] if keep is Keep.FILE_SIZE else [None])
        assert all(row.value(Metric.DURABLE) is None and row.other("seeks") is None for row in laid.rows)
    # Of runs that were scaled in different ways what one of them changed doesn't stand.
    plans = [run_of(keep).request.plan for keep in (Keep.FILE_SIZE, Keep.FILES)]
    assert beside(STUDY, plans).rows[0].value(Metric.EXTENTS_MEAN) is None
    assert not {metric for metric in STANDING if metric.unit.value in ("B/s", "s", "1/s", "ms")}


def test_a_run_from_before_scaling_was_journalled_tells_by_its_note() -> None:
    plan = run_of(None).request.plan
    assert beside(STUDY, [plan]) == STUDY
    noted = replace(plan, notes=("file sizes were scaled down; the cells show them as they will be",))
    assert beside(STUDY, [noted]).rows[0].figures == ()


def plan_of(name: str, size_bytes: int, tree_bytes: int = 0) -> Plan:
    """Return a shipped plan on one device, with the tree that its copy finds."""
    plan_file = read_plan(find_config(name))
    loads = [
        replace(load, sources_bytes=tree_bytes, sources_files=9 if tree_bytes else 0) for load in plan_file.workloads
    ]
    target = TargetSpec("/dev/loop3", size_bytes, is_scratch=True)
    return build_plan(replace(plan_file, workloads=tuple(loads), repeats=1), (target,), load_catalog(), run_id="run")


def test_what_was_laid_beside_a_run_stays_as_it_is_and_its_columns_are_shown() -> None:
    state = run_of(Keep.THREADS)
    laid = beside(STUDY, [state.request.plan])
    assert beside(laid, [state.request.plan]) is laid
    found = compare_sides(sides_of([[state], STUDY], ()))
    assert "seeks ratio" in sides_text(found, 160)


def test_a_life_of_which_a_publication_keeps_no_usual_column_has_its_usual_ones_with_it() -> None:
    state = run_of(Keep.FILES)
    state = replace(state, cells=tuple(build.done(index, more={Metric.INODES: 2e6}) for index in range(2)))
    figures = (Measurement(Metric.INODES, 2e6), Measurement(Metric.CHECK, 286.0))
    checked = PublishedRow("", "ext4 base", figures)
    study = Publication("fsck", "fsck", "S", "2009", "one disk", "files", (checked,))
    blocks = blocks_of(state, build_grid(state, publication=study))
    (columns,) = (block.columns for block in blocks if block.kind is BlockKind.LIFE)
    # The one published check has no other to be a ratio to: it doesn't stand, and the run's own checks do.
    assert {Metric.CHECK, Metric.MKFS, Metric.INODES} <= {*columns}


TEN_TB = 10**13


def test_figures_of_a_device_stand_as_printed_on_one_of_its_size_alone() -> None:
    for of, name in (("lowe-2009-mkfs-mkfs", "lowe-2009-mkfs"), ("lowe-2009-csv", "lowe-2009-bonnie-files")):
        publication = find_publication(of)
        for size in (400 * MIB, 5 * TEN_TB):
            plan = plan_of(name, size)
            assert not plan.is_scaled
            laid = beside(publication, [plan])
            assert not [one for row in laid.rows for one in (*row.figures, *row.others)], of
            assert "device had another size: published figures with x are ratios" in laid.scaled
            assert laid.scaled.endswith("never MB/s or seconds.")
        for size in (TEN_TB, 9_770_000_000_000):
            assert beside(publication, [plan_of(name, size)]) == publication
    ext4, larger = find_publication("lowe-2009-mkfs-mkfs").rows[:2]
    laid = beside(find_publication("lowe-2009-mkfs-mkfs"), [plan_of("lowe-2009-mkfs", 400 * MIB)])
    assert [row.ratio(Metric.MKFS) for row in laid.rows] == [218 / 282.252, 1630 / 282.252]
    assert {one.to for row in laid.rows for one in row.ratios} == {ext4.as_printed}
    assert larger.as_printed in {row.as_printed for row in laid.rows}
    # A run of before is of a device that isn't known.
    old = replace(plan_of("lowe-2009-mkfs", TEN_TB), device_bytes=0)
    assert not [row for row in beside(find_publication("lowe-2009-mkfs-mkfs"), [old]).rows if row.figures]


@pytest.mark.parametrize("name", ["peiffer-2005-cp-rm", "peiffer-2005-eight-directories"])
def test_beside_a_copy_of_other_files_stand_ratios_and_per_cent_whatever_their_size(name: str) -> None:
    for tree in (293 * KIB, 2 * 10**9):
        plan = plan_of(name, 64 * GIB, tree)
        assert not plan.is_scaled
        after = beside(find_publication("peiffer-2005-after"), [plan])
        assert not [one for row in after.rows for one in row.figures]
        assert {one.unit for row in after.rows for one in row.others} == {"%"}
        assert after.rows[0].other("sys difference") == 0.67
        assert after.rows[0].ratio(Metric.SYSTEM) == 18.10 / 17.98
        assert "never MB/s or seconds" in after.scaled
        # What others are compared with has no ratio of its own: it says so.
        before = beside(find_publication("peiffer-2005-before"), [plan])
        assert before.rows == ()
        assert before.scaled.startswith("It copied files of its own: nothing of it stands here")


@pytest.mark.parametrize(
    ("million", "name", "files", "full"),
    [(2, "lowe-2009-check", 2003101, 51), (6, "lowe-2009-check-6-million", 6193839, 25)],
)
def test_of_lowes_checks_files_and_fill_stand_and_6_million_are_ratios_to_2(
    million: int, name: str, files: int, full: float
) -> None:
    laid = beside(find_publication(f"lowe-2009-fsck-{million}-million"), [plan_of(name, 200 * GIB)])
    (row,) = laid.rows
    assert [(one.metric, one.value) for one in row.figures] == [(Metric.INODES, files)]
    assert [(one.column, one.value) for one in row.others] == [("full", full)]
    assert row.ratio(Metric.CHECK) == (747 / 285.834 if million == 6 else None)
    assert all(one.to.endswith("(2-million)") for one in row.ratios)
    assert ("only what is the same here stands" in laid.scaled) is (million == 2)


def test_no_shipped_row_is_a_ratio_to_itself_beside_any_plan_of_a_study() -> None:
    studies = ("bull", "cao", "chinner", "lowe", "peiffer")
    names = [path.stem for path in list_configs() if path.stem.startswith(studies)]
    plans = [plan_of(name, size) for name in names for size in (400 * MIB, 200 * GIB)]
    plans += [run_of(keep).request.plan for keep in Keep]
    assert len(names) > 10
    for publication in all_publications():
        for plan in plans:
            for row in beside(publication, [plan]).rows:
                assert row.figures or row.others or row.ratios
                assert not [one for one in row.ratios if one.to in (row.as_printed, row.full_name)], publication.name
                assert not row.ratios or {ratio_text(one.ratio) for one in row.ratios} != {"1.00x"}, row


def test_a_publication_of_which_nothing_stands_is_written_everywhere_with_its_reason() -> None:
    for text in every_text(run_of(Keep.FILES), find_publication("peiffer-2005-before"))[:6]:
        assert "nothing of it stands here" in " ".join(text.split()), text


def test_a_published_row_of_a_load_stands_beside_that_load_alone_and_one_of_no_load_here_is_shown_apart() -> None:
    state = run_of(Keep.THREADS, is_scaled=False)
    here = replace(STUDY, rows=(row("xfs", "large files"), row("ext4 base", "small files")))
    text = render_text(state, build_grid(state, publication=here), standing="finished")
    assert "small files, ext4 base" in text
    lines = [line for line in text.splitlines() if line.startswith("  published")]
    assert lines
    assert all("5555" in line for line in lines)
    found = compare_sides(sides_of([[state], here], ()))
    assert [len(group.rows) for group in found.blocks[0].groups] == [1, 2]
    # In the block of the filesystem's life neither has a place.
    assert all(len(group.rows) == 1 for group in found.blocks[1].groups)


def test_a_published_row_of_a_number_of_threads_stands_beside_what_became_of_it() -> None:
    loads = [replace(build.LARGE_FILES, threads=threads) for threads in (2, 9)]
    cells = [
        replace(build.cell(number, replace(build.XFS, as_printed="xfs")), workloads=(load,))
        for number, load in enumerate(loads)
    ]
    state = build.run(cells, (build.done(0), build.done(1)))
    of = replace(STUDY, rows=(replace(row("xfs"), threads=192),))
    scaling = Scaling(Keep.FILE_SIZE, 0.04, 0.04, is_scaled=True, threads=((48, 2), (192, 9)))
    plan = replace(state.request.plan, scaling=scaling)
    state = replace(state, request=replace(state.request, plan=plan))
    groups = compare_sides(sides_of([[state], of], ())).blocks[0].groups
    assert {(group.name, len(group.rows)) for group in groups} == {("xfs, 2", 1), ("xfs, 9", 2)}
    text = render_text(state, build_grid(state, publication=of), standing="finished")
    lines = [line.split() for line in text.splitlines() if line.startswith(("xfs", "  published"))]
    assert lines[[line[:2] for line in lines].index(["xfs", "9"]) + 1][0] == "published"
    # Whole, it is of its own number of threads alone.
    whole = replace(state, request=replace(state.request, plan=replace(plan, scaling=Scaling())))
    assert all(len(group.rows) == 1 for group in compare_sides(sides_of([[whole], of], ())).blocks[0].groups)


def test_of_several_runs_each_has_the_threads_of_its_own_scaling() -> None:
    def of_threads(name: str, threads: int, scaling: Scaling) -> RunState:
        load = replace(build.LARGE_FILES, threads=threads)
        cell = replace(build.cell(0, replace(build.XFS, as_printed="xfs")), workloads=(load,))
        state = build.run((cell,), (build.done(0),))
        plan = replace(state.request.plan, scaling=scaling)
        return replace(state, request=replace(state.request, run_id=name, plan=plan))

    of = replace(STUDY, rows=(replace(row("xfs"), threads=192),))
    whole = of_threads("whole", 3, Scaling())
    scaled = of_threads("scaled", 9, Scaling(Keep.FILE_SIZE, 0.04, 0.04, is_scaled=True, threads=((192, 9),)))
    vary = (Varied.WORKLOAD, Varied.PLAN)
    for runs in ((whole, scaled), (scaled, whole)):
        found = compare_sides(sides_of([*([run] for run in runs), of], ()), vary)
        (group,) = found.blocks[0].groups
        assert [side.side.name for side in group.rows] == [*(run.request.run_id for run in runs), "study"]


def test_what_was_zero_has_no_ratio() -> None:
    zero = replace(STUDY.rows[1], figures=(Measurement(Metric.DURABLE, 0.0),), others=())
    laid = beside(replace(STUDY, rows=(STUDY.rows[0], zero)), [run_of(Keep.FILES).request.plan])
    assert all(ratio.metric is not Metric.DURABLE for row in laid.rows for ratio in row.ratios)


def test_where_a_study_compares_tables_ratios_are_to_the_row_of_that_name_in_the_other_table() -> None:
    laid = beside(find_publication("peiffer-2005-after"), [run_of(Keep.FILES).request.plan])
    cp = next(row for row in laid.rows if row.name == "cp, 64 bit logical")
    assert {ratio.to for ratio in cp.ratios} == {"cp, 64 bit logical (before)"}
    assert cp.ratio(Metric.SYSTEM) == 24.64 / 24.54
    assert cp.other("sys difference") == 0.40


def test_every_shipped_table_can_stand_beside_a_scaled_run() -> None:
    state = run_of(Keep.FILE_SIZE)
    for name in ("bull-2008-patched", "chinner-2012", "lowe-2009", "peiffer-2005-after"):
        for text in every_text(state, find_publication(name)):
            assert "published" in text or "Published" in text or text.startswith("block,")
    document = json.loads(every_text(state, find_publication("chinner-2012"))[3])
    ext4 = document["published"]["rows"][0]
    assert [one["metric"] for one in ext4["figures"]] == ["extents_mean"]
    (xfs,) = (row for row in document["published"]["rows"] if row["as_printed"] == "xfs")
    assert {one["column"] for one in xfs["ratios"]} >= {"durable", "BdiWriteback", "b_dirty"}


def run_of_settings(*settings: tuple[tuple[str, str], ...]) -> RunState:
    """Return a run of xfs with each of these settings."""
    cells = [
        replace(build.cell(number, replace(build.XFS, as_printed="xfs")), setting=Setting(values))
        for number, values in enumerate(settings)
    ]
    return build.run(cells, [build.done(number) for number in range(len(cells))])


READ_2MIB = (("read_ahead", "2MiB"),)


@pytest.mark.parametrize(
    ("own", "there", "is_beside"),
    [
        ((), (), True),
        (READ_2MIB, READ_2MIB, True),
        ((("read_ahead", "2048KiB"),), READ_2MIB, True),
        ((("read_ahead", "128KiB"),), READ_2MIB, False),
        (READ_2MIB, (), False),
        ((*READ_2MIB, ("dirty_bytes", "1GiB")), READ_2MIB, False),
        ((("scheduler", "bfq"),), (("scheduler", "mq-deadline"),), False),
    ],
)
def test_a_published_row_stands_beside_rows_with_its_settings_alone(
    own: tuple[tuple[str, str], ...], there: tuple[tuple[str, str], ...], is_beside: bool
) -> None:
    state = run_of_settings(own)
    of = replace(STUDY, rows=(replace(row("xfs"), settings=there),))
    (group,) = compare_sides(sides_of([[state], of], ())).blocks[0].groups
    assert (len(group.rows) == 2) is is_beside
    text = render_text(state, build_grid(state, publication=of), standing="finished")
    lines = [line for line in text.splitlines() if line.startswith("  published")]
    # One that belongs to no row stands at the end, in its own words.
    assert lines
    assert all(("published:" in line) is not is_beside for line in lines), text


def test_a_load_with_a_setting_of_its_own_has_no_published_row_of_another_setting() -> None:
    load = replace(build.LARGE_FILES, settings=READ_2MIB)
    state = run_of_settings(())
    cells = [replace(cell, workloads=(load,)) for cell in state.request.plan.cells]
    state = build.run(cells, state.cells)
    for settings, sides in (((), 1), (READ_2MIB, 2)):
        of = replace(STUDY, rows=(replace(row("xfs"), settings=settings),))
        assert len(compare_sides(sides_of([[state], of], ())).blocks[0].groups[0].rows) == sides


def test_over_an_axis_of_settings_a_published_row_stands_once_beside_the_value_of_its_study_and_it_is_said_why() -> (
    None
):
    state = run_of_settings((("read_ahead", "128KiB"),), READ_2MIB)
    of = replace(STUDY, rows=(replace(row("xfs"), settings=READ_2MIB),))
    groups = compare_sides(sides_of([[state], of], ())).blocks[0].groups
    assert {group.name: len(group.rows) for group in groups} == {"xfs, 128KiB": 1, "xfs, 2MiB": 2}
    said = "Its rows stand beside rows with its settings alone: read_ahead 2MiB."
    more = (("dirty_bytes", "1GiB"), ("memory", "4GiB"))
    wider = replace(of, rows=(replace(row("xfs"), settings=(*READ_2MIB, *more)),))
    of_more = f"{said} It was measured with dirty_bytes 1GiB, memory 4GiB too, which is not set here."
    unsaid = "It names no such settings: its rows stand beside no row that sets one."
    for known, words in ((of, said), (wider, of_more), (STUDY, unsaid)):
        for text in every_text(state, known)[:1] + every_text(state, known)[4:5]:
            assert words in " ".join(text.split())
    assert said not in " ".join(every_text(run_of(None), of)[0].split())


def test_where_the_data_follow_the_memory_another_memory_is_no_other_setting() -> None:
    settings = (*READ_2MIB, ("memory", "1GiB"))
    there = (*READ_2MIB, ("memory", "2GiB"))
    of = replace(STUDY, rows=tuple(replace(one, settings=there) for one in (row("ext4 base"), row("xfs"))))
    for keep in Keep:
        state = run_of_settings(settings)
        plan = replace(state.request.plan, scaling=Scaling(keep, 0.5, 0.5, is_scaled=True))
        state = replace(state, request=replace(state.request, plan=plan))
        (group,) = (one for one in compare_sides(sides_of([[state], of], ())).blocks[0].groups if one.base)
        assert len(group.rows) == (2 if keep is Keep.DATA_TO_RAM else 1), keep


def test_the_shipped_studies_that_set_something_stand_beside_their_own_plans_values_alone() -> None:
    for name, plan in (
        ("lowe-2009", "lowe-2009-bonnie"),
        ("lowe-2009-csv", "lowe-2009-bonnie"),
        ("chinner-2012", "chinner-2012-writeback"),
        ("chinner-2012", "chinner-2012-memory"),
        ("chinner-2012", "chinner-2012-aged"),
    ):
        axes = dict(read_plan(find_config(plan)).settings)
        for of in find_publication(name).rows:
            assert all(dict(of.settings)[key] in values for key, values in axes.items()), (name, plan)


def test_no_published_line_is_printed_twice_where_several_rows_or_loads_are_it() -> None:
    base, later = build.LARGE_FILES, replace(build.LARGE_FILES, name="once more")
    variants = (build.XFS, replace(build.XFS, label="xfs as in 2008"))
    cells = [
        replace(build.cell(number, replace(variant, as_printed="xfs")), workloads=(base, later))
        for number, variant in enumerate(variants)
    ]
    state = build.run(cells, [build.done(number) for number in range(len(cells))])
    found = compare_sides(sides_of([[state], replace(STUDY, rows=(row("xfs"),))], ()))
    text = sides_text(found, 100)
    published = [line for line in text.splitlines() if "5555" in line]
    assert len(published) == 1, text
    assert len([line for line in sides_markdown(found).splitlines() if "5555" in line]) == 1
