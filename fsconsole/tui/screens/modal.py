"""A screen over another that ends once, and only while it is on top: what a worker ends may be covered by then."""

from __future__ import annotations

from typing import TypeVar

from textual.await_complete import AwaitComplete
from textual.screen import ModalScreen

T = TypeVar("T")


class Modal(ModalScreen[T]):
    """Subclasses end with dismiss(), whenever they like."""

    _is_left = False
    _kept: tuple[T | None] | None = None
    """What it is to end with, once nothing is over it and its mode is shown."""

    def dismiss(self, result: T | None = None) -> AwaitComplete:
        """End with a result, as soon as this is the screen on top; a second end is none."""
        if self._is_left:
            return AwaitComplete()
        if not self.is_active:
            # Textual would pop the screen on top, whichever that is.
            self._kept = self._kept or (result,)
            return AwaitComplete()
        self._is_left = True
        return super().dismiss(result)

    def on_screen_resume(self) -> None:
        """End with what was kept; a subclass's own handler is called besides."""
        if self._kept is not None:
            self.dismiss(self._kept[0])
