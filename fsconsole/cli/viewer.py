"""A viewer in front of an engine: it shows, passes on Ctrl-C, and can go away at any time."""

from __future__ import annotations

import sys

from fsconsole.cli.complaint import complain
from fsconsole.cli.follow import JsonView
from fsconsole.cli.interrupts import Interrupts
from fsconsole.cli.progress import progress_view
from fsconsole.client.follow import follow
from fsconsole.client.owned import remove_owned_scratch
from fsconsole.journal.store import RunFolder
from fsconsole.model.state import RunState
from fsconsole.plaintext import printable


def watch(folder: RunFolder, *, as_json: bool, interrupts: Interrupts | None = None) -> int:
    """Show a run to its end and print its grid; return the exit code that its engine gave.

    With interrupts that are passed on, Ctrl-C asks the engine to stop, else it only ends the view. Raises EngineDied.
    """

    def deliver(_state: RunState) -> bool:
        """Ask again for what an engine that was just beginning did not hear; a run is followed to its end."""
        if interrupts is not None:
            interrupts.deliver()
        return False

    if as_json:
        state = follow(folder, JsonView(), until=deliver)
    else:
        with progress_view() as view:
            state = follow(folder, view, until=deliver)
    remove_owned_scratch(state)
    if interrupts is not None:
        interrupts.give_back()
    if not as_json:
        _print_grid(folder)
    if state.exit_code:
        complain(printable(state.reason), printable(state.hint))
    return state.exit_code or 0


def _print_grid(folder: RunFolder) -> None:
    from fsconsole.cli.results import Wanted, report, terminal_width

    sys.stdout.write("\n" + report(folder, Wanted(width=terminal_width())))
    sys.stdout.flush()
