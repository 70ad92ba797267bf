"""The cells of a plan with their exact commands, from what `fsconsole plan --json` prints."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from fsconsole.errors import ChildFailed
from fsconsole.plaintext import printable
from fsconsole.tui.views.lines import Line

_Object = Mapping[str, object]
_KIND_WIDTH = 16
MOST_CELLS = 2000
"""More would be listed for nobody."""


@dataclass(frozen=True, slots=True)
class CellCommands:
    """A cell: its line in the list, and its steps as lines of text."""

    line: Line
    text: tuple[str, ...]


def cells_of_plan(document: object) -> tuple[CellCommands, ...]:
    """Return the cells, in the order in which they run. Raises ChildFailed where it is no such document."""
    try:
        cells = cast("list[_Object]", cast("_Object", document)["cells"])[:MOST_CELLS]
        columns = [column for column in zip(*map(_aspects, cells), strict=True) if len(set(column)) > 1]
        differing = zip(*columns, strict=True) if columns else [()] * len(cells)
        return tuple(_cell(cell, told) for cell, told in zip(cells, differing, strict=True))
    except (KeyError, TypeError, ValueError) as error:
        raise ChildFailed(words="plan", said="its answer is not understood") from error


def _cell(cell: _Object, told: tuple[str, ...]) -> CellCommands:
    number = int(cast("int", cell["index"])) + 1
    label = str(cast("_Object", cell["variant"])["label"])
    unavailable = str(cell["unavailable"])
    value = ", ".join((*told, *(["can't run"] if unavailable else [])))
    line = Line(f"cell {number}", f"{number}. {label}", value=value, is_faint=bool(unavailable), wraps=True)
    return CellCommands(line, tuple(map(printable, _text(cell, unavailable))))


def _aspects(cell: _Object) -> tuple[str, ...]:
    """Return what cells may differ in beside their variant; equally many words for all cells of a plan."""
    counts = ",".join(str(load["threads"]) for load in cast("list[_Object]", cell["workloads"]))
    settings = (f"{name}={value}" for name, value in cast("_Object", cell["setting"]).items())
    array = cast("_Object", cell["array"] or {"level": ""})
    return (f"#{cell['repeat']}", f"threads {counts}", *settings, str(array["level"]), str(cell["target"]))


def _text(cell: _Object, unavailable: str) -> Iterator[str]:
    if unavailable:
        yield f"It can't run: {unavailable}"
    for step in cast("list[_Object]", cell["steps"]):
        yield f"{step['kind']!s:<{_KIND_WIDTH}}{step['title']}"
        for argv in cast("list[list[str]]", step["commands"]):
            yield f"  $ {shlex.join(argv)}"
        for write in cast("list[_Object]", step["writes"]):
            yield f"  write {write['value']} to {write['path']}"
