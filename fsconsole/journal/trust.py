"""Whether what stands in a run's folder can have been written by root alone, who is about to act upon it."""

from __future__ import annotations

import os
import stat

from fsconsole.errors import JournalUnusable
from fsconsole.journal.folder import BESIDE_JOURNAL, RunFolder

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def require_own(folder: RunFolder) -> None:
    """Let a run's folder pass whose parts are this user's or root's, and which nobody else can write.

    A journal holds the consent to a wipe: in a folder that somebody else has filled, it is worth nothing. A
    symbolic link leads to where nobody looked. Raises JournalUnusable, OSError.
    """
    for path in _parts(folder):
        try:
            found = os.lstat(path)
        except FileNotFoundError:
            continue
        why = _objection(found)
        if why:
            raise JournalUnusable(folder.journal, f"{path} {why}")


def _parts(folder: RunFolder) -> tuple[str, ...]:
    journals = tuple(folder.journal + suffix for suffix in ("", *BESIDE_JOURNAL))
    return (folder.path, *journals, folder.lock, folder.last_word, folder.engine_log, folder.raw)


def _objection(found: os.stat_result) -> str:
    if stat.S_ISLNK(found.st_mode):
        return "is a symbolic link"
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        # SQLite would wait for a pipe for ever.
        return "is neither a file nor a directory"
    if found.st_uid not in (0, os.geteuid()):
        return f"belongs to user {found.st_uid}, who may have written anything into it"
    return "can be written by others than its owner" if found.st_mode & _OTHERS_WRITE else ""
