"""Warnings as letters in the table, and in words below it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from string import ascii_lowercase

from fsconsole.analysis.grid import Grid, Row
from fsconsole.analysis.warnings import Noted
from fsconsole.model.observation import WarningKind
from fsconsole.plaintext import printable

_REASONS_SHOWN = 3
_NAMES_SHOWN = 3
_VARYING = re.compile(r"(?P<name>'[^']*')|(?<![\w.])(?P<number>[0-9]+(?:\.[0-9]+)?)(?![\w.])")
"""A name in quotes, or a number that stands alone: that of "ext4" is part of a word."""


@dataclass(frozen=True, slots=True)
class Worded:
    """All warnings of one kind that ask for the same; mark is empty where they concern no row. All printable."""

    mark: str
    kind: str
    place: str
    reasons: tuple[str, ...]
    hint: str


def marks_of(grid: Grid) -> Mapping[WarningKind, str]:
    """Return a letter for each kind of warning that concerns cells, in the order of WarningKind."""
    kinds = {warning.kind for warning in grid.warnings if warning.cells}
    return dict(zip((kind for kind in WarningKind if kind in kinds), ascii_lowercase, strict=False))


def marks_of_rows(grid: Grid) -> tuple[str, ...]:
    """Return the letters of each row, in the grid's order."""
    marks = marks_of(grid)
    of_cells: dict[int, set[WarningKind]] = {}
    for warning in grid.warnings:
        for cell in warning.cells:
            of_cells.setdefault(cell, set()).add(warning.kind)
    return tuple(_letters(row, marks, of_cells) for row in grid.rows)


def _letters(row: Row, marks: Mapping[WarningKind, str], of_cells: Mapping[int, set[WarningKind]]) -> str:
    kinds = {kind for figures in row.cells for kind in of_cells.get(figures.cell, ())}
    return "".join(mark for kind, mark in marks.items() if kind in kinds)


def worded(grid: Grid) -> tuple[Worded, ...]:
    """Return the warnings for below the table, those with the same hint as one."""
    total = len({figures.cell for row in grid.rows for figures in row.cells})
    return _worded(grid.warnings, marks_of(grid), total)


def worded_for(row: Row, grid: Grid) -> tuple[Worded, ...]:
    """Return the warnings that concern a row, then those on the whole run; places name the row's own cells."""
    cells = {figures.cell for figures in row.cells}
    own = [
        replace(warning, cells=tuple(cell for cell in warning.cells if cell in cells))
        for warning in grid.warnings
        if not cells.isdisjoint(warning.cells)
    ]
    whole = [warning for warning in grid.warnings if not warning.cells]
    return _worded((*own, *whole), marks_of(grid), len(cells))


def _worded(warnings: Iterable[Noted], marks: Mapping[WarningKind, str], total: int) -> tuple[Worded, ...]:
    alike: dict[tuple[WarningKind, str, bool], list[Noted]] = {}
    for warning in warnings:
        alike.setdefault((warning.kind, warning.hint, bool(warning.cells)), []).append(warning)
    return tuple(
        Worded(
            mark=marks[kind] if of_cells else "",
            kind=kind.value.replace("-", " "),
            place=_place({cell for warning in group for cell in warning.cells}, total),
            reasons=_some(merged(printable(warning.reason) for warning in group)),
            hint=printable(hint),
        )
        for (kind, hint, of_cells), group in alike.items()
    )


def numbers_in_words(cells: Iterable[int]) -> str:
    """Return cells as an operator counts them, from 1: "cell 4", "cells 1-3, 7"; none is the whole run."""
    spans: list[list[int]] = []
    for number in sorted(cell + 1 for cell in cells):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    if not spans:
        return "the whole run"
    words = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)
    return f"{'cell' if len(spans) == 1 and spans[0][0] == spans[0][1] else 'cells'} {words}"


def merged(reasons: Iterable[str]) -> tuple[str, ...]:
    """Return reasons, each once; those that differ in names and numbers alone as one with all of them.

    "'a' took 1.0 s" and "'b' took 0.4 s" are "'a', 'b' took 0.4 to 1.0 s".
    """
    alike: dict[str, list[str]] = {}
    for reason in dict.fromkeys(reasons):
        alike.setdefault(_VARYING.sub(_blank, reason), []).append(reason)
    return tuple(_one_for(group) for group in alike.values())


def _blank(varying: re.Match[str]) -> str:
    return "''" if varying["name"] else "0"


def _one_for(reasons: Sequence[str]) -> str:
    """Return one reason for those that are alike but for what varies."""
    places = zip(*(_VARYING.findall(reason) for reason in reasons), strict=True)
    spans = iter([_span(values) for values in places])
    return _VARYING.sub(lambda _: next(spans), reasons[0])


def _span(values: Sequence[tuple[str, str]]) -> str:
    """Return the values (name or number, the other empty) of one place, in words."""
    names = tuple(dict.fromkeys(name for name, _ in values if name))
    if names:
        others = len(names) - _NAMES_SHOWN
        return ", ".join(names[:_NAMES_SHOWN]) + (f" and {others} more" if others > 0 else "")
    numbers = sorted((number for _, number in values), key=float)
    return numbers[0] if numbers[0] == numbers[-1] else f"{numbers[0]} to {numbers[-1]}"


def _place(cells: set[int], total: int) -> str:
    return "all cells" if len(cells) == total > 1 else numbers_in_words(cells)


def _some(reasons: Sequence[str]) -> tuple[str, ...]:
    if len(reasons) <= _REASONS_SHOWN:
        return tuple(reasons)
    return (*reasons[:_REASONS_SHOWN], f"and {len(reasons) - _REASONS_SHOWN} more like these")
