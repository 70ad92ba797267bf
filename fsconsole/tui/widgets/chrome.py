"""Widgets around a screen's body: key line, last message, list filter, scrollbars."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from rich.color import Color
from rich.segment import Segment, Segments
from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.scrollbar import ScrollBarRender
from textual.strip import Strip
from textual.widgets import Footer, Input, Static
from textual.widgets._footer import FooterKey

from fsconsole.show.lines import Line, TextLine, best_match, matching, matching_words
from fsconsole.text import cells_of, printable, shorten_middle, wrap
from fsconsole.tui import keys
from fsconsole.tui.terminal import plain
from fsconsole.tui.widgets.lists import Choices, List
from fsconsole.tui.widgets.rows import Texts

_NAME = "fsconsole "
_ANY_LINES = 10_000
_SENTENCE_MORE = "(there is more: the tab key leads here, then up and down)"
_THUMB, _TRACK = "█", "░"


class Keys(Footer):
    """The keys of the screen by rank, in one line, whole ones as far as there is room.

    Textual remakes its footer at every change of the focus, which was most of the work of a key: here only changes do.
    """

    def __init__(self, applies: Callable[[str], bool], label_of: Callable[[str], str]) -> None:
        """Take whether an action makes sense now: where not, its key is left out here, and says why when it is pressed.

        label_of: what an action does here, in a word; empty for the word in the table of keys.
        """
        super().__init__(show_command_palette=False, compact=True)
        self._applies, self.label_of = applies, label_of
        self._shown: tuple[object, ...] = ()

    async def recompose(self) -> None:
        """Rebuild the keys where they, or the width, have changed."""
        if not self.is_attached:  # Its screen has gone meanwhile.
            return
        bound = self.screen.active_bindings.values()
        active = [key for key in bound if key.binding.show and self._applies(key.binding.action)]
        told = ((key.binding, key.enabled, key.tooltip, self.label_of(key.binding.action)) for key in active)
        shown = (self.app.size.width, *told)
        if shown != self._shown:
            self._shown = shown
            await super().recompose()

    def compose(self) -> ComposeResult:
        ranks = {
            one.binding.action: keys.RANKS.get(one.binding.id or "", 0)
            for one in self.screen.active_bindings.values()
            if one.binding.show
        }
        made = (key for key in super().compose() if isinstance(key, FooterKey) and self._applies(key.action))
        left = sorted(made, key=lambda key: ranks.get(key.action, 0))
        for key in left:
            key.description = self.label_of(key.action) or key.description
        while len(left) > 1:
            columns = sum(cells_of(key.key_display) + cells_of(key.description) + 2 for key in left)
            if columns - 1 <= self.app.size.width:
                break
            passing = [key for key in left if ranks.get(key.action, 0) < keys.ALWAYS_LAST]
            # The help stays to the end: it names what is left out.
            left.remove(passing[-1] if passing else left[-1])
        yield from left

    def on_resize(self, _event: events.Resize) -> None:
        if self._shown and self._shown[0] != self.app.size.width:
            self.refresh(recompose=True)


class Head(Static):
    """The tabs of all screens, which a click opens; then the host, and what becomes of its run."""

    def __init__(self, tabs: Sequence[tuple[str, str]], at: str) -> None:
        """Take mode and name of each tab, and the mode that is shown."""
        super().__init__(id="head")
        self._tabs, self._at = tuple(tabs), at
        self._state = ""

    def on_mount(self) -> None:
        self._draw()

    def on_resize(self, _event: events.Resize) -> None:
        self._draw()

    def tell(self, state: str) -> None:
        """Show what becomes of the run that is followed; nothing where there is none."""
        if state != self._state:
            self._state = state
            self._draw()

    async def on_click(self, event: events.Click) -> None:
        begin = len(_NAME)
        for mode, name in self._tabs:
            end = begin + len(name) + 2
            if begin <= event.x < end:
                await self.app.action_switch_mode(mode)
            begin = end

    def _draw(self) -> None:
        names = [plain(f" {name} ", "reverse" if mode == self._at else "") for mode, name in self._tabs]
        tabs = Content.assemble(plain(_NAME, "bold"), *names)
        room = self.app.size.width - tabs.cell_length - len("  ")
        host = socket.gethostname()
        if self._state:
            # The state goes first: the host may be known.
            host = shorten_middle(host, max(2, room - cells_of(self._state) - 1))
            gap = max(2, room + 2 - cells_of(host) - 1 - cells_of(self._state))
            self.update(Content.assemble(tabs, plain(f"{' ' * gap}{host} "), plain(self._state, "bold")))
        else:
            self.update(Content.assemble(tabs, plain(f"  {host}")))


class Tabs(Static):
    """Names in a line, one of them marked; a click picks one."""

    @dataclass
    class Picked(Message):
        """A name was clicked; number is its place."""

        number: int

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._names: tuple[tuple[str, bool], ...] = ()

    def show(self, names: Sequence[tuple[str, bool]]) -> None:
        """Show names, each with whether it is marked."""
        if tuple(names) != self._names:
            self._names = tuple(names)
            self.update(Content("").join(plain(name, "reverse" if is_at else "") for name, is_at in names))

    def on_click(self, event: events.Click) -> None:
        end = 0
        for number, (name, _) in enumerate(self._names):
            end += cells_of(name)
            if event.x < end:
                self.post_message(self.Picked(number))
                break


class Sentence(List):
    """The last message, in as many lines as it takes; it scrolls, and takes the keys, only where it doesn't fit."""

    DEFAULT_CSS = "Sentence { height: auto; min-height: 1; max-height: 60%; }"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.can_focus = False
        self.text = self.tone = ""

    def say(self, text: str, tone: str = "") -> None:
        """Say something else; the tone is "error", "warning", "strong" or nothing."""
        if (printable(text), tone) != (self.text, self.tone):
            self.text, self.tone = printable(text), tone

            def broken(width: int) -> Texts:
                lines = wrap(self.text, width - 1, max_lines=_ANY_LINES) if self.text else []
                return Texts([TextLine(line, tone) for line in lines])

            self.show(broken, afresh=True)
            self.refresh(layout=True)
            self._take_keys()

    def on_resize(self, _event: events.Resize) -> None:
        self._take_keys()

    def render_line(self, y: int) -> Strip:
        is_last = y == self.size.height - 1
        if is_last and self.can_focus and not self.has_focus and self.scroll_y < self.max_scroll_y:
            text = shorten_middle(_SENTENCE_MORE, self.size.width - 1)
            return Strip([Segment(text, self.tone_style("list--weak"))]).adjust_cell_length(self.size.width - 1)
        return super().render_line(y)

    def _take_keys(self) -> None:
        self.can_focus = 0 < self.size.height < self.rows.height
        if self.has_focus and not self.can_focus:
            self.screen.focus_next()


class ListFilter(Vertical):
    """Holds a list of lines, and above it what it is narrowed by, if it is."""

    DEFAULT_CSS = """
    ListFilter { height: 1fr; }
    ListFilter > Input { display: none; }
    ListFilter > .filter--left { display: none; height: auto; color: $text-muted; }
    ListFilter.-typing > Input, ListFilter.-narrowed > .filter--left { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = keys.bindings("filter")

    def __init__(self, choices: Choices, what: str) -> None:
        super().__init__()
        self.what = what
        """Plural noun for its lines."""
        self.choices = choices
        self._shown: tuple[Line, ...] = ()
        self._among: tuple[Line, ...] = ()
        """The lines that are looked through, where they are more than those that are shown."""

    def compose(self) -> ComposeResult:
        yield Input(placeholder="words to look for; enter keeps, escape clears", compact=True)
        yield Static(plain(""), classes="filter--left")
        yield self.choices

    @property
    def is_typing(self) -> bool:
        """True if words are being typed: the field is there, and has the keys."""
        return self.has_class("-typing") and self.query_one(Input).has_focus

    @property
    def is_narrowed(self) -> bool:
        """True if lines may be left out."""
        return bool(self._text.strip())

    @property
    def _text(self) -> str:
        return self.query_one(Input).value

    def show_lines(self, shown: Sequence[Line], *, among: Sequence[Line] = (), afresh: bool = False) -> None:
        """Show these lines, or those that match of these and more; afresh: they are others, and nothing is looked for."""
        self._shown, self._among = tuple(shown), tuple(among or shown)
        if afresh:
            self.clear()
        self._show(afresh=afresh)

    def find(self) -> None:
        self.add_class("-typing")
        self.query_one(Input).focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        # In the list's own turn: a message that its parent has it post ends at the parent, and the screen is not told.
        self.choices.call_next(partial(self._show, seeks=True))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_keep()

    def action_keep(self) -> None:
        self.remove_class("-typing")
        self._show()
        self.choices.focus()
        self.refresh_bindings()

    def action_clear(self) -> None:
        self.clear()
        self.action_keep()

    def clear(self) -> None:
        """Look for nothing any more; the keys stay where they are."""
        self.query_one(Input).value = ""
        self.remove_class("-typing")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        shown = {"clear": self.has_class("-typing") or self.is_narrowed, "keep": self.is_typing}
        return shown.get(action, True)

    def _show(self, *, afresh: bool = False, seeks: bool = False) -> None:
        """Show what matches; seeks: with the cursor on the best match."""
        found = matching(self._among, self._text) if self.is_narrowed else self._shown
        self.choices.show_lines(found, at=best_match(found, self._text) if seeks else "", afresh=afresh)
        self.set_class(self.is_narrowed, "-narrowed")
        if self.is_narrowed:
            words = matching_words(self._among, self._text, self.what)
            keys = "" if self.is_typing else "; escape clears."
            self.query_one(Static).update(plain(words + keys))


class Seek(Input):
    """Words by which the rows of a screen's list are found; shown only while they are typed, or kept."""

    DEFAULT_CSS = "Seek { height: 1; display: none; }"
    BINDINGS: ClassVar[list[BindingType]] = keys.bindings("seek")

    def __init__(self, where: str) -> None:
        """Take what the words are looked for in."""
        super().__init__(placeholder=f"words of {where}; enter keeps, escape shows all", compact=True)

    @property
    def words(self) -> str:
        return self.value.strip()

    def begin(self) -> None:
        self.display = True
        self.focus()

    def action_clear(self) -> None:
        """Show all rows again, and go back to the list."""
        self.value = ""
        self.display = False
        self.post_message(self.Submitted(self, ""))


class BlockScrollBar(ScrollBarRender):
    """Draws whole blocks, no eighths."""

    @classmethod
    def render_bar(  # noqa: PLR0913, PLR0917 (Textual's own signature)
        cls,
        size: int = 25,
        virtual_size: float = 50,
        window_size: float = 20,
        position: float = 0,
        thickness: int = 1,
        vertical: bool = True,  # noqa: FBT001, FBT002
        back_color: Color = Color.parse("default"),  # noqa: B008
        bar_color: Color = Color.parse("default"),  # noqa: B008
    ) -> Segments:
        begin, end = thumb(size, virtual_size, window_size, position)

        def piece(glyph: str, count: int, action: str) -> list[Segment]:
            style = Style(color=bar_color, bgcolor=back_color, meta={"@mouse.down": action})
            # A line of its own for each cell, or one text: a style takes bytes.
            return [Segment(glyph * thickness, style)] * count if vertical else [Segment(glyph * count, style)]

        bar = [
            *piece(_TRACK, begin, "scroll_up"),
            *piece(_THUMB, end - begin, "grab"),
            *piece(_TRACK, size - end, "scroll_down"),
        ]
        if vertical:
            return Segments(bar, new_lines=True)
        return Segments([*bar, Segment.line()] * thickness, new_lines=False)


def thumb(size: int, virtual_size: float, window_size: float, position: float) -> tuple[int, int]:
    """Return the first cell of the thumb and the one after its last; at the ends only where the text is at its ends."""
    if not (window_size and size and virtual_size > window_size):
        return 0, size
    length = min(max(round(size * window_size / virtual_size), 1), size)
    room = size - length
    share = min(max(position / (virtual_size - window_size), 0.0), 1.0)
    begin = round(share * room)
    if room > 1 and 0 < share < 1:
        begin = min(max(begin, 1), room - 1)
    return begin, begin + length
