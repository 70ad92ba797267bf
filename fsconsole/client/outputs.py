"""The raw outputs of a run, read: plain files that tools have filled with anything."""

from __future__ import annotations

import os
import stat

from fsconsole.errors import JournalUnusable
from fsconsole.journal.folder import RunFolder
from fsconsole.plaintext import decode

MAX_BYTES = 2 * 1024 * 1024
"""Of one output; what is longer is read in an editor."""
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def list_outputs(folder: RunFolder) -> tuple[str, ...]:
    """Return the names of all raw outputs; none where there is no such folder, or it may not be read."""
    try:
        return tuple(sorted(os.listdir(folder.raw)))
    except OSError:
        return ()


def read_output(folder: RunFolder, name: str) -> tuple[str, int]:
    """Return an output's text, and how many bytes of it were left out. Raises JournalUnusable.

    Only a plain file in the folder itself is read: the name may come from a journal from elsewhere.
    """
    path = os.path.join(folder.raw, os.path.basename(name))
    try:
        with open(os.open(path, _READ), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise JournalUnusable(path=path, why="it is no plain file")
            raw = file.read(MAX_BYTES)
    except OSError as error:
        raise JournalUnusable(path=path, why=error.strerror or str(error)) from error
    return decode(raw), max(0, status.st_size - len(raw))
