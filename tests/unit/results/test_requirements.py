"""Rows against the limits that their plan sets, and what a run's end makes of them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.errors import ExitCode
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Variant
from fsconsole.model.state import CellState, CellStatus, RunState
from fsconsole.model.thresholds import Comparator, Requirement
from fsconsole.plan.requirements import parse_requirement
from fsconsole.results.blocks import blocks_of
from fsconsole.results.csv import summary_csv
from fsconsole.results.environment import load_signature
from fsconsole.results.grid import build_grid
from fsconsole.results.json import render_json
from fsconsole.results.markdown import render_markdown
from fsconsole.results.requirements import (
    Answer,
    Judged,
    RunRequirements,
    ending_of,
    limit_sentences,
    requirements_of,
    row_sentences,
    run_sentence,
)
from fsconsole.results.text import render_text
from fsconsole.show.results_row import row_lines
from tests.unit.results import build

Figures = Mapping[Metric, float]
LONG = {Metric.WRITTEN: 1e13, Metric.LAST_DONE: 1e4}
"""Of a load that took long enough for a rate."""


def run_of(rounds: Mapping[Variant, Sequence[Figures | None]], *required: tuple[Metric, str]) -> RunState:
    """Return a run with so many rounds of each variant; None is a cell that failed."""
    require = tuple(parse_requirement(metric, said) for metric, said in required)
    load = replace(build.LARGE_FILES, require=require)
    cells, states = [], []
    for variant, measured in rounds.items():
        for repeat, figures in enumerate(measured, start=1):
            index = len(cells)
            cells.append(replace(build.cell(index, variant, repeat=repeat), workloads=(load,)))
            states.append(
                build.failed(index) if figures is None else build.done(index, factors={}, more={**LONG, **figures})
            )
    return build.run(cells, states)


def found_in(state: RunState) -> RunRequirements:
    return requirements_of(state, build_grid(state))


def judged(values: Sequence[float], metric: Metric, said: str, calls: float = 1e6) -> Judged:
    name = metric.value.rpartition("_")[0]
    count = {Metric(f"{name}_count"): calls} if metric.value.endswith("_p99") else {}
    found = found_in(run_of({build.XFS: [{metric: value, **count} for value in values]}, (metric, said)))
    ((one,),) = found.rows.values()
    return one


def test_a_row_meets_a_limit_if_the_bound_of_its_rounds_does() -> None:
    rates = (800e6, 820e6, 810e6, 790e6, 805e6)
    logs = [math.log(rate) for rate in rates]
    mean = sum(logs) / 5
    deviation = math.sqrt(sum((one - mean) ** 2 for one in logs) / 4)
    # Student's t at 95 %, one-sided, 4 degrees of freedom, from a printed table.
    half = 2.132 * deviation / math.sqrt(5)
    low, high = math.exp(mean - half), math.exp(mean + half)
    one = judged(rates, Metric.DURABLE, ">= 790MB/s")
    assert (one.answer, one.n) == (Answer.YES, 5)
    assert one.low == pytest.approx(low, rel=1e-4)
    assert one.high == pytest.approx(high, rel=1e-4)
    assert one.words == f"at least {low / 1e6:.0f} MB/s"
    # One-sided: a two-sided interval at 95 % would end below this limit.
    assert judged(rates, Metric.DURABLE, f">= {low / 1e6 - 0.2:.1f}MB/s").answer is Answer.YES
    assert judged(rates, Metric.DURABLE, f">= {low / 1e6 + 0.2:.1f}MB/s").answer is Answer.UNDECIDED
    assert judged(rates, Metric.DURABLE, f">= {high / 1e6 - 0.2:.1f}MB/s").answer is Answer.UNDECIDED
    missed = judged(rates, Metric.DURABLE, f">= {high / 1e6 + 0.2:.1f}MB/s")
    assert (missed.answer, missed.words) == (Answer.NO, f"at most {high / 1e6:.0f} MB/s")


def test_a_rate_lies_within_the_resolution_of_its_time() -> None:
    """A load of 1.25 ms, whose time is known to 1 ms, may have had 2.25 ms, or 0.25 ms."""
    for moved, limits in (
        (1e6, {">= 440MB/s": "yes", ">= 700MB/s": "undecided", ">= 4.1GB/s": "no"}),
        (8e8, {">= 798MB/s": "yes", ">= 800MB/s": "undecided", ">= 802MB/s": "no"}),
        (1e3, {">= 1kB/s": "yes", ">= 15GB/s": "undecided"}),
    ):
        measured = [{Metric.DURABLE: 800e6, Metric.WRITTEN: moved}] * 5
        for limit, answer in limits.items():
            ((one,),) = found_in(run_of({build.XFS: measured}, (Metric.DURABLE, limit))).rows.values()
            assert one.answer.value == answer, limit


def test_fewer_than_three_rounds_and_figures_on_both_sides_decide_nothing() -> None:
    assert judged((900e6, 900e6), Metric.DURABLE, ">= 1MB/s").words == "n 2, 3 rounds needed"
    assert judged((900e6, 900e6), Metric.DURABLE, ">= 1MB/s").answer is Answer.UNDECIDED
    split = judged((900e6, 1100e6, 1000e6), Metric.DURABLE, ">= 1000MB/s")
    assert split.answer is Answer.UNDECIDED
    assert " to " in split.words


def test_a_percentile_needs_twenty_calls_beyond_it_in_each_round() -> None:
    enough, too_few = (judged((1.0,) * 3, Metric.FSYNC_P99, "<= 10ms", calls) for calls in (2000, 1999))
    assert enough.answer is Answer.YES
    assert (too_few.answer, too_few.words) == (Answer.UNDECIDED, "1,999 calls, p99 needs 2,000 a round")


def test_at_its_limit_a_percentile_is_allowed_and_a_nanosecond_beyond_it_is_not() -> None:
    # All three lie in one bucket, which is 6 % wide.
    assert judged((10.0,) * 3, Metric.FSYNC_P99, "<= 10ms").answer is Answer.YES
    assert judged((9.9,) * 3, Metric.FSYNC_P99, "<= 10ms").answer is Answer.YES
    assert judged((10.000001,) * 3, Metric.FSYNC_P99, "<= 10ms").answer is Answer.NO
    assert judged((10.0, 10.0, 10.000001), Metric.FSYNC_P99, "<= 10ms").answer is Answer.UNDECIDED
    assert judged((10.000001,) * 3, Metric.FSYNC_P99, ">= 10ms").answer is Answer.YES
    # The true one may be anywhere in its bucket: "at most" is its upper end.
    assert judged((5.0,) * 3, Metric.FSYNC_P99, "<= 10ms").high == pytest.approx(5.0, rel=0.0625)
    assert judged((5.0,) * 3, Metric.FSYNC_P99, "<= 10ms").high > 5.0


def test_small_and_zero_figures_are_compared_by_differences() -> None:
    assert judged((0.0,) * 3, Metric.STALLS, "<= 0s").answer is Answer.YES
    assert judged((0.0, 0.001, 0.0), Metric.STALLS, "<= 0s").answer is Answer.UNDECIDED
    assert judged((0.004, 0.005, 0.004), Metric.DRAIN, "<= 0.1s").answer is Answer.YES
    assert judged((1.0, 1.0, 1.0), Metric.EXTENTS_MEAN, "<= 1").answer is Answer.YES


GOOD, BAD = {Metric.STALLS: 0.1}, {Metric.STALLS: 9.0}
MIXED = ({Metric.STALLS: 0.1}, {Metric.STALLS: 9.0}, {Metric.STALLS: 1.0})
ANY_ONE = (Metric.STALLS, "<= 1s")


@pytest.mark.parametrize(
    ("rounds", "answer", "code"),
    [
        ({build.EXT4: [BAD] * 3, build.XFS: [GOOD] * 3}, Answer.YES, None),
        ({build.EXT4: [BAD] * 3, build.XFS: [BAD] * 3}, Answer.NO, ExitCode.REQUIREMENTS_MISSED),
        ({build.EXT4: [BAD] * 3, build.XFS: MIXED}, Answer.UNDECIDED, ExitCode.REQUIREMENTS_UNDECIDED),
        ({build.EXT4: [GOOD] * 3, build.XFS: MIXED}, Answer.YES, None),
        ({build.EXT4: [BAD] * 3, build.XFS: [None] * 3}, Answer.UNDECIDED, ExitCode.REQUIREMENTS_UNDECIDED),
    ],
)  # fmt: skip
def test_a_run_meets_its_requirements_if_a_row_does(
    rounds: Mapping[Variant, Sequence[Figures | None]], answer: Answer, code: ExitCode | None
) -> None:
    found = found_in(run_of(rounds, ANY_ONE))
    assert found.answer is answer
    ending = ending_of(found)
    assert (ending.exit_code if ending else None) is code


def test_what_can_not_run_here_neither_meets_nor_misses_and_an_open_run_decides_nothing() -> None:
    state = run_of({build.EXT4: [BAD] * 3, build.XFS: [BAD] * 3}, ANY_ONE)
    for status, answer in ((CellStatus.UNAVAILABLE, Answer.NO), (CellStatus.PENDING, Answer.UNDECIDED)):
        cells = (*state.cells[:3], *(CellState(cell.index, status) for cell in state.cells[3:]))
        assert found_in(replace(state, cells=cells)).answer is answer
    assert found_in(run_of({build.EXT4: [BAD] * 3})).answer is None
    assert ending_of(found_in(run_of({build.EXT4: [BAD] * 3}))) is None


def test_a_filesystem_meets_requirements_only_under_all_of_its_loads() -> None:
    fast, slow = parse_requirement(Metric.DURABLE, ">= 1MB/s"), parse_requirement(Metric.DURABLE, ">= 1GB/s")
    cells = [build.cell(0, build.XFS, repeat=number) for number in (1, 2, 3)]
    for second, answer in ((fast, Answer.YES), (slow, Answer.NO)):
        loads = (replace(build.LARGE_FILES, require=(fast,)), replace(build.LARGE_FILES, name="b", require=(second,)))
        steps = (*build.STEPS[:4], *(replace(step, workload=1) for step in build.STEPS[2:4]))
        planned = [replace(cell, index=i, workloads=loads, steps=steps) for i, cell in enumerate(cells)]
        measured = build.finished_steps({**LONG, Metric.DURABLE: 400e6}, kinds=steps)
        state = build.run(planned, [CellState(i, CellStatus.DONE, 1, "", measured) for i in range(3)])
        found = found_in(state)
        assert found.answer is answer
        assert len(found.rows) == 2
        assert found.meeting == (("xfs",) if answer is Answer.YES else ())


def test_sentences_say_which_rows_meet_each_limit_with_their_bounds() -> None:
    state = run_of({build.EXT4: [BAD] * 3, build.XFS: [GOOD] * 3, build.BTRFS: MIXED}, ANY_ONE)
    grid = build_grid(state)
    found = requirements_of(state, grid)
    (said,) = limit_sentences([(row.name, found.rows[row.id]) for row in grid.rows])
    assert said == (
        "stalls <= 1s: met by xfs (at most 0.100 s); missed by ext4 data=ordered (at least 9.00 s); "
        "undecided for btrfs (0.022 s to 42.9 s)."
    )
    assert row_sentences(found.rows[grid.rows[1].id]) == ("requires stalls <= 1s: yes, at most 0.100 s",)
    assert run_sentence(found) == "All requirements are met by xfs."
    text = " ".join(render_text(state, grid, standing="finished").split())
    assert f"Requirements {said} All requirements are met by xfs." in text
    assert "### Requirements" in render_markdown(state, grid, standing="finished")
    assert "requires stalls <= 1s: yes, at most 0.100 s" in summary_csv(state, grid)
    block = blocks_of(state, grid)[0]
    (row,) = (one for one in block.rows if one.name == "xfs")
    assert "requires stalls <= 1s: yes, at most 0.100 s" in [line.text for line in row_lines(row, block, grid, 80)]
    told = json.loads(render_json(state, grid, standing="finished"))
    assert told["requirements"] == {"answer": "yes", "met_by": ["xfs"]}
    answers = {row["name"]: [one["answer"] for one in row["requirements"]] for row in told["blocks"][0]["rows"]}
    assert answers == {"xfs": ["yes"], "ext4 data=ordered": ["no"], "btrfs": ["undecided"]}


def test_runs_with_other_limits_have_the_same_load() -> None:
    limited = replace(build.LARGE_FILES, require=(parse_requirement(Metric.DURABLE, ">= 1MB/s"),))
    assert load_signature(limited) == load_signature(build.LARGE_FILES)


NUMBERS = st.one_of(st.floats(), st.sampled_from([0.0, -1.0, 1e308, 5e-324, math.inf, math.nan]))


@given(
    st.lists(NUMBERS, min_size=3, max_size=5),
    st.sampled_from(["stalls", "fsync_p99", "latency_p00", "durable", "nothing", "cpu"]),
    st.floats(allow_nan=False),
    st.sampled_from(Comparator),
    NUMBERS,
)
def test_a_run_from_elsewhere_with_any_figures_and_limits_is_judged(
    values: list[float], column: str, limit: float, comparator: Comparator, calls: float
) -> None:
    metric = Metric(column) if column in {one.value for one in Metric} else Metric.STALLS
    state = run_of({build.XFS: [{metric: value, Metric.FSYNC_COUNT: calls} for value in values]})
    load = replace(build.LARGE_FILES, require=(Requirement(column, comparator, limit, "\x1b[31m"),))
    plan = state.request.plan
    plan = replace(plan, cells=tuple(replace(cell, workloads=(load,)) for cell in plan.cells))
    found = found_in(replace(state, request=replace(state.request, plan=plan)))
    ((one,),) = found.rows.values()
    assert all(bound is None or math.isfinite(bound) for bound in (one.low, one.high))
    assert all(said.isprintable() for said in (*row_sentences((one,)), run_sentence(found)))
