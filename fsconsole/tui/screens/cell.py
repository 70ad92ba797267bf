"""One cell of a run: curves, figures, distributions, commands with their output, options, environment."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from fsconsole.catalog.loader import load_catalog
from fsconsole.client.runs import Look, list_outputs, look, read_output
from fsconsole.errors import FsconsoleError
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import Point, read_curve, read_latencies
from fsconsole.model.events import LatencySeen
from fsconsole.model.plan import Cell
from fsconsole.model.state import CellState
from fsconsole.show.cell import (
    command_table,
    curves,
    environment_lines,
    extent_lines,
    figure_lines,
    latency_histogram,
    latency_title,
    option_lines,
    others_of,
    output_lines,
    outputs,
    steps_in_words,
    title_lines,
    warning_lines,
)
from fsconsole.show.lines import TextLine
from fsconsole.show.progress import begun_ns
from fsconsole.tui.screens.base import ConsoleScreen
from fsconsole.tui.screens.run import OutputScreen
from fsconsole.tui.terminal import lines, plain
from fsconsole.tui.widgets.charts import Chart
from fsconsole.tui.widgets.drawing import histogram_lines, runs
from fsconsole.tui.widgets.lists import List, Table
from fsconsole.tui.widgets.rows import Spans, Texts

_REFRESH_S = 2.0
SECTIONS = (
    ("curves", "v Curves"),
    ("figures", "f Figures"),
    ("spread", "x Extents"),
    ("commands", "m Commands"),
    ("options", "o Options"),
    ("environment", "n Machine"),
    ("warnings", "w Warnings"),
)


@dataclass(frozen=True, slots=True)
class Read:
    """All that is known of the cell that is shown."""

    look: Look
    cell: Cell
    known: CellState
    points: tuple[Point, ...]
    latencies: tuple[LatencySeen, ...]
    others: tuple[str, ...]


class CellScreen(ConsoleScreen):
    """The cells of one row of the grid, one at a time."""

    MODE: ClassVar[str] = "results"
    CSS_PATH = "cell.tcss"
    HELP: ClassVar[str] = """One cell: one life of a filesystem, from mkfs to delete.
Left and right go to the other cells of its row; Enter on a command shows what it printed."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "section('curves')", "Curves", id="cell.curves", tooltip="Over time", show=False),
        Binding("f", "section('figures')", "Figures", id="cell.figures", tooltip="All measurements", show=False),
        Binding("x", "section('spread')", "Extents", id="cell.spread", tooltip="Extents and latencies", show=False),
        Binding("m", "section('commands')", "Commands", id="cell.commands", tooltip="What was run", show=False),
        Binding("o", "section('options')", "Options", id="cell.options", tooltip="In effect or not", show=False),
        Binding("n", "section('environment')", "Machine", id="cell.machine", tooltip="Machine, device", show=False),
        Binding("w", "section('warnings')", "Warnings", id="cell.warnings", tooltip="With remedies", show=False),
        Binding("left", "other(-1)", "Before", id="cell.before", tooltip="The cell before, of this row", priority=True, show=False),
        Binding("right", "other(1)", "Next", id="cell.next", tooltip="The next cell of this row", priority=True, show=False),
        Binding("escape", "back", "Back", id="cell.back", tooltip="To the grid", key_display="esc"),
    ]  # fmt: skip

    def __init__(self, folder: RunFolder, cells: tuple[int, ...], name: str) -> None:
        super().__init__()
        self._folder, self._cells, self._row_name = folder, cells, name
        self._at = 0
        self._section = "curves"
        self._read: Read | None = None

    def content(self) -> Iterable[Widget]:
        glyphs = self.session.terminal.glyphs
        yield Static(plain(""), id="title")
        yield Static(plain(""), id="sections")
        with Vertical(id="curves"):
            yield Static(plain(""), id="steps")
            yield Chart(id="throughput")
            yield Chart(id="dirty")
            yield Chart(id="cpu")
        yield List(id="text")
        yield Table(rule=glyphs.horizontal, id="commands")

    def on_mount(self) -> None:
        self.while_shown(_REFRESH_S, self._refresh_living)
        self.action_section("curves")
        self._reload()

    def on_screen_resume(self) -> None:
        if self.session.folder not in (None, self._folder):
            self.call_after_refresh(self.action_back)

    def on_resize(self) -> None:
        self.call_after_refresh(self._place)

    def action_section(self, section: str) -> None:
        self._section = section
        self.query_one("#sections", Static).update(self._tabs())
        self.query_one("#curves").display = section == "curves"
        self.query_one("#commands").display = section == "commands"
        self.query_one("#text").display = section not in ("curves", "commands")
        if section != "curves":
            self.query_one("#commands" if section == "commands" else "#text").focus()
        self.query_one("#text", List).action_to(0)
        self.call_after_refresh(self._place)

    def action_other(self, by: int) -> None:
        at = max(0, min(self._at + by, len(self._cells) - 1))
        if at != self._at:
            self._at = at
            self._reload()
        elif len(self._cells) == 1:
            self.say("This row has one cell only.")

    def action_back(self) -> None:
        self.dismiss()

    def on_list_opened(self, event: Table.Opened) -> None:
        if self._read is not None:
            self._open(event.key)

    @work(group="output", exclusive=True)
    async def _open(self, key: str) -> None:
        read = self._read
        found = outputs(read.known, read.others).get(key) if read is not None else None
        if found is None:
            return
        if not found.file:
            self.say("It left no output.")
            return
        try:
            text, left_out = await asyncio.to_thread(read_output, self._folder, found.file)
        except FsconsoleError as error:
            self.complain(error)
            return
        self.app.push_screen(OutputScreen(lambda width: output_lines(found, text, left_out, width)))

    def _refresh_living(self) -> None:
        if self._read is not None and self._read.look.is_alive:
            self._reload()

    @work(group="read", exclusive=True)
    async def _reload(self) -> None:
        try:
            self._read = await asyncio.to_thread(_read_cell, self._folder, self._cells[self._at])
        except FsconsoleError as error:
            self.complain(error)
            return
        self._place()

    def _tabs(self) -> Content:
        parts = [plain(f" {label} ", "reverse" if name == self._section else "") for name, label in SECTIONS]
        return Content("").join(parts)

    def _place(self) -> None:
        read = self._read
        if read is None or not self.app.is_running:
            return
        width = max(20, self.size.width)
        place = (self._at + 1, len(self._cells))
        name, standing = title_lines(read.look.state, read.cell, self._row_name, place, width)
        self.query_one("#title", Static).update(lines(plain(name, "bold"), plain(standing)))
        if self._section == "curves":
            self._place_curves(read, width)
        elif self._section == "commands":
            self.query_one("#commands", Table).show_table(command_table(read.known, read.others, width - 2))
        else:
            section = self._section
            self.query_one("#text", List).show(lambda width: Texts(self._lines_of(section, read, width - 1)))

    def _place_curves(self, read: Read, width: int) -> None:
        said = steps_in_words(read.known, width) if read.points else "No samples of this cell were kept."
        self.query_one("#steps", Static).update(plain(said))
        values = curves(read.known, read.points)
        for selector, value in zip(("#throughput", "#dirty", "#cpu"), values, strict=True):
            self.query_one(selector, Chart).show(value)

    def _lines_of(self, section: str, read: Read, width: int) -> Sequence[TextLine | Spans]:
        state = read.look.state
        if section == "spread":
            return self._spread(read, width)
        if section == "figures":
            return figure_lines(read.known, width)
        if section == "options":
            return option_lines(read.cell, read.known, load_catalog(), width)
        if section == "environment":
            return environment_lines(state, read.cell, width)
        return warning_lines(state, read.known, width)

    def _spread(self, read: Read, width: int) -> list[TextLine | Spans]:
        found: list[TextLine | Spans] = [*extent_lines(read.known, width)]
        for seen in read.latencies:
            found += (TextLine(""), TextLine(latency_title(seen, read.known), "strong"))
            bars = histogram_lines(latency_histogram(seen.buckets), width, self.session.terminal.glyphs)
            found += map(runs, bars)
        if not read.latencies:
            found.append(TextLine("No latencies were kept."))
        return found


def _read_cell(folder: RunFolder, index: int) -> Read:
    """Return all about a cell. Raises what the journal's reader raises."""
    seen = look(folder)
    known = seen.state.cells[index]
    return Read(
        look=seen,
        cell=seen.state.request.plan.cells[index],
        known=known,
        points=read_curve(folder, index, begun_ns(known)),
        latencies=read_latencies(folder, index, known.attempt),
        others=others_of(known, list_outputs(folder)),
    )
