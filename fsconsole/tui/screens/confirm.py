"""Confirm: what will be lost on each target, and the word that must be typed before anything is."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import ClassVar, cast

from textual import work
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import Button, Input, Static

from fsconsole.client.children import decoded, failure, not_started, not_stopped, started_run, was_undone
from fsconsole.errors import ChildFailed, ExitCode, FsconsoleError
from fsconsole.journal.folder import RunFolder
from fsconsole.model.answers import PlanAnswer
from fsconsole.model.device import Identity
from fsconsole.show.confirm import asking_words, changes, may_begin, offer_rows, strays
from fsconsole.tui.screens.base import ConsoleScreen, Host, Session
from fsconsole.tui.screens.dialogs import Dialog
from fsconsole.tui.terminal import plain
from fsconsole.tui.widgets.lists import List
from fsconsole.tui.widgets.rows import Texts

_CONSENT_CODES = frozenset({ExitCode.CONSENT_MISSING, ExitCode.CONSENT_STALE})
_LOOK_AGAIN = frozenset({ExitCode.CONSENT_STALE, ExitCode.CONSENT_MISSING, ExitCode.NOT_AS_SHOWN})


class Doing(Enum):
    """What goes on behind the screen."""

    NOTHING = "nothing"
    LOOKING = "looking"
    STARTING = "starting"
    CANCELLING = "cancelling"
    BEGUN = "begun"


class ConfirmScreen(Dialog[RunFolder]):
    """Shows what a plan would destroy, starts it once that was agreed to, and ends with the run's folder."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "start", "Start", id="confirm.start", tooltip="Wipe the devices and start the run", priority=True),
        Binding("escape", "back", "Back", id="confirm.back", tooltip="Go back; cancel a start", priority=True),
        Binding("f5", "look", "Look again", id="confirm.look", tooltip="Read the devices again"),
        Binding("up,pageup", "read(-1)", "Up", id="confirm.up", tooltip="Read further up", show=False),
        Binding("down,pagedown", "read(1)", "Down", id="confirm.down", tooltip="Read on", show=False),
    ]  # fmt: skip

    def __init__(self, plan_path: str, ticks: Mapping[str, Identity], source_sha256: str) -> None:
        """Take the targets with who each was when it was ticked, and the digest of the plan's text as it was written."""
        super().__init__()
        devices = [word for target in ticks for word in ("--device", target)]
        # Without the cells, which may be 10,000: what is looked at is what would be lost.
        self.look_words: Sequence[str] = ("plan", plan_path, *devices, "--cell", "0")
        self.start_words: Sequence[str] = ("run", plan_path, *devices)
        self._ticks = dict(ticks)
        self._source_sha256 = source_sha256
        self._offer: PlanAnswer | None = None
        self._changed: tuple[str, ...] = ()
        self._strayed: tuple[str, ...] = ()
        self._doing = Doing.NOTHING
        self._cancel = asyncio.Event()
        self._begun: RunFolder | None = None

    @property
    def session(self) -> Session:
        """What all screens share."""
        return cast("Host", self.app).session

    def body(self) -> Iterable[Widget]:
        yield List(id="offer")
        yield Static(plain("Reading the devices ..."), id="asking")
        with Horizontal(id="naming"):
            yield Static(plain("Name: "))
            yield Input(id="typed", disabled=True, compact=True, select_on_focus=False)
        with Horizontal(id="answers"):
            yield Button(plain("esc  Back"), id="back", compact=True)
            yield Button(plain("ctrl+s  Wipe and run"), id="start", compact=True, disabled=True)

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
        self._say("Reading the devices ...")
        try:
            self._show(await self._offered())
        except FsconsoleError as error:
            self._complain(error)
        finally:
            self._at_rest()

    async def _offered(self) -> PlanAnswer:
        """Return what the command says; a refused device ends it with an error, and is shown all the same."""
        done = await self.session.children.run(*self.look_words, "--json", "--runs", self.session.runs_dir)
        try:
            return decoded(PlanAnswer, done.out, "plan")
        except ChildFailed as error:
            raise (failure(done) if done.exit_code else error) from error

    def _show(self, offer: PlanAnswer) -> None:
        self._offer = offer
        self._strayed = self._drop_strays(offer)
        typed = self.query_one("#typed", Input)
        asked = bool(offer.to_type) and not offer.refused and not self._strayed
        self.query_one("#naming").display = asked
        typed.disabled = not asked
        typed.value = ""
        if asked:
            typed.focus()
        else:
            self.query_one("#offer").focus()
        self._paint()
        self._say(asking_words(offer, self._strayed))

    def _drop_strays(self, offer: PlanAnswer) -> tuple[str, ...]:
        found = strays(offer, self._ticks, self._source_sha256)
        for path, _ in found:
            self.session.ticks.pop(path, None)
        return tuple(words for _, words in found)

    def _paint(self) -> None:
        if (offer := self._offer) is not None:
            changed, strayed = self._changed, self._strayed
            make = lambda width: Texts(offer_rows(offer, changed, width - 1, strayed))  # noqa: E731
            self.query_one("#offer", List).show(make)
            self._allow()

    def on_input_changed(self) -> None:
        self._allow()

    def on_input_submitted(self) -> None:
        self._say(
            "Ctrl+s starts; Enter alone wipes nothing." if self._may_begin() else "That is not the name."
        )

    def on_button_pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "start":
            self.action_start()
        else:
            self.action_back()

    def action_read(self, pages: int) -> None:
        self.query_one("#offer", List).action_pages(pages)

    def action_back(self) -> None:
        """Leave everything as it is; a start that goes on is cancelled, and what became of it is told."""
        if self._doing in (Doing.NOTHING, Doing.LOOKING):
            self.dismiss(None)
        elif self._doing is Doing.BEGUN:
            self.dismiss(self._begun)
        elif self._doing is Doing.STARTING:
            self._doing = Doing.CANCELLING
            self._cancel.set()
            self._say("Cancelling the start and removing what it made ...")

    def action_start(self) -> None:
        """Begin, where that was agreed to; once, however long the key is held."""
        if self._offer is None or self._doing is not Doing.NOTHING or not self._may_begin():
            return
        # Before its worker comes to work: the next key may be Escape, which then has to cancel it.
        self._doing, self._cancel = Doing.STARTING, asyncio.Event()
        self._allow()
        self._say("Starting the run; its devices are checked once more. Escape cancels.")
        self._begin(self._offer)

    @work(group="confirm")
    async def _begin(self, offer: PlanAnswer) -> None:
        # Not exclusive: a second worker would end the first one's child in the middle, and the run begin unseen.
        try:
            with self.session.starting(self.action_back):
                await self._start(offer)
        except FsconsoleError as error:
            self._complain(error)
        finally:
            self._at_rest()

    async def _start(self, offer: PlanAnswer) -> None:
        words = (
            *self.start_words,
            *self.bound_to(offer),
            "--detach",
            "--json",
            "--runs",
            self.session.runs_dir,
        )
        done = await self.session.children.run_or_end(self._cancel, *words)
        folder = started_run(done, self.session.runs_dir)
        if folder is not None:
            await self._end_with(folder)
        elif self._cancel.is_set() and was_undone(done):
            self._say("Cancelled: no run was started, and nothing was wiped.")
        elif done.exit_code in _LOOK_AGAIN:
            await self._look_again(offer)
        else:
            raise not_started(done)

    async def _end_with(self, folder: RunFolder) -> None:
        # Whatever the command's exit code: once it has told its run, only this console can stop that.
        self._begun, self._doing = folder, Doing.BEGUN
        going_on = await asyncio.to_thread(not_stopped, folder) if self._cancel.is_set() else ""
        if going_on:
            self.session.unstopped.append(going_on)
            self._say(f"{going_on}  Escape shows it.", "$error")
        else:
            self.dismiss(folder)

    def bound_to(self, offer: PlanAnswer) -> tuple[str, ...]:
        """Return the words that bind a start to what was agreed to, and to what was shown."""
        consent = ("--consent", offer.consent) if offer.consent else ()
        return (*consent, "--seen", offer.seen)

    async def _look_again(self, offer: PlanAnswer) -> None:
        await self._look()
        if self._offer is not None and self._offer is not offer:
            self._changed = changes(offer, self._offer)
            self._paint()

    def _may_begin(self) -> bool:
        agreed = self._offer is not None and may_begin(self._offer, self.query_one("#typed", Input).value)
        return agreed and not self._strayed

    def _allow(self) -> None:
        idle = self._doing is Doing.NOTHING
        self.query_one("#start", Button).disabled = not (idle and self._may_begin())

    def _at_rest(self) -> None:
        if self._doing is not Doing.BEGUN:
            self._doing = Doing.NOTHING
        if self.is_attached:
            self._allow()

    def _say(self, text: str, style: str = "") -> None:
        self.query_one("#asking", Static).update(plain(text, style))

    def _complain(self, error: FsconsoleError) -> None:
        self._say(f"{error}  {error.hint}".rstrip(), "$error")


class ResumeScreen(ConfirmScreen):
    """The same for a run that is taken up again, where it can't be proved that its devices hold only what it made."""

    def __init__(self, folder: RunFolder) -> None:
        super().__init__("", {}, "")
        self.look_words = ("resume", folder.name, "--exact", "--show")
        self.start_words = ("resume", folder.name, "--exact")

    def bound_to(self, offer: PlanAnswer) -> tuple[str, ...]:
        """Return the consent: it is asked for every device that is shown, scratch devices too."""
        return ("--consent", offer.consent) if offer.consent else ()

    def _drop_strays(self, offer: PlanAnswer) -> tuple[str, ...]:
        # Its devices were not ticked: the run knows who they are, and the command proves them.
        return ()


async def resume(screen: ConsoleScreen, folder: RunFolder, targets: Iterable[str]) -> bool:
    """Resume a run, once that is meant; where its devices must be agreed to anew, that is asked too.

    Returns whether it goes on; what went wrong is said on the screen. Nothing is asked over what is asked by now: an
    answer that was meant for another question would wipe.
    """
    name = folder.name

    def may_ask() -> bool:
        if not screen.is_active:
            screen.say_at_hand(f"Run {name} is not resumed: another screen or dialog is open.")
        return screen.is_active

    wiped = ", ".join(targets) or "its devices"
    told = f"It continues where it ended: {wiped} is wiped again for each cell that is left."
    if not may_ask():
        return False
    if not await screen.agreed(f"Resume run {name}?", told, yes="Resume"):
        return False
    screen.say(f"Looking at the devices of run {name} ...")
    with screen.complaining():
        where = ("--runs", screen.session.runs_dir)
        done = await screen.session.children.run("resume", name, "--exact", "--detach", *where)
        if not done.exit_code:
            return True
        screen.complain(failure(done))
        if done.exit_code in _CONSENT_CODES and may_ask():
            return await screen.app.push_screen_wait(ResumeScreen(folder)) is not None
    return False
