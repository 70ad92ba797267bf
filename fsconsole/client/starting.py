"""What became of a command that was to begin a run, by its own word: also where it was cut short."""

from __future__ import annotations

import json
import os
import signal
import time
from contextlib import suppress

from fsconsole.client.children import Done, failure
from fsconsole.client.control import ask
from fsconsole.errors import ChildFailed, EngineNotListening, ExitCode, FsconsoleError, RunOver
from fsconsole.journal.folder import RunFolder
from fsconsole.model.control import ControlAnswer
from fsconsole.model.observation import Verb

_UNDONE = frozenset({int(ExitCode.INTERRUPTED), -signal.SIGTERM, -signal.SIGINT})
"""How a command ends that was cut before it had a run: it takes back what it made, and tells no run."""
_LISTENS_SOON_S, _POLL_S = 10.0, 0.1


def begun_run(done: Done, runs_dir: str) -> RunFolder | None:
    """Return the run that a command told as its first word with --detach --json; None where it told none."""
    try:
        told = json.loads(done.out.partition("\n")[0])
        name = told["run"]
    except (ValueError, KeyError, TypeError):
        return None
    if not isinstance(name, str) or not name or name != os.path.basename(name):
        return None
    return RunFolder(os.path.join(os.path.abspath(runs_dir), name))


def was_undone(done: Done) -> bool:
    """Return whether a command that was asked to end has taken back all that it made."""
    return done.exit_code in _UNDONE and not done.out


def not_begun(done: Done) -> ChildFailed:
    """Return why no run was told."""
    if done.exit_code < 0:
        said = (
            "The start was killed without a word of its own: the list of runs (5) shows whether one goes on."
        )
        return ChildFailed(words=" ".join(done.words), said=said)
    if not done.exit_code:
        said = "The command's answer can't be read: the list of runs (5) shows what it has begun."
        return ChildFailed(words=" ".join(done.words), said=said)
    return failure(done)


def ask_when_it_listens(folder: RunFolder, verb: Verb) -> ControlAnswer:
    """Send a request to an engine that may have only just begun; return its answer.

    Raises EngineNotListening where it does not listen in time, and what ask() raises.
    """
    deadline = time.monotonic() + _LISTENS_SOON_S
    while True:
        try:
            return ask(folder, verb)
        except EngineNotListening:
            if time.monotonic() > deadline:
                raise
            time.sleep(_POLL_S)


def stop_at_once(folder: RunFolder) -> None:
    """Ask a run that has just begun to stop now; one that has ended needs it no more.

    Raises EngineNotListening where its engine does not listen in time, EngineSilent, RequestRefused, NotRoot.
    """
    with suppress(RunOver):
        ask_when_it_listens(folder, Verb.STOP_NOW)


def not_stopped(folder: RunFolder) -> str:
    """Ask a run that has just begun to stop now, and return why it goes on; nothing where it heard or has ended."""
    try:
        stop_at_once(folder)
    except FsconsoleError as error:
        return f"Run {folder.name} GOES ON, it could not be stopped. {error}  {error.hint}".rstrip()
    return ""
