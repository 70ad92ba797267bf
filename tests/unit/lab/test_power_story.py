"""What a machine told before and after its power was cut is held against each other: whatever is lost is found out."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy

import pytest

from tests.lab.power_story import Line, Story

NAME = "20261121-120000-abcd"
FIGURES = [{"metric": "written", "value": 4096.0}]
PLAN_CELLS = [
    {"index": index, "uuid": f"uuid-{index}", "variant": {"label": "ext4"}, "repeat": 1} for index in range(3)
]
PLAN = {"seed": 7, "order": "shuffled", "cells": PLAN_CELLS}
TOLD = [
    {"told": "boot", "run": ""},
    {"event": "cell_started", "cell": 1, "attempt": 1},
    {"event": "command_finished", "cell": 1, "step": 1, "output": "raw/000-01-mkfs.ext4"},
    {"event": "step_finished", "cell": 1, "step": 1, "measurements": FIGURES},
    {"event": "cell_finished", "cell": 1, "outcome": "done"},
    {"event": "cell_started", "cell": 2, "attempt": 1},
]


def texts(lines: list[Line]) -> list[str]:
    return [json.dumps(line) for line in lines]


def left() -> Line:
    """Return what a second boot finds after TOLD, where nothing is lost."""
    done = {"index": 0, "status": "done", "steps": [{"number": 1, "measurements": FIGURES}]}
    cut = {"index": 1, "status": "unknown", "steps": []}
    pending = {"index": 2, "status": "pending", "steps": []}
    state = {
        "request": {"plan": PLAN},
        "status": "interrupted",
        "current_cell": 1,
        "cells": [done, cut, pending],
    }
    return {"told": "cleaned", "state": deepcopy(state), "outputs": {"raw/000-01-mkfs.ext4": 3}}


@pytest.fixture
def story() -> Story:
    told = Story()
    told.hear(texts(TOLD))
    told.hear(texts([{"told": "boot", "run": NAME}]))
    return told


def test_a_run_that_is_as_it_was_told_passes(story: Story) -> None:
    # One that takes it up shows it from its beginning.
    story.hear(texts([left(), *TOLD[1:], {"event": "cell_started", "cell": 2, "attempt": 2}]))
    assert (story.done, story.begun) == ([0], [0, 1, 1])


def forget_the_cell(line: Line) -> None:
    line["state"]["cells"][0]["status"] = "unknown"


def forget_a_figure(line: Line) -> None:
    line["state"]["cells"][0]["steps"][0]["measurements"] = []


def forget_an_output(line: Line) -> None:
    line["outputs"] = {}


def call_it_running(line: Line) -> None:
    line["state"]["status"] = "running"


def mark_another(line: Line) -> None:
    line["state"]["cells"][1]["status"] = "pending"
    line["state"]["cells"][2]["status"] = "unknown"


@pytest.mark.parametrize("lose", [forget_the_cell, forget_a_figure, forget_an_output, call_it_running, mark_another])
def test_whatever_is_lost_or_unmarked_is_found_out(story: Story, lose: Callable[[Line], None]) -> None:
    line = left()
    lose(line)
    with pytest.raises(AssertionError):
        story.hear(texts([line]))


@pytest.mark.parametrize("change", [{"seed": 8}, {"order": "as-listed"}, {"cells": PLAN_CELLS[::-1]}])
def test_another_seed_or_order_is_found_out(story: Story, change: Line) -> None:
    story.hear(texts([left()]))
    line = left()
    line["state"]["request"]["plan"].update(change)
    with pytest.raises(AssertionError):
        story.hear(texts([line]))


@pytest.mark.parametrize(
    "line",
    [
        {"told": "boot", "run": ""},
        {"event": "cell_started", "cell": 1, "attempt": 2},
        {"event": "cell_finished", "cell": 2, "outcome": "failed"},
        {"told": "cleanup", "code": 43, "out": ""},
        {"told": "ended", "code": 45, "err": ""},
        {"told": "plan", "code": 20},
    ],
)
def test_a_run_that_is_gone_or_fails_or_does_a_cell_twice_is_found_out(story: Story, line: Line) -> None:
    with pytest.raises(AssertionError):
        story.hear(texts([line]))


def test_a_run_that_ended_in_the_moment_of_the_cut_is_over_with_all_that_was_told(story: Story) -> None:
    over = left()
    over["told"] = "over"
    state = over["state"]
    state |= {"status": "finished", "outcome": "done", "settings": []}
    state["request"]["run_id"] = NAME
    for cell in state["cells"]:
        cell["status"] = "done"
    lost = deepcopy(over)
    lost["state"]["cells"][0]["steps"] = []
    with pytest.raises(AssertionError, match="lost figures"):
        story.hear(texts([lost]))
    story.hear(texts([over]))
    assert story.is_finished
