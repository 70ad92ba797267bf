"""A question with two answers; the harmless one has the focus."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Static

from fsconsole.tui.plaintext import plain
from fsconsole.tui.screens.modal import Modal


def resume_question(name: str, targets: Iterable[str]) -> AskScreen:
    """Return what is asked before a run is taken up again."""
    wiped = ", ".join(targets) or "its devices"
    explanation = f"It goes on where it ended: {wiped} is wiped again for each cell that is left."
    return AskScreen(f"Resume run {name}?", explanation, yes="Resume", no="Leave it")


class AskScreen(Modal[bool]):
    """Asks before something is done that can't be taken back; y does it, n and escape don't."""

    CSS_PATH = "ask.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Yes", id="ask.yes", tooltip="Do it"),
        Binding("n,escape", "answer(False)", "No", id="ask.no", tooltip="Leave it as it is"),
        Binding("left,right", "other", "Other", id="ask.other", tooltip="The other answer", show=False),
    ]

    def __init__(self, question: str, explanation: str, *, yes: str, no: str) -> None:
        super().__init__()
        self._words = (question, explanation)
        self._answers = (yes, no)

    def compose(self) -> ComposeResult:
        """Give question and answers."""
        yes, no = self._answers
        with Vertical(id="ask"):
            yield Static(plain(self._words[0], "bold"))
            yield Static(plain(self._words[1]))
            with Horizontal():
                yield Button(plain(f"n  {no}"), id="no", compact=True)
                yield Button(plain(f"y  {yes}"), id="yes", compact=True)

    def on_mount(self) -> None:
        """Put the focus where Enter does nothing."""
        self.query_one("#no").focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Answer."""
        self.dismiss(event.button.id == "yes")

    def action_answer(self, answer: bool) -> None:  # noqa: FBT001 (given by Textual)
        """Answer."""
        self.dismiss(answer)

    def action_other(self) -> None:
        """Move to the other answer."""
        self.focus_next()
