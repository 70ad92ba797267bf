"""Confirm dialog: what will be lost on each target, and the name that must be typed first."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import partial
from typing import ClassVar

from textual import work
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Button, Input, Static

from fsconsole.client.children import answer, decoded, failure, not_started
from fsconsole.client.runs import file_gone, gone_words
from fsconsole.errors import ChildFailed, ExitCode, FsconsoleError
from fsconsole.journal.folder import RunFolder
from fsconsole.model.answers import PlanAnswer
from fsconsole.model.device import Identity
from fsconsole.model.state import RunState
from fsconsole.show import confirm as view
from fsconsole.show.going import Going, going
from fsconsole.tui import keys
from fsconsole.tui.screens.base import LEAST_COLUMNS, LEAST_LINES, ConsoleScreen
from fsconsole.tui.screens.dialogs import Dialog
from fsconsole.tui.terminal import plain
from fsconsole.tui.watch import in_background
from fsconsole.tui.widgets.lists import List
from fsconsole.tui.widgets.rows import Texts

_CONSENT_CODES = frozenset({ExitCode.CONSENT_MISSING, ExitCode.CONSENT_STALE})
_READY = "F10 starts, and so does Enter on Wipe and run."
_STILL_READING = "Still reading the devices."
_TOO_SMALL = f"Too small to show what is lost: {LEAST_COLUMNS}x{LEAST_LINES} at least."
_LOOK_AGAIN = frozenset({ExitCode.CONSENT_STALE, ExitCode.CONSENT_MISSING, ExitCode.NOT_AS_SHOWN})


class Doing(Enum):
    """States of the dialog."""

    NOTHING = "nothing"
    LOOKING = "looking"
    STARTING = "starting"
    CANCELLING = "cancelling"
    STARTED = "started"


class ConfirmScreen(Dialog[RunFolder]):
    """Shows what a plan would destroy, starts it once that is confirmed, and ends with the run's folder."""

    BINDINGS: ClassVar[list[BindingType]] = keys.bindings("confirm")

    def __init__(
        self,
        plan_path: str,
        ticks: Mapping[str, Identity],
        source_sha256: str,
        commands: Callable[[], Screen[None]] | None = None,
    ) -> None:
        """Take the targets with who each was when it was ticked, and the digest of the plan's text as it was written.

        commands: makes the dialog that shows the plan's commands; None where there is none.
        """
        super().__init__()
        self._commands = commands
        devices = [word for target in ticks for word in ("--device", target)]
        # Without the cells, which may be 10,000: what is looked at is what would be lost.
        self.look_words: Sequence[str] = ("plan", plan_path, *devices, "--cell", "0")
        self.start_words: Sequence[str] = ("run", plan_path, *devices)
        self._ticks = dict(ticks)
        self._source_sha256 = source_sha256
        self._offer: PlanAnswer | None = None
        self._changed: tuple[str, ...] = ()
        self._strayed: tuple[str, ...] = ()
        self._going: tuple[Going, ...] = ()
        """Other runs on this machine."""
        self._doing = Doing.NOTHING
        self._is_wrong = False
        """True while it is said that the name is another one."""
        self._cancel = asyncio.Event()
        self._started: RunFolder | None = None

    def body(self) -> Iterable[Widget]:
        yield List(id="offer")
        yield Static(plain("Reading the devices ..."), id="asking")
        with Horizontal(id="naming"):
            yield Static(plain("Name: "))
            yield Input(id="typed", disabled=True, compact=True, select_on_focus=False)
        with Horizontal(id="answers"):
            yield Button(plain("Back"), id="back", compact=True)
            yield Button(plain("Wipe and run"), id="start", compact=True, disabled=True)

    def on_mount(self) -> None:
        self.query_one("#naming").display = False
        self.query_one("#typed", Input).cursor_blink = False
        self.query_one("#offer").focus()
        self.action_look()

    @work(group="confirm")
    async def action_look(self) -> None:
        if self._doing is Doing.NOTHING:
            await self._look()

    async def _look(self) -> None:
        self._doing = Doing.LOOKING
        self.refresh_bindings()
        self._say("Reading the devices ...")
        try:
            offer = await self._read_offer()
            self._going = await in_background(partial(_others, self.session.runs_dir))
            self._show(offer)
        except FsconsoleError as error:
            self._complain(error)
        finally:
            self._at_rest()

    async def _read_offer(self) -> PlanAnswer:
        """Return what the command says of the plan and its devices now. Raises ChildFailed."""
        done = await self.session.children.run(*self.look_words, "--json", "--runs", self.session.runs_dir)
        try:
            # A refused device ends the command with an error, and is shown all the same.
            return decoded(PlanAnswer, done.out, "plan")
        except ChildFailed as error:
            raise (failure(done) if done.exit_code else error) from error

    def _show(self, offer: PlanAnswer) -> None:
        self._offer = offer
        # A run that is resumed has no ticks: it knows who its devices are, and the command proves them.
        found = view.strays(offer, self._ticks, self._source_sha256) if self._ticks else ()
        for path, _ in found:
            self.session.ticks.pop(path, None)
        self._strayed = tuple(words for _, words in found)
        typed = self.query_one("#typed", Input)
        asked = bool(offer.to_type) and not offer.refused and not self._strayed
        self.query_one("#naming").display = asked
        typed.disabled = not asked
        typed.value = ""
        self._paint()
        start = self.query_one("#start", Button)
        # A button that can't be pressed takes no focus.
        start.disabled = not self._may_start()
        (typed if asked else self.query_one("#offer") if start.disabled else start).focus()
        self._say(_TOO_SMALL if self._is_small else view.asking_words(offer, self._strayed))

    def _paint(self) -> None:
        if self._offer is not None:
            rows = partial(view.offer_rows, self._offer, self._changed, strayed=self._strayed, runs=self._going)
            self.query_one("#offer", List).show(lambda width: Texts(rows(width - 1)))
            self._allow()

    def on_input_changed(self) -> None:
        self._allow()
        if self._is_wrong and self._may_start():
            self._say(_READY)

    def on_resize(self) -> None:
        # Where what would be lost does not fit, nothing is agreed to.
        if self._doing is Doing.NOTHING and self._offer is not None:
            self._say(_TOO_SMALL if self._is_small else view.asking_words(self._offer, self._strayed))
        self._allow()

    def applies(self, action: str) -> bool:
        return action != "start" or (self._doing is Doing.NOTHING and self._may_start())

    def label_of(self, action: str) -> str:
        if action == "start" and self.query_one("#start").has_focus:
            return "Wipe and run (or enter)"
        return super().label_of(action)

    def key_enter(self) -> None:
        """Take Enter where no field and no button does."""
        if self._doing is Doing.LOOKING:
            self._say(_STILL_READING)

    def action_accept(self) -> None:
        """Go to the start: Enter in the field of names must not wipe."""
        if self._doing is Doing.LOOKING:
            self._say(_STILL_READING)
        elif self._may_start():
            self.query_one("#start").focus()
            self._say(_READY)
        elif self._is_small:
            self._say(_TOO_SMALL)
        elif self._offer is not None:
            self._say(f"That is not the name. {view.asking_words(self._offer, self._strayed)}")
            self._is_wrong = True

    def on_button_pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "start":
            self.action_start()
        else:
            self.action_back()

    def action_read(self, pages: int) -> None:
        self.query_one("#offer", List).action_pages(pages)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "commands" or self._commands is not None

    def action_commands(self) -> None:
        if self._commands is not None and self._doing is Doing.NOTHING:
            self.app.push_screen(self._commands())

    def action_back(self) -> None:
        """Close the dialog; a start that is under way is cancelled first, and its outcome shown."""
        if self._doing in (Doing.NOTHING, Doing.LOOKING):
            self.dismiss(None)
        elif self._doing is Doing.STARTED:
            self.dismiss(self._started)
        elif self._doing is Doing.STARTING:
            self._doing = Doing.CANCELLING
            self._cancel.set()
            self._say("Cancelling the start and removing what it made ...")

    def action_close(self) -> None:
        self.action_back()

    def action_start(self) -> None:
        if self._doing is Doing.LOOKING:
            self._say(_STILL_READING)
        elif self._is_small:
            self._say(_TOO_SMALL)
        if self._offer is None or self._doing is not Doing.NOTHING or not self._may_start():
            return
        # Set before the worker runs: the next key may be Escape, which then has to cancel it.
        self._doing, self._cancel = Doing.STARTING, asyncio.Event()
        # Where a second Enter does no harm: the next button is Back, which would cancel.
        self.query_one("#offer").focus()
        self._allow()
        self._say("Starting the run; its devices are checked once more. Escape cancels.")
        self._start(self._offer)

    @work(group="confirm")
    async def _start(self, offer: PlanAnswer) -> None:
        # Not exclusive: a second worker would kill the first one's child, and its run might start unseen.
        # The start is bound to what was agreed to; and to what was shown, but for a run that is resumed.
        consent = ("--consent", offer.consent) if offer.consent else ()
        words = (*self.start_words, *consent, *(("--seen", offer.seen) if self._ticks else ()))
        try:
            started = await self.session.start(self.session.children, self.action_back, self._cancel, *words)
            if started.folder is not None:
                self._started, self._doing = started.folder, Doing.STARTED
                if started.going_on:
                    self._say(f"{started.going_on}  Escape shows it.", "$error")
                else:
                    self.dismiss(started.folder)
            elif started.was_undone:
                self._say("Cancelled: no run was started, and nothing was wiped.")
            elif started.done.exit_code in _LOOK_AGAIN:
                await self._look()
                if self._offer is not None and self._offer is not offer:
                    self._changed = view.changes(offer, self._offer)
                    self._paint()
            else:
                raise not_started(started.done)
        except FsconsoleError as error:
            self._complain(error)
        finally:
            self._at_rest()

    def _may_start(self) -> bool:
        agreed = self._offer is not None and view.may_begin(self._offer, self.query_one("#typed", Input).value)
        return agreed and not self._strayed and not self._is_small

    @property
    def _is_small(self) -> bool:
        size = self.app.size
        return size.width < LEAST_COLUMNS or size.height < LEAST_LINES

    def _allow(self) -> None:
        self.query_one("#start", Button).disabled = not self.applies("start")
        self.refresh_bindings()

    def _at_rest(self) -> None:
        if self._doing is not Doing.STARTED:
            self._doing = Doing.NOTHING
        if self.is_attached:
            self._allow()

    def _say(self, text: str, style: str = "") -> None:
        self._is_wrong = False
        self.query_one("#asking", Static).update(plain(text, style))

    def _complain(self, error: FsconsoleError) -> None:
        self._say(f"{error}  {error.hint}".rstrip(), "$error")


def _others(runs_dir: str) -> tuple[Going, ...]:
    """Return the runs that go on; none where they can't be listed, which the plan's own command says."""
    try:
        return going(runs_dir, time.monotonic_ns())
    except FsconsoleError:
        return ()


class ResumeScreen(ConfirmScreen):
    """The same for a run that is resumed, where it can't be proved that its devices hold only what it made."""

    def __init__(self, folder: RunFolder, offer: PlanAnswer | None = None) -> None:
        """Take what was read of the run and its devices; None: it is still to be read."""
        super().__init__("", {}, "")
        self._heading, self._read = f"Resume run {folder.name}?", offer
        self.look_words = ("resume", folder.name, "--exact", "--show")
        self.start_words = ("resume", folder.name, "--exact")

    async def _read_offer(self) -> PlanAnswer:
        """Return first what was read before this was opened."""
        offer, self._read = self._read, None
        return offer or await super()._read_offer()


async def resume(screen: ConsoleScreen, folder: RunFolder, state: RunState | None) -> bool:
    """Look at a run's devices, ask once, and resume it. No state: it can't be read.

    If its devices need new consent, that question alone is asked. Returns whether the run goes on, which is said on the
    screen, as is what went wrong. Nothing is asked over another question: an answer that was meant for that one would wipe.
    """
    name = folder.name

    def may_ask() -> bool:
        if not screen.is_active:
            screen.say_at_hand(f"Run {name} is not resumed: another screen or dialog is open.")
        return screen.is_active

    if state is not None and (gone := await asyncio.to_thread(file_gone, state)):
        screen.say(gone_words(gone))
        return False
    if not may_ask():
        return False
    screen.say(f"Looking at the devices of run {name} ...")
    where = ("--runs", screen.session.runs_dir)
    with screen.complaining():
        offer = await answer(screen.session.children, PlanAnswer, "resume", name, "--exact", "--show", *where)
        if not may_ask():
            return False
        screen.say("")
        if offer.targets:
            goes_on = await screen.app.push_screen_wait(ResumeScreen(folder, offer)) is not None
        elif not await screen.agreed(f"Resume run {name}?", " ".join(offer.resumes), yes="Resume"):
            return False
        else:
            goes_on = await _start_again(screen, folder, may_ask)
        if goes_on:
            screen.say(f"Run {name} goes on.")
        return goes_on
    return False


async def _start_again(screen: ConsoleScreen, folder: RunFolder, may_ask: Callable[[], bool]) -> bool:
    """Start the engine of a run whose devices needed no consent; ask if they do by now. Raises ChildFailed."""
    screen.say(f"Resuming run {folder.name} ...")
    where = ("--runs", screen.session.runs_dir)
    done = await screen.session.children.run("resume", folder.name, "--exact", "--detach", *where)
    if done.exit_code in _CONSENT_CODES:
        return may_ask() and await screen.app.push_screen_wait(ResumeScreen(folder)) is not None
    if done.exit_code:
        raise failure(done)
    return True
