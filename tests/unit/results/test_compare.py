"""Ratios to the baseline, their intervals, and the sentences that these bear."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsconsole.model.events import LookTaken
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Cell, Order, Variant
from fsconsole.model.state import CellState, RunState
from fsconsole.model.statistics import ALPHA, LOOK_ALPHAS
from fsconsole.model.verdicts import Verdict
from fsconsole.results.compare import alpha_of
from fsconsole.results.grid import build_grid
from fsconsole.results.json import render_json
from fsconsole.results.markdown import escaped, render_markdown
from fsconsole.results.sentences import RunFindings, findings_lines, findings_of
from fsconsole.results.text import render_text
from fsconsole.show.results import Choice, arranged, pane_lines
from fsconsole.show.terminal import ASCII
from tests.unit.results import build

STEADY = {Metric.WRITTEN: 1e9, Metric.FILES_MAPPED: 32.0}


def rounds(*factors: dict[str, list[float]], metric: Metric = Metric.CHECK) -> RunState:
    """Return a run in rounds: of each metric, factors of FIGURES for each variant, a factor a round."""
    cells: list[Cell] = []
    states: list[CellState] = []
    names = list(factors[0])
    for number in range(len(factors[0][names[0]])):
        for name in names:
            cells.append(build.cell(len(cells), Variant(name, name), repeat=number + 1))
            of = {metric: factors[0][name][number]}
            states.append(build.done(len(states), factors=of, more=STEADY))
    return build.run(cells, states)


def found(state: RunState) -> RunFindings:
    return findings_of(state, build_grid(state))


RUNS = 200
"""Of which the share of ALPHA is 10; tests/simulate draws many more."""


def test_intervals_of_equal_rows_miss_in_no_more_runs_than_alpha_says() -> None:
    draw = random.Random(7)  # noqa: S311
    missed = 0
    for _ in range(RUNS):
        scatter = {name: [math.exp(draw.gauss(0, 0.1)) for _ in range(5)] for name in ("ext4", "ext3", "xfs", "btrfs")}
        state = rounds(scatter)
        pairs = found(state).pairs
        assert len([pair for pair in pairs if pair.metric is Metric.CHECK]) == 3
        missed += any(pair.low > 1 or pair.high < 1 for pair in pairs)
    assert missed / RUNS <= ALPHA


def test_a_run_that_ended_at_a_look_has_the_wider_intervals_of_that_look() -> None:
    state = rounds({"ext4": STEP, "ext3": times(4)})
    auto = replace(state, request=replace(state.request, plan=replace(state.request.plan, is_auto=True)))
    ended = replace(auto, looks=(LookTaken(1, 5, decided=True, cells=10),))
    alphas = [alpha_of(one) for one in (state, auto, ended)]
    assert alphas == [ALPHA, LOOK_ALPHAS[2], LOOK_ALPHAS[0]]
    went_on = replace(auto, looks=(LookTaken(1, 5, decided=False, cells=10),))
    assert alpha_of(went_on) == LOOK_ALPHAS[2]
    assert [alpha_of(ended, look) for look in (5, 8, 12)] == list(LOOK_ALPHAS)
    widths = [found(one).pairs[0].high / found(one).pairs[0].low for one in (state, auto, ended)]
    assert widths == sorted(widths)
    assert widths[0] < widths[1] < widths[2]


STEP = [1.0, 1.02, 0.97, 1.01, 0.99]


def times(factor: float) -> list[float]:
    return [factor * (1 + 0.3 * (step - 1)) for step in STEP]


def test_what_slows_a_whole_round_is_in_no_interval() -> None:
    alike = {"ext4": [1.0, 3.0, 1.0, 5.0, 1.0], "ext3": [4.0, 12.1, 4.0, 19.9, 4.0]}
    (pair,) = [one for one in found(rounds(alike)).pairs if one.metric is Metric.CHECK]
    assert 3.8 < pair.low < 4 < pair.high < 4.2
    assert (pair.row, pair.baseline, pair.compared.n) == ("ext3", "ext4", 5)


def test_only_whole_rounds_of_a_run_that_is_over_and_in_rounds_are_compared() -> None:
    state = rounds({"ext4": STEP, "ext3": times(4)})
    pairs = found(state).pairs
    assert {pair.metric for pair in pairs} == {
        Metric.CHECK, Metric.DELETE_DURABLE, Metric.DURABLE, Metric.EXTENTS_MEAN,
    }  # fmt: skip
    running = replace(state, cells=(*state.cells[:-1], build.running(9)))
    assert found(running).pairs == ()
    shuffled = replace(state.request, plan=replace(state.request.plan, order=Order.SHUFFLED))
    assert found(replace(state, request=shuffled)).heading == ""
    # Two cells failed and a check found damage: too few pairs of checks, three of all else.
    cells = list(state.cells)
    cells[0], cells[3], cells[5] = build.failed(0), build.failed(3), build.done(5, verdict="errors", more=STEADY)
    rest = found(replace(state, cells=tuple(cells)))
    assert {(pair.metric, pair.compared.n) for pair in rest.pairs} == {
        (metric, 3) for metric in (Metric.DELETE_DURABLE, Metric.DURABLE, Metric.EXTENTS_MEAN)
    }
    assert rest.family == 4


def test_the_baseline_is_the_plan_s_first_variant_wherever_a_shuffled_round_has_it() -> None:
    state = rounds({"xfs": STEP, "ext4": times(2), "ext3": times(8)})
    for baseline, ratios in (("ext4", {"xfs": 0.5, "ext3": 4}), ("", {"ext4": 2, "ext3": 8})):
        planned = replace(state.request, plan=replace(state.request.plan, baseline=baseline))
        pairs = found(replace(state, request=planned)).pairs
        of_checks = {pair.row: pytest.approx(pair.ratio, rel=0.05) for pair in pairs if pair.metric is Metric.CHECK}
        assert of_checks == ratios


def test_a_repeated_round_replaces_the_one_that_was_disturbed() -> None:
    state = rounds({"ext4": [1.0, 1.0, 1.0, 9.0], "ext3": [4.0, 4.1, 4.0, 4.0]})
    again = rounds({"ext4": [1.0], "ext3": [3.9]})
    cells = [replace(cell, index=8 + cell.index, repeat=4, redo=1) for cell in again.request.plan.cells]
    states = [replace(known, index=8 + known.index) for known in again.cells]
    plan = replace(state.request.plan, cells=(*state.request.plan.cells, *cells))
    repeated = replace(state, request=replace(state.request, plan=plan), cells=(*state.cells, *states))
    for one, is_near in ((state, False), (repeated, True)):
        (pair,) = [known for known in found(one).pairs if known.metric is Metric.CHECK]
        assert (pair.compared.n, pair.ratio == pytest.approx(4, rel=0.02)) == (4, is_near)
    # Where it failed the disturbed figure doesn't come back.
    failed = replace(repeated, cells=(*repeated.cells[:-1], build.failed(9)))
    assert {pair.compared.n for pair in found(failed).pairs} == {3}


def test_a_figure_of_less_than_twenty_times_its_resolution_is_in_no_ratio() -> None:
    # 0.312 s / 70 are 4.5 ms, where a command's time is known to 0.25 ms.
    state = rounds({"ext4": [each / 70 for each in STEP], "ext3": STEP})
    assert Metric.CHECK not in {pair.metric for pair in found(state).pairs}
    assert found(state).family == 4
    # A rate is as fine as the time behind it: 10^9 bytes at 410 MB/s take 2.4 s, at 130 times that 19 ms.
    for factor, is_compared in ((100.0, True), (130.0, False)):
        state = rounds({"ext4": STEP, "xfs": times(factor)}, metric=Metric.DURABLE)
        assert (Metric.DURABLE in {pair.metric for pair in found(state).pairs}) is is_compared


def test_sentences_are_the_largest_differences_of_rows_and_figures_that_differ_and_the_rest_is_the_same() -> None:
    state = rounds({"ext4": STEP, "ext3": times(6.6), "xfs": times(2.4), "btrfs": times(1.0)})
    assert [sentence.text for sentence in found(state).sentences] == [
        "ext3's check took at least 5 times as long as ext4's.",
        "xfs's check took at least 1.8 times as long as ext4's.",
        "btrfs's durable delete took as long as ext4's within 10 %.",
    ]
    state = rounds({"ext4": times(3.1), "ext3": STEP}, metric=Metric.DURABLE)
    first, *others = findings_lines(found(state), 80)
    assert first == "What 5 rounds show, with a safety factor of 1.25; 95 % intervals for all 4"
    assert others[:3] == [
        "comparisons with ext4 together:",
        "  ext4 wrote 'large files' at least 2 times as fast as ext3, drain included.",
        # The ratio is that of the sentence, ext4 / ext3.
        "    ext4 1271 MB/s, ext3 409 MB/s: ratio 3.10, 95 % interval 3.02 to 3.19, n = 5",
    ]


def test_what_is_certainly_slower_is_not_called_the_same_within_more() -> None:
    state = rounds({"ext4": STEP, "xfs": times(0.84)}, metric=Metric.DURABLE)
    assert [pair.compared.verdict for pair in found(state).pairs if pair.metric is Metric.DURABLE] == [Verdict.SLOWER]
    texts = [sentence.text for sentence in found(state).sentences]
    assert len(texts) == 3
    assert not any("wrote" in text for text in texts)


def test_what_no_interval_bears_is_not_said() -> None:
    noisy = {"ext4": [1.0, 4.0, 1.0, 2.0, 9.0], "ext3": [3.0, 2.0, 5.0, 1.0, 8.0]}
    state = rounds(noisy)
    for index, factor in enumerate((1, 2, 5, 1, 2, 9, 4, 1, 7, 3)):
        others = dict.fromkeys((Metric.DURABLE, Metric.DELETE_DURABLE, Metric.EXTENTS_MEAN), float(factor))
        cells = list(state.cells)
        cells[index] = build.done(index, factors={**others, Metric.CHECK: others[Metric.DURABLE]}, more=STEADY)
        state = replace(state, cells=tuple(cells))
    assert found(state).sentences == ()
    text = render_text(state, build_grid(state), standing="finished")
    assert text.endswith("\n\nAfter 5 rounds no difference of 1.5 times or more is sure; see the verdicts.\n")


def test_json_markdown_and_the_console_have_the_sentences_and_no_label_of_one_acts_on_a_terminal() -> None:
    state = rounds({"ext4": STEP, "\x1b[31mext3|": times(6.6)})
    grid = build_grid(state)
    said = "\\x1b[31mext3|'s check took at least 5 times as long as ext4's."
    assert found(state).sentences[0].text == said
    findings = json.loads(render_json(state, grid, standing="finished"))["findings"]
    assert [sentence["text"] for sentence in findings["sentences"]] == [
        sentence.text for sentence in found(state).sentences
    ]
    first = findings["sentences"][0]
    assert (first["least"], first["most"], first["of"]["metric"]) == (5, None, "check")
    assert len(findings["pairs"]) == findings["family"] == 4
    assert f"- {escaped(said)} (" in render_markdown(state, grid, standing="finished")
    view = arranged(state, grid, Choice(), ASCII)
    lines = [line.text for line in pane_lines(view, grid.rows[0].id, found(state), 80)]
    assert f"  {said}" in lines


@settings(max_examples=60)
@given(st.lists(st.lists(st.floats(0.2, 50.0), min_size=4, max_size=4), min_size=3, max_size=6))
def test_no_sentence_says_more_than_its_interval(figures: list[list[float]]) -> None:
    names = ("ext4", "ext3", "xfs", "btrfs")
    state = rounds({name: [row[at] for row in figures] for at, name in enumerate(names)})
    said = found(state)
    assert len(said.sentences) <= 3
    for sentence in said.sentences:
        most = math.inf if sentence.most is None else sentence.most
        assert sentence.least <= sentence.of.low <= sentence.of.ratio <= sentence.of.high <= most
        assert sentence.least > 1 or most < 1 or sentence.least < 1 < most <= 1.3
        subject = sentence.of.row if sentence.least > 1 else sentence.of.baseline
        assert "within" in sentence.text or sentence.text.startswith(subject)
    # The order in which rows stand in a grid changes nothing.
    assert findings_of(state, build_grid(state, sort_by=Metric.CHECK)) == said
