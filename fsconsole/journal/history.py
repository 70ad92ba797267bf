"""A whole run in one value, for whoever needs where it stands rather than what is new."""

from __future__ import annotations

from fsconsole.journal.fold import fold, start
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.reader import JournalReader
from fsconsole.model.state import RunState


def read_state(folder: RunFolder) -> RunState:
    """Return all that a run's journal says, folded; samples but the last are left unread.

    Raises JournalUnusable, JournalNewer.
    """
    reader = JournalReader(folder.journal)
    return fold(start(reader.request()), reader.read_since(reader.recent(1)))
