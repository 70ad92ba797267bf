"""What can be done with the run that is looked at: its keys, and what they ask for."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.binding import Binding, BindingType

from fsconsole.client.children import Done, carried_out, failure
from fsconsole.client.control import ask
from fsconsole.errors import ExitCode, FsconsoleError, NotRoot
from fsconsole.journal.folder import RunFolder
from fsconsole.model.observation import Verb
from fsconsole.model.places import DEFAULT_RUNS_DIR
from fsconsole.model.state import OPEN_STATUSES, RunStatus
from fsconsole.plaintext import printable
from fsconsole.tui.screens.ask import AskScreen, resume_question
from fsconsole.tui.screens.base import ConsoleScreen
from fsconsole.tui.screens.confirm import ResumeScreen
from fsconsole.tui.screens.log import LogScreen
from fsconsole.tui.views.control import answer_words, cleaned_words, farewell
from fsconsole.tui.views.plots import Shown
from fsconsole.tui.views.snapshot import Snapshot
from fsconsole.tui.widgets.rowlist import RowList

_LIVING = frozenset({"pause", "skip", "stop_after", "stop_now", "detach"})
_DEAD = frozenset({"cleanup", "resume"})
_SEEN = frozenset({"log", "plotted", "window", "plot_shown"})
OFFERED_AT_TIMES = tuple(sorted(_LIVING | _DEAD | _SEEN))
"""Actions that check_action refuses at times."""


class RunKeys(ConsoleScreen):
    """A screen with a run; subclasses give it its snapshots, and paint."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p", "pause", "Pause", id="run.pause", tooltip="Wait before the next cell, or go on"),
        Binding("k", "skip", "Skip", id="run.skip", tooltip="End this cell, go on with the next"),
        Binding("a", "stop_after", "Stop after", id="run.stop_after", tooltip="Stop after this cell"),
        Binding("ctrl+x", "stop_now", "Stop now", id="run.stop_now", tooltip="Stop in this cell; asks first"),
        Binding("c", "cleanup", "Clean up", id="run.cleanup", tooltip="Give back what a dead engine left"),
        Binding("r", "resume", "Resume", id="run.resume", tooltip="Go on with a run that was cut short"),
        Binding("l", "log", "Log", id="run.log", tooltip="Commands of the marked cell, with their output"),
        Binding("t", "plotted", "Plot", id="run.plotted", tooltip="Plot throughput, dirty memory or CPU"),
        Binding(
            "w",
            "window",
            "Minute",
            id="run.window",
            tooltip="Plot the whole cell or the last minute",
            show=False,
        ),
        Binding("v", "plot_shown", "Plot off", id="run.plot", tooltip="Show the plot or not", show=False),
        Binding("escape", "follow", "Follow", id="run.follow", tooltip="Mark the running cell", show=False),
        Binding("d", "detach", "Detach", id="run.detach", tooltip="Leave the console; the run goes on"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._is_acting = False
        self.snapshot: Snapshot | None = None
        self.faulty = False
        self.plotted = Shown.THROUGHPUT
        self.last_minute = False
        self.plot_shown = True

    def paint(self) -> None:
        """Show what there is; subclasses do."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 (given by Textual)
        """Offer what fits: a living engine can be asked, a dead one cleaned up after."""
        snapshot = self.snapshot
        if action in _LIVING:
            return snapshot is not None and snapshot.alive
        if action in _DEAD:
            return snapshot is not None and not snapshot.alive and self._is_open(snapshot)
        if action in _SEEN:
            return snapshot is not None
        return True

    def _is_open(self, snapshot: Snapshot) -> bool:
        """Return whether something of a run is left to do, or to give back."""
        return snapshot.dead or any(cell.status in OPEN_STATUSES for cell in snapshot.state.cells)

    def action_pause(self) -> None:
        """Ask for a pause, or for its end."""
        if self.snapshot is not None:
            is_paused = self.snapshot.state.status is RunStatus.PAUSED
            self._ask(self.snapshot.folder, Verb.CONTINUE if is_paused else Verb.PAUSE)

    def action_skip(self) -> None:
        """Ask for the next cell."""
        if self.snapshot is not None:
            self._ask(self.snapshot.folder, Verb.SKIP)

    def action_stop_after(self) -> None:
        """Ask for the run's end after this cell."""
        if self.snapshot is not None:
            self._ask(self.snapshot.folder, Verb.STOP_AFTER)

    @work
    async def action_stop_now(self) -> None:
        """Ask for the run's end in this cell, once that is meant."""
        if self.snapshot is None:
            return
        question = (
            "Stop the run now?",
            "What this cell measured is lost; the cells before it are kept. It can be resumed.",
        )
        if await self.app.push_screen_wait(AskScreen(*question, yes="Stop now", no="Go on")):
            self._ask(self.snapshot.folder, Verb.STOP_NOW)

    @work(group="ask")
    async def _ask(self, folder: RunFolder, verb: Verb) -> None:
        """Ask the engine, in a thread: it may take seconds to answer."""
        self.say("Asking the engine ...")
        try:
            answer = await asyncio.to_thread(ask, folder, verb)
        except FsconsoleError as error:
            self.complain(error)
        else:
            self.say(answer_words(verb, answer))

    def action_detach(self) -> None:
        """Leave the console."""
        if self.snapshot is not None:
            words = farewell(self.snapshot.folder.name, self.session.runs_dir, DEFAULT_RUNS_DIR)
            self.app.exit(message=Text(printable(words)))

    @work(group="child")
    async def action_cleanup(self) -> None:
        """Have what this run's dead engine left given back."""
        snapshot = self.snapshot
        if snapshot is None or self._is_acting or not self._has_rights("Cleaning up"):
            return
        # One child at a time, and none is ended by the key being pressed again.
        self._is_acting = True
        try:
            self.say("Cleaning up ...")
            with self.complaining():
                words = ("cleanup", snapshot.folder.name, "--runs", self.session.runs_dir)
                done = await carried_out(self.session.children, *words)
                self.say(cleaned_words(done.out))
        finally:
            self._is_acting = False

    def give_scratch_back(self, snapshot: Snapshot) -> None:
        """Have the scratch device removed that was made for this run alone, as every viewer of a run's end does."""
        over = snapshot.finished and not self._is_open(snapshot)
        if over and snapshot.state.request.owned_scratch and self.session.is_root:
            self.action_cleanup()

    @work(group="child")
    async def action_resume(self) -> None:
        """Have the run taken up again, once that is meant; where devices must be agreed to anew, that is asked too."""
        snapshot = self.snapshot
        if snapshot is None or self._is_acting or not self._has_rights("Resuming a run"):
            return
        self._is_acting = True
        try:
            if await self.app.push_screen_wait(
                resume_question(snapshot.folder.name, snapshot.state.request.plan.targets)
            ):
                with self.complaining():
                    await self._resume(snapshot)
        finally:
            self._is_acting = False

    async def _resume(self, snapshot: Snapshot) -> None:
        self.say("Taking the run up again ...")
        words = ("resume", snapshot.folder.name, "--exact", "--runs", self.session.runs_dir)
        done = await self.session.children.run(*words, "--detach")
        if done.exit_code == ExitCode.CONSENT_MISSING:
            await self._agree_anew(snapshot.folder, done)
        elif done.exit_code:
            self.complain(failure(done))
        else:
            self.say(f"Run {snapshot.folder.name} goes on.")

    async def _agree_anew(self, folder: RunFolder, done: Done) -> None:
        self.complain(failure(done))
        if not self.is_active:
            # Something else is asked by now: an answer that was meant for it must not be taken for this.
            return
        resumed = await self.app.push_screen_wait(ResumeScreen(folder))
        if resumed is not None:
            self.say(f"Run {folder.name} goes on.")

    def _has_rights(self, what: str) -> bool:
        if not self.session.is_root:
            self.complain(NotRoot(what))
        return self.session.is_root

    def action_log(self) -> None:
        """Show the commands of the marked cell."""
        if self.snapshot is not None and self.snapshot.state.cells:
            self.app.push_screen(LogScreen(lambda: self.snapshot, self.query_one("#cells", RowList).cursor))

    def action_plotted(self) -> None:
        """Plot the next of what can be plotted."""
        self.plotted = self.plotted.following
        self._plot_again(f"Plot: {self.plotted.value}.")

    def action_window(self) -> None:
        """Plot the whole cell, or the last minute."""
        self.last_minute = not self.last_minute
        self._plot_again("Plot: the last minute." if self.last_minute else "Plot: the whole cell.")

    def action_plot_shown(self) -> None:
        """Show the plot, or give its lines to the gauges."""
        self.plot_shown = not self.plot_shown
        self.paint()

    def _plot_again(self, words: str) -> None:
        self.plot_shown = True
        self.say(words)
        self.paint()

    def action_follow(self) -> None:
        """Mark the cell at hand again."""
        self.query_one("#cells", RowList).follow()

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        """Open the results of a run that is over, or the log of a cell."""
        event.stop()
        if self.snapshot is not None and self.snapshot.finished:
            self.app.switch_mode("results")
        else:
            self.action_log()
