"""The runs that go on, offered as the console starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Footer, OptionList, Static

from fsconsole.journal.folder import RunFolder
from fsconsole.tui.plaintext import lines, plain
from fsconsole.tui.screens.modal import Modal
from fsconsole.tui.views.attach import Going, question

if TYPE_CHECKING:
    from fsconsole.tui.session import Host


class AttachScreen(Modal[RunFolder | None]):
    """Ends with the run to be shown, or with None; keys that lead elsewhere do so from here too."""

    CSS_PATH = "attach.tcss"
    HELP: ClassVar[str] = (
        "A run goes on by itself, whether a console looks at it or not.\n"
        "Enter shows it; escape leaves it alone. Later, 3 shows the newest, and 5 lists all."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "3", "attach", "Show it", id="attach.show", tooltip="Watch the run", key_display="enter or 3"
        ),
        Binding("escape", "dismiss(None)", "Not now", id="attach.later", tooltip="It goes on all the same"),
        Binding("1", "elsewhere('devices')", "Devices", id="go.devices", tooltip="Devices", show=False),
        Binding("2", "elsewhere('plan')", "Plan", id="go.plan", tooltip="The plan", show=False),
        Binding("4", "elsewhere('results')", "Results", id="go.results", tooltip="The grid", show=False),
        Binding("5", "elsewhere('runs')", "Runs", id="go.runs", tooltip="All runs", show=False),
        Binding("question_mark", "app.show_help", "Help", id="help", tooltip="What this is", key_display="?"),
        Binding("q", "app.quit", "Quit", id="quit", tooltip="Leave; a run goes on"),
    ]

    def __init__(self, runs: Sequence[Going]) -> None:
        super().__init__()
        self._runs = tuple(runs)

    def compose(self) -> ComposeResult:
        """Give the runs."""
        with Vertical(id="attach"):
            yield Static(plain(question(self._runs), "bold"))
            yield OptionList(
                *(lines(plain(run.title), plain(f"  {run.place}")) for run in self._runs), id="going"
            )
            yield Footer(show_command_palette=False, compact=True)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """End with the run that was chosen."""
        self.dismiss(self._runs[event.option_index].folder)

    def action_attach(self) -> None:
        """End with the run at the cursor."""
        self.dismiss(self._runs[self.query_one(OptionList).highlighted or 0].folder)

    def action_elsewhere(self, mode: str) -> None:
        """Leave them alone, and show a screen."""
        self.dismiss(None)
        cast("Host", self.app).action_go(mode)
