"""What a plan can find is told before it runs, or why it finds nothing."""

from __future__ import annotations

import re
from dataclasses import replace

from fsconsole.catalog.loader import load_catalog
from fsconsole.cli.plan_show import plan_answer
from fsconsole.model.answers import PowerAnswer
from fsconsole.model.statistics import LOOK_ALPHAS, detectable
from fsconsole.plan.draft import new_draft
from fsconsole.plan.outcome import work_out
from fsconsole.plan.power import power_of
from fsconsole.show.confirm import offer_rows
from fsconsole.show.plan_forms import run_lines
from fsconsole.show.plan_text import busy_line, decides_little, plan_lines, power_line, power_words
from tests.unit.plan.examples import WORKLOAD, build

THIRTEEN = "".join(f"[[variant]]\ntype = 'ext4'\nmount = 'commit={number}'\n" for number in range(1, 14))


def power(head: str, variants: str = THIRTEEN, last: float | None = None) -> PowerAnswer:
    return power_of(build(f"schema = 1\n{head}\n{variants}{WORKLOAD}"), last)


def test_differences_are_those_of_the_rounds_and_of_all_rows_but_the_baseline() -> None:
    told = power("repeats = 5\nraw = true", last=0.08)
    assert (told.rounds, told.row_count, told.no_verdicts) == (5, 13, "")
    found = [detectable(5, 12, spread) for spread in (0.05, 0.1, 0.25, 0.08)]
    assert told.last is not None
    assert [one.difference for one in (*told.findable, told.last)] == found
    few, usual, much, last = (f"{100 * share:.0f} %" for share in found)
    assert power_words(replace(told, round_s=360)) == (
        f"5 rounds of 13 cells find a difference of {few} where rounds vary by 5 %, {usual} at 10 %, {much} at 25 %; "
        f"last run here: {last} at 8 %; each round +6 min 00 s."
    )
    with_control = power("repeats = 5\ncontrol = true")
    assert with_control.findable[0].difference == detectable(5, 13, 0.05)
    two_threads = power_of(build("schema = 1\nrepeats = 5\n" + THIRTEEN + WORKLOAD.replace("= 4", "= [1, 4]")))
    assert (two_threads.row_count, two_threads.findable[0].difference) == (26, detectable(5, 24, 0.05))


def test_eighty_columns_tell_whole_what_a_plan_finds_and_of_the_last_run_alone_where_there_was_one() -> None:
    for last, words in (
        (None, r"Finds differences of \d+ % if rounds vary by 5 %, \d+ % by 10 %, \d+ % by 25 %"),
        (0.12, r"Finds differences of \d+ % if rounds vary as in the last run, by 12 %"),
        (0.31, r"Finds nothing below \d+ % if rounds vary by 31 %: \+ adds rounds, 42 s each"),
        (5.0, r"Finds nothing below 1,000 % if rounds vary by 500 %: \+ adds rounds, 42 s each"),
    ):
        line = power_line(replace(power("repeats = 8", last=last), round_s=42), 80)
        assert re.fullmatch(words, line), line
        assert len(line) <= 80


def test_a_busy_machine_is_told_beside_what_a_plan_finds_with_how_long_a_round_more_takes_and_a_quiet_one_is_not() -> (
    None
):
    told = replace(power("repeats = 5"), round_s=27)
    assert busy_line(told, 2.0, 2, 80) == ""
    for width, words in (
        (120, "Time and differences are for a quiet machine; + adds rounds, 27 s each"),
        (80, "Est. is for a quiet machine; + adds rounds, 27 s each"),
        (70, "Est. is for a quiet machine; + adds rounds"),
    ):
        assert busy_line(told, 7.14, 2, width) == f"Busy: load 7.1 on 2 CPUs. {words}"
        assert len(busy_line(told, 7.14, 2, width)) <= width
    assert busy_line(told, 1.5, 1, 80).startswith("Busy: load 1.5 on 1 CPU. ")
    # Without verdicts no round more is of use.
    assert busy_line(power("repeats = 2"), 7.1, 2, 80) == ""


def test_a_plan_that_finds_only_what_hardly_any_two_filesystems_differ_by_says_what_to_do_about_it() -> None:
    for head, last, is_little in (
        ("repeats = 8", None, False),
        ("repeats = 3", None, True),
        ("repeats = 9", 0.5, True),
    ):
        told = power(head, last=last)
        usual = told.last or told.findable[1]
        assert (usual.difference > 0.5) is is_little
        assert decides_little(told) is is_little
        assert ("plan more rounds, or longer loads" in power_words(told)) is is_little
        assert (": + adds rounds, " in power_line(told, 80)) is is_little
        assert ("last run" in power_line(told, 120)) is (last is not None)


def test_auto_is_told_by_its_last_look() -> None:
    told = power("repeats = 'auto'")
    assert told.findable[1].difference == detectable(12, 12, 0.1, LOOK_ALPHAS[-1])
    assert power_words(told).startswith("12 rounds (auto: 5, 8 or 12) of 13 cells find ")
    assert round(12 * told.round_s) == round(power("repeats = 12").round_s * 12), "the estimate is for all twelve"


def test_a_plan_without_verdicts_says_why() -> None:
    for head, variants, why in [
        ("repeats = 2", THIRTEEN, "No verdicts with 2 rounds: they need 3"),
        ("repeats = 5\norder = 'shuffled'", THIRTEEN, 'order = "shuffled" makes no rounds'),
        ("repeats = 5", "[[variant]]\ntype = 'ext4'\n", "there is only one variant to compare."),
        ("repeats = 5\nraw = true", "", "no variant has a filesystem"),
    ]:
        told = power(head, variants, last=0.1)
        assert (told.findable, told.last) == ((), None)
        assert why in power_words(told), power_words(told)


def test_rows_that_can_not_run_are_not_among_those_to_compare_and_with_one_alone_there_is_nothing_to_compare() -> None:
    plan = build(f"schema = 1\nrepeats = 5\n{THIRTEEN}{WORKLOAD}")
    labels = sorted({cell.variant.label for cell in plan.cells}, key=lambda label: label != plan.baseline)

    def without(*stuck: str) -> PowerAnswer:
        cells = (replace(cell, unavailable="no" * (cell.variant.label in stuck)) for cell in plan.cells)
        return power_of(replace(plan, cells=tuple(cells)))

    assert (without(*labels[8:]).row_count, without(*labels[8:]).no_verdicts) == (8, "")
    # As in the grid: intervals hold for all that was planned.
    assert without(labels[-1]).findable == power_of(plan).findable
    alone = without(*labels[1:])
    words = f"Nothing to compare: only {labels[0]} can run, 12 variants can't. Add one that can"
    assert (alone.row_count, alone.findable) == (1, ())
    assert power_words(alone).startswith(words)
    assert without(*labels).no_verdicts.startswith("Nothing to compare: no variant can run, 13 variants can't.")
    assert without(labels[0]).no_verdicts.startswith(f"Nothing to compare with: the baseline {labels[0]} can't run.")
    rows = offer_rows(plan_answer(plan, (), "", power=alone), (), 400)
    assert [row.tone for row in rows if row.text.startswith(words)] == ["bad"]


def test_the_console_tells_it_beside_the_key_and_before_consent() -> None:
    plan = build(f"schema = 1\nrepeats = 5\n{THIRTEEN}{WORKLOAD.replace('= 4', '= 3')}")
    draft = new_draft().plan_file
    first = work_out(draft, (), load_catalog(), kernel="6.12", last_spreads={plan.loads: 0.08})
    assert first.plan is not None
    assert first.power is not None
    assert first.power.last is None, "the last run was of another load"
    spreads = {plan.loads: 0.08, first.plan.loads: 0.07}
    outcome = work_out(draft, (), load_catalog(), kernel="6.12", last_spreads=spreads)
    assert outcome.power is not None
    (repeats,) = (line for line in run_lines(new_draft().plan_file, outcome.power) if line.key == "repeats")
    assert repeats.about[0] == power_words(outcome.power)
    assert " at 7 %; " in repeats.about[0]
    told = power_of(plan)
    for width in (40, 60, 80):
        lines = list(plan_lines(plan, (), "", told, every=False, width=width))
        assert power_words(told) in " ".join(lines)
        assert not [line for line in lines if line.startswith("%")]
    offer = plan_answer(plan, (), "", power=told)
    assert power_words(told) in {row.text for row in offer_rows(offer, (), 400)}
    for width in range(30, 120):
        rows = [row.text.strip() for row in offer_rows(offer, (), width)]
        assert power_words(told) in " ".join(rows)
        assert not [row for row in rows if row.startswith("%")], width
