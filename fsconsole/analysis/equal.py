"""Variants that came out equal: what was read back of them is the same, and all that differs would show in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fsconsole.analysis.figures import CellFigures
from fsconsole.analysis.names import RowKey
from fsconsole.analysis.warnings import Noted
from fsconsole.model.observation import WarningKind
from fsconsole.model.state import CellState

_SCOPES = frozenset({"mkfs", "mount"})
_HINT = (
    "They are one row: drop one of the variants from the plan, its cells are further repeats of the other."
)

Grouped = Mapping[RowKey, Sequence[CellFigures]]


@dataclass(frozen=True, slots=True)
class Joined:
    """Rows with those that came out equal put together under the first of them."""

    rows: dict[RowKey, tuple[CellFigures, ...]]
    equal: dict[RowKey, tuple[RowKey, ...]]
    """The other rows that a row has taken in."""


def join_equal(grouped: Grouped, cells: Sequence[CellState]) -> Joined:
    """Put rows together of which the same was read back; a row that was not wholly read back stays alone."""
    first: dict[object, RowKey] = {}
    rows: dict[RowKey, tuple[CellFigures, ...]] = {}
    equal: dict[RowKey, tuple[RowKey, ...]] = {}
    by_index = {cell.index: cell for cell in cells}
    for key, figures in grouped.items():
        outcome = _outcome(key, figures, by_index)
        taken_in = key if outcome is None else first.setdefault(outcome, key)
        rows[taken_in] = (*rows.get(taken_in, ()), *figures)
        if taken_in != key:
            equal[taken_in] = (*equal.get(taken_in, ()), key)
    return Joined(rows, equal)


def equal_warnings(joined: Joined, names: Mapping[RowKey, str]) -> tuple[Noted, ...]:
    """Return a warning for each variant that came out as another; names are of all rows as they were."""
    return tuple(
        Noted(
            WarningKind.EQUAL,
            f"'{names[other]}' came out equal to '{names[key]}'",
            _HINT,
            tuple(dict.fromkeys(figures.cell for figures in joined.rows[key])),
        )
        for key, others in joined.equal.items()
        for other in others
    )


def _outcome(key: RowKey, figures: Sequence[CellFigures], by_index: Mapping[int, CellState]) -> object | None:
    """Return what tells a row from others once its filesystem is known; None where it isn't yet, or where they differ."""
    read_back = {
        frozenset((f.scope, f.name, f.value) for f in by_index[one.cell].features) for one in figures
    }
    if len(read_back) != 1 or key.variant.hidden_words is None:
        return None
    (features,) = read_back
    if {scope for scope, _, _ in features} != _SCOPES:
        return None
    nobody = replace(key.variant, label="", mkfs_words=(), mount_words=(), tune_words=(), as_printed="")
    return (replace(key, variant=nobody), features)
