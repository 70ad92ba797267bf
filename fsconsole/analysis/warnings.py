"""The warnings over a grid: those that the run raised, and those that only its repeats can show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fsconsole.analysis.figures import CellFigures
from fsconsole.analysis.statistics import Summary
from fsconsole.model.observation import WarningKind, WarningRaised
from fsconsole.model.state import RunState

SPREAD_LIMIT_PERCENT = 10.0
_SPREAD_HINT = (
    "Look for what else used the device or the CPUs; repeat more often before you compare close rows."
)


@dataclass(frozen=True, slots=True)
class Noted:
    """One warning with the cells that it is about (plan indexes, from 0); no cells: the whole run."""

    kind: WarningKind
    reason: str
    hint: str
    cells: tuple[int, ...]


def warnings_seen(state: RunState) -> tuple[Noted, ...]:
    """Return what the run warned of, each reason once, in the order of WarningKind."""
    cells: dict[tuple[WarningKind, str, str], list[int]] = {}
    for warning in state.warnings:
        cells.setdefault(_same(warning), [])
    for cell in state.cells:
        for warning in cell.warnings:
            listed = cells.setdefault(_same(warning), [])
            if cell.index not in listed:
                listed.append(cell.index)
    order = list(WarningKind)
    noted = [Noted(kind, reason, hint, tuple(listed)) for (kind, reason, hint), listed in cells.items()]
    return tuple(sorted(noted, key=lambda warning: order.index(warning.kind)))


def spread_warnings(
    rows: Sequence[tuple[str, tuple[CellFigures, ...], Summary | None]],
) -> tuple[Noted, ...]:
    """Return a warning for each row (name, cells, durable figures) whose repeats lie far apart."""
    noted = []
    for name, cells, summary in rows:
        spread = summary.spread_percent if summary is not None else None
        if spread is not None and spread > SPREAD_LIMIT_PERCENT:
            reason = f"durable figures of '{name}' lie {spread:.0f} % apart"
            indexes = tuple(dict.fromkeys(cell.cell for cell in cells))
            noted.append(Noted(WarningKind.SPREAD, reason, _SPREAD_HINT, indexes))
    return tuple(noted)


def _same(warning: WarningRaised) -> tuple[WarningKind, str, str]:
    return (warning.kind, warning.reason, warning.hint)
