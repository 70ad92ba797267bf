"""Base of all screens: the tabs on top, the last message, the keys at the bottom."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar, TypeVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.dom import DOMNode
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import Worker

from fsconsole.client.children import (
    carried_out,
    failure,
)
from fsconsole.errors import ExitCode, FsconsoleError
from fsconsole.errors.runs import NotRoot
from fsconsole.journal.folder import RunFolder
from fsconsole.tui import keys
from fsconsole.tui.screens.dialogs import AskScreen, Dialog
from fsconsole.tui.session import Session, session_of
from fsconsole.tui.terminal import plain
from fsconsole.tui.widgets.chrome import Head, Keys, Seek, Sentence
from fsconsole.units import format_guess

SCREENS = (
    ("devices", "1 Devices"),
    ("plan", "2 Plan"),
    ("run", "3 Run"),
    ("results", "4 Results"),
    ("runs", "5 Runs"),
)
LEAST_COLUMNS, LEAST_LINES = 60, 16
"""Below that there is a sentence instead of a screen."""
_AGAIN_S = 0.05
_TELL_S = 2.0
"""Between updates of how long something has taken."""
MESSAGE_LASTS_S, ERROR_LASTS_S = 20.0, 120.0
"""A message goes by itself: what lasts is told by title and head."""
T = TypeVar("T")


def offered(screen: Screen[Any]) -> list[tuple[DOMNode, Binding]]:
    """Return the bindings of a screen and of the app, then those of its widgets without the focus.

    With each binding comes the node where its action is looked for. What check_action refuses at present is left out,
    and so are keys without an id: those of Textual's own widgets.
    """
    found: dict[str, tuple[DOMNode, Binding]] = {}
    for active in screen.active_bindings.values():
        if active.binding.id and active.enabled and not active.binding.system:
            found.setdefault(active.binding.id, (active.node, active.binding))
    for node in screen.walk_children():
        for binding in keys.declared(type(node)):
            name = binding.action.partition("(")[0].rpartition(".")[2]
            if binding.id and node.display and node.check_action(name, ()) is True:
                found.setdefault(binding.id, (node, binding))
    return list(found.values())


class ConsoleScreen(Screen[None]):
    """A screen with its place among the others; subclasses give its body by content()."""

    MODE: ClassVar[str] = ""
    _focused_before: Widget | None = None
    _expiry: Timer | None = None
    HELP: ClassVar[str] = ""
    """Help of a screen: a line of purpose, then details."""
    GUIDE: ClassVar[str] = ""
    """Explanation of this screen in the tour."""
    _is_guiding = False

    @property
    def session(self) -> Session:
        return session_of(self)

    def compose(self) -> ComposeResult:
        yield Head(SCREENS, self.tab)
        # In a box of its own, which gives way to a long sentence: that is shown whole.
        with Vertical(id="content"):
            yield from self.content()
        yield Sentence(id="said")
        yield Keys(self.applies, self.label_of)
        yield Static(plain("This terminal is too small: 60 columns and 16 lines at least."), id="small")

    @property
    def tab(self) -> str:
        """The mode whose tab is marked in the head."""
        return self.MODE

    def content(self) -> Iterable[Widget]:
        return ()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        # Where words are typed the key is a letter.
        return action != "find" or not any(seek.has_focus for seek in self.query(Seek))

    def action_find(self) -> None:
        self.query_one(Seek).begin()

    def action_show_all(self) -> None:
        self.query_one(Seek).action_clear()

    def applies(self, _action: str) -> bool:
        """Return whether an action makes sense now; where not, the footer leaves its key out."""
        return True

    def label_of(self, _action: str) -> str:
        """Return what an action does now, in a word for the footer; empty for the word in the table of keys."""
        return ""

    def while_shown(self, every_s: float, act: Callable[[], object]) -> None:
        """Act again and again while this screen is on top, and do nothing while nobody looks."""
        self.set_interval(every_s, lambda: act() if self.is_active else None)

    def put(self, selector: str, content: Content, *, layout: bool = True) -> None:
        """Update a Static only where its text differs: Static.update() always repaints."""
        place = self.query_one(selector, Static)
        if not (isinstance(place.content, Content) and place.content.is_same(content)):
            place.update(content, layout=layout)

    @property
    def guide(self) -> str:
        """Return the tour's explanation of this screen; empty if it has none, or none yet."""
        return self.GUIDE

    def say_guide(self) -> None:
        """In a tour, explain a screen that is come to: until something is opened from here, or said."""
        if self.session.is_tour and self.is_active and self.guide and self.session.guided != self.MODE:
            self.session.guided = self.MODE
            self.say(f"Tour, {self.guide}")
            if self._expiry is not None:
                self._expiry.stop()
            self._is_guiding = True

    def on_screen_suspend(self) -> None:
        if self._is_guiding:
            self.say("")

    def say(self, text: str, *, style: str = "") -> None:
        """Show a sentence for a while, or until the next one; style: "$error", "$warning" or nothing."""
        if self.app.is_running and not self.query("#said"):
            # It is being made: what is said to it waits for it, as a key that is pressed meanwhile does.
            self.call_after_refresh(partial(self.say, text, style=style))
        elif self.app.is_running:
            self.query_one("#said", Sentence).say(text, style.removeprefix("$"))
            self._is_guiding = False
            if self._expiry is not None:
                self._expiry.stop()
            lasts_s = ERROR_LASTS_S if style == "$error" else MESSAGE_LASTS_S
            self._expiry = self.set_timer(lasts_s, self._expire) if text else None

    @contextmanager
    def announcing(self, text: str) -> Iterator[None]:
        """Show a sentence in the place of the last one, which comes back at the end unless there is another by then."""
        said = self.query_one("#said", Sentence)
        before, tone = said.text, said.tone
        said.say(text)
        yield
        if said.text == text:
            said.say(before, tone)

    @property
    def said(self) -> str:
        """The sentence that is shown."""
        shown = self.query(Sentence)
        return shown.first().text if shown else ""

    async def waiting(self, words: str, work: Awaitable[None]) -> None:
        """Show what is waited for, and for how long, until it is done or another sentence is shown."""
        started_s = time.monotonic()
        shown = words

        def tell() -> None:
            nonlocal shown
            if self.said == shown:
                shown = f"{words} {format_guess(time.monotonic() - started_s)}"
                self.say(shown)

        self.say(shown)
        timer = self.set_interval(_TELL_S, tell)
        try:
            await work
        finally:
            timer.stop()
            if self.said == shown:
                self.say("")

    def _expire(self) -> None:
        said = self.query_one("#said", Sentence)
        if said.has_focus:
            # It is being read.
            self._expiry = self.set_timer(MESSAGE_LASTS_S, self._expire)
        else:
            self.say("")

    def on_screen_resume(self) -> None:
        for head in self.query(Head):
            head.tell(self.session.run_words)
        self.call_after_refresh(self.say_guide)

    def may(self, what: str) -> bool:
        """Return whether what needs root may be done; where not, say so."""
        if not self.session.is_root:
            self.say(f"{NotRoot(what)} Leave with q, then `sudo fsconsole`.", style="$warning")
        return self.session.is_root

    def run_alone(self, group: str, job: Callable[[], Coroutine[Any, Any, None]]) -> Worker[None]:
        """Run a job in the place of the one of its group that is under way."""
        return self.run_worker(job, group=group, exclusive=True)

    def is_busy(self, group: str) -> bool:
        return any(one.node is self and one.group == group and not one.is_finished for one in self.workers)

    async def act(self, words: Sequence[str], said: Callable[[str], str]) -> None:
        """Carry out a command and say what came of it, by what it printed."""
        with self.complaining():
            done = await carried_out(self.session.children, *words)
            self.say(said(done.out))

    async def removed(self, *words: str, question: str = "Delete it all the same?") -> bool:
        """Carry out a command that deletes, asking with its own words where what it deletes can't be brought back.

        Returns whether it was done. Raises ChildFailed.
        """
        done = await self.session.children.run(*words)
        if done.exit_code == ExitCode.CONSENT_MISSING:
            if not await self.agreed(question, str(failure(done)), yes="Delete"):
                return False
            done = await self.session.children.run(*words[:2], "--yes", *words[2:])
        if done.exit_code:
            raise failure(done)
        return True

    def show_run(self, folder: RunFolder, told: str) -> None:
        """Show a run on its screen; where another screen or dialog is open, say so there instead."""
        if self.is_active:
            self.session.folder = folder
            self.app.switch_mode("run")
        else:
            self.say_at_hand(f"{told}: the list of runs (5) shows it.")

    async def open_plan_of(self, folder: RunFolder | None) -> None:
        """Show the plan of a run on the Plan screen, to be changed and run again."""
        if folder is None:
            self.say("No run is shown whose plan could be opened.")
            return
        self.session.plan_of = folder
        await self.app.action_switch_mode("plan")

    async def action_open_run_plan(self) -> None:
        await self.open_plan_of(self.session.folder)

    def ask(self, dialog: Dialog[T], then: Callable[[T], object]) -> None:

        def answered(answer: T | None) -> None:
            if answer is not None:
                then(answer)

        self.app.push_screen(dialog, answered)

    async def agreed(self, question: str, told: str, *, yes: str) -> bool:
        """Ask a question and return whether the answer was yes; called from a worker."""
        answer = await self.app.push_screen_wait(AskScreen(question, told, yes=yes))
        return bool(answer)

    def say_at_hand(self, text: str, *, style: str = "") -> None:
        """Show a sentence on the screen that is shown, below any dialog: this one may have been left."""
        looked_at = (one for one in reversed(self.app.screen_stack) if isinstance(one, ConsoleScreen))
        next(looked_at, self).say(text, style=style)

    def complain(self, error: FsconsoleError) -> None:
        hint = f"  {error.hint}" if error.hint else ""
        self.say(f"{error}{hint}", style="$error")

    @contextmanager
    def complaining(self) -> Iterator[None]:
        try:
            yield
        except FsconsoleError as error:
            self.complain(error)

    def on_resize(self) -> None:
        small = self.size.width < LEAST_COLUMNS or self.size.height < LEAST_LINES
        if small and self.focused is not None:
            self._focused_before = self.focused
        self.set_class(small, "-small")
        if not small:
            self.call_after_refresh(self._give_focus_back)

    def _give_focus_back(self) -> None:
        before = self._focused_before
        if before is None or self.has_class("-small"):
            return
        if before.focusable:
            self._focused_before = None
            self.set_focus(before)
        elif before.is_attached:
            self.set_timer(_AGAIN_S, self._give_focus_back)
