"""What all screens have: the line of screens on top, a place for what was just said, the keys at the bottom."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from fsconsole.errors import FsconsoleError
from fsconsole.tui.session import Session
from fsconsole.tui.terminal import plain
from fsconsole.tui.widgets.panes import Keys, Sentence

if TYPE_CHECKING:
    from fsconsole.tui.session import Host


SCREENS = (
    ("devices", "1 Devices"),
    ("plan", "2 Plan"),
    ("run", "3 Run"),
    ("results", "4 Results"),
    ("runs", "5 Runs"),
)
LEAST_COLUMNS, LEAST_LINES = 60, 16
"""Below that there is a sentence instead of a screen."""
_AGAIN_S = 0.05


class ConsoleScreen(Screen[None]):
    """A screen with its place among the others; subclasses give its body by content()."""

    MODE: ClassVar[str] = ""
    _focused_before: Widget | None = None
    HELP: ClassVar[str] = ""
    """What ? says of it: a line of purpose, then what is worth knowing."""
    KEYS_LEFT_OUT: ClassVar[tuple[str, ...]] = ()
    """Actions whose keys are left out first where the line of keys is too short."""

    def __init__(self) -> None:
        super().__init__()
        self._while_shown: list[Timer] = []

    @property
    def session(self) -> Session:
        """What all screens share."""
        return cast("Host", self.app).session

    def compose(self) -> ComposeResult:
        yield Static(self._head(), id="head")
        # In a box of its own, which gives way to a long sentence: that is shown whole.
        with Vertical(id="content"):
            yield from self.content()
        glyphs = self.session.terminal.glyphs
        yield Sentence(marks=glyphs.up + glyphs.down, id="said")
        yield Keys(self.KEYS_LEFT_OUT)
        yield Static(plain("This terminal is too small: 60 columns and 16 lines at least."), id="small")

    def content(self) -> Iterable[Widget]:
        return ()

    def while_shown(self, every_s: float, act: Callable[[], None]) -> None:
        """Act again and again while this screen is shown, and do nothing while nobody looks."""
        self._while_shown.append(self.set_interval(every_s, act, pause=not self.is_current))

    def on_screen_resume(self) -> None:
        """Go on with what is done while the screen is shown; a subclass's own handler is called besides."""
        for timer in self._while_shown:
            timer.resume()

    def on_screen_suspend(self) -> None:
        for timer in self._while_shown:
            timer.pause()

    def say(self, text: str, *, style: str = "") -> None:
        """Show a sentence until the next one, none where the console ends; style: "$error", "$warning" or nothing."""
        if self.app.is_running:
            self.query_one("#said", Sentence).say(text, style.removeprefix("$"))

    def say_at_hand(self, text: str, *, style: str = "") -> None:
        """Show a sentence on the screen that is looked at, under what is asked there: this one may have been left."""
        looked_at = (one for one in reversed(self.app.screen_stack) if isinstance(one, ConsoleScreen))
        next(looked_at, self).say(text, style=style)

    def complain(self, error: FsconsoleError) -> None:
        """Show an error: its sentence, and what to do."""
        hint = f"  {error.hint}" if error.hint else ""
        self.say(f"{error}{hint}", style="$error")

    @contextmanager
    def complaining(self) -> Iterator[None]:
        """Show an error that is met meanwhile, and go on after it."""
        try:
            yield
        except FsconsoleError as error:
            self.complain(error)

    def on_resize(self) -> None:
        small = self.size.width < LEAST_COLUMNS or self.size.height < LEAST_LINES
        if small and self.focused is not None:
            self._focused_before = self.focused
        self.set_class(small, "-small")
        if not small:
            self.call_after_refresh(self._give_focus_back)

    def _give_focus_back(self) -> None:
        """Focus what was focused before the screen was too small, once it is shown again: hidden, it can't be."""
        before = self._focused_before
        if before is None or self.has_class("-small"):
            return
        if before.focusable:
            self._focused_before = None
            self.set_focus(before)
        elif before.is_attached:
            self.set_timer(_AGAIN_S, self._give_focus_back)

    def _head(self) -> Content:
        names = [plain(f" {name} ", "reverse" if mode == self.MODE else "") for mode, name in SCREENS]
        return Content.assemble(plain("fsconsole ", "bold"), *names, plain(f"  {socket.gethostname()}"))
