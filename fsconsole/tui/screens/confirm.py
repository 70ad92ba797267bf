"""Confirm: what will be lost on each target, and the word that must be typed before anything is."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static

from fsconsole.client.children import Done, failure
from fsconsole.errors import ChildFailed, ExitCode, FsconsoleError
from fsconsole.journal.folder import RunFolder
from fsconsole.tui.plaintext import plain
from fsconsole.tui.session import Session
from fsconsole.tui.views.confirm import Offer, asking_words, changes, may_begin, offer_of, offer_rows
from fsconsole.tui.widgets.rowlist import RowList

if TYPE_CHECKING:
    from fsconsole.tui.app import ConsoleApp


class ConfirmScreen(ModalScreen[RunFolder | None]):
    """Shows what a plan would destroy, starts it once that was agreed to, and ends with the run's folder."""

    CSS_PATH = "confirm.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "start", "Start", id="confirm.start", tooltip="Wipe, and begin", priority=True),
        Binding("escape", "back", "Back", id="confirm.back", tooltip="Nothing is touched", priority=True),
        Binding("f5", "look", "Look again", id="confirm.look", tooltip="Read the devices again"),
        Binding("up,pageup", "read(-1)", "Up", id="confirm.up", tooltip="Read further up", show=False),
        Binding("down,pagedown", "read(1)", "Down", id="confirm.down", tooltip="Read on", show=False),
    ]

    def __init__(self, plan_path: str, targets: tuple[str, ...]) -> None:
        super().__init__()
        devices = [word for target in targets for word in ("--device", target)]
        # Without the cells, which may be 10,000: what is looked at is what would be lost.
        self.look_words: Sequence[str] = ("plan", plan_path, *devices, "--cell", "0")
        self.start_words: Sequence[str] = ("run", plan_path, *devices)
        self._offer: Offer | None = None
        self._changed: tuple[str, ...] = ()
        self._busy = False

    @property
    def session(self) -> Session:
        """What all screens share."""
        return cast("ConsoleApp", self.app).session

    def compose(self) -> ComposeResult:
        """Give the text, the line to type in, and two buttons of which none has the focus."""
        with Vertical(id="confirm"):
            yield RowList(id="offer", has_cursor=False)
            yield Static(plain("Reading the devices ..."), id="asking")
            with Horizontal(id="naming"):
                yield Static(plain("Name: "))
                yield Input(id="typed", disabled=True, compact=True, select_on_focus=False)
            with Horizontal(id="answers"):
                yield Button(plain("esc  Back"), id="back", compact=True)
                yield Button(plain("ctrl+s  Wipe and begin"), id="start", compact=True, disabled=True)

    def on_mount(self) -> None:
        """Look at the devices."""
        self.query_one("#naming").display = False
        self.query_one("#typed", Input).cursor_blink = False
        self.query_one("#offer").focus()
        self.action_look()

    @work(group="confirm")
    async def action_look(self) -> None:
        """Read what is on the devices by now."""
        if not self._busy:
            await self._look()

    async def _look(self) -> None:
        self._busy = True
        self._say("Reading the devices ...")
        try:
            self._show(await self._offered())
        except FsconsoleError as error:
            self._complain(error)
        finally:
            self._at_rest()

    async def _offered(self) -> Offer:
        """Return what the command says; a refused device ends it with an error, and is shown all the same."""
        done = await self._child(*self.look_words, "--json")
        try:
            return offer_of(json.loads(done.out))
        except ValueError as error:
            raise failure(done) if done.exit_code else _strange(done) from error

    def _show(self, offer: Offer) -> None:
        self._offer = offer
        typed = self.query_one("#typed", Input)
        asked = bool(offer.to_type) and not offer.refused
        self.query_one("#naming").display = asked
        typed.disabled = not asked
        typed.value = ""
        if asked:
            typed.focus()
        else:
            self.query_one("#offer").focus()
        self._paint()
        self._say(asking_words(offer))

    def _paint(self) -> None:
        listed = self.query_one("#offer", RowList)
        if self._offer is not None:
            rows = offer_rows(self._offer, self._changed, max(20, listed.size.width - 1))
            listed.show(len(rows), lambda number, _: rows[number])
            self._allow()

    def on_resize(self, _event: events.Resize) -> None:
        """Break the lines anew."""
        self.call_after_refresh(self._paint)

    def on_input_changed(self) -> None:
        """Allow the start where the names are typed, letter by letter."""
        self._allow()

    def on_input_submitted(self) -> None:
        """Enter alone wipes nothing."""
        self._say(
            "Ctrl+s begins; Enter alone wipes nothing." if self._may_begin() else "That is not the name."
        )

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Begin, or go back."""
        if event.button.id == "start":
            self.action_start()
        else:
            self.action_back()

    def action_read(self, pages: int) -> None:
        """Scroll the text, wherever the focus is."""
        self.query_one("#offer", RowList).action_by_pages(pages)

    def action_back(self) -> None:
        """Leave everything as it is."""
        if not self._busy or self._offer is None:
            self.dismiss(None)

    @work(group="confirm")
    async def action_start(self) -> None:
        """Begin, where that was agreed to; once, however long the key is held.

        Not exclusive: a second worker would end the first one's child in the middle, and the run begin unseen.
        """
        if self._offer is None or self._busy or not self._may_begin():
            return
        self._busy = True
        self._allow()
        self._say("Starting the run; its devices are proved once more ...")
        try:
            await self._start(self._offer)
        finally:
            self._at_rest()

    async def _start(self, offer: Offer) -> None:
        consent = ("--consent", offer.consent) if offer.consent else ()
        done = await self._child(*self.start_words, *consent, "--detach", "--json")
        if done.exit_code in (ExitCode.CONSENT_STALE, ExitCode.CONSENT_MISSING):
            await self._look()
            if self._offer is not None and self._offer is not offer:
                self._changed = changes(offer, self._offer)
                self._paint()
            return
        try:
            self.dismiss(self._folder(done))
        except FsconsoleError as error:
            self._complain(error)

    def _folder(self, done: Done) -> RunFolder:
        """Return the folder that a command named as its last word. Raises ChildFailed."""
        if done.exit_code:
            raise failure(done)
        try:
            named = json.loads(done.out.strip().split("\n")[-1])
            return RunFolder(os.path.join(os.path.abspath(self.session.runs_dir), str(named["run"])))
        except (ValueError, KeyError, TypeError) as error:
            raise _strange(done) from error

    async def _child(self, *words: str) -> Done:
        return await self.session.children.run(*words, "--runs", self.session.runs_dir)

    def _may_begin(self) -> bool:
        return self._offer is not None and may_begin(self._offer, self.query_one("#typed", Input).value)

    def _allow(self) -> None:
        self.query_one("#start", Button).disabled = self._busy or not self._may_begin()

    def _at_rest(self) -> None:
        self._busy = False
        if self.is_attached:
            self._allow()

    def _say(self, text: str, style: str = "") -> None:
        self.query_one("#asking", Static).update(plain(text, style))

    def _complain(self, error: FsconsoleError) -> None:
        self._say(f"{error}  {error.hint}".rstrip(), "$error")


class ResumeScreen(ConfirmScreen):
    """The same for a run that is taken up again, where it can't be proved that its devices hold only what it made."""

    def __init__(self, folder: RunFolder) -> None:
        super().__init__("", ())
        self.look_words = ("resume", folder.name, "--show")
        self.start_words = ("resume", folder.name)


def _strange(done: Done) -> ChildFailed:
    return ChildFailed(words=" ".join(done.words), said="The command's answer can't be read.")
