"""Run screen: follows a run's journal; requests to its engine go through the control socket."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import ClassVar

from textual import events, work
from textual.binding import BindingType
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from fsconsole.client.children import ask
from fsconsole.client.runs import gone_words
from fsconsole.errors import FsconsoleError
from fsconsole.errors.runs import CellNotSkipped, RunOver
from fsconsole.model.events import InCell, Verb
from fsconsole.model.sample import Sample
from fsconsole.model.state import OPEN_STATUSES, RunState, RunStatus
from fsconsole.show import run as view
from fsconsole.show.charts import GaugeValue
from fsconsole.show.gauges import age_words, gauges
from fsconsole.show.going import living
from fsconsole.show.history import RunSnapshot, Trace
from fsconsole.show.progress import describe_cell
from fsconsole.show.race import Ranking, RankingTable, ranking_table
from fsconsole.text import cells_of
from fsconsole.tui import keys
from fsconsole.tui.bridge import Bridge
from fsconsole.tui.screens.base import ConsoleScreen
from fsconsole.tui.screens.confirm import resume
from fsconsole.tui.screens.dialogs import AskScreen
from fsconsole.tui.screens.log import LogScreen
from fsconsole.tui.terminal import plain
from fsconsole.tui.widgets.charts import Chart
from fsconsole.tui.widgets.lists import List
from fsconsole.tui.widgets.rows import Keyed, Numbered, Spans

_FIGURES_S = 1.0
"""Between paintings while nothing comes but samples: rings have a slot a second, and times are told in seconds."""


class RaceRows(Keyed):
    """The ranking: a row a variant, with its bar."""

    head = 1
    is_pointed = True

    def __init__(self, table: RankingTable, full: str) -> None:
        super().__init__([line.row.name for line in table.lines])
        self.table, self._full = table, full

    def spans(self, line: int) -> Spans:
        found = self.table.lines[line]
        tone = "strong" if found.row.is_running else "" if found.row.rounds else "weak"
        bar = (self._full * found.bar).ljust(self.table.bar)
        return ((found.before, tone), (bar, "primary"), (found.after, tone))

    def head_spans(self, y: int, cursor: int, page: int) -> Spans:
        return ((f"  {self.table.head}", "head"),)


_LIVING = frozenset({"pause", "skip", "stop_after", "stop_now", "detach"})
_LIVING_KEYS = frozenset(
    name for key in keys.KEYS for use in key.uses if use.place == "run" and use.action in _LIVING for name in key.keys
)
_DEAD = frozenset({"cleanup", "resume"})
_SEEN = frozenset({"log", "plotted", "window", "cell"})
OFFERED_AT_TIMES = tuple(sorted(_LIVING | _DEAD | _SEEN))
"""Actions that check_action refuses at times."""


_TITLE, _EVENT = 1, 1
_MOST_STEP = 2
_NOTHING = "No run is shown. Plan one (2) and start it, or open one of the list (5)."


class RunScreen(ConsoleScreen):
    """Follows one run while it is running, and shows how it ended."""

    class Arrived(Message, bubble=False):
        """The bridge has something to take."""

    CSS_PATH = "run.tcss"
    MODE: ClassVar[str] = "run"
    HELP: ClassVar[str] = (
        "The variants of a run, ranked so far, and its running cell.\n"
        "The console only watches: the run continues when you leave it, and when the terminal is lost.\n"
        "\n"
        "cells        ended, of those that can run; repeated: cells of a round that\n"
        "             was disturbed and runs again, after the planned ones\n"
        "n            rounds that a figure and its bar are of; 4 has the verdicts\n"
        "vs           difference from the baseline over the rounds that both have\n"
        "             finished; in brackets, (-30 %), while one of them has more:\n"
        "             it is of the same n of both, the figures beside it are not\n"
        "chart        disk: what the targets move; app: what the workload sees;\n"
        "             faint: the last finished cell of the same variant\n"
        "60 s         the last minute; the gap moves, the newest is left of it\n"
        "dirty RAM    of the whole machine, all its devices: written, but only in\n"
        "             memory yet, and lost if power fails; from bg on the kernel\n"
        "             writes it out, at the limit writers wait\n"
        "write, read  what the targets move, against raw or the best rate so far\n"
        "busy         share of time with requests; their number; time of one\n"
        "writeback    the kernel's estimate of the device's speed\n"
        "inodes       dirty / being written / for later\n"
        "I/O wait     share of time in which some tasks, or all, waited for I/O"
    )

    GUIDE: ClassVar[str] = (
        "3 of 5: a run as it is watched: ranking, the cell's steps, curves, gauges. "
        "This one is over: l shows its log, 4 its results."
    )
    BINDINGS: ClassVar[list[BindingType]] = keys.bindings("run")

    def __init__(self) -> None:
        super().__init__()
        self.snapshot: RunSnapshot | None = None
        self.faulty = False
        self.plotted = view.Plotted.MOVED
        self.last_minute = False
        self._bridge: Bridge | None = None
        self._offered: tuple[object, ...] = ()
        self._asking = asyncio.Lock()
        self._asked: dict[Verb, bool] = {}
        """Pauses and stops that were asked for, or taken back, until the journal has them."""
        self._answered: tuple[str, Verb, int | None] | None = None
        """The engine's last answer in words, to what, and the cell that ran then."""
        self._question: tuple[InCell, str] | None = None
        """The cell that an open question is about, and what to show once another one runs."""
        self._gauges: tuple[GaugeValue, ...] = ()
        self._painted_s = 0.0
        """When, by the monotonic clock."""
        self._state: RunState | None = None
        self._ranked: tuple[Ranking | None, object] = (None, None)
        """Ranking, liveness, size and cursor of the rows drawn last; equal ones need no redraw."""
        self._heights: view.RunHeights | None = None
        self._sample: Sample | None = None
        self._ghost: Trace | None = None
        self._known: object = None
        self._charted: object = None
        """What the charts were made of: figures, and place, beside the sample and the ghost."""

    def content(self) -> Iterable[Widget]:
        yield Static(plain(""), id="title")
        yield List(id="cells")
        yield Static(plain(""), id="step")
        yield Chart(id="plot")
        yield Chart(id="gauges")
        yield Static(plain(""), id="event")
        yield Static(plain(_NOTHING), id="nothing")

    def on_mount(self) -> None:
        self.app.mode_change_signal.subscribe(self, self._on_mode)
        self.set_interval(1 / self.session.terminal.paint_hz, self._paint_news)

    def on_screen_resume(self) -> None:
        self._follow()

    def on_unmount(self) -> None:
        self._leave()

    def _on_mode(self, mode: str) -> None:
        # A hidden screen reads no journal.
        if mode == self.MODE:
            self._follow()
        else:
            self._leave()

    def _follow(self) -> None:
        if self.session.folder is None:
            with self.complaining():
                self.session.folder = living(self.session.runs_dir)
        folder = self.session.folder
        self.set_class(folder is None, "-nothing")
        if folder is None or (self._bridge is not None and self._bridge.folder == folder):
            return
        self._leave()
        if self.snapshot is not None and self.snapshot.folder != folder:
            self.snapshot = None
            # The footer offers nothing until the other run is read.
            self._offered = ()
            self._asked.clear()
            self.query_one("#cells", List).was_moved = False
        self.set_class(self.snapshot is None, "-unread")
        if self.snapshot is None:
            self._put("#step", "Reading the run ...")
        self._bridge = Bridge(folder, self._tell)
        self._bridge.start()

    def _leave(self) -> None:
        if self._bridge is not None:
            self._bridge.stop()
            self._bridge = None

    def _tell(self) -> None:
        """Notify the screen of a new snapshot; called from the bridge's thread."""
        # The loop may be closed by now: the console ends without waiting for the bridge.
        with suppress(RuntimeError):
            self.post_message(self.Arrived())

    def on_run_screen_arrived(self) -> None:
        taken = self._bridge.take() if self._bridge is not None else None
        if isinstance(taken, FsconsoleError):
            self.complain(taken)
            self.faulty = True
            if self.snapshot is None:
                self._put("#step", "The run can't be read; it is tried again every second.")
        elif isinstance(taken, Exception):
            raise taken
        elif taken is not None:
            if self.faulty:
                self.say("")
                self.faulty = False
            before, self.snapshot = self.snapshot, taken
            self._asked = {verb: is_on for verb, is_on in self._asked.items() if is_on != self._is_journalled(verb)}
            self._offer_keys()
            over = taken.finished and not self._is_open(taken)
            # The scratch device that was made for this run alone is removed, as every viewer of a run's end does.
            own = over and taken.state.request.owned_scratch and self.session.is_root
            if self._question is not None and taken.state.running_cell != self._question[0]:
                self._warn_in_question(self._question[1])
            if before is not None and before.alive and not taken.alive:
                if own:
                    self.action_cleanup()
                self._warn_in_question("The run has ended meanwhile.")
            if before is None:
                self.remove_class("-unread")
                self.call_after_refresh(self.paint)

    def _warn_in_question(self, words: str) -> None:
        if isinstance(self.app.screen, AskScreen):
            self.app.screen.complain(words)

    def _offer_keys(self) -> None:
        """Have the footer tell what the keys do now, where that has changed: it repaints itself, and has the screen laid out."""
        offered = (
            *(self.check_action(action, ()) for action in OFFERED_AT_TIMES),
            *map(self.label_of, ("cell", "pause", "stop_after")),
            self.applies("resume"),
        )
        if offered != self._offered:
            self._offered = offered
            self.refresh_bindings()

    def say(self, text: str, *, style: str = "") -> None:
        super().say(text, style=style)
        self.call_after_refresh(self.paint)

    def on_resize(self) -> None:
        super().on_resize()
        self.call_after_refresh(self.paint)

    def _paint_news(self) -> None:
        snapshot = self.snapshot
        if snapshot is None:
            return
        if time.monotonic() - self._painted_s >= _FIGURES_S or self._has_news(snapshot):
            self.paint()

    def _has_news(self, snapshot: RunSnapshot) -> bool:
        """Return whether there is more than another sample, with which figures move."""
        known = self._state
        if known is None or snapshot.sample is self._sample:
            return snapshot.state is not known or self._has_figures(snapshot)
        return replace(snapshot.state, last_sample=None) != replace(known, last_sample=None)

    def _has_figures(self, snapshot: RunSnapshot) -> bool:
        """Return whether there are other figures than those painted; the past of a run that is opened comes in parts."""
        is_same = snapshot.sample is self._sample and snapshot.history.ghost is self._ghost
        return not is_same or _known(snapshot) != self._known

    def paint(self) -> None:
        snapshot = self.snapshot
        if snapshot is None or self.app.current_mode != self.MODE or self._is_covered:
            return
        self._forget_answer(snapshot)
        now_ns = time.monotonic_ns()
        width = self.size.width
        self._put("#title", view.title_line(snapshot, now_ns, width))
        age = age_words(snapshot.sample, now_ns, alive=snapshot.alive)
        step = view.step_line(snapshot, now_ns, width - (cells_of(age) + 4 if age else 0))
        self._put("#step", "  ".join(filter(None, (step, f"({age})" if age else ""))))
        self._put("#event", view.event_line(snapshot, width))
        has_figures = self._has_figures(snapshot)
        if has_figures:
            self._gauges = gauges(snapshot)
        heights = self._share_out(snapshot, len(self._gauges))
        if heights != self._heights:
            # The list has room for as many rows only when it is laid out.
            self._heights = heights
            self.call_after_refresh(self.paint)
        self._show_rows(snapshot)
        self._painted_s, self._state = time.monotonic(), snapshot.state
        of = (heights, self.plotted, self.last_minute, self.size)
        if not has_figures and of == self._charted:
            return
        self._sample, self._ghost = snapshot.sample, snapshot.history.ghost
        self._known, self._charted = _known(snapshot), of
        self.query_one("#gauges", Chart).show(self._gauges)
        if heights.plot:
            value = view.strips(snapshot, self.plotted, last_minute=self.last_minute, width=width)
            self.query_one("#plot", Chart).show(value)

    def _forget_answer(self, snapshot: RunSnapshot) -> None:
        """Take the engine's answer away once the title says that it is so."""
        if self._answered is None:
            return
        text, verb, cell = self._answered
        if view.has_come(verb, cell, snapshot):
            self._answered = None
            if self.said == text:
                self.say("")

    @property
    def _is_covered(self) -> bool:
        """True if a cell is shown instead; dialogs leave this screen in sight."""
        return self.app.screen is not self and isinstance(self.app.screen, ConsoleScreen)

    def _show_rows(self, snapshot: RunSnapshot) -> None:
        """Show the ranking, or the cells where there is nothing to rank."""
        listed, ranking = self.query_one("#cells", List), snapshot.ranking
        if ranking is not None:
            how = (snapshot.alive, listed.size, listed.was_moved)
            if ranking is self._ranked[0] and how == self._ranked[1]:
                return
            self._ranked = ranking, how
            full = self.session.terminal.glyphs.full
            running = next((row.name for row in ranking.rows if row.is_running), "")

            def ranked(width: int) -> RaceRows:
                most = max(1, listed.size.height - RaceRows.head)
                return RaceRows(ranking_table(ranking, width - len("> ") - 1, most, alive=snapshot.alive), full)

            listed.show(ranked, at="" if listed.was_moved else running)
            return
        self._ranked = None, None
        count, row = len(snapshot.state.cells), partial(view.cell_row, snapshot)
        at = "" if listed.was_moved else str(view.cell_in_sight(snapshot.state))
        listed.show(lambda width: Numbered(count, row, width), at=at)

    def _marked_cell(self) -> int:
        """Return the cell at the cursor: of a variant its running or latest one."""
        listed = self.query_one("#cells", List)
        rows = listed.rows
        return rows.table.lines[listed.cursor].row.cell if isinstance(rows, RaceRows) else listed.cursor

    def _put(self, selector: str, text: str) -> None:
        before, width = str(self.query_one(selector, Static).content), self.size.width
        # A new layout of the screen takes as long as to paint it, and is of use only where a text needs more lines.
        self.put(selector, plain(text), layout=_lines_of(before, width) != _lines_of(text, width))

    def _share_out(self, snapshot: RunSnapshot, gauge_count: int) -> view.RunHeights:
        step = 1 + (cells_of(str(self.query_one("#step", Static).content)) - 1) // max(1, self.size.width)
        free = self.query_one("#content").size.height - _TITLE - min(step, _MOST_STEP) - _EVENT
        rows = len(snapshot.state.cells) if snapshot.ranking is None else 1 + len(snapshot.ranking.rows)
        room = view.room_for(free, rows=rows, gauges=gauge_count, plot=self.plotted is not view.Plotted.NOTHING)
        for selector, height in (("#cells", room.rows), ("#gauges", room.gauges), ("#plot", room.plot)):
            widget = self.query_one(selector)
            widget.display = height > 0
            widget.styles.height = max(1, height)
        return room

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        snapshot = self.snapshot
        if action in _LIVING:
            return snapshot is not None and snapshot.alive
        if action in _DEAD:
            return snapshot is not None and not snapshot.alive and self._is_open(snapshot)
        if action in _SEEN:
            return snapshot is not None
        return True

    def label_of(self, action: str) -> str:
        if action == "pause":
            return "Continue" if self._is_wanted(Verb.PAUSE) else ""
        if action == "stop_after":
            return "Go on" if self._is_wanted(Verb.STOP_AFTER) else ""
        return "Results" if action == "cell" and self.snapshot is not None and _is_over(self.snapshot) else ""

    def applies(self, action: str) -> bool:
        if action == "resume":
            return self.snapshot is None or not self.snapshot.file_gone
        return action != "cleanup" or (self.snapshot is not None and self.snapshot.dead)

    def _is_open(self, snapshot: RunSnapshot) -> bool:
        if snapshot.is_imported:
            return False
        return snapshot.dead or any(cell.status in OPEN_STATUSES for cell in snapshot.state.cells)

    def action_pause(self) -> None:
        self._toggle(Verb.PAUSE)

    @work
    async def action_skip(self) -> None:
        cell, name = self._running_cell, self._running_cell_words()
        if cell is None:
            self.say("The run is between cells: there is nothing to skip.")
            return
        told = "The step that runs now is lost; finished steps keep their figures. The run goes on with the next cell."
        late = f"Cell {cell.cell + 1} is finished: y skips nothing, and S asks about the next cell."
        if await self._agreed_in(cell, late, f"Skip {name}?", told, yes="Skip"):
            self._ask(Verb.SKIP, cell)

    async def _agreed_in(self, cell: InCell | None, late: str, question: str, told: str, *, yes: str) -> bool:
        """Ask a question about the running cell; late is shown below it once another cell runs."""
        self._question = (cell, late) if cell is not None else None
        try:
            return await self.agreed(question, told, yes=yes)
        finally:
            self._question = None

    @property
    def _running_cell(self) -> InCell | None:
        return None if self.snapshot is None else self.snapshot.state.running_cell

    def _running_cell_words(self) -> str:
        """Return the running cell by number, variant and round; empty between cells."""
        snapshot = self.snapshot
        if snapshot is None or snapshot.state.current_cell is None:
            return ""
        index = snapshot.state.current_cell
        return describe_cell(snapshot.state, index, snapshot.names.texts[index])

    def action_stop_after(self) -> None:
        self._toggle(Verb.STOP_AFTER)

    def _toggle(self, verb: Verb) -> None:
        """Ask for a pause or a stop after the cell, or take it back; a key pressed twice at once does both in turn."""
        is_stopping = self._is_wanted(Verb.STOP_AFTER)
        if self._is_wanted(verb):
            self._asked = dict.fromkeys((Verb.PAUSE, Verb.STOP_AFTER), False)
            self._ask(Verb.CONTINUE, said=view.TAKEN_BACK if is_stopping else "")
        else:
            self._asked[verb] = True
            self._ask(verb, self._running_cell)
        self._offer_keys()

    def _is_wanted(self, verb: Verb) -> bool:
        """Return whether a pause or a stop was asked for here, or, by the journal, by anybody."""
        return self._asked.get(verb, self._is_journalled(verb))

    def _is_journalled(self, verb: Verb) -> bool:
        if self.snapshot is None:
            return False
        state = self.snapshot.state
        return state.stops_after if verb is Verb.STOP_AFTER else state.status is RunStatus.PAUSED

    @work
    async def action_stop_now(self) -> None:
        told = "The step that runs now is lost; finished steps keep their figures. Resuming the run repeats the cell."
        cell, name = self._running_cell, self._running_cell_words()
        question = f"Stop the run now{f', in {name}' if name else ''}?"
        late = "That cell is finished: y stops the run in the cell that runs then."
        if await self._agreed_in(cell, late, question, told, yes="Stop now"):
            self._ask(Verb.STOP_NOW, cell)

    @work(group="ask")
    async def _ask(self, verb: Verb, cell: InCell | None = None, *, said: str = "") -> None:
        """Ask the engine, in a thread: it may take seconds to answer; one request after the other."""
        async with self._asking:
            if self.snapshot is None:
                return
            if not self.snapshot.alive:
                self._say_over(self.snapshot)
                return
            self.say("Asking the engine ...")
            try:
                answer = await asyncio.to_thread(ask, self.snapshot.folder, verb, cell)
            except RunOver:
                self._say_over(self.snapshot)
            except CellNotSkipped as error:
                self.say(f"{error} S skips the cell that runs now.", style="$error")
            except FsconsoleError as error:
                self._asked.clear()
                self._offer_keys()
                self.complain(error)
            else:
                told = said or view.answer_words(verb, answer, self.snapshot.folder)
                self._answered = (told, verb, self.snapshot.state.current_cell)
                self.say(told)

    def on_key(self, event: events.Key) -> None:
        """Say why a key of a living run does nothing once the run has ended."""
        if self.snapshot is not None and not self.snapshot.alive and event.key in _LIVING_KEYS:
            self._say_over(self.snapshot)

    def _say_over(self, snapshot: RunSnapshot) -> None:
        self._asked.clear()
        is_open = self._is_open(snapshot) and not snapshot.file_gone
        self.say(view.over_words(snapshot.folder.name, is_open=is_open))

    async def action_detach(self) -> None:
        await self.app.action_quit()

    def action_cleanup(self) -> None:
        snapshot = self.snapshot
        if snapshot is not None and not self.is_busy("child") and self.may("Cleaning up"):
            self.say("Cleaning up ...")
            words = ("cleanup", snapshot.folder.name, "--runs", self.session.runs_dir)
            self.run_worker(self.act(words, view.cleaned_words), group="child")

    def action_resume(self) -> None:
        snapshot = self.snapshot
        if snapshot is not None and snapshot.file_gone:
            self.say(gone_words(snapshot.file_gone))
        elif snapshot is not None and not self.is_busy("child") and self.may("Resuming a run"):
            self.run_worker(resume(self, snapshot.folder, snapshot.state), group="child")

    def action_cell(self) -> None:
        """Show the marked variant's running or latest cell, or the marked one, with others of its row; of a finished run its results."""
        # Here, since nobody needs it who only watches.
        from fsconsole.tui.screens.cell import CellScreen  # noqa: PLC0415

        snapshot = self.snapshot
        if snapshot is not None and _is_over(snapshot):
            self.app.switch_mode("results")
            return
        if snapshot is None or not snapshot.state.cells:
            return
        cell, ranking = self._marked_cell(), snapshot.ranking
        rows = () if ranking is None else ranking.block.rows
        row = next((one.row for one in rows if cell in one.row.indexes), None)
        indexes, name = ((cell,), snapshot.names.texts[cell]) if row is None else (row.indexes, row.name)
        self.app.push_screen(CellScreen(snapshot.folder, indexes, name, at=cell, tab=self.MODE))

    def action_log(self) -> None:
        if self.snapshot is not None and self.snapshot.state.cells:
            self.app.push_screen(LogScreen(lambda: self.snapshot, self._marked_cell()))

    def action_plotted(self) -> None:
        self.plotted = self.plotted.following
        self._plot_again(f"Chart: {self.plotted.value}.")

    def action_window(self) -> None:
        self.last_minute = not self.last_minute
        self._plot_again("Chart: the last minute." if self.last_minute else "Chart: the whole cell.")

    def _plot_again(self, words: str) -> None:
        self.say(words)
        self.paint()

    def action_follow(self) -> None:
        self.query_one("#cells", List).was_moved = False
        # A move that was never painted left this key unchanged: without a reset the cursor would stay.
        self._ranked = None, None
        self.paint()

    def on_list_opened(self, event: List.Opened) -> None:
        event.stop()
        self.action_cell()


def _known(snapshot: RunSnapshot) -> object:
    """Return what figures are drawn by, beside the sample and the ghost."""
    history = snapshot.history
    sizes = (len(history.recent), len(history.current.points) if history.current else 0)
    best = (history.best_write_bytes_s, history.best_read_bytes_s)
    return best, sizes, snapshot.state.current_step, snapshot.alive


def _lines_of(text: str, width: int) -> int:
    if cells_of(text) <= width:
        return min(len(text), 1)
    return plain(text).get_height({}, width)


def _is_over(snapshot: RunSnapshot) -> bool:
    """Return whether a run has nothing to come here: its results are what is left of it."""
    return snapshot.finished or snapshot.is_imported
