"""Fallback file for how a run ended, allocated when the run is created, for when the journal's disk is full.

A disk that is full takes no new block, but lets what is allocated be written over (also on btrfs, the first
time, as fallocate promises: man 2 fallocate). The word stays until it has been moved into the journal.
"""

from __future__ import annotations

import os
import time

from fsconsole.errors.runs import JournalUnusable, NotRoot
from fsconsole.journal.events import Batch, Cursor, JournalEntry
from fsconsole.journal.folder import RunFolder
from fsconsole.model.events import RunFinished
from fsconsole.model.wire import Mismatch, Wire, decode, encode
from fsconsole.system.files import opened
from fsconsole.text import error_reason

ROOM_BYTES = 16 * 1024
"""Enough for a sentence and a hint over the longest paths (PATH_MAX is 4096), each byte escaped at worst."""


class LastWord(Wire, frozen=True):
    """Last observation that the journal could not take, with its instant."""

    wall_ns: int
    monotonic_ns: int
    finished: RunFinished


def reserve(folder: RunFolder) -> None:
    """Take the room of a new run's last word. Raises OSError, ENOSPC too."""
    with opened(folder.last_word, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW) as fd:
        os.posix_fallocate(fd, 0, ROOM_BYTES)
        os.fsync(fd)


def leave(folder: RunFolder, finished: RunFinished) -> None:
    """Write the word into its room, durably. Raises OSError where not even that can be written."""
    word = encode(LastWord(time.time_ns(), time.monotonic_ns(), finished)).encode("ascii")
    _overwrite(folder, word[:ROOM_BYTES])


def forget(folder: RunFolder) -> None:
    """Blank the word, since it is in the journal or another engine begins. Raises OSError, JournalUnusable, NotRoot."""
    if read(folder):
        blank(folder)


def blank(folder: RunFolder) -> None:
    """Write its room over, which shows whether the folder still takes what is written. Raises OSError."""
    _overwrite(folder, b"")


def read(folder: RunFolder) -> tuple[LastWord, ...]:
    """Return the word; none where there is none, or where it is not whole. Raises JournalUnusable, NotRoot."""
    try:
        # A pipe in the place of the file would be waited for.
        with opened(folder.last_word, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW) as fd:
            text = os.pread(fd, ROOM_BYTES, 0).rstrip(b"\0")
    except FileNotFoundError:
        return ()
    except PermissionError as error:
        raise NotRoot(what=f"Reading {folder.last_word}") from error
    except OSError as error:
        raise JournalUnusable(path=folder.last_word, why=error_reason(error)) from error
    try:
        return (decode(LastWord, text),) if text else ()
    except Mismatch:
        return ()


def as_batch(words: tuple[LastWord, ...]) -> Batch:
    """Return the word as the journal's reader would hand it on; its row is none of the journal's."""
    return Batch(Cursor(), tuple(JournalEntry(0, word.wall_ns, word.monotonic_ns, word.finished) for word in words))


def _overwrite(folder: RunFolder, text: bytes) -> None:
    with opened(folder.last_word, os.O_WRONLY | os.O_NOFOLLOW) as fd:
        os.pwrite(fd, text.ljust(ROOM_BYTES, b"\0"), 0)
        os.fsync(fd)
