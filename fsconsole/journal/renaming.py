"""Another title for a run: a fact in its journal, so that every reader and every copy has it."""

from __future__ import annotations

from dataclasses import replace

from fsconsole.errors import RunLives
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.history import read_journal
from fsconsole.journal.trust import require_own
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.observation import RequestRenewed
from fsconsole.system.locks import FileLock

_LONGEST = 200


def title_complaint(title: str) -> str:
    """Return what is wrong with a title; nothing where it is one."""
    return "" if title.strip() and len(title) <= _LONGEST else f"A title has 1 to {_LONGEST} characters."


def rename_run(folder: RunFolder, title: str) -> None:
    """Write down that a run is called otherwise from now on; what it does stays the same.

    Raises RunLives where an engine carries it out (it alone writes then), and what the journal's writer raises.
    """
    require_own(folder)
    try:
        lock = FileLock.acquire(folder.lock)
    except BlockingIOError as error:
        raise RunLives(run=folder.name) from error
    with lock:
        state = read_journal(folder)
        request = replace(state.request, plan=replace(state.request.plan, title=title))
        journal = JournalWriter(folder)
        try:
            journal.record(RequestRenewed(len(state.started), request), durable=True)
        finally:
            journal.close(finished=True)
