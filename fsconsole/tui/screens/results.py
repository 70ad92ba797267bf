"""Results screen: the grid of a run, its columns and order, exports, and the way to its cells."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar
from uuid import uuid4

from textual import work
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Button, Input, OptionList, Static

from fsconsole.client.children import carried_out
from fsconsole.client.runs import Look, look, read_runs, save
from fsconsole.errors import FsconsoleError
from fsconsole.errors.runs import NoRuns
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.store import list_runs, open_run
from fsconsole.model.figures import Publication
from fsconsole.model.metrics import Metric
from fsconsole.plan.publications import all_publications
from fsconsole.results.advice import advise
from fsconsole.results.advice_text import Place
from fsconsole.results.blocks import Block, BlockKind
from fsconsole.results.grid import Grid, build_grid
from fsconsole.results.published import beside
from fsconsole.results.sentences import RunFindings, findings_of
from fsconsole.show import results as view
from fsconsole.show.apply import safety_of, use_lines, use_words
from fsconsole.show.more_rounds import barred_words, rounds_complaint, rounds_hint, wanted_rounds, with_repeats
from fsconsole.show.replay import Frame, cell_of
from fsconsole.show.runs import RunEntry, published_lines
from fsconsole.text import cells_of, printable, shorten_middle
from fsconsole.tui import keys, planfiles
from fsconsole.tui.screens.base import ConsoleScreen
from fsconsole.tui.screens.cell import CellScreen
from fsconsole.tui.screens.comparison import show_comparison
from fsconsole.tui.screens.confirm import ConfirmScreen
from fsconsole.tui.screens.dialogs import Dialog, OutputScreen, PickScreen, RoundsScreen
from fsconsole.tui.screens.replay import ReplayScreen, read_race
from fsconsole.tui.terminal import lines, plain
from fsconsole.tui.widgets.charts import Chart
from fsconsole.tui.widgets.chrome import Seek, Tabs
from fsconsole.tui.widgets.lists import List, Table
from fsconsole.tui.widgets.rows import Texts


class ColumnsScreen(Dialog[tuple[Metric, ...]]):
    """Ticks and orders columns; ends with them, empty for the default ones."""

    HELP: ClassVar[str] = "Columns of the grid: what is ticked is shown, in the order of its places."
    BINDINGS: ClassVar[list[BindingType]] = keys.bindings("columns")

    def __init__(self, block: Block) -> None:
        super().__init__(f"Columns of {block.name}")
        self._block, self._chosen = block, block.columns

    def body(self) -> Iterable[Widget]:
        yield Table(id="choice")
        yield Static(plain(""), id="meaning")
        yield Button(plain("Default columns"), id="default", compact=True)

    def on_mount(self) -> None:
        self._show()
        self.query_one(Table).focus()

    def action_tick(self) -> None:
        self._chosen = view.toggled(self._chosen, self._metric())
        self._show()

    def action_place(self, by: int) -> None:
        self._chosen = view.moved(self._chosen, self._metric(), by)
        self._show()

    def on_list_opened(self) -> None:
        self.action_accept()

    def action_accept(self) -> None:
        self.dismiss(self._chosen)

    def applies(self, action: str) -> bool:
        # Enter applies the choice, wherever the cursor is.
        return action != "open"

    def on_button_pressed(self) -> None:
        self.dismiss(())

    def _metric(self) -> Metric:
        return Metric(self.query_one(Table).key or Metric.DURABLE)

    def _show(self) -> None:
        self.query_one(Table).show_table(view.choice_table(self._block, self._chosen))
        self.on_list_moved()

    def on_list_moved(self) -> None:
        metric = self._metric()
        self.query_one("#meaning", Static).update(plain(f"{metric.column}: {metric.help}"))


Wanted = tuple[view.Export, str, bool]
"""Export: its content, its file, and True if that file may be replaced."""


def _place(path: str) -> Content:
    return plain(f"It will be in {os.path.dirname(path)}." if path else "")


class ExportScreen(Dialog[Wanted]):
    """Asks for form and path, and once more before a file is replaced; ends with None where nothing is wanted."""

    BINDINGS: ClassVar[list[BindingType]] = keys.bindings("export")

    def __init__(self, run: str) -> None:
        super().__init__(f"Export run {run}")
        self._run, self._export = run, view.EXPORTS[0]
        self._asked: tuple[str, bool] | None = None
        """The path that was asked about, and True if it was there."""
        try:
            self._directory = os.getcwd()
        except OSError:
            # It has been removed.
            self._directory = "/"

    def body(self) -> Iterable[Widget]:
        yield OptionList(*(plain(export.label) for export in view.EXPORTS), id="forms")
        yield Static(plain("File (enter writes it):"))
        proposed = os.path.join(self._directory, self._run + self._export.ending)
        yield Input(proposed, id="path", compact=True)
        yield Static(_place(proposed), id="place")

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        self._export = view.EXPORTS[event.option_index]
        self._asked = None
        path = self.query_one("#path", Input)
        path.value = view.path_for(path.value, self._export)

    def on_option_list_option_selected(self) -> None:
        self.query_one("#path", Input).focus()

    def label_of(self, action: str) -> str:
        is_choosing = isinstance(self.focused, OptionList)
        return "Path" if action == "accept" and is_choosing else super().label_of(action)

    def on_input_changed(self) -> None:
        self._asked = None
        self.complain("")
        self.query_one("#place", Static).update(_place(self._path))

    @property
    def _path(self) -> str:
        """The file that is typed, with its folder; empty where nothing is typed."""
        typed = self.query_one("#path", Input).value.strip()
        return os.path.normpath(os.path.join(self._directory, os.path.expanduser(typed))) if typed else ""

    def action_accept(self) -> None:
        path = self._path
        if not path or os.path.isdir(path):
            self.complain("Give the path of a file.")
            return
        is_there, other = os.path.lexists(path), view.other_ending(path, self._export)
        if (is_there or other) and self._asked != (path, is_there):
            self._asked = (path, is_there)
            kind = (
                f"Its ending says {other}; {self._export.label.partition(':')[0]} is what is chosen." if other else ""
            )
            again = f"{path} exists already. Enter again replaces it." if is_there else "Enter again writes it so."
            self.complain(" ".join(filter(None, (kind, again))))
            return
        self.dismiss((self._export, path, is_there))


async def export_run(screen: ConsoleScreen, run: str, wanted: Wanted, choice: view.Choice | None = None) -> None:
    """Write an export of a run, as it was chosen to be shown, and say so."""
    export, path, overwrite = wanted
    children, runs_dir = screen.session.children, screen.session.runs_dir
    with screen.complaining():
        if export.format == view.RUN_FILE:
            await carried_out(children, *view.packing_words(run, runs_dir, path, overwrite=overwrite))
        else:
            done = await carried_out(children, *view.export_words(run, runs_dir, export, choice or view.Choice()))
            await asyncio.to_thread(save, path, done.out, overwrite=overwrite)
        screen.say(f"Written: {path}")


_REFRESH_S = 2.0
_ROOMY_COLUMNS, _ROOMY_LINES = 140, 45
"""From this size on there is room for curves, and for bars of the filesystem's own times."""
_MOST_RUNS = 100
"""Runs that are offered for a comparison, the newest first."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The run that is shown, as it was when it was read last."""

    folder: RunFolder
    look: Look
    grid: Grid
    findings: RunFindings


class ResultsScreen(ConsoleScreen):
    """The grid of the session's run, or of the latest one that was made here."""

    MODE: ClassVar[str] = "results"
    CSS_PATH = "results.tcss"
    HELP: ClassVar[
        str
    ] = """The figures of a run: a block for each workload, one for the filesystem's own times, one for raw rows.
Change: in % of the baseline, with its 95 % interval over n rounds. The strip draws it: * the change, | none, [ ] its ends.
Bars and colours: full and green is better, lighter and red worse, faint undecided.
n: rounds. The strip's head is its scale: /5 1 x5 goes from a fifth of the baseline to five times it.
undecided +6: 6 more rounds decide it with a chance of 80 %. same: within 10 %. <10: decided, by less than 10 %.
s sorts by the column at the cursor, which left and right move.
Below: the row's verdict, why, its rounds as dots (2: two at one place), other columns, and warnings with what to do (letters under warn)."""
    BINDINGS: ClassVar[list[BindingType]] = keys.bindings("results")

    def __init__(self) -> None:
        super().__init__()
        self._choice = view.Choice()
        self._shown: Shown | None = None
        self._view: view.BlockView | None = None
        self._drawn: object = None
        """What the curves were drawn of."""
        self._reading: tuple[RunFolder | None] | None = None
        """The run that is being read, in a tuple of its own: it may be none in particular."""

    def content(self) -> Iterable[Widget]:
        yield Static(plain(""), id="title")
        yield Tabs(id="blocks")
        yield Table(id="grid")
        yield Static(plain(""), id="nothing")
        yield Static(plain(""), id="rule")
        yield List(id="pane")
        yield Static(plain(""), id="room-rule")
        with Horizontal(id="room"):
            yield Chart(id="curves")
            yield List(id="bars")
        yield Seek("variant, setting or verdict")

    def on_mount(self) -> None:
        self.while_shown(_REFRESH_S, self._refresh_living)
        self.query_one(Table).focus()

    def on_screen_resume(self) -> None:
        self.action_reload()

    def on_input_changed(self) -> None:
        self._arrange()

    def on_input_submitted(self) -> None:
        self.query_one(Table).focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "show_all":
            return any(seek.display for seek in self.query(Seek))
        return super().check_action(action, parameters)

    def on_resize(self) -> None:
        super().on_resize()
        self.set_class(self.size.width >= _ROOMY_COLUMNS and self.size.height >= _ROOMY_LINES, "-roomy")
        self._arrange()

    def action_reload(self) -> None:
        if self._reading != (self.session.folder,):
            self._read()

    def on_tabs_picked(self, event: Tabs.Picked) -> None:
        """Show the block whose name was clicked; where only one name has room, the next one."""
        if self._view is not None:
            has_all = len(view.block_names(self._view, self.size.width)) == len(self._view.blocks)
            self.action_block(event.number - self._view.at if has_all else 1)

    def action_block(self, by: int) -> None:
        if self._view is not None and self._view.blocks:
            at = (self._view.at + by) % len(self._view.blocks)
            self.query_one(Table).column = 0
            self._choose(replace(self._choice, at=at))

    def action_sort(self) -> None:
        block = self._view.block if self._view is not None else None
        if block is None:
            return
        if column := self._column():
            self._choose(view.sorted_by(self._choice, block, column))
        else:
            self.say("This column has no order: go to one of figures with left and right.")

    def on_list_headed(self) -> None:
        self.action_sort()

    def action_sort_by(self) -> None:
        if self._view is not None and (block := self._view.block) is not None:
            dialog = PickScreen(f"Sort {block.name} by", view.sort_lines(block), yes="Sort")
            self.ask(dialog, lambda by: self._choose(view.sorted_by(self._choice, block, by)))

    def action_baseline(self) -> None:
        block, key = self._view.block if self._view is not None else None, self.query_one(Table).key
        if self._view is None or block is None or not key:
            return
        if block.kind is BlockKind.RAW:
            self.say("Raw rows are compared with nothing: they measure the device without a filesystem.")
            return
        row = self._view.row(key)
        offered = view.baseline_lines(block, self._choice, row.name if row is not None else "")
        dialog = PickScreen(f"Compare the rows of {block.name} with", offered, yes="Compare")
        self.ask(dialog, lambda picked: self._choose(view.compared_by(self._choice, block, picked)))

    def action_all_pairs(self) -> None:
        self._choose(view.changed(self._choice, all_pairs=not self._choice.of_blocks.all_pairs))

    def action_with_redone(self) -> None:
        is_on = not self._choice.of_blocks.with_redone
        self._choice = view.changed(self._choice, with_redone=is_on)
        self.say("Figures of replaced rounds too; no verdict uses them." if is_on else "")
        self._read()

    def _column(self) -> str:
        """Return what the column at the cursor sorts by; empty for one without an order."""
        place = self.query_one(Table).column
        return self._view.sorts[place] if self._view is not None and place < len(self._view.sorts) else ""

    def action_columns(self) -> None:
        shown = self._view
        if shown is not None and shown.block is not None:
            dialog = ColumnsScreen(shown.block)
            self.ask(dialog, lambda columns: self._choose(view.with_columns(self._choice, shown, columns)))

    def action_curves(self) -> None:
        if self._view is None or (block := self._view.block) is None:
            return
        if view.has_curves(block):
            self.app.push_screen(OutputScreen(lambda width: view.curve_lines(block, width)))
        else:
            self.say("No axis of this block has three or more numbers, such as threads = [1, 4, 16].")

    def action_replay(self) -> None:
        if self._shown is not None and self._view is not None and self._view.block is not None:
            self.app.push_screen(ReplayScreen(self._shown.folder, self._view.block.name))

    def action_use_lines(self) -> None:
        row = self._view.row(self.query_one(Table).key) if self._view is not None else None
        if row is None:
            self.say("Go to a row of this run: its lines are shown.")
            return
        use, copied = use_lines(row.row.key, str(uuid4())), "Copy them from here."
        if use.lines and self.session.terminal.copies:
            self.app.copy_to_clipboard("\n".join(use.lines) + "\n")
            copied = "Sent to the terminal's clipboard (OSC 52); where that is off, copy them from here."
        self.app.push_screen(OutputScreen(lambda width: use_words(row.title, use, copied, width)))

    @work(group="advice", exclusive=True)
    async def action_advice(self) -> None:
        if self._shown is None:
            return
        state, grid = self._shown.look.state, build_grid(self._shown.look.state)
        place = Place(self._shown.folder.name, self.session.runs_dir)
        with self.complaining():
            advice = await asyncio.to_thread(advise, state, grid, safety_of)
            self.app.push_screen(OutputScreen(lambda width: view.advice_lines(state, grid, advice, place, width)))

    async def action_open_run_plan(self) -> None:
        # The latest run is shown where none was chosen.
        await self.open_plan_of(self._shown.folder if self._shown is not None else None)

    @work(group="compare", exclusive=True)
    async def action_compare(self) -> None:
        """Show published figures in the table, or a comparison with another run in a dialog."""
        shown, runs_dir = self._shown, self.session.runs_dir
        if shown is None:
            return
        with self.complaining():
            published = {of.name: of for of in await asyncio.to_thread(all_publications)}
            folders = {folder.name: folder for folder in await asyncio.to_thread(list_runs, runs_dir)}
            known = await asyncio.to_thread(read_runs, [*folders.values()][:_MOST_RUNS], {})
            runs = [RunEntry(name, one.listed, one.size_bytes) for name, one in known.items()]
            others = [one for one in runs if one.is_readable and one.name != shown.folder.name]
            is_with = self._choice.publication is not None
            offered = view.compare_lines(others, tuple(published.values()), is_with=is_with)
            key = await self.app.push_screen_wait(PickScreen("Compare this run with", offered, yes="Compare"))
            if key in folders:
                await show_comparison(self, [shown.folder, folders[key]])
            elif key is not None:
                self._put_published(published.get(key), shown)

    def _put_published(self, of: Publication | None, shown: Shown) -> None:
        self._choose(view.with_published(self._choice, of))
        if of is not None and of.own_columns:
            # Columns that no metric means have no place in the grid.
            laid = beside(of, [shown.look.state.request.plan])
            self.app.push_screen(OutputScreen(lambda width: published_lines(laid, width)))

    @work(group="more", exclusive=True)
    async def action_more(self) -> None:
        """Run the plan again with more rounds: the devices are looked at, and asked about, as at every start."""
        shown, seen = self._shown, self._view
        if shown is None or seen is None or not self.may("Running a plan"):
            return
        state = shown.look.state
        why = barred_words(state, is_alive=shown.look.is_alive, is_imported=shown.folder.is_imported)
        if why:
            self.say(why)
            return
        blocks = [block for block in seen.blocks if block.kind is BlockKind.LOAD]
        rounds = wanted_rounds(blocks, state.request.plan.repeats)
        asked = RoundsScreen(
            "Rounds of a new run of this plan",
            str(rounds),
            yes="Run..",
            hint=lambda text: rounds_hint(state, text, rounds),
            check=rounds_complaint,
        )
        answer = await self.app.push_screen_wait(asked)
        if answer is None:
            return
        with self.complaining():
            text = with_repeats(state.request.plan.source, int(answer))
            ticks = {target.path: target.identity for target in state.request.targets}
            with planfiles.kept_for_run(text) as path:
                question = ConfirmScreen(path, ticks, planfiles.digest_of_text(text))
                folder = await self.app.push_screen_wait(question)
            if folder is not None:
                self.session.folder = folder
                self.app.switch_mode("run")

    def label_of(self, action: str) -> str:
        return "Cell" if action == "open" else ""

    def action_export(self) -> None:
        if self._shown is not None:
            self.ask(ExportScreen(self._shown.folder.name), self._export)

    def on_list_opened(self, event: Table.Opened) -> None:
        row = self._view.row(event.key) if self._view is not None else None
        if row is None or self._shown is None:
            self.say("This row has no cells of its own: it is of a publication, or of two rows.")
            return
        self.app.push_screen(CellScreen(self._shown.folder, row.row.indexes, row.row.name))

    @work(group="export")
    async def _export(self, wanted: Wanted) -> None:
        if self._shown is not None:
            await export_run(self, self._shown.folder.name, wanted, self._choice)

    def _refresh_living(self) -> None:
        if self._shown is None or self._shown.look.is_alive:
            self.action_reload()

    @work(group="read", exclusive=True)
    async def _read(self) -> None:
        """Read in a thread: a journal on a blocked disk must not hold up the keys."""
        wanted = self.session.folder
        self._reading = (wanted,)
        runs_dir, with_redone = self.session.runs_dir, self._choice.of_blocks.with_redone

        def read() -> Shown | None:
            try:
                folder = wanted or open_run(runs_dir)
            except NoRuns:
                return None
            seen = look(folder)
            grid = build_grid(seen.state, with_redone=with_redone)
            return Shown(folder, seen, grid, findings_of(seen.state, grid))

        try:
            shown = await asyncio.to_thread(read)
        except FsconsoleError as error:
            self._show_nothing(str(error), error.hint)
            return
        finally:
            if self._reading == (wanted,):
                self._reading = None
        if shown is None:
            hint = "2 Plan makes one, 5 Runs lists them; `fsconsole demo` needs no disk of yours."
            self._show_nothing(f"There are no runs in {runs_dir} yet.", hint)
            return
        if self._shown is None or self._shown.folder != shown.folder:
            self._choice = view.Choice(publication=self._choice.publication)
        is_first, self._shown = self._shown is None, shown
        self.remove_class("-nothing")
        self._arrange()
        if self.session.is_tour and is_first and self._view is not None:
            # The first row is the baseline, of which there is no why.
            self.query_one(Table).go_to(view.decided_row(self._view))
        self.say_guide()

    @property
    def guide(self) -> str:
        if self._shown is None:
            return ""
        return (
            f"4 of 5: {view.recorded_words(self._shown.look.state)}. v replays the race, up and down tell why, "
            "A advises, enter opens a cell, ? all keys."
        )

    def _show_nothing(self, sentence: str, hint: str) -> None:
        self._shown, self._view = None, None
        if not self.app.is_running:
            return
        self.add_class("-nothing")
        self.put("#nothing", lines(plain(sentence, "bold"), plain(hint)))

    def _choose(self, choice: view.Choice) -> None:
        """Show a run as it was chosen; a choice that is refused changes nothing."""
        before, self._choice = self._choice, choice
        if not self._arrange():
            self._choice = before

    def _arrange(self) -> bool:
        shown = self._shown
        if shown is None or not self.app.is_running:
            return False
        try:
            glyphs, width = self.session.terminal.glyphs, self.size.width
            state, is_imported = shown.look.state, shown.folder.is_imported
            found = view.arranged(state, shown.grid, self._choice, glyphs, width, is_imported=is_imported)
        except FsconsoleError as error:
            self.complain(error)
            return False
        self._view = found
        self.query_one(Table).show_table(view.with_words(found.table, self.query_one(Seek).words))
        self._place()
        return True

    def _place(self) -> None:
        if self._shown is None or self._view is None:
            return
        title = view.title_lines(self._shown.look, self._shown.grid, max(20, self.size.width))
        shown = (plain(line.text, "bold" if line.tone == "strong" else "") for line in title)
        self.put("#title", lines(*shown))
        self.query_one(Tabs).show(view.block_names(self._view, self.size.width))
        line, width = self.session.terminal.glyphs.horizontal, self.size.width
        caption, sought = self._view.caption, self.query_one(Seek).words
        if sought:
            found, rows = self.query_one(Table).value.rows, self._view.table.rows
            caption = f"{len(found)} of {len(rows)} rows with '{printable(sought)}' (escape shows all)"
        caption = f"{line} {shorten_middle(caption, width - 4)} "
        self.put("#rule", plain(caption + line * (width - cells_of(caption))))
        self.on_list_moved()
        if self.has_class("-roomy"):
            self._fill_room()

    @work(group="room", exclusive=True)
    async def _fill_room(self) -> None:
        """Show the block's curves, and the filesystem's own times as bars."""
        shown, seen = self._shown, self._view
        if shown is None or seen is None:
            return
        block = seen.race
        # Finished cells stay as they are: a living run is not read again with each of its steps.
        drawn = (shown.folder, block.name, [cell_of(row, block) for row in block.rows]) if block is not None else None
        if block is not None and drawn != self._drawn:
            with self.complaining():
                race = await asyncio.to_thread(read_race, shown.folder, shown.look.state, block)
                self._drawn = drawn
                self.query_one("#curves", Chart).show(Frame(race, race.length_s))
                self.put("#room-rule", plain(view.room_words(race, self.session.terminal.glyphs, self.size.width)))
        glyphs = self.session.terminal.glyphs
        self.query_one("#bars", List).show(lambda width: Texts(view.life_bars(seen, width - 1, glyphs)))

    def on_list_moved(self) -> None:
        shown, seen, key = self._shown, self._view, self.query_one(Table).key

        def told(width: int) -> Texts:
            if shown is None or seen is None or seen.block is None or not key:
                return Texts(())
            return Texts(view.pane_lines(seen, key, shown.findings, width - 1))

        self.query_one("#pane", List).show(told, afresh=True)
