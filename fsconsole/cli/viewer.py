"""A viewer in front of an engine: it shows, passes on Ctrl-C, and can go away at any time."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from fsconsole.cli.complaint import complain
from fsconsole.cli.follow import JsonView, follow
from fsconsole.cli.progress import progress_view
from fsconsole.client.control import ask
from fsconsole.client.owned import remove_owned_scratch
from fsconsole.errors import RunOver
from fsconsole.journal.store import RunFolder
from fsconsole.model.observation import Verb
from fsconsole.plaintext import printable


def watch(folder: RunFolder, *, as_json: bool, stops_run: bool) -> int:
    """Show a run to its end and print its grid; return the exit code that its engine gave.

    With stops_run Ctrl-C asks the engine to stop, else it only ends the view. Raises EngineDied.
    """
    with _interrupts_passed_on(folder) if stops_run else _interrupts_as_ever():
        if as_json:
            state = follow(folder, JsonView())
        else:
            with progress_view() as view:
                state = follow(folder, view)
    remove_owned_scratch(state)
    if not as_json:
        _print_grid(folder)
    if state.exit_code:
        complain(printable(state.reason), printable(state.hint))
    return state.exit_code or 0


def _print_grid(folder: RunFolder) -> None:
    from fsconsole.cli.results import Wanted, report, terminal_width

    sys.stdout.write("\n" + report(folder, Wanted(width=terminal_width())))
    sys.stdout.flush()


@contextmanager
def _interrupts_as_ever() -> Iterator[None]:
    yield


@contextmanager
def _interrupts_passed_on(folder: RunFolder) -> Iterator[None]:
    """Make the first Ctrl-C a stop after the cell at hand, and every further one a stop at once."""
    verbs = [Verb.STOP_AFTER]

    def pass_on(_number: int, _frame: FrameType | None) -> None:
        verb = verbs.pop() if verbs else Verb.STOP_NOW
        try:
            ask(folder, verb)
        except RunOver:
            # It has ended by itself in the meantime, which the next poll shows.
            return
        if verb is Verb.STOP_AFTER:
            sys.stderr.write("stopping after this cell; Ctrl-C again stops at once\n")

    former = signal.signal(signal.SIGINT, pass_on)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)
