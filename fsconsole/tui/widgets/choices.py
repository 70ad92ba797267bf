"""A list of lines that can be ticked: space ticks, enter opens, and what is looked at is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from fsconsole.tui.plaintext import lines, plain
from fsconsole.tui.views.lines import Line, texts_of


@dataclass
class _Asked(Message):
    """What a list tells of itself."""

    choices: Choices

    @property
    def control(self) -> Choices:
        """The list."""
        return self.choices


class Choices(OptionList):
    """Shows lines; which of them is ticked is not its business, it only says what was asked for."""

    DEFAULT_CSS = """
    Choices { scrollbar-size-vertical: 1; scrollbar-size-horizontal: 0; scrollbar-gutter: stable; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "space",
            "tick",
            "Tick",
            id="choices.tick",
            tooltip="Off, on, compare where there are several values",
        ),
        Binding("right", "open", "Open", id="choices.open", tooltip="Open this line", show=False),
        Binding("left", "leave", "Back", id="choices.leave", tooltip="Leave this list", show=False),
    ]

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
    class Left(_Asked):
        """The list is to be left."""

    def __init__(self, *, id: str) -> None:  # noqa: A002 (Textual's name for it)
        super().__init__(id=id, markup=False, compact=True)
        self._lines_shown: tuple[Line, ...] = ()
        self._texts: tuple[tuple[str, ...], ...] = ()

    @property
    def lines_shown(self) -> tuple[Line, ...]:
        """What it shows."""
        return self._lines_shown

    @property
    def looked_at(self) -> Line | None:
        """The highlighted line."""
        return None if self.highlighted is None else self._lines_shown[self.highlighted]

    def show_lines(self, shown: Sequence[Line], *, afresh: bool = False, at: str = "") -> None:
        """Show these lines; the highlight stays on the same key, goes to that of at, or afresh to the first one."""
        was, keys = self.looked_at, [line.key for line in shown]
        same = keys == [line.key for line in self._lines_shown]
        self._lines_shown = tuple(shown)
        if same and not afresh:
            self._repaint()
            if at and (was is None or was.key != at):
                self._put_highlight(at)
            return
        self._texts = self._fitted()
        self.set_options(self._made())
        self._put_highlight(at or (None if afresh or was is None else was.key))

    def on_resize(self, _event: events.Resize) -> None:
        """Fit the columns into the new width."""
        self._repaint()

    def action_tick(self) -> None:
        """Say that the highlighted line is to be ticked."""
        if (line := self.looked_at) is not None:
            self.post_message(self.Ticked(self, line.key))

    def action_open(self) -> None:
        """Say that the highlighted line is to be opened."""
        self.action_select()

    def action_leave(self) -> None:
        """Say that the list is to be left."""
        self.post_message(self.Left(self))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Say that a line is to be opened."""
        event.stop()
        self.post_message(self.Opened(self, event.option_id or ""))

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Say what is looked at."""
        event.stop()
        if (line := self.looked_at) is not None:
            self.post_message(self.Looked(self, line))

    def _fitted(self) -> tuple[tuple[str, ...], ...]:
        return texts_of(self._lines_shown, max(20, self.scrollable_content_region.width))

    def _made(self) -> list[Option]:
        return [
            Option(_prompt(text, line), id=line.key, disabled=line.is_heading)
            for line, text in zip(self._lines_shown, self._texts, strict=True)
        ]

    def _repaint(self) -> None:
        """Replace what has changed, and leave all else where it is."""
        texts = self._fitted()
        for place, (line, text) in enumerate(zip(self._lines_shown, texts, strict=True)):
            if place >= len(self._texts) or self._texts[place] != text:
                self.replace_option_prompt_at_index(place, _prompt(text, line))
        self._texts = texts
        if (looked := self.looked_at) is not None:
            self.post_message(self.Looked(self, looked))

    def _put_highlight(self, key: str | None) -> None:
        places = [place for place, line in enumerate(self._lines_shown) if not line.is_heading]
        wanted = [place for place in places if self._lines_shown[place].key == key]
        self.highlighted = next(iter(wanted or places), None)
        if not wanted:
            self.scroll_to(y=0, animate=False)


def _prompt(text: tuple[str, ...], line: Line) -> Content:
    return lines(*(plain(part, _style(line)) for part in text))


def _style(line: Line) -> str:
    if line.is_heading:
        return "bold $foreground"
    return "$text-disabled" if line.is_faint else ""
