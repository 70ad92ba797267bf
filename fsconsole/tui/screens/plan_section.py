"""What all sections of the Plan screen are: lines, what ticking one does, and what opening it asks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from fsconsole.catalog.filesystem import Catalog
from fsconsole.tui.draft import Draft
from fsconsole.tui.here import Here
from fsconsole.tui.outcome import Outcome
from fsconsole.tui.screens.dialog import Dialog
from fsconsole.tui.views.lines import Line


@dataclass(frozen=True, slots=True)
class Desk:
    """All that a section looks at; outcome is that of counted, which may be an older draft."""

    draft: Draft
    catalog: Catalog
    here: Here
    counted: Draft
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Asked:
    """A dialog, and what its answer makes of the draft; then may raise FsconsoleError."""

    dialog: Dialog[Any]
    then: Callable[[Any], Draft]


class Section(Protocol):
    """One section: lines that can be ticked and opened."""

    def lines(self, desk: Desk) -> tuple[Line, ...]:
        """Return what is shown."""
        ...

    def ticked(self, desk: Desk, key: str) -> Draft:
        """Return the draft after a tick on a line. Raises FsconsoleError."""
        ...

    def opened(self, desk: Desk, key: str) -> Asked | None:
        """Return what to ask when a line is opened; None where opening is ticking."""
        ...


def number_in(key: str) -> int:
    """Return the position in a key such as "load 3"."""
    return int(key.rpartition(" ")[2])
