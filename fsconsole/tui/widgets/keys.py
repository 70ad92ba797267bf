"""The keys at the bottom: as many as there is room for, and a sign where there are more."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.app import ComposeResult
from textual.widget import Widget
from textual.widgets._footer import FooterKey

from fsconsole.report.cells import cells_of
from fsconsole.tui.widgets.footer import Footer

_HELP, _QUIT = "show_help", "quit"
_MORE = "More"


class Keys(Footer):
    """A footer that leaves out whole keys where the line is too short, those that were named first; ? says that there are more."""

    def __init__(self, leave_out: Sequence[str] = ()) -> None:
        """Show keys; leave_out holds actions whose keys go first, the least important one first."""
        super().__init__(show_command_palette=False, compact=True)
        self._leave_out = tuple(leave_out)
        self._fitted_for = 0
        """Columns for which keys were left out; none before there were any."""

    def compose(self) -> ComposeResult:
        """Give the keys that fit."""
        made = list(super().compose())
        keys = [key for key in made if isinstance(key, FooterKey)]
        width = self.app.size.width
        self._fitted_for = width if made else 0
        left = fitting(keys, width, self._leave_out)
        if len(left) < len(keys):
            for key in left:
                if key.action == _HELP:
                    key.description = _MORE
        yield from (widget for widget in made if _is_shown(widget, left))

    def on_resize(self, _event: events.Resize) -> None:
        """Give more keys, or fewer."""
        if self._fitted_for not in (0, self.app.size.width):
            self._keys_shown = ()
            self.refresh(recompose=True)


def fitting(keys: Sequence[FooterKey], width: int, leave_out: Sequence[str]) -> list[FooterKey]:
    """Return the keys for which there is room in so many columns."""
    left = list(keys)
    order = [*leave_out, *(key.action for key in reversed(keys) if key.action not in (_HELP, _QUIT)), _QUIT]
    for action in order:
        if sum(map(_cells, left)) <= width:
            break
        left = [key for key in left if key.action != action]
    return left


def _cells(key: FooterKey) -> int:
    """Return what a key takes, with the space behind it."""
    return cells_of(key.key_display) + 1 + cells_of(key.description) + 1


def _is_shown(widget: Widget, left: Sequence[FooterKey]) -> bool:
    return not isinstance(widget, FooterKey) or any(widget is key for key in left)
