"""A journal copied whole into one file, also while its run goes on."""

from __future__ import annotations

import os
import sqlite3
from contextlib import ExitStack, closing, suppress

from fsconsole.errors import ExportFailed
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.reader import open_journal

_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def export_journal(folder: RunFolder, path: str) -> None:
    """Copy the journal as it is at one instant into a new file at path, with SQLite's backup.

    The copy is in no WAL mode: one file, which any reader opens. Raises ExportFailed where path exists or
    can't be written; JournalUnusable, JournalNewer, NotRoot for the journal itself.
    """
    with open_journal(folder.journal) as source, ExitStack() as undo:
        try:
            fd = os.open(path, _NEW, 0o640)
            undo.callback(os.close, fd)
            unlink = undo.enter_context(ExitStack())
            unlink.callback(_unlink, path)
            with closing(sqlite3.connect(path, isolation_level=None)) as target:
                source.backup(target)
                target.execute("PRAGMA journal_mode = DELETE").fetchall()
            os.fsync(fd)
            unlink.pop_all()
        except OSError as error:
            raise ExportFailed(path=path, why=error.strerror or str(error)) from error
        except sqlite3.Error as error:
            raise ExportFailed(path=path, why=str(error)) from error


def _unlink(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)
