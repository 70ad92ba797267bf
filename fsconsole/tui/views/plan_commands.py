"""The cells of a plan as lines, and the exact commands of one, from what `fsconsole plan --json` prints."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from fsconsole.errors import ChildFailed
from fsconsole.model.array_words import array_aspects
from fsconsole.model.plan import Cell
from fsconsole.plaintext import printable
from fsconsole.tui.views.lines import Line

_Object = Mapping[str, object]
_KIND_WIDTH = 16


def cell_lines(cells: Sequence[Cell]) -> tuple[Line, ...]:
    """Return a line for each cell, in the order in which they run: its variant, and what else it differs in."""
    columns = [column for column in zip(*map(_aspects, cells), strict=True) if len(set(column)) > 1]
    differing: Iterable[tuple[str, ...]] = zip(*columns, strict=True) if columns else [()] * len(cells)
    return tuple(_line(cell, told) for cell, told in zip(cells, differing, strict=True))


def commands_by_cell(document: object) -> dict[str, tuple[str, ...]]:
    """Return the steps of each cell of a plan's answer as lines of text, by the key of its line. Raises ChildFailed."""
    try:
        cells = cast("list[_Object]", cast("_Object", document)["cells"])
        return {
            _key(int(cast("int", cell["index"]))): tuple(
                map(printable, _text(cell, str(cell["unavailable"])))
            )
            for cell in cells
        }
    except (KeyError, TypeError, ValueError) as error:
        raise ChildFailed(words="plan", said="its answer is not understood") from error


def _key(index: int) -> str:
    return f"cell {index + 1}"


def _line(cell: Cell, told: tuple[str, ...]) -> Line:
    value = ", ".join((*told, *(["can't run"] if cell.unavailable else [])))
    name = f"{cell.index + 1}. {cell.variant.label}"
    return Line(_key(cell.index), name, value=value, is_faint=bool(cell.unavailable), wraps=True)


def _aspects(cell: Cell) -> tuple[str, ...]:
    """Return what cells may differ in beside their variant; equally many words for all cells of a plan."""
    counts = ",".join(str(load.threads) for load in cell.workloads)
    settings = (f"{name}={value}" for name, value in cell.setting.values)
    array = array_aspects(cell.array, len(cell.members))
    return (f"#{cell.repeat}", f"threads {counts}", *settings, *array, cell.target)


def _text(cell: _Object, unavailable: str) -> Iterator[str]:
    if unavailable:
        yield f"It can't run: {unavailable}"
    for step in cast("list[_Object]", cell["steps"]):
        yield f"{step['kind']!s:<{_KIND_WIDTH}}{step['title']}"
        for argv in cast("list[list[str]]", step["commands"]):
            yield f"  $ {shlex.join(argv)}"
        for write in cast("list[_Object]", step["writes"]):
            yield f"  write {write['value']} to {write['path']}"
