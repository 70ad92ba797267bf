"""Dialogs of the Plan screen: the commands of its cells, plans to open, values of an option or a setting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar

from textual import events, work
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.suggester import Suggester
from textual.widget import Widget
from textual.widgets import Input, Static

from fsconsole.client.children import answer
from fsconsole.errors import FsconsoleError
from fsconsole.errors.targets import PlanBadValue
from fsconsole.model.answers import PlanAnswer
from fsconsole.model.plan import Plan
from fsconsole.plan.planfile import PlanFile
from fsconsole.plan.sizing import pilots
from fsconsole.show.lines import Line, Mark
from fsconsole.show.plan import StepLine, cell_lines, commands_by_cell, pilot_lines, told_lines
from fsconsole.show.plan_text import cleared_words
from fsconsole.text import printable, shorten_middle
from fsconsole.tui import keys, planfiles
from fsconsole.tui.screens.dialogs import Dialog
from fsconsole.tui.terminal import lines, plain
from fsconsole.tui.widgets.chrome import ListFilter
from fsconsole.tui.widgets.lists import Choices


def number_in(key: str) -> int:
    """Return the position in a key such as "load 3"."""
    return int(key.rpartition(" ")[2])


_AT_ONCE = 60
"""Of so many cells all commands are asked for together; those of 10,000 are 70 MB."""
_SETTLE_S = 0.15
"""A cell's commands are asked for when it has been looked at for so long."""


class CommandsScreen(Dialog[None]):
    """Shows pilots and cells above and the steps of one below; the plan's text is handed to `fsconsole plan`, which touches nothing."""

    BINDINGS: ClassVar[list[BindingType]] = keys.bindings("commands")

    def __init__(self, plan: Plan, text: str) -> None:
        super().__init__("Commands of each cell, in the order of the run")
        self._cells, self._pilots, self._text = plan.cells, tuple(pilots(plan)), text
        self._known: dict[str, tuple[StepLine, ...]] = {}
        self._told: tuple[StepLine, ...] = ("There is no cell: no variant is ticked.",)

    def body(self) -> Iterable[Widget]:
        yield ListFilter(Choices(id="cells", ticks=False), "cells")
        if not self._targets and (told := cleared_words(self._cells)):
            yield Static(plain(told), classes="told")
        with VerticalScroll(id="commands"):
            yield Static(plain(""), id="steps")

    def on_mount(self) -> None:
        self.query_one(ListFilter).show_lines((*pilot_lines(self._pilots), *cell_lines(self._cells)))
        self.query_one("#cells").focus()
        if not self._targets:
            why = "naming it needs root" if self.session.targets else "no device is ticked"
            self.query_one("#dialog-title", Static).update(plain(f"{self._heading}. DEVICE: {why}", "bold"))

    @property
    def _targets(self) -> tuple[str, ...]:
        # To look at what a device holds needs root; without it the commands have the word DEVICE.
        return self.session.targets if self.session.is_root else ()

    def action_read(self, pages: int) -> None:
        below = self.query_one("#commands", VerticalScroll)
        below.scroll_relative(y=pages * max(1, below.size.height - 1), animate=False)

    def on_list_moved(self, event: Choices.Moved) -> None:
        self._name_below()
        if event.key in self._known:
            self._show(self._known[event.key])
        else:
            self._show(("asking `fsconsole plan` ...",))
            self.run_worker(self._ask(event.key), exclusive=True)

    def on_list_opened(self, _event: Choices.Opened) -> None:
        self.query_one("#commands").focus()

    def action_find(self) -> None:
        self.query_one(ListFilter).find()

    async def _ask(self, key: str) -> None:
        is_small = len(self._cells) <= _AT_ONCE
        devices = [word for target in self._targets for word in ("--device", target)]
        where = (*devices, "--runs", self.session.runs_dir) if devices else ()
        which = () if is_small else ("--cell", str(number_in(key)))
        try:
            if not is_small:
                await asyncio.sleep(_SETTLE_S)
            with planfiles.kept_for_run(self._text) as path:
                found = await answer(self.session.children, PlanAnswer, "plan", path, *which, *where)
        except FsconsoleError as error:
            self._show((f"{error} {error.hint}",))
            return
        self._known |= commands_by_cell(found, self._pilots)
        at = self.query_one("#cells", Choices).key
        if at in self._known:
            self._show(self._known[at])

    def _name_below(self) -> None:
        """Name the cell whose commands stand below: the list above may be scrolled, or the eye on a later page of them."""
        at, below = self.query_one("#cells", Choices).looked_at, self.query_one("#commands")
        said = ", ".join(filter(None, (at.name, at.value))) if at is not None else ""
        below.border_title = plain(f" {shorten_middle(printable(said), below.size.width - 6)} ") if said else None

    def on_resize(self) -> None:
        self.call_after_refresh(self._name_below)
        self.call_after_refresh(self._draw)

    def _show(self, text: Sequence[StepLine]) -> None:
        self._told = tuple(text)
        self._draw()
        self.query_one("#commands").scroll_home(animate=False)

    def _draw(self) -> None:
        width = self.query_one("#commands").scrollable_content_region.width
        rows = told_lines(self._told, width)
        self.query_one("#steps", Static).update(lines(*(plain(row.text) for row in rows)))


_OF_LISTS = frozenset({"space", "j", "k", "g", "G"})


class PathSuggester(Suggester):
    """Completes paths of plan files; the right arrow takes what is suggested."""

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)

    async def get_suggestion(self, value: str) -> str | None:
        whole = planfiles.completed(value) if value else value
        return whole if whole != value else None


class OpenScreen(Dialog[PlanFile]):
    """Ends with the plan that was read, of a line's key or of a file that is typed."""

    BINDINGS: ClassVar[list[BindingType]] = keys.bindings("pick")

    def __init__(self, title: str, options: Sequence[Line], read: Callable[[str], PlanFile], *, yes: str = "") -> None:
        super().__init__(title, yes=yes)
        self._options, self._read = options, read

    def body(self) -> Iterable[Widget]:
        yield Choices(id="options", ticks=False)
        yield Static(plain("Or a file (right arrow completes, enter opens):"), classes="told")
        yield Input(
            placeholder="/path/to/plan.toml",
            id="path",
            compact=True,
            suggester=PathSuggester(),
            select_on_focus=False,
        )

    def on_mount(self) -> None:
        self.query_one("#options", Choices).show_lines(self._options)

    def on_key(self, event: events.Key) -> None:
        """Take what is typed for the path, also at the list, but for the list's own keys."""
        path = self.query_one("#path", Input)
        if event.is_printable and event.key not in _OF_LISTS and not path.has_focus:
            event.stop()
            path.focus()
            path.insert_text_at_cursor(event.character or "")

    def on_input_changed(self) -> None:
        self.complain("")

    def on_list_opened(self, event: Choices.Opened) -> None:
        self._open(event.key)

    def action_accept(self) -> None:
        if path := self.query_one("#path", Input).value.strip():
            self._open(path)
        else:
            self.query_one("#options", Choices).action_open()

    @work(exclusive=True)
    async def _open(self, name: str) -> None:
        try:
            plan = await asyncio.to_thread(self._read, name)
        except FsconsoleError as error:
            self.complain(f"{error} {error.hint}")
        else:
            self.dismiss(plan)


class ValuesScreen(Dialog[tuple[str, ...]]):
    """Ends with the ticked values in the order of the list; several are compared, none leaves it to the tools."""

    BINDINGS: ClassVar[list[BindingType]] = keys.bindings("values")

    def __init__(
        self,
        title: str,
        told: str,
        refusals: Mapping[str, str],
        chosen: Sequence[str],
        typed: Callable[[str], str] | None,
    ) -> None:
        """Refusals are by known value, empty for one that isn't refused; typed checks a typed value, or raises."""
        super().__init__(title)
        self._told, self._typed, self._refused = told, typed, refusals
        self._values = list(dict.fromkeys((*refusals, *chosen)))
        self._chosen = set(chosen)
        self._is_touched = bool(chosen)
        """True if nothing ticked is what the operator wants, and not where he began."""

    def body(self) -> Iterable[Widget]:
        yield Static(plain(self._told), classes="told")
        yield Choices(id="values")
        if self._typed is not None:
            yield Input(placeholder="another value; several: with commas", id="typed-value", compact=True)

    def on_mount(self) -> None:
        self._show()
        if not self._values and self._typed is not None:
            self.query_one("#typed-value").focus()

    def on_list_ticked(self, event: Choices.Ticked) -> None:
        self._chosen ^= {event.key}
        self._is_touched = True
        self._show()

    def on_list_opened(self, event: Choices.Opened) -> None:
        if not self._is_touched and self._refused.get(event.key):
            return
        if not self._is_touched:
            self._chosen = {event.key}
        self.action_accept()

    def on_list_moved(self) -> None:
        line = self.query_one("#values", Choices).looked_at
        self.complain(" ".join(line.about) if line is not None else "")

    def on_input_changed(self, event: Input.Changed) -> None:
        self._is_touched = self._is_touched or bool(event.value)
        self._typed_values(event.value)

    def action_accept(self) -> None:
        text = self.query_one("#typed-value", Input).value if self._typed is not None else ""
        found = self._typed_values(text)
        if found is not None:
            wanted = (*(value for value in self._values if value in self._chosen), *found)
            self.dismiss(tuple(dict.fromkeys(wanted)))

    def _typed_values(self, text: str) -> tuple[str, ...] | None:
        """Return the values that a text comes to; None where one is refused, which is said."""
        self.complain("")
        try:
            words = filter(None, map(str.strip, text.split(",")))
            return tuple(words if self._typed is None else map(self._typed, words))
        except PlanBadValue as error:
            self.complain(f"{error.why}: {error.wanted}")
        except FsconsoleError as error:
            self.complain(str(error))
        return None

    def _show(self) -> None:
        shown = []
        for value in self._values:
            mark, why = Mark.ON if value in self._chosen else Mark.OFF, self._refused.get(value)
            shown.append(Line(value, value, mark, "refused" if why else "", (f"{value}: {why}.",) if why else ()))
        self.query_one("#values", Choices).show_lines(shown)
