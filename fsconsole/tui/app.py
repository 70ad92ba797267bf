"""The console: five screens over run folders, and what they share."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any, ClassVar

from rich.text import Text
from textual import events, work
from textual._context import NoActiveAppError, active_message_pump
from textual.app import App, ScreenError, SystemCommand
from textual.binding import Binding, BindingType
from textual.cache import LRUCache
from textual.command import CommandPalette
from textual.css.query import NoMatches
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode, NoScreen
from textual.filter import LineFilter
from textual.screen import ModalScreen, Screen
from textual.scrollbar import ScrollBar
from textual.widget import MountError, Widget
from textual.worker import WorkerFailed, get_current_worker

from fsconsole.client.children import Children
from fsconsole.errors import ConsoleFailed, FsconsoleError, NoTerminal
from fsconsole.journal.folder import RunFolder
from fsconsole.show.going import going, head_words, line_of, still_running
from fsconsole.show.terminal import Colours, is_screen, terminal_of
from fsconsole.text import printable
from fsconsole.tui import keys
from fsconsole.tui.screens.base import SCREENS, ConsoleScreen, offered
from fsconsole.tui.screens.dialogs import AskScreen, AttachScreen, Dialog, HelpScreen
from fsconsole.tui.session import Session
from fsconsole.tui.terminal import BriefFilter, ColourFilter, GlyphFilter, theme_of
from fsconsole.tui.watch import in_background
from fsconsole.tui.widgets.chrome import BlockScrollBar, Head, Keys

_STARTS_POLL_S, _RUN_POLL_S = 0.05, 2.0
_FAREWELL_S = 2.0
_PAINT_S = 0.5
"""Longest wait for a sentence to be painted before a screen is made."""
_SIZE_AGAIN_S = 0.1
_TERMINAL_POLL_S = 5.0
"""After a new size of the terminal; more than Textual's own 8 ms."""
_MOST_SHEETS = 1000
"""More than there are: each class of widgets has one."""
_KEY_WORDS = {"↑": "up", "↓": "down", "←": "left", "→": "right", "⏎": "enter", "⌫": "bksp"}
"""Instead of arrows, which console fonts lack."""

_MISSING = (NoMatches, NoScreen, NoActiveAppError, ScreenError, MountError)
"""Errors about a widget, a screen or a console that is not there."""

_OPENED = {
    "devices": "the devices",
    "plan": "the plan",
    "run": "the run",
    "results": "the results",
    "runs": "the list of runs",
}


def _opening(mode: str, targets: Sequence[str]) -> str:
    """Return what is opened, as a sentence."""
    of = targets[0] if len(targets) == 1 else f"{len(targets)} devices"
    return f"Opening {_OPENED[mode]}{f' for {of}' if targets and mode == 'plan' else ''} ..."


def _screen(module: str, name: str) -> Screen[None]:
    """Return a new screen; its module is loaded when it is first shown, so that the first screen is there sooner."""
    made: Screen[None] = getattr(import_module(f"fsconsole.tui.screens.{module}"), name)()
    return made


class _ParsedOnce(Stylesheet):
    """Style sheets that are parsed once each.

    The theme never changes, but for each screen that is opened first Textual takes the variables to have changed, and
    parses all that there are again, some times.
    """

    def __init__(self, variables: dict[str, str]) -> None:
        super().__init__(variables=variables)
        self._parsed_with = variables
        self._parse_cache = LRUCache(_MOST_SHEETS)

    def set_variables(self, variables: dict[str, str]) -> None:
        if variables != self._parsed_with:
            super().set_variables(variables)
            self._parsed_with = variables

    def reparse(self) -> None:
        self.parse()


class ConsoleApp(App[None], inherit_bindings=False):
    """The console; runs continue after it."""

    TITLE = "fsconsole"
    CSS_PATH: ClassVar = ["common.tcss", "app.tcss"]
    ENABLE_COMMAND_PALETTE = True
    MODES: ClassVar = {mode: partial(_screen, mode, f"{label[2:]}Screen") for mode, label in SCREENS}
    DEFAULT_MODE = "devices"
    BINDINGS: ClassVar[list[BindingType]] = keys.bindings("app")

    def __init__(self, session: Session) -> None:
        colours = session.terminal.colours
        super().__init__(ansi_color=colours is not Colours.MANY)
        self.session = session
        # The filters are reused: Textual caches lines per instance.
        self._last_filters = (GlyphFilter(session.terminal.glyphs), BriefFilter())
        self._colour_filter = ColourFilter()
        self._is_leaving = False
        """True while the console waits for starts to be cancelled before it ends: only quitting at once is left."""
        self._is_closing = False
        """True once the console ends, whatever is pressed."""
        self._going: RunFolder | None = None
        """The run that went on when the console began."""
        self._is_opening = False
        """True while a screen that takes a while is loaded and switched to."""
        self._told_of: RunFolder | None = None
        self.animation_level = "none"
        self.register_theme(theme_of(session.terminal))
        self.theme = "fsconsole"
        self.stylesheet = _ParsedOnce(self.get_css_variables())
        ScrollBar.renderer = BlockScrollBar

    def on_mount(self) -> None:
        self.set_interval(_RUN_POLL_S, self._look_at_run)
        if not self.is_headless:
            self.set_interval(_TERMINAL_POLL_S, self._end_without_terminal)

    def _end_without_terminal(self) -> None:
        # A terminal that is gone without a SIGHUP (nohup, a console in a session without it) is read as an end of file
        # without end: a thread that takes half a CPU beside whatever is measured.
        if not os.isatty(0):
            self.exit()

    def on_resize(self) -> None:
        # Textual's timer for a new size never acts where this process was held up as it began (textual/timer.py leaves out
        # what is late), and no later size would be taken either.
        self.set_timer(_SIZE_AGAIN_S, self._check_resize)

    @work(group="state", exclusive=True)
    async def _look_at_run(self) -> None:
        """Tell in all heads that the run goes on, and how it ended where that was seen."""
        folder, session = self.session.folder or self._going, self.session
        if folder is None:
            return
        is_same, before = folder == self._told_of, session.run_words
        words = await in_background(partial(head_words, folder, before if is_same else ""))
        self._told_of, session.run_words = folder, words
        for screen in self.screen_stack:
            # One that is being made has no head yet, and tells it as soon as it has.
            for head in screen.query(Head):
                head.tell(words)

    @work(group="offer")
    async def on_ready(self) -> None:
        """Offer to show a running run; where the operator is on another screen already, only say so."""
        if self.session.is_tour:
            self.switch_mode("results")
        if self.session.folder is not None:
            return
        try:
            runs = await in_background(partial(going, self.session.runs_dir, time.monotonic_ns()))
        except FsconsoleError:
            # Nobody has asked for runs yet: the screens that show them say what is wrong.
            return
        self._going = runs[0].folder if runs else None
        while self._is_opening:
            # Where the operator goes already: to be told there, not to be asked on the way.
            await asyncio.sleep(_STARTS_POLL_S)
        first = self.screen_stack[0]
        if not runs or self.session.folder is not None or not isinstance(first, ConsoleScreen):
            return
        if self.screen is first and self.current_mode == self.DEFAULT_MODE:
            folder = await self.push_screen_wait(AttachScreen(runs))
            if folder is not None:
                self.session.folder = folder
                self.switch_mode("run")
        elif self.current_mode != "run":
            first.say(line_of(runs))

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Take away the colours that there are not, and replace what the terminal's font lacks, last of all."""
        if self.session.terminal.colours is Colours.NONE:
            return (self._colour_filter, *self._last_filters)
        return (*super().get_line_filters(), *self._last_filters)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Give what the keys do, but movements, and what has no key; Textual's own commands make no sense here."""
        footers = screen.query(Keys)
        for node, binding in offered(screen):
            if binding.id not in keys.MOVES:
                # In the footer's words, which say what the key does now.
                now = next(filter(None, (footer.label_of(binding.action) for footer in footers)), binding.description)
                words = f"{binding.tooltip} ({self.get_key_display(binding)})"
                run = partial(self.run_action, binding.action, default_namespace=node)
                yield SystemCommand(now, words, run)
        here = keys.places_of(type(screen))
        for use in keys.COMMANDS:
            if use.place in here and screen.check_action(use.action, ()):
                yield SystemCommand(use.label, use.does, partial(self.run_action, use.action, default_namespace=screen))

    def get_key_display(self, binding: Binding) -> str:
        display = super().get_key_display(binding)
        return "".join(_KEY_WORDS.get(character, character) for character in display)

    def action_command_palette(self) -> None:
        if not isinstance(self.screen, ModalScreen):
            # In words that every terminal can show.
            self.push_screen(CommandPalette(placeholder="Search actions", id="--command-palette"))

    async def action_switch_mode(self, mode: str) -> None:
        """Show a screen. Making one takes up to two seconds on a slow machine: what is opened is painted before that."""
        shown = self.screen_stack[0]
        if mode in self._screen_stacks or not isinstance(shown, ConsoleScreen):
            self.switch_mode(mode)
            return
        self._is_opening = True
        try:
            with shown.announcing(_opening(mode, self.session.targets)):
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(shown.wait_for_refresh(), _PAINT_S)
                # Keys that are pressed meanwhile wait: they are meant for the screen that is opened.
                await in_background(partial(import_module, f"fsconsole.tui.screens.{mode}"))
                self.switch_mode(mode)
        finally:
            self._is_opening = False

    async def on_event(self, event: events.Event) -> None:
        if self._is_closing and isinstance(event, (events.InputEvent, events.Paste)):
            return
        await super().on_event(event)

    async def _dispatch_action(self, namespace: DOMNode, action_name: str, params: Any) -> bool:
        # Keys that were pressed together with q are forwarded before it acts.
        if self._is_closing or (self._is_leaving and action_name != "quit"):
            return False
        return await super()._dispatch_action(namespace, action_name, params)

    def _handle_exception(self, error: Exception) -> None:
        """End with an error, unless what it misses is gone because the console ends or the screen was closed.

        Mounts, messages, timers, callbacks and workers of a screen may all come after its end.
        """
        if not self._is_late(error):
            super()._handle_exception(error)

    def _is_late(self, error: Exception) -> bool:
        cause: BaseException = error
        node: object = active_message_pump.get()
        if isinstance(error, WorkerFailed):
            cause, node = error.error, get_current_worker().node
        is_gone = self._exit or (isinstance(node, Widget) and not node.is_attached)
        return is_gone and isinstance(cause, _MISSING)

    async def action_quit(self) -> None:
        """Leave; ctrl+c in a dialog may be meant for that alone, and closes it."""
        if isinstance(self.screen, Dialog) and not self._is_leaving:
            self.screen.action_close()
        elif isinstance(self.screen, CommandPalette):
            self.screen.dismiss()
        else:
            self.leave()

    def leave(self) -> None:
        """Quit, once that is meant where something would be lost; asked again while a start is cancelled, at once."""
        if self._is_leaving or not (lost := self.session.would_be_lost):
            self._leave()
        else:
            asked = AskScreen("Quit all the same?", " ".join(lost), yes="Quit")
            self.push_screen(asked, lambda agreed: self._cancel_and_leave() if agreed else None)

    def _leave(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            self._say_farewell()

    @work(group="leave")
    async def _say_farewell(self) -> None:
        """Leave, and print which runs go on; a disk that doesn't answer delays that by two seconds at most."""
        said: tuple[str, ...] = ()
        with suppress(FsconsoleError, asyncio.TimeoutError):
            said = await asyncio.wait_for(in_background(partial(still_running, self.session.runs_dir)), _FAREWELL_S)
        self._exit_with((*said, *filter(None, [self.session.kept])))

    def _exit_with(self, said: Iterable[str]) -> None:
        self._is_closing = True
        left = "\n".join(map(printable, said))
        self.exit(message=Text(left) if left else None)

    def _cancel_and_leave(self) -> None:
        """Leave; a start that is under way might leave a run, and is cancelled before."""
        if not self.session.starts:
            self._leave()
            return
        self._is_leaving = True
        for cancel in tuple(self.session.starts):
            cancel()
        self._leave_after_starts()

    @work(group="leave")
    async def _leave_after_starts(self) -> None:
        while self.session.starts:
            await asyncio.sleep(_STARTS_POLL_S)
        self._exit_with(self.session.unstopped)

    def action_show_help(self) -> None:
        self.push_screen(HelpScreen(self.screen))


def run_console(
    runs_dir: str, *, ascii_only: bool = False, slow_link: bool = False, toured: RunFolder | None = None
) -> None:
    """Show the console until the operator leaves; toured: a recorded run that it explains. Raises NoTerminal, ConsoleFailed."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise NoTerminal
    encoding = sys.stdout.encoding or "ascii"
    terminal = terminal_of(os.environ, encoding, ascii_only=ascii_only, slow_link=slow_link)
    if is_screen(os.environ.get("TERM", "")):
        # Textual would send 24-bit colours, which GNU screen 4 takes for other things.
        os.environ.pop("COLORTERM", None)
    if not os.environ.get("NO_COLOR"):
        # Textual takes an empty one, too, for a wish to have no colours (https://no-color.org: present and not empty).
        os.environ.pop("NO_COLOR", None)
    # What is loaded by now stays to the end: whoever presses a key need not wait until Python has looked through it again.
    gc.freeze()
    is_root = os.geteuid() == 0
    session = Session(terminal, Children(), runs_dir, is_root=is_root, folder=toured, is_tour=toured is not None)
    app = ConsoleApp(session)
    app.run()
    if app.return_code:
        # Textual has shown what it was.
        raise ConsoleFailed
