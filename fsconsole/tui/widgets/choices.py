"""A list of lines that can be ticked: space ticks, enter opens, and what is looked at is told.

Only the lines in sight are made into text: ten thousand open as quickly as ten.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Input, Static

from fsconsole.show.lines import Line, LineRows, matching, matching_words
from fsconsole.text import pad_right
from fsconsole.tui.terminal import plain
from fsconsole.tui.widgets.lists import moving

_LEAST_WIDTH = 20


@dataclass
class _Asked(Message):
    """What a list tells of itself."""

    choices: Choices

    @property
    def control(self) -> Choices:
        """The list."""
        return self.choices


class Choices(ScrollView, can_focus=True):
    """Shows lines; which of them is ticked is not its business, it only says what was asked for."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"choices--highlighted", "choices--faint", "choices--heading"}
    DEFAULT_CSS = """
    Choices {
        height: auto; max-height: 100%; color: $foreground; overflow-x: hidden;
        scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0; scrollbar-gutter: stable;
    }
    Choices > .choices--heading { text-style: bold; }
    Choices > .choices--faint { color: $text-disabled; }
    Choices > .choices--highlighted {
        color: $block-cursor-blurred-foreground; background: $block-cursor-blurred-background;
        text-style: $block-cursor-blurred-text-style;
    }
    Choices:focus > .choices--highlighted {
        color: $block-cursor-foreground; background: $block-cursor-background;
        text-style: $block-cursor-text-style;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "tick", "Tick", id="choices.tick", tooltip="Off, on, compare where there are several values"),
        Binding("enter,right", "open", "Open", id="choices.open", tooltip="Open this line", show=False),
        Binding("left", "leave", "Back", id="choices.leave", tooltip="Leave this list", show=False),
        *moving(
            "choices",
            "line",
            ("by(-1)", "by(1)", "by_pages(-1)", "by_pages(1)", "to(0)", "to(-1)"),
            keys=("up", "down", "pageup", "pagedown", "home", "end"),
        ),
    ]  # fmt: skip

    highlighted: reactive[int | None] = reactive(None, repaint=False)
    """The place of the line that is looked at."""

    @dataclass
    class Ticked(_Asked):
        """Space was pressed on a line."""

        key: str

    @dataclass
    class Opened(_Asked):
        """Enter was pressed on a line, or it was clicked."""

        key: str

    @dataclass
    class Looked(_Asked):
        """Another line is highlighted."""

        line: Line

    @dataclass
    class Emptied(_Asked):
        """No line is left to look at."""

    @dataclass
    class Left(_Asked):
        """The list is to be left."""

    def __init__(self, *, id: str, ticks: bool = True) -> None:
        """Without ticks its lines are only opened."""
        super().__init__(id=id)
        self._ticks = ticks
        self._rows = LineRows((), 0)

    @property
    def lines_shown(self) -> tuple[Line, ...]:
        """What it shows."""
        return self._rows.lines

    @property
    def looked_at(self) -> Line | None:
        """The highlighted line."""
        return None if self.highlighted is None else self.lines_shown[self.highlighted]

    def show_lines(self, shown: Sequence[Line], *, afresh: bool = False, at: str = "") -> None:
        """Show these lines; the highlight stays on the same key, goes to that of at, or afresh to the first one."""
        was, before = self.looked_at, self.lines_shown
        same = [line.key for line in shown] == [line.key for line in before]
        painted = self._in_sight() if same and not afresh else {}
        self.set_reactive(Choices.highlighted, self.highlighted if same else None)
        self._fit(tuple(shown), self._text_width)
        if same and not afresh:
            self._repaint(painted)
            if at and (was is None or was.key != at):
                self._put_highlight(at)
            return
        self.refresh()
        self._put_highlight(at or (None if afresh or was is None else was.key))

    def look_at(self, key: str) -> None:
        """Look at the line of this key, if it is shown."""
        if any(line.key == key for line in self.lines_shown):
            self._put_highlight(key)

    def on_resize(self, _event: events.Resize) -> None:
        if self._text_width != self._rows.width:
            self._fit(self.lines_shown, self._text_width)
            self.refresh()
        self._keep_in_sight()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        if width - 1 != self._rows.width:
            self._fit(self.lines_shown, max(_LEAST_WIDTH, width - 1))
        return self._rows.count

    def render_line(self, y: int) -> Strip:
        row, width = y + self.scroll_offset.y, self.scrollable_content_region.width
        if not 0 <= row < self._rows.count:
            return Strip.blank(width, self.rich_style)
        place = self._rows.place_at(row)
        text = self._rows.text(place)[row - self._rows.first_of(place)]
        return Strip([Segment(pad_right(text, width), self._style(place))]).crop(0, width)

    def watch_highlighted(self, before: int | None, after: int | None) -> None:
        """Bring the line into sight, and say that it is looked at."""
        for place in (before, after):
            if place is not None and place < len(self.lines_shown):
                self.refresh_lines(self._rows.first_of(place), self._rows.height_of(place))
        self._keep_in_sight()
        if after is not None and (line := self.looked_at) is not None:
            self.post_message(self.Looked(self, line))

    def on_click(self, event: events.Click) -> None:
        row = event.y + self.scroll_offset.y
        if 0 <= row < self._rows.count and not self.lines_shown[self._rows.place_at(row)].is_heading:
            self.highlighted = self._rows.place_at(row)
            self.action_open()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self._ticks or action != "tick"

    def action_tick(self) -> None:
        if (line := self.looked_at) is not None:
            self.post_message(self.Ticked(self, line.key))

    def action_open(self) -> None:
        if (line := self.looked_at) is not None:
            self.post_message(self.Opened(self, line.key))

    def action_leave(self) -> None:
        self.post_message(self.Left(self))

    def action_by(self, lines: int) -> None:
        if self.highlighted is not None:
            self._look_near(self.highlighted + lines, 1 if lines > 0 else -1)

    def action_by_pages(self, pages: int) -> None:
        if self.highlighted is not None:
            row = self._rows.first_of(self.highlighted) + pages * max(1, self.size.height - 1)
            self._look_near(
                self._rows.place_at(max(0, min(row, self._rows.count - 1))), 1 if pages > 0 else -1
            )

    def action_to(self, place: int) -> None:
        self._look_near(place if place >= 0 else len(self.lines_shown) + place, -1 if place else 1)

    def _look_near(self, place: int, step: int) -> None:
        count = len(self.lines_shown)
        place = min(max(0, place), count - 1)
        ways = (range(max(0, place), count), range(place, -1, -1))
        for way in ways if step > 0 else ways[::-1]:
            for near in way:
                if not self.lines_shown[near].is_heading:
                    self.highlighted = near
                    return

    def _put_highlight(self, key: str | None) -> None:
        places = {line.key: place for place, line in enumerate(self.lines_shown) if not line.is_heading}
        if key in places:
            self.highlighted = places[key]
        else:
            self.highlighted = next(iter(places.values()), None)
            self.scroll_to(y=0, animate=False, immediate=True, force=True)
            if not places:
                self.post_message(self.Emptied(self))

    def _keep_in_sight(self) -> None:
        if self.highlighted is None or not self.size.height:
            return
        place = self.highlighted
        # The heading above belongs to it.
        first = place - 1 if place and self.lines_shown[place - 1].is_heading else place
        row = self._rows.first_of(first)
        height = min(self.size.height, self._rows.first_of(place) + self._rows.height_of(place) - row)
        self.scroll_to_region(Region(0, row, 1, height), animate=False, force=True, immediate=True)

    @property
    def _text_width(self) -> int:
        return max(_LEAST_WIDTH, self.scrollable_content_region.width)

    def _fit(self, shown: tuple[Line, ...], width: int) -> None:
        self._rows = LineRows(shown, width)
        if self.virtual_size.height != self._rows.count:
            self.virtual_size = Size(0, self._rows.count)

    def _style(self, place: int) -> Style:
        line = self.lines_shown[place]
        kind = "highlighted" if place == self.highlighted else "heading" if line.is_heading else ""
        kind = kind or ("faint" if line.is_faint else "")
        return self.get_component_rich_style(f"choices--{kind}") if kind else self.rich_style

    def _in_sight(self) -> dict[int, tuple[tuple[str, ...], bool]]:
        if not self._rows.count:
            return {}
        first = self._rows.place_at(min(self.scroll_offset.y, self._rows.count - 1))
        last = self._rows.place_at(min(self.scroll_offset.y + self.size.height, self._rows.count - 1))
        return {
            place: (self._rows.text(place), self.lines_shown[place].is_faint)
            for place in range(first, last + 1)
        }

    def _repaint(self, painted: dict[int, tuple[tuple[str, ...], bool]]) -> None:
        now = self._in_sight()
        if {place: len(text) for place, (text, _) in now.items()} != {
            place: len(text) for place, (text, _) in painted.items()
        }:
            self.refresh()
        else:
            for place in (place for place in now if now[place] != painted[place]):
                self.refresh_lines(self._rows.first_of(place), self._rows.height_of(place))
        if (looked := self.looked_at) is not None:
            self.post_message(self.Looked(self, looked))


# A list of lines that can be narrowed by typing some words that they have.

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
        event.stop()
        if event.value != self._text:
            self._text = event.value
            self._show()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_keep()

    def action_keep(self) -> None:
        """Go to what is left; the words stay."""
        self.remove_class("-typing")
        self._show()
        self.choices.focus()
        self.refresh_bindings()

    def action_clear(self) -> None:
        self._text = ""
        self.query_one(Input).clear()
        self.action_keep()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        shown = {"clear": self._is_open or self.is_narrowed, "keep": self.is_typing}
        return shown.get(action, True)

    def _show(self, *, afresh: bool = False) -> None:
        self.choices.show_lines(matching(self._all, self._text), afresh=afresh)
        self.set_class(self.is_narrowed, "-narrowed")
        if self.is_narrowed:
            words = matching_words(self._all, self._text, self.what)
            keys = "" if self.is_typing else _KEYS
            self.query_one(Static).update(plain(words + keys))
