"""A list of lines that can be narrowed by typing some words that they have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, Static

from fsconsole.tui.plaintext import plain
from fsconsole.tui.views.lines import Line
from fsconsole.tui.views.matching import matching, matching_words
from fsconsole.tui.widgets.choices import Choices

_KEYS = "; escape clears."


class Sift(Vertical):
    """Holds a list of lines, and above it what it is narrowed by, if it is."""

    DEFAULT_CSS = """
    Sift { height: 1fr; }
    Sift > Input { display: none; }
    Sift > .sift--left { display: none; height: auto; color: $text-muted; }
    Sift.-typing > Input, Sift.-narrowed > .sift--left { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,tab", "keep", "Keep", id="sift.keep", tooltip="Go to the lines that are left", key_display="enter"),
        Binding("escape", "clear", "All", id="sift.clear", tooltip="Show all lines again"),
    ]  # fmt: skip

    def __init__(self, choices: Choices, what: str) -> None:
        """Give it a list, and say what its lines are, in the plural."""
        super().__init__()
        self.what = what
        self.choices = choices
        self._all: tuple[Line, ...] = ()
        self._text = ""

    def compose(self) -> ComposeResult:
        """Give the field, what is left of the list, and the list."""
        yield Input(placeholder="words to look for; enter keeps, escape clears", compact=True)
        yield Static(plain(""), classes="sift--left")
        yield self.choices

    @property
    def is_typing(self) -> bool:
        """Whether words are being typed: the field is there, and has the keys."""
        return self._is_open and self.query_one(Input).has_focus

    @property
    def _is_open(self) -> bool:
        return self.has_class("-typing")

    @property
    def is_narrowed(self) -> bool:
        """Whether lines may be left out."""
        return bool(self._text.strip())

    def show_lines(self, shown: Sequence[Line], *, afresh: bool = False) -> None:
        """Show these lines as far as they match; afresh: they are others, and all of them are shown."""
        self._all = tuple(shown)
        if afresh and (self._text or self._is_open):
            self._text = ""
            self.query_one(Input).clear()
            self.remove_class("-typing")
        self._show(afresh=afresh)

    def find(self) -> None:
        """Have words typed."""
        self.add_class("-typing")
        self.query_one(Input).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Narrow the list, letter by letter."""
        event.stop()
        if event.value != self._text:
            self._text = event.value
            self._show()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go to what is left."""
        event.stop()
        self.action_keep()

    def action_keep(self) -> None:
        """Go to what is left; the words stay."""
        self.remove_class("-typing")
        self._show()
        self.choices.focus()
        self.refresh_bindings()

    def action_clear(self) -> None:
        """Show all, and go there."""
        self._text = ""
        self.query_one(Input).clear()
        self.action_keep()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 (Textual's)
        """Leave the keys to others where there is nothing to clear, or nothing is typed."""
        shown = {"clear": self._is_open or self.is_narrowed, "keep": self.is_typing}
        return shown.get(action, True)

    def _show(self, *, afresh: bool = False) -> None:
        self.choices.show_lines(matching(self._all, self._text), afresh=afresh)
        self.set_class(self.is_narrowed, "-narrowed")
        if self.is_narrowed:
            words = matching_words(self._all, self._text, self.what)
            keys = "" if self.is_typing else _KEYS
            self.query_one(Static).update(plain(words + keys))
