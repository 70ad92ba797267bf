"""The console: five screens over run folders, and what they share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import App
from textual.binding import Binding, BindingType
from textual.filter import LineFilter

from fsconsole.tui.filter import GlyphFilter
from fsconsole.tui.screens.devices import DevicesScreen
from fsconsole.tui.screens.help import HelpScreen
from fsconsole.tui.screens.plan import PlanScreen
from fsconsole.tui.screens.results import ResultsScreen
from fsconsole.tui.screens.run import RunScreen
from fsconsole.tui.screens.runs import RunsScreen
from fsconsole.tui.session import Session
from fsconsole.tui.themes import theme_of


class ConsoleApp(App[None]):
    """The console; it ends with None, and leaves whatever runs running."""

    TITLE = "fsconsole"
    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = True
    MODES: ClassVar = {
        "devices": DevicesScreen,
        "plan": PlanScreen,
        "run": RunScreen,
        "results": ResultsScreen,
        "runs": RunsScreen,
    }
    DEFAULT_MODE = "devices"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1", "go('devices')", "Devices", id="go.devices", tooltip="What can be tested", show=False),
        Binding("2", "go('plan')", "Plan", id="go.plan", tooltip="What is compared, and how", show=False),
        Binding("3", "go('run')", "Run", id="go.run", tooltip="What goes on", show=False),
        Binding("4", "go('results')", "Results", id="go.results", tooltip="The grid of a run", show=False),
        Binding("5", "go('runs')", "Runs", id="go.runs", tooltip="All runs on this machine", show=False),
        Binding(
            "question_mark", "show_help", "Help", id="help", tooltip="Help for this screen", key_display="?"
        ),
        Binding("q", "quit", "Quit", id="quit", tooltip="Leave; a run goes on"),
    ]

    def __init__(self, session: Session) -> None:
        super().__init__(ansi_color=False)
        self.session = session
        self.animation_level = "none"
        self.register_theme(theme_of(session.terminal))
        self.theme = "fsconsole"

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Replace what the terminal's font lacks, last of all."""
        return [*super().get_line_filters(), GlyphFilter(self.session.terminal.glyphs)]

    def action_go(self, mode: str) -> None:
        """Show a screen."""
        self.switch_mode(mode)

    def action_show_help(self) -> None:
        """Show help for the screen at hand."""
        self.push_screen(HelpScreen(self.screen))
