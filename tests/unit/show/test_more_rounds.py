"""More rounds: how many are proposed, and the plan that is run for them."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import tomli

from fsconsole.errors.targets import PlanUnwritable
from fsconsole.model.metrics import Metric
from fsconsole.model.state import RunStatus
from fsconsole.results.blocks import blocks_of
from fsconsole.results.grid import build_grid
from fsconsole.results.sentences import RunFindings
from fsconsole.show.more_rounds import (
    barred_words,
    lasts_words,
    next_words,
    rounds_complaint,
    rounds_hint,
    wanted_rounds,
    with_repeats,
)
from fsconsole.show.results import Choice, arranged, pane_lines
from fsconsole.show.terminal import SAFE
from tests.unit.results.test_compare import rounds

STEP = [1.0, 1.02, 0.97, 1.01, 0.99]
STATE = rounds({"xfs": STEP, "btrfs": STEP, "jfs": [1.2, 1.05, 1.12, 1.25, 1.02]}, metric=Metric.DURABLE)


def test_the_rounds_are_those_with_which_the_open_row_would_be_decided_and_the_time_is_that_of_its_cells() -> None:
    blocks = blocks_of(STATE, build_grid(STATE))
    (open_row,) = [row for row in blocks[0].rows if row.compared is not None and row.compared.more]
    assert open_row.compared is not None
    assert open_row.compared.more is not None
    wanted = wanted_rounds(blocks[:1], 5)
    assert wanted == 5 + open_row.compared.more
    said = next_words(STATE, blocks[0])
    assert f"anew with {wanted} rounds ({lasts_words(STATE, wanted)})" in said
    decided = replace(blocks[0], rows=tuple(row for row in blocks[0].rows if row is not open_row))
    assert not next_words(STATE, decided)
    assert wanted_rounds([decided], 5) == 5


def test_the_question_says_that_its_rounds_are_of_all_blocks() -> None:
    assert rounds_hint(STATE, "9", 12).startswith("12 would decide what is open in all blocks.\n9 rounds: est. ")
    assert rounds_hint(STATE, "9", STATE.request.plan.repeats).startswith("9 rounds: est. ")


def test_a_run_with_too_few_rounds_for_verdicts_is_told_how_many_would_do_and_a_living_one_nothing() -> None:
    two = rounds({"xfs": STEP[:2], "ext4": STEP[:2]}, metric=Metric.DURABLE)
    block = blocks_of(two, build_grid(two))[0]
    assert "anew with 5 rounds (est. " in next_words(two, block)
    assert not next_words(replace(two, status=RunStatus.RUNNING), block)


def test_where_a_plan_can_not_run_again_on_its_devices_the_way_is_by_its_plan() -> None:
    blocks = blocks_of(STATE, build_grid(STATE))
    own = replace(STATE, request=replace(STATE.request, owned_scratch="/x.img"))
    for said in (next_words(own, blocks[0]), next_words(STATE, blocks[0], is_imported=True)):
        assert re.match(r"Next: o opens the plan; \d+ rounds \(est\. .*\) are enough to decide what is open\.", said)
    assert "Create one (screen 1, n)" in barred_words(own, is_alive=False, is_imported=False)


@pytest.mark.parametrize(
    "top",
    [
        "schema = 1\nrepeats = 5  # five\n",
        'repeats="auto"\n',
        "schema = 1\n# repeats = 2\n",
        'repeats = 3 # [x]\ntitle = "a [b]"\n',
        "",
    ],
)
def test_only_the_repeats_of_a_plan_change(top: str) -> None:
    source = f'{top}\n[[workload]]\nname = "repeats = 9"\nrepeats = 1 # not the plan\'s\n'
    text = with_repeats(source, 11)
    assert tomli.loads(text) == tomli.loads(source) | {"repeats": 11}
    assert text.count("#") == source.count("#")


def test_a_plan_whose_repeats_can_t_be_found_is_refused() -> None:
    with pytest.raises(PlanUnwritable):
        with_repeats('title = """\nrepeats = 3\n"""\nrepeats = 5\n', 7)


def test_too_few_rounds_for_verdicts_are_refused() -> None:
    assert rounds_complaint("2")
    assert rounds_complaint("x")
    assert not rounds_complaint("11")


def test_what_to_do_next_stands_right_below_the_verdict_of_a_row() -> None:
    view = arranged(STATE, build_grid(STATE), Choice(), SAFE)
    (key,) = [row.key for row in view.table.rows if row.name == "jfs"]
    lines = [line.text for line in pane_lines(view, key, RunFindings(), 80)]
    (at,) = [place for place, line in enumerate(lines) if line.startswith("Next: + runs the plan anew")]
    assert at < next(place for place, line in enumerate(lines) if line.startswith("jfs ") and "|" in line)
    assert at <= 5
