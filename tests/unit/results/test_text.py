"""The report as plain text, and published rows laid beside a run's own in every format."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.model.events import WarningKind
from fsconsole.model.figures import Measurement, Publication, PublishedRow
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Variant
from fsconsole.model.state import CellState, CellStatus, RunState, RunStatus
from fsconsole.results.blocks import GridChoice
from fsconsole.results.content import check_words, cpu_words
from fsconsole.results.figures import status_words
from fsconsole.results.grid import build_grid
from fsconsole.results.json import render_json
from fsconsole.results.markdown import render_markdown
from fsconsole.results.text import ReportPage, render_text
from fsconsole.text import GIB, cells_of, printable
from tests.unit.results import build


def _text(
    state: RunState,
    width: int = 80,
    columns: tuple[Metric, ...] = (),
    *,
    explain: bool = False,
) -> str:
    standing, page = status_words(state, alive=False), ReportPage(width, explain)
    return render_text(state, build_grid(state), standing=standing, choice=GridChoice(columns=columns), page=page)


DEMO = """\
four filesystems
Run 20261121-081000-k7qf: finished. 4 cells: 2 done, 1 failed, 1 can't run.
Device /dev/loop7: 2.0 GiB, scratch device.
Kernel 6.18.0 on box, 2 CPUs, 4.0 GiB RAM.
Started 2026-11-21 08:10 UTC with fsconsole 0.1.0.

Warnings
  a  short (cells 1-2): it took 3.1 s
  b  not comparable (cell 1): the target is a loop device

large files: create, 16 threads, 16 files of 64MiB, 64KiB blocks
variant                         write  durable   CPU  extents  warn
                                 MB/s     MB/s     %    /file
-------------------------------------------------------------------
ext4 data=writeback,nodelalloc    812      537  29.6     1.02     a
ext4 data=ordered                 812      410  29.6     1.02    ab
xfs                             failed: mkfs: mkfs.xfs failed with exit code 1:
                                no room
btrfs                           can't run: mkfs.btrfs is not installed (package
                                btrfs-progs)

filesystem: mkfs, mount, check, delete
variant                          mkfs         check   durable  warn
                                    s             s  delete s
-------------------------------------------------------------------
ext4 data=ordered               0.043         0.312     0.071    ab
ext4 data=writeback,nodelalloc  0.043  errors 3.120     0.071     a
xfs                             failed
btrfs                           can't run

One cell per row (n = 1): how far rounds would spread is not known. Sorted by
durable, check, best first. MB = 10^6 bytes, MiB = 2^20 bytes.

No verdicts: they need at least 3 rounds; 5 is the default.

`fsconsole results --explain`: what columns mean, what to do about warnings.
"""

EXPLAINED = """\
Warnings
  a  short (cells 1-2): it took 3.1 s
     -> Write more before you compare variants that are close.
  b  not comparable (cell 1): the target is a loop device
     -> Write more before you compare variants that are close.

Columns
  write           bytes written / (last writer done - first writer started):
                  what the application sees
  durable         the same bytes / (drain done - first writer started)
  CPU             busy share of all CPUs, start to drain done: all but idle,
                  waiting and stolen time, from /proc/stat; the sum of CPU by
                  generator, kernel, others and observer, within 5 % (ticks)
  extents/file    mean over all files of the workload, physically contiguous
                  runs merged, as filefrag counts
  mkfs            real time of the mkfs command
  check           real time of the forced full check, unmounted
  durable delete  real time of removing the tree, unmounting, and one flush of
                  the device
"""


def test_the_demo_s_table_is_this_one_also_explained() -> None:
    assert _text(build.demo()) == DEMO
    before, _, after = DEMO.partition("Warnings")
    table = after[after.index("large files:") :].partition("`fsconsole")[0]
    assert _text(build.demo(), explain=True) == before + table + EXPLAINED
    state = build.run([build.cell(0)], [build.done(0)], title="")
    assert _text(state).startswith("Run 20261121-081000-k7qf: ")
    for width in (-1, 0, 39):
        assert _text(build.demo(), width=width) == _text(build.demo(), width=40), width


def test_the_cpu_s_split_adds_up_for_each_row_with_what_is_not_attributed() -> None:
    split = {
        Metric.CPU: 43.1, Metric.CPU_BY_GENERATOR: 30.0, Metric.CPU_BY_KERNEL: 9.04, Metric.OBSERVER: 0.5,
        Metric.CPU_BY_OTHERS: 2.5,
    }  # fmt: skip
    state = build.run([build.cell(0)], [CellState(0, CellStatus.DONE, 1, "", build.finished_steps(split))])
    said = "43.1 % of all, of that generator 30.0, kernel 9.0, observer 0.5, others 2.5, not attributed 1.1"
    (row,) = build_grid(state).rows
    assert cpu_words(row) == f"CPU: {said}"
    assert f"\nCPU\n  ext4 data=ordered: {said}\n" in _text(state, 200, explain=True)
    assert cpu_words(build_grid(build.demo()).rows[0]) == ""


def test_what_is_not_attributed_of_the_cpu_is_never_below_zero() -> None:
    for kernel, words in ((12.6, "not attributed 0.0"), (17.0, "in sum 4.5 more than by ticks")):
        split = {Metric.CPU: 42.5, Metric.CPU_BY_GENERATOR: 30.0, Metric.CPU_BY_KERNEL: kernel, Metric.OBSERVER: 0.0}
        steps = build.finished_steps({**split, Metric.CPU_BY_OTHERS: 0.0})
        (row,) = build_grid(build.run([build.cell(0)], [CellState(0, CellStatus.DONE, 1, "", steps)])).rows
        assert cpu_words(row).endswith(f"others 0.0, {words}")


def test_what_a_check_costs_is_a_range_and_is_not_told_below_a_tenth_full_or_of_a_damaged_one() -> None:
    # 10 of 100 GiB and 2 million inodes: 7 s of which 2 for the empty one, 3.0 GiB of which 0.5.
    full = {
        Metric.USABLE: 100.0 * GIB, Metric.USED: 10.0 * GIB, Metric.INODES: 2e6, Metric.CHECK: 7.0,
        Metric.CHECK_EMPTY: 2.0, Metric.CHECK_RSS: 3.0 * GIB, Metric.CHECK_EMPTY_RSS: 0.5 * GIB,
    }  # fmt: skip
    said = "  ext4 data=ordered: check, est.: 0.5 to 0.7 s and 256.0 MiB to 307.2 MiB per GiB used, or 2.50 to"
    of_inodes = " 3.50 s and 1.2 GiB to\n  1.5 GiB per million inodes\n"
    for changed, verdict, is_told in (
        ({}, "clean", True),
        ({Metric.USED: 9.9 * GIB}, "clean", False),
        ({}, "errors", False),
        ({Metric.CHECK_EMPTY: 0.0, Metric.CHECK_EMPTY_RSS: 0.0}, "clean", False),
    ):
        steps = build.finished_steps({**full, **changed}, verdict=verdict)
        text = _text(build.run([build.cell(0)], [CellState(0, CellStatus.DONE, 1, "", steps)]), 120, explain=True)
        assert (said in text and of_inodes in text) is is_told, (changed, verdict, text)
    # Of several cells the range spans all; of few inodes, as where none are counted, there is a cost per GiB alone.
    full[Metric.INODES] = 999.0
    states = [
        CellState(i, CellStatus.DONE, 1, "", build.finished_steps({**full, Metric.CHECK: 7.0 + i})) for i in range(2)
    ]
    (row,) = build_grid(build.run([build.cell(0), build.cell(1, repeat=2)], states)).rows
    assert check_words(row) == "check, est.: 0.5 to 0.8 s and 256.0 MiB to 307.2 MiB per GiB used"


def test_repeats_bring_spread_and_n_into_view() -> None:
    text = _text(build.repeated())
    assert "extents  spread  warn\n" in text
    assert "Figures are geometric means of n = 3 rounds" in text
    assert "spread: (max - min) / median of durable, check." in text
    assert "  4.0\n" in text
    assert "  50.0     a\n" in text
    state = build.repeated()
    text = _text(replace(state, cells=(*state.cells[:5], build.failed(5, "check: no"))))
    assert "spread  n" in text
    assert "    1 of 3 failed: check: no\n" in text


def test_a_run_without_a_figure_is_a_table_of_reasons() -> None:
    text = _text(build.run([build.cell(0), build.cell(1, build.XFS)], [build.failed(0), build.failed(1)]))
    assert text.count("failed: mkfs: mkfs.xfs failed with exit code 1: no room") == 2
    assert "No row has a figure for durable yet." in text
    state = build.run([build.cell(0)], [CellState(0)], status=RunStatus.NEW)
    assert "not run yet" in _text(replace(state, started=()))
    assert "The plan has no cells." in _text(build.run([], []))


def test_a_warning_of_the_whole_run_has_no_letter() -> None:
    warning = build.warning(None, WarningKind.JOURNAL_SHARED_DISK, "the journal lies on the same disk")
    text = _text(build.run([build.cell(0)], [build.done(0)], warnings=(warning,)))
    assert "  -  journal shared disk (the whole run): the journal lies on the same disk\n" in text
    assert "warn\n" not in text


def _warned(*reasons: str) -> str:
    cells = [build.cell(index, repeat=index + 1) for index in range(len(reasons))]
    states = [
        build.done(index, warnings=(build.warning(index, reason=reason),)) for index, reason in enumerate(reasons)
    ]
    return _text(build.run(cells, states))


def test_reasons_are_cut_with_their_number_and_merged_where_figures_and_names_alone_differ() -> None:
    text = _warned("no a", "no b", "no c", "no d", "no e")
    assert "short (all cells): no a; no b; no c; and 2 more like these\n" in text
    text = _warned("'many files' took 1.0 s", "'many files' took 10.5 s", "'few' took 0.4 s")
    assert "short (all cells): 'many files', 'few' took 0.4 to 10.5 s\n" in text
    assert "no ext3; no ext4\n" in _warned("no ext3", "no ext4")
    # No range of process ids: it would read as all between them.
    assert "by sh (processes 9, 7): 2 to 3 s\n" in _warned("by sh (process 9): 2 s", "by sh (process 7): 3 s")
    assert "no 'a', 'b', 'c' and 1 more\n" in _warned("no 'a'", "no 'b'", "no 'c'", "no 'd'")


def test_times_of_syncs_are_told_in_one_table_of_80_columns_and_what_they_are_in_its_head() -> None:
    syncs = {
        Metric.READ: 300e6,
        Metric.FSYNC_MEAN: 1.234,
        Metric.FSYNC_P50: 0.42,
        Metric.FSYNC_P99: 12.3,
        Metric.FSYNC_MAX: 1234.5,
    }
    planned = [build.cell(index, build.XFS, repeat=index + 1) for index in range(3)]
    short = build.warning(None)
    states = [build.done(index, more=syncs, warnings=(replace(short, cell=index),)) for index in range(3)]
    state = build.run(planned, states)
    lines = _text(state).splitlines()
    head = next(number for number, line in enumerate(lines) if line.startswith("variant "))
    assert [line.split() for line in lines[head : head + 2]] == [
        ["variant", "write", "durable", "read", *["fsync"] * 4, "spread", "warn"],
        ["MB/s", "MB/s", "MB/s", "ms", "p50", "ms", "p99", "ms", "max", "ms", "%"],
    ]
    assert lines[head + 3].split() == [
        "xfs",
        "812",
        "410",
        "300",
        "1.23",
        "0.420",
        "12.3",
        "1234",
        "0.0",
        "a",
    ]


def test_columns_that_do_not_fit_beside_each_other_stand_below() -> None:
    lines = _text(build.demo(), columns=tuple(Metric)).splitlines()
    assert sum(line.startswith("variant ") for line in lines) > 1
    assert max(map(cells_of, lines)) <= 80


def test_byte_columns_are_in_one_unit_that_stands_in_their_head() -> None:
    steps = build.finished_steps({Metric.PEAK_DIRTY: 1.5 * GIB})
    state = build.run([build.cell(0)], [CellState(0, CellStatus.DONE, 1, "", steps)])
    lines = _text(state, columns=(Metric.PEAK_DIRTY,)).splitlines()
    at = next(number for number, line in enumerate(lines) if line.endswith("  peak dirty"))
    assert lines[at + 1].endswith("       GiB")
    assert lines[at + 3].endswith("      1.50")


WORDS = st.text(max_size=60)


@given(
    label=WORDS,
    title=WORDS,
    reason=WORDS,
    verdict=st.sampled_from(["clean", "errors"]) | WORDS,
    width=st.integers(40, 160),
    figure=st.floats(0, allow_nan=False, allow_infinity=False),
)
def test_no_line_is_wider_than_asked_for_and_none_acts_on_a_terminal(
    *, label: str, title: str, reason: str, verdict: str, width: int, figure: float
) -> None:
    cells = [build.cell(0, Variant(label, "ext4")), build.cell(1, Variant(f"{label}2", "xfs"))]
    done = build.done(0, verdict=verdict, warnings=(build.warning(0, reason=reason),))
    wild = replace(done.steps[3], measurements=(Measurement(Metric.DURABLE, figure),))
    states = (replace(done, steps=(*done.steps[:3], wild, *done.steps[4:])), build.failed(1, reason))
    text = _text(build.run(cells, states, title=title), width=width)
    assert all(cells_of(line) <= width for line in text.split("\n"))
    assert all(printable(line) == line for line in text.split("\n"))


def test_a_name_too_long_for_its_column_stands_whole_above_its_figures() -> None:
    label = "ext4 -I 256 -O uninit_groups,flex_bg -G 64 data=writeback,journal_checksum"
    state = build.run((build.cell(0, replace(build.EXT4, label=label)),), (build.done(0),))
    lines = _text(state, width=50).splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("ext4 -I 256"))
    assert " ".join(lines[at : at + 2]) == label
    assert lines[at + 2].split()[:2] == ["812", "410"]
    assert max(map(cells_of, lines)) <= 50


# Published rows: under the row that they mean, labelled, and never ranked.


PRINTED = "ext4 -I 256 data=ordered"


def published_row(table: str, words: str, durable: float, note: str = "") -> PublishedRow:
    figures = (Measurement(Metric.DURABLE, durable), Measurement(Metric.CHECK, 5336.0))
    return PublishedRow(table, words, figures, note)


PUBLICATION = Publication(
    "study", "A study", "Somebody, [/somewhere]", "2008-05", "two disks", "128 files",
    (published_row("first", PRINTED, 9999e6), published_row("second", PRINTED, 1e6), published_row("", "xfs", 2e6, "a note")),
)  # fmt: skip


PUBLISHED_RUN = build.run(
    (build.cell(0, replace(build.EXT4, as_printed=PRINTED)), build.cell(1, build.BTRFS)),
    (build.done(0), build.done(1)),
)
LAID = build_grid(PUBLISHED_RUN, publication=PUBLICATION)


def test_a_published_row_stands_under_its_own_and_the_rest_at_the_end_and_none_is_ranked() -> None:
    text = render_text(PUBLISHED_RUN, LAID, standing="finished")
    lines = [line for line in text.splitlines() if line.startswith(("ext4", "btrfs", "  published"))]
    published = ["  published (first)", "  published (second)"]
    names = ["ext4 data=ordered", *published, "btrfs", "  published: xfs"]
    assert [line[:20].rstrip() for line in lines] == [*names, *names]
    assert ("9999.0" in lines[1], "5336.00" in lines[1 + len(names)]) == (True, True)
    assert "a note" in text
    source = "Published: Somebody, [/somewhere], 2008-05; not of this run and not ranked with it."
    assert source in text.replace("\n", " ")
    assert max(map(len, text.splitlines())) <= 80
    assert [known.name for known in LAID.rows] == ["ext4 data=ordered", "btrfs"]


def test_markdown_and_json_say_what_is_published() -> None:
    text = render_markdown(PUBLISHED_RUN, LAID, standing="finished")
    assert "| published (first) |" in text.replace("  published", "published")
    document = json.loads(render_json(PUBLISHED_RUN, LAID, standing="finished"))
    assert document["published"]["rows"][0]["as_printed"] == PRINTED
    without = render_json(PUBLISHED_RUN, build_grid(PUBLISHED_RUN), standing="finished")
    assert json.loads(without)["published"] is None


@pytest.mark.parametrize(
    ("limits", "own", "said"),
    [
        (("67108864", "67108864"), (), "dirty limit 64.0 MiB, background 10 %"),
        (("67108864", "134217728"), (), "dirty limit differs (see rows), background 10 %"),
        (("67108864", "67108864"), (("dirty_bytes", "1GiB"),), "dirty limit differs (see rows), background 10 %"),
        ((), (), "dirty limit 20 %, background 10 %"),
    ],
)
def test_the_heading_has_settings_as_they_were_in_the_cells(
    limits: tuple[str, ...], own: tuple[tuple[str, str], ...], said: str
) -> None:
    path, ahead = "/proc/sys/vm/dirty_bytes", "/sys/block/loop7/queue/read_ahead_kb"
    loads = (replace(build.LARGE_FILES, settings=own),)
    cells = [replace(build.cell(number), workloads=loads) for number in range(2)]
    state = build.run(cells, [build.done(0), build.done(1)])
    for number, limit in enumerate(limits):
        known = replace(state.cells[number], settings=((path, limit), (ahead, "2048")))
        state = replace(state, cells=(*state.cells[:number], known, *state.cells[number + 1 :]))
    facts = (("dirty_limit", "20 %"), ("dirty_background_limit", "10 %"), ("read_ahead_bytes /dev/loop7", "131072"))
    (begun,) = state.started
    text = _text(replace(state, started=(replace(begun, facts=facts),)), width=200)
    assert f"Kernel 6.18.0 on box, {said}." in text
    assert f"read-ahead {'2.0 MiB' if limits else '128.0 KiB'}." in text
