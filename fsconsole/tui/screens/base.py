"""Base of all screens: the tabs on top, the last message, the keys at the bottom."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, cast

from textual.app import ComposeResult
from textual.binding import ActiveBinding, Binding
from textual.containers import Vertical
from textual.content import Content
from textual.dom import DOMNode
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from fsconsole.client.children import Children
from fsconsole.errors import FsconsoleError
from fsconsole.errors.runs import NotRoot
from fsconsole.journal.folder import RunFolder
from fsconsole.model.device import Identity
from fsconsole.show.terminal import Terminal
from fsconsole.tui.screens.dialogs import AskScreen
from fsconsole.tui.terminal import plain
from fsconsole.tui.widgets.chrome import Keys, Sentence

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


@dataclass(frozen=True, slots=True)
class Offered:
    """Something that can be done: a binding, and where its action is looked for."""

    node: DOMNode
    binding: Binding


def offered(screen: Screen[Any]) -> list[Offered]:
    """Return what the keys of a screen do, then those of its widgets that haven't the focus, then the application's.

    What check_action refuses at present is left out, and so are keys without an id: those of Textual's own widgets.
    """
    found: dict[str, Offered] = {}
    for active in screen.active_bindings.values():
        if _has_place(active):
            found.setdefault(active.binding.id or "", Offered(active.node, active.binding))
    for node in screen.walk_children():
        for binding in declared(type(node)):
            if binding.id and node.display and binding.id not in found and _is_possible(node, binding):
                found[binding.id] = Offered(node, binding)
    return list(found.values())


def declared(node_type: type[DOMNode]) -> Iterator[Binding]:
    """Yield the bindings of a class and those it inherits, one for each key."""
    for cls in node_type.__mro__:
        yield from Binding.make_bindings(vars(cls).get("BINDINGS", ()))


def _has_place(active: ActiveBinding) -> bool:
    return bool(active.binding.id) and active.enabled and not active.binding.system


def _is_possible(node: DOMNode, binding: Binding) -> bool:
    name = binding.action.partition("(")[0].rpartition(".")[2]
    return node.check_action(name, ()) is True


@dataclass(slots=True)
class Session:
    """The console's own state; nothing of it is needed to see a run to its end."""

    terminal: Terminal
    children: Children
    """Through which everything is done: the console opens no device."""
    runs_dir: str
    is_root: bool
    ticks: dict[str, Identity] = field(default_factory=dict)
    """Device nodes that are ticked, in the order of ticking, and who each of them was then."""
    makes_arrays: bool = False
    """Whether the plan at hand makes arrays of all ticked devices together, rather than run on each in turn."""
    folder: RunFolder | None = None
    """The run that Run and Results show."""

    starts: list[Callable[[], object]] = field(default_factory=list)
    """What cancels each start of a run that is under way: nobody but this console hears what it has begun."""
    unstopped: list[str] = field(default_factory=list)
    """Sentences about runs that go on though their start was cancelled."""

    @contextmanager
    def starting(self, cancel: Callable[[], object]) -> Iterator[None]:
        """Hold the console while a run is being started; leaving cancels that first."""
        self.starts.append(cancel)
        try:
            yield
        finally:
            self.starts.remove(cancel)

    @property
    def targets(self) -> tuple[str, ...]:
        """Device nodes that are ticked, in the order of ticking."""
        return tuple(self.ticks)


class Host(Protocol):
    """The app, as its screens and widgets know it."""

    session: Session

    def action_go(self, mode: str) -> None:
        """Show one of the five screens."""


class ConsoleScreen(Screen[None]):
    """A screen with its place among the others; subclasses give its body by content()."""

    MODE: ClassVar[str] = ""
    _focused_before: Widget | None = None
    HELP: ClassVar[str] = ""
    """What ? says of it: a line of purpose, then what is worth knowing."""
    KEYS_LEFT_OUT: ClassVar[tuple[str, ...]] = ()
    """Actions whose keys are left out first where the line of keys is too short."""

    def __init__(self) -> None:
        super().__init__()
        self._while_shown: list[Timer] = []

    @property
    def session(self) -> Session:
        """What all screens share."""
        return cast("Host", self.app).session

    def compose(self) -> ComposeResult:
        yield Static(self._head(), id="head")
        # In a box of its own, which gives way to a long sentence: that is shown whole.
        with Vertical(id="content"):
            yield from self.content()
        yield Sentence(id="said")
        yield Keys(self.KEYS_LEFT_OUT)
        yield Static(plain("This terminal is too small: 60 columns and 16 lines at least."), id="small")

    def content(self) -> Iterable[Widget]:
        return ()

    def while_shown(self, every_s: float, act: Callable[[], None]) -> None:
        """Act again and again while this screen is shown, and do nothing while nobody looks."""
        self._while_shown.append(self.set_interval(every_s, act, pause=not self.is_current))

    def on_screen_resume(self) -> None:
        """Go on with what is done while the screen is shown; a subclass's own handler is called besides."""
        for timer in self._while_shown:
            timer.resume()

    def on_screen_suspend(self) -> None:
        for timer in self._while_shown:
            timer.pause()

    def say(self, text: str, *, style: str = "") -> None:
        """Show a sentence until the next one, none where the console ends; style: "$error", "$warning" or nothing."""
        if self.app.is_running:
            self.query_one("#said", Sentence).say(text, style.removeprefix("$"))

    def may(self, what: str) -> bool:
        """Return whether what needs root may be done; where not, say so."""
        if not self.session.is_root:
            self.say(f"{NotRoot(what)} Leave with q, then `sudo fsconsole`.", style="$warning")
        return self.session.is_root

    async def agreed(self, question: str, told: str, *, yes: str) -> bool:
        """Ask, and return whether it was answered with yes; a worker calls it."""
        answer = await self.app.push_screen_wait(AskScreen(question, told, yes=yes))
        return bool(answer)

    def say_at_hand(self, text: str, *, style: str = "") -> None:
        """Show a sentence on the screen that is looked at, under what is asked there: this one may have been left."""
        looked_at = (one for one in reversed(self.app.screen_stack) if isinstance(one, ConsoleScreen))
        next(looked_at, self).say(text, style=style)

    def complain(self, error: FsconsoleError) -> None:
        """Show an error: its sentence, and what to do."""
        hint = f"  {error.hint}" if error.hint else ""
        self.say(f"{error}{hint}", style="$error")

    @contextmanager
    def complaining(self) -> Iterator[None]:
        """Show an error that is met meanwhile, and go on after it."""
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
        """Focus what was focused before the screen was too small, once it is shown again: hidden, it can't be."""
        before = self._focused_before
        if before is None or self.has_class("-small"):
            return
        if before.focusable:
            self._focused_before = None
            self.set_focus(before)
        elif before.is_attached:
            self.set_timer(_AGAIN_S, self._give_focus_back)

    def _head(self) -> Content:
        names = [plain(f" {name} ", "reverse" if mode == self.MODE else "") for mode, name in SCREENS]
        return Content.assemble(plain("fsconsole ", "bold"), *names, plain(f"  {socket.gethostname()}"))
