"""The values that an option or a setting shall take: ticked, or typed and checked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.suggester import Suggester
from textual.widget import Widget
from textual.widgets import Input, Static

from fsconsole.catalog.filesystem import Catalog
from fsconsole.client.children import Children, answer
from fsconsole.errors import FsconsoleError
from fsconsole.errors.targets import PlanBadValue
from fsconsole.model.answers import PlanAnswer
from fsconsole.model.plan import Cell
from fsconsole.plan.draft import Draft
from fsconsole.plan.outcome import Outcome, ThisMachine
from fsconsole.show.lines import Line, Mark
from fsconsole.show.plan import cell_lines, commands_by_cell
from fsconsole.tui import planfiles
from fsconsole.tui.planfiles import completed
from fsconsole.tui.screens.dialogs import Dialog, enter_takes
from fsconsole.tui.terminal import lines, plain
from fsconsole.tui.widgets.chrome import Sift
from fsconsole.tui.widgets.lists import Choices


@dataclass(frozen=True, slots=True)
class Desk:
    """All that a section looks at; outcome is that of counted, which may be an older draft."""

    draft: Draft
    catalog: Catalog
    here: ThisMachine
    counted: Draft
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Asked:
    """A dialog, and what its answer makes of the draft; then may raise FsconsoleError."""

    dialog: Dialog[Any]
    then: Callable[[Any], Draft]


class Section(Protocol):
    """One section: lines that can be ticked and opened."""

    def lines(self, desk: Desk) -> tuple[Line, ...]:
        """Return what is shown."""
        ...

    def ticked(self, desk: Desk, key: str) -> Draft:
        """Return the draft after a tick on a line. Raises FsconsoleError."""
        ...

    def opened(self, desk: Desk, key: str) -> Asked | None:
        """Return what to ask when a line is opened; None where opening is ticking."""
        ...


def number_in(key: str) -> int:
    """Return the position in a key such as "load 3"."""
    return int(key.rpartition(" ")[2])


_AT_ONCE = 60
"""Of so many cells all commands are asked for together; those of 10,000 are 70 MB."""
_SETTLE_S = 0.15
"""A cell's commands are asked for when it has been looked at for so long."""


class CommandsScreen(Dialog[None]):
    """Shows cells above and the steps of one below; the plan's text is handed to `fsconsole plan`, which touches nothing."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "find", "Find", id="commands.find", tooltip="Show only cells with some words", key_display="/"),
    ]  # fmt: skip

    def __init__(
        self, cells: Sequence[Cell], text: str, targets: Sequence[str], children: Children, runs_dir: str
    ) -> None:
        super().__init__("Commands of each cell, in the order of the run")
        self._cells = tuple(cells)
        self._text, self._targets = text, tuple(targets)
        self._children, self._runs_dir = children, runs_dir
        self._known: dict[str, tuple[str, ...]] = {}

    def body(self) -> Iterable[Widget]:
        yield Sift(Choices(id="cells", ticks=False), "cells")
        with VerticalScroll(id="commands"):
            yield Static(plain("There is no cell: no variant is ticked."), id="steps")

    def on_mount(self) -> None:
        self.query_one(Sift).show_lines(cell_lines(self._cells))
        self.query_one("#cells").focus()

    def on_list_moved(self, event: Choices.Moved) -> None:
        """Show the commands of the cell that is looked at; ask for them where they are not known yet."""
        if event.key in self._known:
            self._show(self._known[event.key])
        else:
            self._show(("asking `fsconsole plan` ...",))
            self.run_worker(self._ask(event.key), exclusive=True)

    def on_list_opened(self, _event: Choices.Opened) -> None:
        self.query_one("#commands").focus()

    def action_find(self) -> None:
        self.query_one(Sift).find()

    async def _ask(self, key: str) -> None:
        is_small = len(self._cells) <= _AT_ONCE
        try:
            if not is_small:
                await asyncio.sleep(_SETTLE_S)
            self._known |= commands_by_cell(
                await self._plan(() if is_small else ("--cell", str(number_in(key))))
            )
        except FsconsoleError as error:
            self._show((f"{error} {error.hint}",))
            return
        line = self.query_one("#cells", Choices).looked_at
        if line is not None and line.key in self._known:
            self._show(self._known[line.key])

    def _show(self, text: Sequence[str]) -> None:
        self.query_one("#steps", Static).update(lines(*map(plain, text)))
        self.query_one("#commands").scroll_home(animate=False)

    async def _plan(self, which: Sequence[str]) -> PlanAnswer:
        path = planfiles.keep_for_run(self._text)
        try:
            devices = [word for target in self._targets for word in ("--device", target)]
            looked_at = (*devices, "--runs", self._runs_dir) if devices else ()
            return await answer(self._children, PlanAnswer, "plan", path, *which, *looked_at)
        finally:
            planfiles.forget(path)


class PathSuggester(Suggester):
    """Completes paths of plan files; the right arrow takes what is suggested."""

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)

    async def get_suggestion(self, value: str) -> str | None:
        """Return the path as far as it can be completed."""
        whole = completed(value) if value else value
        return whole if whole != value else None


class OpenScreen(Dialog[str]):
    """Ends with a path, or the name of a shipped plan."""

    BINDINGS: ClassVar[list[BindingType]] = [
        enter_takes("open.accept", "Open what is looked at, or the file that is typed", words="Open")
    ]

    def __init__(self, shipped: Sequence[tuple[str, str]]) -> None:
        """Shipped are names and titles."""
        super().__init__("Open a plan")
        self._shipped = tuple(shipped)

    def body(self) -> Iterable[Widget]:
        yield Choices(id="shipped", ticks=False)
        yield Static(plain("Or a file (right arrow completes, enter opens):"), classes="told")
        yield Input(placeholder="/path/to/plan.toml", id="path", compact=True, suggester=PathSuggester())

    def on_mount(self) -> None:
        shown = [Line(name, name, value=title) for name, title in self._shipped]
        self.query_one("#shipped", Choices).show_lines(shown)

    def on_list_opened(self, event: Choices.Opened) -> None:
        self.dismiss(event.key)

    def on_input_submitted(self, _event: Input.Submitted) -> None:
        self.action_accept()

    def action_accept(self) -> None:
        """Take the path that is typed; without one what is looked at."""
        path = self.query_one("#path", Input).value.strip()
        line = self.query_one("#shipped", Choices).looked_at
        if path:
            self.dismiss(path)
        elif line is not None:
            self.dismiss(line.key)


class ValuesScreen(Dialog[tuple[str, ...]]):
    """Ends with the ticked values in the order of the list; several are compared, none leaves it to the tools."""

    BINDINGS: ClassVar[list[BindingType]] = [
        enter_takes("values.accept", "Take what is ticked; where nothing is, the line that is looked at"),
        Binding("up", "app.focus_previous", "Up", id="values.up", tooltip="Back to the list", show=False),
    ]

    def __init__(
        self,
        title: str,
        told: str,
        known: Sequence[tuple[str, str]],
        chosen: Sequence[str],
        typed: Callable[[str], str] | None,
    ) -> None:
        """Known are (value, why it is refused here); typed gives a typed value as it goes into the plan, or raises."""
        super().__init__(title)
        self._told, self._typed = told, typed
        self._refused = dict(known)
        self._values = list(dict.fromkeys((*self._refused, *chosen)))
        self._chosen = set(chosen)
        self._is_touched = bool(chosen)
        """Whether nothing ticked is what the operator wants, and not where he began."""

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

    def on_input_submitted(self, _event: Input.Submitted) -> None:
        self.action_accept()

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
            return tuple(map(self._judged, filter(None, map(str.strip, text.split(",")))))
        except PlanBadValue as error:
            self.complain(f"{error.why}: {error.wanted}")
        except FsconsoleError as error:
            self.complain(str(error))
        return None

    def _judged(self, word: str) -> str:
        return self._typed(word) if self._typed is not None else word

    def _show(self) -> None:
        self.query_one("#values", Choices).show_lines(
            [
                Line(
                    value,
                    value,
                    Mark.ON if value in self._chosen else Mark.OFF,
                    "refused" if self._refused.get(value) else "",
                    (f"{value}: {self._refused[value]}.",) if self._refused.get(value) else (),
                )
                for value in self._values
            ]
        )
