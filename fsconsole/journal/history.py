"""A whole run in one value, for whoever needs where it stands rather than what is new."""

from __future__ import annotations

from fsconsole.journal.fold import fold, start
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.last_word import as_batch, read
from fsconsole.journal.reader import JournalReader
from fsconsole.model.state import RunState, RunStatus


def read_journal(folder: RunFolder) -> RunState:
    """Return all that a run's journal says, folded; samples but the last are left unread.

    Raises JournalUnusable, JournalNewer.
    """
    reader = JournalReader(folder.journal)
    return fold(start(reader.request()), reader.read_since(reader.recent(1)))


def read_state(folder: RunFolder) -> RunState:
    """Return the same with the last word that the journal didn't take, if there is one. Raises the same."""
    state = read_journal(folder)
    return state if state.status is RunStatus.FINISHED else fold(state, as_batch(read(folder)))
