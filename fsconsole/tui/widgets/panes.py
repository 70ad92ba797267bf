"""A pane of text that is made for its width, and scrolls where it is longer than high."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

from textual import events, widgets
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.events import Resize
from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static
from textual.widgets._footer import FooterKey

from fsconsole.show.device_details import DetailLine
from fsconsole.show.lines import TextLine
from fsconsole.text import cells_of, printable, shorten_middle, wrap
from fsconsole.tui.terminal import lines, plain
from fsconsole.tui.widgets.lists import Lines, moving

# The keys at the bottom: Textual's line, made anew only where it would be another one.
#
# Textual makes it anew at every change of the focus and at every refresh of the bindings; that was most of the work of a key.

Key = tuple[str, str, str, str, bool, str]


class Footer(widgets.Footer):
    """The keys of the screen, in one line."""

    _keys_shown: tuple[Key, ...] = ()

    async def recompose(self) -> None:
        """Make the keys anew, where they are others than before."""
        if not self.is_attached:  # Its screen has gone meanwhile.
            return
        keys = self._keys()
        if keys != self._keys_shown:
            self._keys_shown = keys
            await super().recompose()

    def _keys(self) -> tuple[Key, ...]:
        return tuple(
            (
                active.binding.key,
                self.app.get_key_display(active.binding),
                active.binding.description,
                active.binding.action,
                active.enabled,
                active.tooltip,
            )
            for active in self.screen.active_bindings.values()
            if active.binding.show
        )


# The keys at the bottom: as many as there is room for, and a sign where there are more.

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
    return cells_of(key.key_display) + 1 + cells_of(key.description) + 1


def _is_shown(widget: Widget, left: Sequence[FooterKey]) -> bool:
    return not isinstance(widget, FooterKey) or any(widget is key for key in left)


MakeContent = Callable[[int], Content]


class Pane(VerticalScroll, inherit_bindings=False):
    """Text that was wrapped by who made it, to the width there is."""

    BINDINGS: ClassVar[list[BindingType]] = moving(
        "pane", "line", ("scroll_up", "scroll_down", "page_up", "page_down", "scroll_home", "scroll_end")
    )

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._make: MakeContent | None = None
        self._about = ""

    def compose(self) -> ComposeResult:
        yield Static(plain(""))

    def show(self, about: str, make: MakeContent) -> None:
        """Show what make gives for a width, now and after each resize; a new subject is shown from its beginning."""
        self._make = make
        if about != self._about:
            self._about = about
            self.scroll_home(animate=False)
        self._fill()

    def on_resize(self) -> None:
        self._fill()

    def _fill(self) -> None:
        if self._make is not None and self.size.width > 0:
            self.query_one(Static).update(self._make(self.scrollable_content_region.width))


def labelled(told: Iterable[DetailLine]) -> Content:
    """Return lines with their labels in a colour of their own."""
    return lines(*(plain(line.label, "$primary") + plain(line.text, line.style) for line in told))


# What was just said: as many lines as it takes, broken at any character; where there is no room, it scrolls.

_ANY_LINES = 10_000
_EDGE = 2
"""The last column is for the mark of more, and one before it stays free."""
_SENTENCE_MORE = "(there is more: the tab key leads here, then up and down)"


class Sentence(Lines):
    """One text, with a tone for all of it; takes the keys only where it doesn't fit."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"lines--error", "lines--warning"}
    DEFAULT_CSS = """
    Sentence { height: auto; min-height: 1; max-height: 60%; }
    Sentence > .lines--error { color: $error; }
    Sentence > .lines--warning { color: $warning; }
    """

    def __init__(self, *, marks: str = "^v", id: str | None = None) -> None:
        super().__init__(marks=marks, id=id)
        self.can_focus = False
        self._text = ""
        self._tone = ""

    @property
    def text(self) -> str:
        """What is said. Printable."""
        return self._text

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer to scroll only where there is something to scroll."""
        return self.can_focus

    def say(self, text: str, tone: str = "") -> None:
        """Say something else; the tone is "error", "warning", "strong" or nothing."""
        if (printable(text), tone) == (self._text, self._tone):
            return
        self._text, self._tone = printable(text), tone
        self._break(self.size.width)
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._broken(width))

    def on_resize(self, event: Resize) -> None:
        self._break(event.size.width)

    def render_line(self, y: int) -> Strip:
        """Draw one line; the last one says where the rest is, unless all is in sight."""
        is_last = y == self.size.height - 1
        if is_last and self.can_focus and not self.has_focus and self.scroll_y < self.max_scroll_y:
            return self._strip(TextLine(shorten_middle(_SENTENCE_MORE, self.room), "weak"), y)
        return super().render_line(y)

    def _break(self, width: int) -> None:
        lines = self._broken(width)
        self.can_focus = 0 < self.size.height < len(lines)
        if self.has_focus and not self.can_focus:
            self.screen.focus_next()
        self.show([TextLine(line, self._tone) for line in lines])

    def _broken(self, width: int) -> list[str]:
        return wrap(self._text, max(2, width - _EDGE), max_lines=_ANY_LINES) if self._text else []
