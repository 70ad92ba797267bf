"""Warnings as letters in the table, and in words below it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_lowercase

from fsconsole.analysis.grid import Grid, Row
from fsconsole.analysis.warnings import Noted
from fsconsole.model.observation import WarningKind
from fsconsole.plaintext import printable

_REASONS_SHOWN = 3


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


def row_marks(row: Row, grid: Grid) -> str:
    """Return the letters of one row."""
    marks = marks_of(grid)
    cells = {figures.cell for figures in row.cells}
    kinds = {warning.kind for warning in grid.warnings if not cells.isdisjoint(warning.cells)}
    return "".join(mark for kind, mark in marks.items() if kind in kinds)


def worded(grid: Grid) -> tuple[Worded, ...]:
    """Return the warnings for below the table, those with the same hint as one."""
    marks = marks_of(grid)
    alike: dict[tuple[WarningKind, str, bool], list[Noted]] = {}
    for warning in grid.warnings:
        alike.setdefault((warning.kind, warning.hint, bool(warning.cells)), []).append(warning)
    return tuple(
        Worded(
            mark=marks[kind] if of_cells else "",
            kind=kind.value.replace("-", " "),
            place=numbers_in_words({cell for warning in warnings for cell in warning.cells}),
            reasons=_some(tuple(dict.fromkeys(printable(warning.reason) for warning in warnings))),
            hint=printable(hint),
        )
        for (kind, hint, of_cells), warnings in alike.items()
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


def _some(reasons: Sequence[str]) -> tuple[str, ...]:
    if len(reasons) <= _REASONS_SHOWN:
        return tuple(reasons)
    return (*reasons[:_REASONS_SHOWN], f"and {len(reasons) - _REASONS_SHOWN} more like these")
