"""Results: the grid of a run, how it is shown, and the way out of it into files and cells."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Static

from fsconsole.analysis.grid import Grid, build_grid
from fsconsole.client.children import carried_out
from fsconsole.client.looking import Look, look
from fsconsole.client.saving import save
from fsconsole.errors import FsconsoleError
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.store import list_runs
from fsconsole.model.measurement import Metric
from fsconsole.model.published import Publication
from fsconsole.plan.publications import list_publications, read_publication
from fsconsole.tui.plaintext import lines, plain
from fsconsole.tui.screens.base import ConsoleScreen
from fsconsole.tui.screens.cell import CellScreen
from fsconsole.tui.screens.columns import ColumnsScreen
from fsconsole.tui.screens.export import ExportScreen, Wanted
from fsconsole.tui.screens.pick import PickScreen
from fsconsole.tui.views.export import export_words
from fsconsole.tui.views.results import (
    Choice,
    GridView,
    arranged,
    caption_rule,
    pane_lines,
    published_lines,
    sorted_by,
    title_lines,
    with_baseline,
)
from fsconsole.tui.widgets.lines import Lines
from fsconsole.tui.widgets.table import Table

_REFRESH_S = 2.0


@dataclass(frozen=True, slots=True)
class Shown:
    """The run that is shown, as it was when it was read last."""

    folder: RunFolder
    look: Look
    grid: Grid


class ResultsScreen(ConsoleScreen):
    """The grid of the session's run, or of the newest one."""

    MODE: ClassVar[str] = "results"
    CSS_PATH = "results.tcss"
    HELP: ClassVar[str] = """The figures of a run: a row for each variant, a column for each measurement.
Left and right choose the column that s sorts by; the mark below its head says which way.
spread is (max - min) / median of the column that is sorted by.
Letters under warn are explained below for the row at the cursor, with what to do about them."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "columns", "Columns", id="results.columns", tooltip="Choose and order columns"),
        Binding(
            "s", "sort", "Sort", id="results.sort", tooltip="By the column at the cursor; again: reversed"
        ),
        Binding("b", "baseline", "Baseline", id="results.baseline", tooltip="All in per cent of this row"),
        Binding(
            "p", "published", "Published", id="results.published", tooltip="Lay published figures beside"
        ),
        Binding("e", "export", "Export", id="results.export", tooltip="Write csv, json or markdown"),
        Binding("r", "reload", "Read again", id="results.reload", tooltip="Read the run again", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._choice = Choice()
        self._shown: Shown | None = None
        self._view: GridView | None = None
        self._reading: tuple[RunFolder | None] | None = None
        """The run that is being read, in a tuple of its own: it may be none in particular."""

    def content(self) -> Iterable[Widget]:
        """Give title, table and pane."""
        glyphs = self.session.terminal.glyphs
        yield Static(plain(""), id="title")
        yield Table(rule=glyphs.horizontal, id="grid")
        yield Static(plain(""), id="nothing")
        yield Static(plain(""), id="rule")
        yield Lines(marks=glyphs.up + glyphs.down, id="pane")

    def on_mount(self) -> None:
        """Look again every other second, while this screen is shown."""
        self.while_shown(_REFRESH_S, self._refresh_living)
        self.query_one(Table).focus()

    def on_screen_resume(self) -> None:
        """Read the run that the session points at."""
        self.action_reload()

    def on_resize(self) -> None:
        """Break the texts anew."""
        super().on_resize()
        self._place()

    def action_reload(self) -> None:
        """Read the run again, unless that is going on already."""
        if self._reading != (self.session.folder,):
            self._read()

    def action_sort(self) -> None:
        """Sort by the column at the cursor, or the other way round."""
        view = self._view
        if view is None:
            return
        column = self.query_one(Table).column
        if column >= len(view.columns):
            self.say("This column has no order: go to one of figures with left and right.")
            return
        self._choose(sorted_by(self._choice, view.columns[column]))

    def action_baseline(self) -> None:
        """Make the row at the cursor what all others are set against, or end that."""
        row = self.query_one(Table).row
        if self._view is None or row is None:
            return
        if self._view.row(row.key) is None:
            self.say("A published row is no baseline: it is not of this run.")
            return
        self._choose(with_baseline(self._choice, row.key))

    def action_columns(self) -> None:
        """Ask for the columns."""
        if self._view is None:
            return

        def chosen(columns: tuple[Metric, ...] | None) -> None:
            if columns is not None:
                self._choose(replace(self._choice, columns=columns))

        rule = self.session.terminal.glyphs.horizontal
        self.app.push_screen(ColumnsScreen(self._view.grid, self._view.columns, rule), chosen)

    def action_published(self) -> None:
        """Ask for a publication to lay beside."""
        try:
            known = tuple(read_publication(path) for path in list_publications())
        except FsconsoleError as error:
            self.complain(error)
            return
        options: tuple[Publication | None, ...] = (None, *known)
        labels = [f"{one.title} ({one.date})" if one is not None else "None" for one in options]

        def chosen(index: int | None) -> None:
            if index is not None:
                self._choose(replace(self._choice, publication=options[index], columns=()))

        self.app.push_screen(PickScreen("Published figures beside this run's own", labels), chosen)

    def action_export(self) -> None:
        """Ask whereto, and write."""
        if self._shown is None:
            return

        def chosen(wanted: Wanted | None) -> None:
            if wanted is not None:
                self._export(wanted)

        self.app.push_screen(ExportScreen(self._shown.folder.name), chosen)

    def on_table_moved(self) -> None:
        """Say what is to be said of the row."""
        self._tell_of_row()

    def on_table_chosen(self, event: Table.Chosen) -> None:
        """Open the cells of a row."""
        row = self._view.row(event.row.key) if self._view is not None else None
        if row is None or self._shown is None:
            self.say("A published row has no cells here.")
            return
        cells = tuple(dict.fromkeys(figures.cell for figures in row.cells))
        self.app.push_screen(CellScreen(self._shown.folder, cells, row.name))

    @work(group="export")
    async def _export(self, wanted: Wanted) -> None:
        if self._shown is None or self._view is None:
            return
        name, columns = self._shown.folder.name, self._view.columns
        words = export_words(name, self.session.runs_dir, wanted.export, self._choice, columns)
        with self.complaining():
            done = await carried_out(self.session.children, *words)
            await asyncio.to_thread(save, wanted.path, done.out, overwrite=wanted.overwrite)
            self.say(f"Written: {wanted.path}")

    def _refresh_living(self) -> None:
        if self._shown is None or self._shown.look.is_alive:
            self.action_reload()

    @work(group="read", exclusive=True)
    async def _read(self) -> None:
        """Read in a thread: a journal on a blocked disk must not hold up the keys."""
        wanted = self.session.folder
        self._reading = (wanted,)
        try:
            shown = await asyncio.to_thread(_read_shown, wanted, self.session.runs_dir)
        except FsconsoleError as error:
            self._show_nothing(str(error), error.hint)
            return
        finally:
            if self._reading == (wanted,):
                self._reading = None
        if shown is None:
            hint = "2 Plan makes one, 5 Runs lists them; `fsconsole demo` needs no disk of yours."
            self._show_nothing(f"There are no runs in {self.session.runs_dir} yet.", hint)
            return
        if self._shown is None or self._shown.folder != shown.folder:
            self._choice = replace(self._choice, baseline="")
        self._shown = shown
        self.remove_class("-nothing")
        self._arrange()

    def _show_nothing(self, sentence: str, hint: str) -> None:
        self._shown, self._view = None, None
        if not self.app.is_running:
            return
        self.add_class("-nothing")
        self.query_one("#nothing", Static).update(lines(plain(sentence, "bold"), plain(hint)))

    def _choose(self, choice: Choice) -> None:
        self._choice = choice
        self._arrange()

    def _arrange(self) -> None:
        if self._shown is None or not self.app.is_running:
            return
        self._view = arranged(self._shown.grid, self._choice, self.session.terminal.glyphs)
        self.query_one(Table).show(self._view.table)
        self._place()

    def _place(self) -> None:
        """Put the words around the table, broken to the width at hand."""
        if self._shown is None or self._view is None:
            return
        title = title_lines(self._shown.look, max(20, self.size.width))
        styles = {"strong": "bold"}
        self.query_one("#title", Static).update(
            lines(*(plain(line.text, styles.get(line.tone, "")) for line in title))
        )
        rule = caption_rule(self._view.caption, self.session.terminal.glyphs, self.size.width)
        self.query_one("#rule", Static).update(plain(rule))
        self._tell_of_row()

    def _tell_of_row(self) -> None:
        pane, row = self.query_one("#pane", Lines), self.query_one(Table).row
        if self._view is None or row is None:
            pane.show(())
            return
        known = self._view.row(row.key)
        if known is not None:
            pane.show(pane_lines(known, self._view.grid, pane.room))
        elif self._view.grid.publication is not None:
            pane.show(published_lines(self._view.grid.publication, pane.room))


def _read_shown(folder: RunFolder | None, runs_dir: str) -> Shown | None:
    """Return a run, or the newest; None where there is none. Raises what the journal's reader raises."""
    newest = list_runs(runs_dir)[:1] if folder is None else (folder,)
    if not newest:
        return None
    seen = look(newest[0])
    return Shown(newest[0], seen, build_grid(seen.state))
