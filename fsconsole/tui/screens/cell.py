"""Cell screen: curves, figures, distributions, commands with their output, options, environment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from textual import work
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import Static

from fsconsole.catalog.loader import load_catalog
from fsconsole.client.runs import Look, list_outputs, look, read_output
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import Point, read_curve, read_latencies
from fsconsole.model.events import LatencySeen
from fsconsole.model.plan import Cell
from fsconsole.model.state import CellState
from fsconsole.results.layout_map import PlacedMap
from fsconsole.show import cell as view
from fsconsole.show import layout
from fsconsole.show.charts import PlotValue
from fsconsole.show.lines import TextLine, text_lines
from fsconsole.show.progress import begun_ns
from fsconsole.text import shorten_middle
from fsconsole.tui import keys
from fsconsole.tui.screens.base import ConsoleScreen
from fsconsole.tui.screens.dialogs import OutputScreen, PickScreen
from fsconsole.tui.terminal import lines, plain
from fsconsole.tui.widgets.charts import Chart
from fsconsole.tui.widgets.chrome import Tabs
from fsconsole.tui.widgets.drawing import histogram_lines, runs
from fsconsole.tui.widgets.lists import List, Table
from fsconsole.tui.widgets.rows import Spans, Texts

_REFRESH_S = 2.0
_CHARTS = ("throughput", "dirty", "cpu")
_SECTIONS = ("curves", "figures", "extents", "layout", "commands", "options", "machine", "warnings")


@dataclass(frozen=True, slots=True)
class Read:
    """All that is known of the cell that is shown."""

    look: Look
    cell: Cell
    known: CellState
    points: tuple[Point, ...]
    latencies: tuple[LatencySeen, ...]
    others: tuple[str, ...]
    maps: dict[int, tuple[PlacedMap, ...]]
    """Layout maps by cell, of the cells shown; of others that have some, none."""
    beside: Beside | None = None


@dataclass(frozen=True, slots=True)
class Beside:
    """Another cell beside the one that is shown."""

    cell: Cell
    known: CellState
    points: tuple[Point, ...]


class CellScreen(ConsoleScreen):
    """The cells of one row of the grid, one at a time."""

    MODE: ClassVar[str] = "results"
    CSS_PATH = "cell.tcss"
    HELP: ClassVar[str] = """One cell: one life of a filesystem, from mkfs to delete.
Left and right go to the other cells of its row; Enter on a command shows what it printed.
= shows another cell beside this one, on the same scales; = again takes it away.
] and [ go through the sections."""
    BINDINGS: ClassVar[list[BindingType]] = keys.bindings("cell")

    def __init__(
        self, folder: RunFolder, cells: tuple[int, ...], name: str, *, at: int | None = None, tab: str = MODE
    ) -> None:
        """Take the cells of a row, its name, the cell to begin with (else the first), and the tab it belongs to."""
        super().__init__()
        self._folder, self._cells, self._row_name, self._tab = folder, cells, name, tab
        self._at = 0 if at is None else cells.index(at)
        self._section = "curves"
        self._beside: int | None = None
        self._read: Read | None = None

    @property
    def tab(self) -> str:
        return self._tab

    def label_of(self, action: str) -> str:
        return {"dismiss": self._tab.capitalize(), "open": "Output"}.get(action, "")

    def content(self) -> Iterable[Widget]:
        yield Static(plain(""), id="title")
        yield Tabs(id="sections")
        with Vertical(id="curves"):
            yield Static(plain(""), id="steps")
            with Horizontal(id="pair"):
                with Vertical():
                    yield from (Chart(id=name) for name in _CHARTS)
                with Vertical(id="beside"):
                    yield from (Chart(id=f"beside-{name}") for name in _CHARTS)
        yield List(id="text")
        yield Table(id="commands")

    def on_mount(self) -> None:
        self.while_shown(_REFRESH_S, self._refresh_living)
        self.action_section("curves")
        self._reload()

    def on_screen_resume(self) -> None:
        if self.session.folder not in (None, self._folder):
            self.call_after_refresh(self.action_dismiss)

    def on_resize(self) -> None:
        self.call_after_refresh(self._place)

    def action_section(self, section: str) -> None:
        self._section = section
        # Eight of them fit 80 columns.
        self.query_one(Tabs).show([(f" {name.capitalize()} ", name == section) for name in _SECTIONS])
        self.query_one("#curves").display = section == "curves"
        self.query_one("#commands").display = section == "commands"
        self.query_one("#text").display = section not in ("curves", "commands")
        if section != "curves":
            self.query_one("#commands" if section == "commands" else "#text").focus()
        self.query_one("#text", List).action_to(0)
        if section in _MAPPED and self._read is not None and not self._read.maps:
            self._reload()
        self.call_after_refresh(self._place)

    def on_tabs_picked(self, event: Tabs.Picked) -> None:
        self.action_section(_SECTIONS[event.number])

    def action_turn(self, by: int) -> None:
        """Go to the section before or after."""
        self.action_section(_SECTIONS[(_SECTIONS.index(self._section) + by) % len(_SECTIONS)])

    def action_beside(self) -> None:
        """Put another cell beside this one, on the same scales, or take it away again."""
        read = self._read
        if read is None:
            return
        if self._beside is not None:
            self._put_beside(None)
            return
        begun = [known.index for known in read.look.state.cells if known.steps]
        if others := layout.other_lines(read.look.state, begun, read.cell.index):
            self.ask(
                PickScreen("Which cell beside this one", others, yes="Show"), lambda key: self._put_beside(int(key))
            )
        else:
            self.say("No other cell of this run has started.")

    def _put_beside(self, cell: int | None) -> None:
        self._beside = cell
        self._reload()

    def action_other(self, by: int) -> None:
        at = max(0, min(self._at + by, len(self._cells) - 1))
        if at != self._at:
            self._at = at
            self._reload()
        elif len(self._cells) == 1:
            self.say("This row has one cell only.")

    @work(group="output", exclusive=True)
    async def on_list_opened(self, event: Table.Opened) -> None:
        read = self._read
        found = view.outputs(read.known, read.others).get(event.key) if read is not None else None
        if found is None:
            return
        if not found.file:
            self.say("This command printed nothing.")
            return
        with self.complaining():
            text, left_out = await asyncio.to_thread(read_output, self._folder, found.file)
            self.app.push_screen(OutputScreen(lambda width: view.output_lines(found, text, left_out, width)))

    def _refresh_living(self) -> None:
        if self._read is not None and self._read.look.is_alive:
            self._reload()

    @work(group="read", exclusive=True)
    async def _reload(self) -> None:
        folder, index = self._folder, self._cells[self._at]
        wanted = {index} if self._beside is None else {index, self._beside}

        def read() -> Read:
            seen = look(folder)
            cell, known = seen.state.request.plan.cells[index], seen.state.cells[index]
            points = read_curve(folder, index, begun_ns(known))
            latencies = read_latencies(folder, index, known.attempt)
            maps = layout.maps_by_cell(folder, seen.state, wanted) if self._section in _MAPPED else {}
            others = view.others_of(known, list_outputs(folder))
            beside = _read_beside(folder, seen, self._beside) if self._beside is not None else None
            return Read(seen, cell, known, points, latencies, others, maps, beside)

        with self.complaining():
            self._read = await asyncio.to_thread(read)
            self._place()

    def _place(self) -> None:
        read = self._read
        if read is None or not self.app.is_running:
            return
        width = max(20, self.size.width)
        place = (self._at + 1, len(self._cells))
        name, *standing = view.title_lines(read.look.state, read.cell, self._row_name, place, width)
        self.put("#title", lines(plain(name, "bold"), *map(plain, standing)))
        if self._section == "curves":
            self._place_curves(read, width)
        elif self._section == "commands":
            self.query_one("#commands", Table).show_table(view.command_table(read.known, read.others, width - 2))
        else:
            state = read.look.state
            made: dict[str, Callable[[int], Sequence[TextLine | Spans]]] = {
                "extents": partial(self._spread, read),
                "layout": partial(self._layout, read),
                "figures": partial(self._figures, read),
                "options": partial(view.option_lines, read.cell, read.known, load_catalog()),
                "machine": partial(view.environment_lines, state, read.cell),
                "warnings": partial(view.warning_lines, state, read.known),
            }
            make = made[self._section]
            self.query_one("#text", List).show(lambda width: Texts(make(width - 1)))

    def _place_curves(self, read: Read, width: int) -> None:
        said = view.steps_in_words(read.known, width) if read.points else "No samples of this cell were kept."
        values: Sequence[PlotValue] = view.curves(read.known, read.points)
        self.query_one("#beside").display = read.beside is not None
        if read.beside is not None:
            # A name is cut in its middle, or the end of a long left one would push the right one out.
            pair = (_named(read.cell), _named(read.beside.cell))
            left, right = (shorten_middle(name, (width - len("left: ; right: ")) // 2) for name in pair)
            said = f"left: {left}; right: {right}"
            values, others = view.on_one_scale(values, view.curves(read.beside.known, read.beside.points))
            for name, value in zip(_CHARTS, others, strict=True):
                self.query_one(f"#beside-{name}", Chart).show(value)
        self.put("#steps", plain(shorten_middle(said, width)))
        for name, value in zip(_CHARTS, values, strict=True):
            self.query_one(f"#{name}", Chart).show(value)

    def _figures(self, read: Read, width: int) -> Sequence[TextLine]:
        if read.beside is None:
            return view.figure_lines(read.known, width)
        names = (layout.cell_name(read.cell), layout.cell_name(read.beside.cell))
        return view.pair_lines(read.known, read.beside.known, names, width)

    def _layout(self, read: Read, width: int) -> Sequence[Spans]:
        beside = read.maps.get(self._beside, ()) if self._beside is not None else ()
        return layout.layout_lines(read.maps.get(read.cell.index, ()), beside, width)

    def _spread(self, read: Read, width: int) -> list[TextLine | Spans]:
        found: list[TextLine | Spans] = [*view.extent_lines(read.known, width)]
        glyphs = self.session.terminal.glyphs
        shown = (read.cell.index, *([read.beside.cell.index] if read.beside is not None else []))
        maps = [placed for index in shown for placed in read.maps.get(index, ())]
        for title, sizes in view.extents_over_offset(sorted(maps, key=lambda placed: placed.load)):
            found += (TextLine(""), *text_lines(title, width, "strong"))
            found += map(runs, histogram_lines(sizes, width, glyphs))
        for seen in read.latencies:
            found += (TextLine(""), TextLine(view.latency_title(seen, read.known), "strong"))
            bars = histogram_lines(view.latency_histogram(seen.buckets), width, glyphs)
            found += map(runs, bars)
        if not read.latencies:
            found.append(TextLine("No latencies were kept."))
        return found


_MAPPED = ("spread", "extents", "layout")
"""Sections that draw layout maps, which are read for them alone."""


def _read_beside(folder: RunFolder, seen: Look, index: int) -> Beside:
    known = seen.state.cells[index]
    return Beside(seen.state.request.plan.cells[index], known, read_curve(folder, index, begun_ns(known)))


def _named(cell: Cell) -> str:
    return f"cell {cell.index + 1}, {layout.cell_name(cell)}, round {cell.repeat}"
