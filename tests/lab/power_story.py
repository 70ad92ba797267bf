"""What a machine told of its runs before and after its power was cut, and the proof that the two fit together."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

Line = dict[str, Any]
Figures = dict[int, list[Line]]
"""What each step of a cell measured, by the step's number."""

_MARKED = {"interrupted", "unknown"}
_ASKS_AGAIN = 27


@dataclass(slots=True)
class Story:
    """One run, over all boots that it took."""

    name: str = ""
    plan: Line = field(default_factory=dict)
    figures: dict[int, Figures] = field(default_factory=dict)
    """Of each cell that is going on or was reported done."""
    outputs: dict[int, list[str]] = field(default_factory=dict)
    done: list[int] = field(default_factory=list)
    """Cells that were reported done, in that order."""
    begun: list[int] = field(default_factory=list)
    """Cells in the order in which they were begun, those taken up again once more."""
    is_finished: bool = False
    heard: set[str] = field(default_factory=set)
    """The events that were told: one that takes the run up shows it from its beginning."""

    def hear(self, lines: Iterable[str]) -> None:
        """Take in all that was told in one boot; what doesn't fit what was told before is an AssertionError."""
        for text in lines:
            line = json.loads(text)
            if "told" in line:
                self._told(line)
            elif text not in self.heard:
                self.heard.add(text)
                self._event(line)

    def _event(self, line: Line) -> None:
        cell = (line.get("cell") or 0) - 1
        if line["event"] == "cell_started":
            assert cell not in self.done, f"cell {cell} is done once more"
            self.begun.append(cell)
            self.figures[cell], self.outputs[cell] = {}, []
        elif line["event"] == "step_finished":
            self.figures[cell][line["step"]] = line["measurements"]
        elif line["event"] == "command_finished":
            self.outputs[cell].append(line["output"])
        elif line["event"] == "cell_finished":
            assert line["outcome"] == "done", line
            self.done.append(cell)
        elif line["event"] == "run_finished":
            assert line["outcome"] == "done", line
            self.is_finished = True

    def _told(self, line: Line) -> None:
        handle = getattr(self, f"_told_{line['told']}", None)
        if handle is not None:
            handle(line)
        elif "code" in line:
            assert line["code"] == 0, line

    def _told_boot(self, line: Line) -> None:
        # A run of which nothing was told may not be there: its folder appears whole or not at all.
        assert line["run"] or not self.begun, "the run that was told of is gone"
        self.name = self.name or line["run"]
        assert line["run"] == self.name, f"{line['run']} was found where {self.name} was told of"

    def _told_cleaned(self, line: Line) -> None:
        self._compare(line)
        state = line["state"]
        assert state["status"] in {"interrupted", "new"}, state["status"]
        left = [cell["index"] for cell in state["cells"] if cell["status"] == "unknown"]
        assert len(left) <= 1, f"cells {left} were all interrupted"
        # The journal knows at least what was told: more cells may be over in it, and the next one begun.
        for index in left:
            assert index >= max(self.begun, default=0), f"cell {index} was over, and is interrupted"
            assert {cell["status"] for cell in state["cells"][:index]} <= {"done"}
        for index in self.begun[-1:]:
            assert state["cells"][index]["status"] in {"done", "unknown"}, f"cell {index} is not marked"

    def _told_over(self, line: Line) -> None:
        self._compare(line)
        state = line["state"]
        assert self.name in ("", state["request"]["run_id"])
        assert (state["status"], state["outcome"]) == ("finished", "done")
        assert {cell["status"] for cell in state["cells"]} == {"done"}
        assert state["settings"] == []
        self.is_finished = True

    def _told_runs(self, line: Line) -> None:
        assert line["code"] == 0, line
        newest = json.loads(line["out"])["runs"][0]
        assert newest["run_id"] == self.name
        assert newest["status"] in {"dead", "new", "interrupted"}, newest
        assert newest["cells_over"] >= len(self.done)

    def _told_results(self, line: Line) -> None:
        assert line["code"] == 0, line
        rows = {int(row["cell"]) - 1: row for row in csv.DictReader(io.StringIO(line["out"]))}
        for cell in self.done:
            assert rows[cell]["outcome"] == "done"
            assert float(rows[cell]["durable [B/s]"]) > 0
        interrupted = {cell for cell in self.begun if cell not in self.done} & set(rows)
        for cell in interrupted:
            assert rows[cell]["outcome"] in _MARKED | {"done"}, rows[cell]
        if self.is_finished:
            assert sorted(rows) == sorted(self.done) == list(range(len(self.plan["cells"])))

    def _told_cleanup(self, line: Line) -> None:
        assert line["code"] == 0, line
        for cleaned in json.loads(line["out"])["cleaned"]:
            assert cleaned["resumable"], cleaned

    def _told_ended(self, line: Line) -> None:
        assert line["code"] in {0, _ASKS_AGAIN}, line
        if line["code"] == _ASKS_AGAIN:
            assert "can't be proved" in line["err"], line

    def _told_resume(self, line: Line) -> None:
        """With --show, where it asked again."""
        assert line["code"] == 0, line

    def _compare(self, line: Line) -> None:
        """Hold a run as its journal has it after the cut against what was told before it."""
        state = line["state"]
        plan = _lasting(state["request"]["plan"])
        self.plan = self.plan or plan
        assert plan == self.plan
        for index in self.done:
            cell = state["cells"][index]
            assert cell["status"] == "done", f"cell {index} was reported done, and is {cell['status']}"
            measured = {step["number"]: step["measurements"] for step in cell["steps"]}
            assert measured == self.figures[index], f"cell {index} has lost figures"
            lost = [output for output in self.outputs[index] if output not in line["outputs"]]
            assert lost == [], f"cell {index} has lost outputs"


def _lasting(plan: Line) -> Line:
    """Return what of a plan must be the same in every boot; a scratch device may have another number."""
    cells = [(cell["index"], cell["uuid"], cell["variant"]["label"], cell["repeat"]) for cell in plan["cells"]]
    return {"seed": plan["seed"], "order": plan["order"], "cells": cells}
