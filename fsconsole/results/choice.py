"""One choice for the box out of a run's rows: a filesystem with its settings and array, by its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from fsconsole.errors.runs import NothingToApply, UnknownRow
from fsconsole.model.plan import Cell, Variant
from fsconsole.model.state import CellState, CellStatus, RunState
from fsconsole.results.figures import RowKey, row_names


@dataclass(frozen=True, slots=True)
class Choice:
    """A filesystem with its settings and array, and the cells that measured it; the title is that of `fsconsole advise`."""

    title: str
    cell: Cell
    """The first of them in the plan."""
    states: tuple[CellState, ...]

    @property
    def variant(self) -> Variant:
        """The filesystem."""
        return self.cell.variant

    @property
    def is_done(self) -> bool:
        """True if a cell came to its end."""
        return any(state.status is CellStatus.DONE for state in self.states)

    def seen(self, scope: str) -> dict[str, str]:
        """Return what was read back in a scope, mkfs or mount, by the last cell that has any."""
        for state in reversed(self.states):
            found = {feature.name: feature.value for feature in state.features if feature.scope == scope}
            if found:
                return found
        return {}


def choices(state: RunState) -> tuple[Choice, ...]:
    """Return all choices of a run, in the plan's order; a raw row, a directory and a baseline's second row are none."""
    groups: dict[RowKey, list[int]] = {}
    for place, cell in enumerate(state.request.plan.cells):
        if not (cell.variant.is_raw or cell.variant.is_control or cell.variant.is_directory):
            key = RowKey(cell.target, cell.array, cell.setting, cell.variant, (), None, cell.members)
            groups.setdefault(key, []).append(place)
    titles = row_names(list(groups))
    cells = state.request.plan.cells
    return tuple(
        Choice(title, cells[places[0]], tuple(state.cells[place] for place in places))
        for title, places in zip(titles, groups.values(), strict=True)
    )


def row_word(state: RunState, key: RowKey) -> str:
    """Return the word by which choose_row() finds the filesystem of a row; empty where it is none to choose."""

    def of(key: RowKey | Cell) -> tuple[object, ...]:
        return key.target, key.array, key.members, key.setting, key.variant

    found = choices(state)
    for number, one in enumerate(found, start=1):
        if of(one.cell) == of(key):
            namesakes = [other for other in found if one.title in (other.title, other.variant.label)]
            return one.title if len(namesakes) == 1 else str(number)
    return ""


def choose_row(state: RunState, text: str) -> Choice:
    """Return the choice of that title, label or number (from 1). Raises UnknownRow, NothingToApply."""
    found = choices(state)
    if not found:
        raise NothingToApply(why="it has no row with a filesystem that it made")
    for named in (
        [one for one in found if text in (one.title, one.variant.label)],
        [one for one in found if one.title.casefold().startswith(text.casefold())],
        [found[int(text) - 1]] if text.isascii() and text.isdigit() and 0 < int(text) <= len(found) else [],
    ):
        if len(named) == 1:
            return named[0]
        if named:
            raise UnknownRow(text, "names several rows", _listed(named, text))
    raise UnknownRow(text, "names no row", _listed(found, text))


def _listed(found: Sequence[Choice], text: str) -> str:
    titles = [one.title for one in found]
    near = get_close_matches(text, titles, n=6, cutoff=0.3) or titles[:6]
    return ", ".join(f"'{title}' ({titles.index(title) + 1})" for title in near)
