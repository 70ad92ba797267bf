"""Runs and published tables side by side: what differs, what is refused, what decides, and how it is told."""

from __future__ import annotations

import csv
import io
import json
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.cli.compare import comparison
from fsconsole.cli.results import Format
from fsconsole.errors.runs import NothingToCompare, RunsDiffer
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Order, Setting, Variant
from fsconsole.model.state import RunState
from fsconsole.model.verdicts import Scale, Verdict
from fsconsole.model.workload import SizedBy, Sizing
from fsconsole.plan.publications import find_publication
from fsconsole.results.environment import Varied
from fsconsole.results.grid import build_grid
from fsconsole.results.markdown import render_markdown
from fsconsole.results.sides import SideComparison, SideRow, compare_sides, sides_of
from fsconsole.results.text import render_text
from tests.unit.results import build

STEADY = {Metric.WRITTEN: 1e9, Metric.FILES_MAPPED: 32.0}
SCATTER = (1.0, 1.02, 0.99, 1.01, 0.98)
EVERY = tuple(Varied)


def made(
    name: str = "k7qf", *, kernel: str = "6.1.0", boot: str = "", factors: Sequence[float] = SCATTER, **labels: float
) -> RunState:
    """Return a run of ext4 and xfs, a round for each factor; labels give a variant a factor of its own."""
    own = labels or {"ext4": 1.0, "xfs": 1.0}
    variants = [Variant(label, label) for label in own]
    cells = [
        build.cell(len(variants) * number + place, variant, repeat=number + 1)
        for number in range(len(factors))
        for place, variant in enumerate(variants)
    ]
    states = [
        build.done(
            cell.index, factors={Metric.DURABLE: factors[cell.repeat - 1] * own[cell.variant.label]}, more=STEADY
        )
        for cell in cells
    ]
    state = build.run(cells, states)
    (started,) = state.started
    started = replace(started, kernel=kernel, boot_id=boot or name)
    return replace(state, request=replace(state.request, run_id=f"20261121-081000-{name}"), started=(started,))


def compared(*runs: object, vary: Sequence[Varied] = ()) -> SideComparison:
    given = [run if isinstance(run, (list, tuple)) else [run] if isinstance(run, RunState) else run for run in runs]
    return compare_sides(sides_of(given, vary), vary)


def rows(of: SideComparison, block: int = 0) -> dict[tuple[str, str], SideRow]:
    return {(group.name, row.side.letter): row for group in of.blocks[block].groups for row in group.rows}


def with_device(state: RunState, **changed: object) -> RunState:
    (target,) = state.request.targets
    identity = replace(target.fingerprint.identity, **changed)
    target = replace(target, fingerprint=replace(target.fingerprint, identity=identity))
    return replace(state, request=replace(state.request, targets=(target,)))


def with_fact(state: RunState, name: str, value: str) -> RunState:
    (started,) = state.started
    return replace(state, started=(replace(started, facts=(*started.facts, (name, value))),))


def with_cells(state: RunState, **changed: object) -> RunState:
    plan = state.request.plan
    cells = tuple(replace(cell, **changed) for cell in plan.cells)
    return replace(state, request=replace(state.request, plan=replace(plan, cells=cells)))


CHANGES: dict[str, Callable[[RunState], RunState]] = {
    "kernel": lambda run: replace(run, started=(replace(run.started[0], kernel="6.18.0"),)),
    "host": lambda run: replace(run, started=(replace(run.started[0], hostname="other"),)),
    "device": lambda run: with_device(run, scratch_id="another"),
    "tools": lambda run: with_fact(run, "tool mkfs.ext4", "1.47.2"),
    "settings": lambda run: with_fact(run, "scheduler /dev/loop7", "bfq"),
    "workload": lambda run: with_cells(run, workloads=(replace(build.LARGE_FILES, fsync_every=4),)),
    "plan": lambda run: replace(
        run, request=replace(run.request, plan=replace(run.request.plan, order=Order.SHUFFLED))
    ),
}
BASE = with_fact(with_fact(made(), "tool mkfs.ext4", "1.47.0"), "scheduler /dev/loop7", "none")


@pytest.mark.parametrize("kind", CHANGES)
def test_runs_that_differ_in_what_is_not_varied_are_refused_with_the_option_that_allows_it(kind: str) -> None:
    other = CHANGES[kind](BASE)
    other = replace(other, request=replace(other.request, run_id="other"))
    with pytest.raises(RunsDiffer) as caught:
        compared(BASE, other)
    assert f"--vary {kind};" in caught.value.hint
    found = compared(BASE, other, vary=(Varied(kind),))
    (first, *_) = found.different
    assert first.kind is Varied(kind)
    assert len(rows(found)) == 4
    text = comparison([[BASE], [other]], vary=(Varied(kind),))
    assert f"varied: {first.name} (A {first.values[0]}; B {first.values[1]})" in " ".join(text.split())


def test_all_that_differs_is_named_at_once_and_ram_that_a_kernel_keeps_is_no_difference() -> None:
    other = with_device(made("b", kernel="6.18.0"), size_bytes=7 * 2**30)
    facts = (("cpus", "2"), ("memory_bytes", str(int(4 * 2**30 * 0.982))))
    other = replace(other, started=(replace(other.started[0], facts=facts),))
    with pytest.raises(RunsDiffer, match=r"kernel \(A 6.1.0; B 6.18.0\); device \(A 2.0 GiB") as caught:
        compared(made(), other)
    assert "--vary kernel,device;" in caught.value.hint
    with pytest.raises(RunsDiffer) as caught:
        compared(made(), other, vary=(Varied.DEVICE,))
    assert "--vary kernel,device;" in caught.value.hint


def test_options_that_a_label_leaves_out_are_seen_and_an_unknown_fact_is_said_and_no_obstacle() -> None:
    plain, run = made(ext4=1.0), made("b", ext4=1.0)
    hidden = with_cells(run, variant=replace(run.request.plan.cells[0].variant, mkfs_words=("-m", "reflink=0")))
    with pytest.raises(RunsDiffer, match=r"ext4 \(A ext4; B ext4 -m reflink=0\)"):
        compared(plain, hidden)
    assert len(rows(compared(plain, hidden, vary=(Varied.VARIANT,)))) == 2
    found = compared(made(), with_fact(made("b"), "tool mkfs.ext4", "1.47.2"))
    assert "Not known of every run: versions of mkfs." in found.notes


def test_a_size_that_a_pilot_chose_is_shown_and_no_obstacle() -> None:
    sizing = Sizing(SizedBy.FILES, 10.0, is_settled=True)
    runs = [
        with_cells(made(name), workloads=(replace(build.LARGE_FILES, sizing=sizing, files=files),))
        for name, files in (("a", 100), ("b", 90))
    ]
    found = compared(*runs)
    (one,) = [one for one in found.different if "pilot" in one.name]
    assert (one.kind, one.values) == (None, ("100", "90"))
    assert len(rows(found)) == 4


def test_shares_in_per_cent_change_by_points_and_other_figures_by_their_share() -> None:
    busy = made("b")
    cells = (build.done(cell.index, factors={Metric.CPU: 1.1, Metric.WRITE: 0.9}, more=STEADY) for cell in busy.cells)
    row = rows(compared(made(), replace(busy, cells=tuple(cells))))["ext4", "B"]
    of = {one.metric: one for one in row.figures}
    assert (of[Metric.CPU].change, of[Metric.CPU].scale) == (pytest.approx(2.96), Scale.DIFFERENCE)
    assert (of[Metric.WRITE].change, of[Metric.WRITE].scale) == (pytest.approx(-0.1), Scale.RATIO)


def test_two_runs_are_compared_by_welch_and_labelled_one_boot_each() -> None:
    found = compared(made(), made("b", ext4=0.7, xfs=1.001))
    of = rows(found)
    (slower, same) = (of["ext4", "B"].compared, of["xfs", "B"].compared)
    assert slower is not None
    assert same is not None
    assert (slower.verdict, slower.change, slower.n) == (Verdict.SLOWER, pytest.approx(-0.3, abs=0.001), 5)
    assert same.verdict is Verdict.SAME
    assert of["ext4", "A"].compared is None
    assert found.blocks[0].family == 2
    assert "one boot each" in found.notes[0]
    assert "of the same boot" in compared(made(boot="x"), made("b", boot="x")).notes[0]


def test_several_runs_of_a_side_make_the_run_the_unit_so_that_scatter_between_boots_decides() -> None:
    before = [made(f"a{number}", ext4=factor, xfs=1.0) for number, factor in enumerate((1.0, 1.3, 0.9))]
    after = [made(f"b{number}", ext4=factor, xfs=1.5) for number, factor in enumerate((0.8, 1.2, 0.9))]
    one = rows(compared(before[0], after[0]))["ext4", "B"].compared
    assert one is not None
    assert one.verdict is Verdict.SLOWER
    found = compared(before, after)
    of = rows(found)
    several, other = of["ext4", "B"].compared, of["xfs", "B"].compared
    assert several is not None
    assert other is not None
    assert (several.verdict, several.n, of["ext4", "A"].n) == (Verdict.UNDECIDED, 3, 3)
    assert other.verdict is Verdict.FASTER
    # Fewer runs than that bear none, and say so.
    few = compared(before[:2], after[:2])
    assert [row.compared.verdict for row in rows(few).values() if row.compared] == [None, None]
    assert "Verdicts need 3 runs on each side." in few.notes
    # One run against three is no sample of runs, however many rounds it has.
    alone = rows(compared(before[0], after))["ext4", "B"].compared
    assert alone is not None
    assert (alone.verdict, alone.n) == (None, 1)


def test_what_no_run_of_a_side_has_recorded_is_no_difference_among_them() -> None:
    a = [made("a1"), made("a2", kernel="6.18.0")]
    notes = compared(a, [made("b1"), made("b2")], vary=(Varied.KERNEL,)).notes
    assert [note for note in notes if "among themselves" in note] == [
        "The runs of A differ among themselves in kernel."
    ]


def test_runs_given_singly_are_one_side_where_they_agree_in_what_is_varied() -> None:
    runs = [made(f"a{n}", kernel="6.1.0") for n in range(3)] + [made(f"b{n}", kernel="6.18.0") for n in range(3)]
    random.Random(3).shuffle(runs)  # noqa: S311
    sides = compared(*runs, vary=(Varied.KERNEL,)).sides
    assert sorted(len(side.runs) for side in sides) == [3, 3]
    assert all(len({run.started[0].kernel for run in side.runs}) == 1 for side in sides)
    assert len(compared(*(made(f"c{n}") for n in range(3))).sides) == 3


def test_rows_of_a_varied_setting_and_of_a_varied_variant_meet_and_others_stay_alone() -> None:
    fast, slow = (
        with_cells(made(name), setting=Setting((("read_ahead", size),)))
        for name, size in (("a", "128KiB"), ("b", "2MiB"))
    )
    assert ("xfs", "B") in rows(compared(fast, slow, vary=(Varied.SETTINGS,)))
    with pytest.raises(NothingToCompare):
        compared(made("a", ext4=1.0), made("b", xfs=1.0))
    of = rows(compared(made("a", ext4=1.0), made("b", xfs=1.0), vary=(Varied.VARIANT,)))
    assert list(of) == [("ext4", "A"), ("ext4", "B")]
    assert list(rows(compared(made("a"), made("b", ext4=1.0)))) == [("ext4", "A"), ("ext4", "B"), ("xfs", "A")]


def test_loads_of_one_name_meet_in_whatever_order_and_one_that_meets_another_is_named() -> None:
    loads = tuple(
        replace(build.LARGE_FILES, name=name, block_size_bytes=size) for name, size in (("a", 4096), ("b", 65536))
    )
    orders = [with_cells(made(name), workloads=order) for name, order in (("a", loads), ("b", loads[::-1]))]
    found = compared(*orders, vary=(Varied.WORKLOAD,))
    assert [(block.name, "; B: " in block.title) for block in found.blocks[:2]] == [("a", False), ("b", False)]
    assert {row.rows[0].key.workload for row in rows(found).values() if row.side.letter == "B"} == {1}
    other = with_cells(made("b"), workloads=(loads[0], replace(loads[1], name="c")))
    found = compared(orders[0], other, vary=(Varied.WORKLOAD,))
    assert [block.title.partition("; ")[2].partition(",")[0] for block in found.blocks[:2]] == ["", "B: c: create"]
    more = with_cells(made("b"), workloads=(replace(loads[1], name="c"), *loads))
    found = compared(orders[0], more, vary=(Varied.WORKLOAD,))
    assert [block.name for block in found.blocks[:2]] == ["a", "b"]
    assert found.blocks[0].alone == ("'c' (B)",)


def test_a_run_that_goes_on_or_was_in_no_rounds_bears_no_verdict() -> None:
    run = made("b")
    open_run = replace(run, cells=(*run.cells[:-1], build.running(len(run.cells) - 1)))
    found = compared(made(), open_run)
    assert all(row.compared is None for row in rows(found).values())
    assert any("verdicts follow" in note for note in found.notes)
    shuffled = [CHANGES["plan"](each) for each in (made(), made("b"))]
    assert all(row.compared is None for row in rows(compared(*shuffled)).values())


# Published tables.


def test_peiffers_differences_are_those_that_he_printed() -> None:
    of = compared(find_publication("peiffer-2005-before"), find_publication("peiffer-2005-after"))
    (block,) = of.blocks
    system = [
        round(100 * one.change, 2)
        for group in block.groups
        for one in group.rows[1].figures
        if one.column in ("sys", "delete sys") and one.change is not None
    ]
    # He printed +0.40 for 24.54 to 24.64 s.
    assert system == [0.67, 0.58, -0.14, 0.0, 0.41, -0.2]
    text = comparison([find_publication("peiffer-2005-before"), find_publication("peiffer-2005-after")])
    assert "+0.67" in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_published_side_has_changes_and_never_a_verdict_and_its_other_rows_are_shown_as_printed() -> None:
    patched = find_publication("bull-2008-patched")
    words = "ext4 -I 256 data=writeback"
    run = made(ext4=1.0)
    run = with_cells(run, variant=replace(run.request.plan.cells[0].variant, as_printed=words))
    for order in ([patched, [run]], [[run], patched]):
        found = compare_sides(sides_of(order, ()))
        of = rows(found)
        assert {letter for _, letter in of} == {"A", "B"}
        assert all(row.compared is None for row in of.values())
        text = comparison(order)
        assert max(map(len, text.splitlines())) <= 80
        assert "not ranked, no verdicts" in " ".join(text.split())
        assert text.count("76.9") + text.count("80.6") >= 1
        assert "ext4 -I 256 -O uninit_groups,flex_bg -G 64 data=writeback,journal_checksum" in text
    with pytest.raises(NothingToCompare, match="bull-2008-unpatched or bull-2008-patched"):
        compared(made(), find_publication("bull-2008"))


def test_every_published_table_alone_is_readable_at_80_columns() -> None:
    for name in ("bull-2008-patched", "bull-2008-unpatched", "chinner-2012", "lowe-2009", "peiffer-2005-after"):
        text = comparison([find_publication(name)])
        assert max(map(len, text.splitlines())) <= 80, name
        assert find_publication(name).source in " ".join(text.split())
    assert "BdiWriteBandwidth" in comparison([find_publication("chinner-2012")])


def test_results_show_published_columns_that_no_metric_means_in_a_table_of_their_own() -> None:
    state = made()
    # On a device as large as his, where figures stand as printed.
    state = replace(state, request=replace(state.request, plan=replace(state.request.plan, device_bytes=10**13)))
    grid = build_grid(state, publication=find_publication("lowe-2009"))
    text = render_text(state, grid, standing="finished")
    assert "create rand" in text
    assert "31727" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "| ext3 data=ordered | 238 | 256 | 391 | 23894 | 86227 |" in render_markdown(
        state, grid, standing="finished"
    )


# Figures from elsewhere, and formats.

WILD = st.sampled_from([0.0, -1.0, 1e-320, 1e-9, 1.0, 1e300, 1.7e308, -1e300])


@given(st.lists(WILD, min_size=6, max_size=6), st.sampled_from([Metric.DURABLE, Metric.CPU, Metric.CHECK]))
def test_any_figures_are_told_in_every_format_and_signs_agree(values: list[float], metric: Metric) -> None:
    def run(name: str, of: list[float]) -> RunState:
        cells = [build.cell(n, build.EXT4, repeat=n + 1) for n in range(3)]
        states = [build.done(n, factors={metric: value / build.FIGURES[metric]}) for n, value in enumerate(of)]
        return replace(build.run(cells, states), request=replace(build.request(cells), run_id=name))

    given = [[run("a", values[:3])], [run("b", values[3:])]]
    texts = [comparison(given, output) for output in Format]
    assert max(map(len, texts[0].splitlines())) <= 80
    json.loads(texts[1])
    for row in rows(compare_sides(sides_of(given, ()))).values():
        if row.compared is not None and row.compared.verdict in (Verdict.FASTER, Verdict.SLOWER):
            low, high = row.compared.low, row.compared.high
            assert low is not None
            assert high is not None
            assert (low > 0) == (row.compared.change > 0) == (row.compared.verdict is Verdict.FASTER)
            assert math.isfinite(row.compared.change)


def test_csv_and_json_have_figures_changes_bounds_and_verdicts() -> None:
    given = [[made()], [made("b", ext4=0.7, xfs=1.0)]]
    lines = list(csv.DictReader(io.StringIO(comparison(given, Format.CSV))))
    (line,) = [one for one in lines if (one["row"], one["side"], one["column"]) == ("ext4", "B", "durable")]
    assert (line["verdict"], line["n"], line["scale"]) == ("slower", "5", "ratio")
    assert float(line["low"]) < float(line["change"]) < float(line["high"]) < 0
    document = json.loads(comparison(given, Format.JSON))
    side = document["blocks"][0]["rows"][0]["sides"][1]
    assert side["compared"]["verdict"] == "slower"
    assert side["figures"]["durable"]["change"] == float(line["change"])
    assert "| xfs | A |" in comparison(given, Format.MD)


def test_a_hostile_name_acts_nowhere() -> None:
    one = with_device(made("a\x1b[31m"), wwn="w\x1b[2J")
    other = replace(
        with_device(one, wwn="w\x1b[3J"), request=replace(with_device(one, wwn="w\x1b[3J").request, run_id="=b")
    )
    for output in Format:
        assert "\x1b" not in comparison([[one], [other]], output, vary=(Varied.DEVICE,))


GOLDEN = """\
A  20261121-081000-k7qf, 2026-11-21 08:10 UTC: four filesystems
B  20261121-081000-b, 2026-11-21 08:10 UTC: four filesystems

What differs (the same: host, device, settings, workload, variant, plan)
  varied: kernel (A 6.1.0; B 6.18.0)
  versions of mkfs (A, B not known)
  boot (A k7qf; B b)

Runs share no rounds: Welch's intervals, one boot each. What another boot or run
would change is not in them.
Not known of every run: versions of mkfs.

large files: create, 16 threads, 16 files of 64MiB, 64KiB blocks
variant  side  durable  vs A, 95 %      n  -20  0  +20  verdict
                  MB/s
---------------------------------------------------------------
ext4     A         410  baseline        5       |
         B         349  -15 [-17..-13]  5   *]  |       slower
xfs      A         410  baseline        5       |
         B         414   +1 [ -2.. +4]  5       *]      same

large files: other figures, no verdicts
variant          CPU
              %, %pt
--------------------
ext4, A   29.6
  B       29.6 +0.00
xfs, A    29.6
  B       29.6 +0.00

filesystem: mkfs, mount, check, delete
variant  side  check  vs A, 95 %  n  -20  0  +20  verdict
                   s
---------------------------------------------------------
ext4     A     0.312  baseline    5       |
         B     0.312  0 [0..0]    5       *       same
xfs      A     0.312  baseline    5       |
         B     0.312  0 [0..0]    5       *       same

Baseline: A. Figures are geometric means of what n counts. Changes are in per
cent of the baseline (3 x: three times), and 95 % intervals hold for all rows of
a table together. same: certainly within 10 %. MB = 10^6 bytes, MiB = 2^20
bytes.
"""


def test_the_comparison_of_two_kernels_reads_so() -> None:
    before, after = made(ext4=1.0, xfs=1.0), made("b", kernel="6.18.0", ext4=0.85, xfs=1.01)
    text = comparison([[before], [after]], vary=(Varied.KERNEL,), columns="cpu")
    assert text == GOLDEN
