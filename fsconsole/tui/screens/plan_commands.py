"""The exact commands of any cell, as `fsconsole plan` prints them: a cell can be repeated by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Static

from fsconsole.client.children import Children, answer
from fsconsole.errors import ChildFailed, FsconsoleError
from fsconsole.tui import planfiles
from fsconsole.tui.plaintext import lines, plain
from fsconsole.tui.screens.dialog import Dialog
from fsconsole.tui.views.plan_commands import CellCommands, cells_of_plan
from fsconsole.tui.widgets.choices import Choices


class CommandsScreen(Dialog[None]):
    """Shows cells above and the steps of one below; the plan's text is handed to `fsconsole plan`, which touches nothing."""

    def __init__(self, text: str, targets: Sequence[str], children: Children, runs_dir: str) -> None:
        super().__init__("Commands of each cell, in the order of the run")
        self._text, self._targets = text, tuple(targets)
        self._children, self._runs_dir = children, runs_dir
        self._cells: dict[str, CellCommands] = {}

    def body(self) -> Iterable[Widget]:
        """Give the list of cells and the commands of one."""
        yield Choices(id="cells")
        with VerticalScroll(id="commands"):
            yield Static(plain("asking `fsconsole plan` ..."), id="steps")

    def on_mount(self) -> None:
        """Ask, beside the screen."""
        self.run_worker(self._ask(), exclusive=True)

    def on_choices_looked(self, event: Choices.Looked) -> None:
        """Show the commands of the cell that is looked at."""
        cell = self._cells[event.line.key]
        self.query_one("#steps", Static).update(lines(*map(plain, cell.text)))
        self.query_one("#commands").scroll_home(animate=False)

    def on_choices_opened(self, _event: Choices.Opened) -> None:
        """Go to the commands, which may be longer than the screen."""
        self.query_one("#commands").focus()

    async def _ask(self) -> None:
        try:
            document = await self._plan()
            cells = cells_of_plan(document)
        except FsconsoleError as error:
            self.query_one("#steps", Static).update(plain(f"{error} {error.hint}"))
            return
        self._cells = {cell.line.key: cell for cell in cells}
        self.query_one("#cells", Choices).show_lines([cell.line for cell in cells])
        if not cells:
            self.query_one("#steps", Static).update(plain("There is no cell: no variant is ticked."))

    async def _plan(self) -> object:
        path = planfiles.keep_for_run(self._text)
        try:
            devices = [word for target in self._targets for word in ("--device", target)]
            looked_at = (*devices, "--runs", self._runs_dir) if devices else ()
            return await answer(self._children, "plan", path, *looked_at)
        except OSError as error:
            raise ChildFailed(words="plan", said=str(error)) from error
        finally:
            planfiles.forget(path)
