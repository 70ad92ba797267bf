"""All runs of a directory, read one after the other, and again only where something has changed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from fsconsole.client.looking import Listed, look_at, size_bytes
from fsconsole.errors import FsconsoleError
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.history import read_state
from fsconsole.journal.store import is_alive

Stamp = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """A run's line and size, with what its files were like when they were read."""

    listed: Listed
    size_bytes: int
    stamp: Stamp


def read_runs(folders: Sequence[RunFolder], known: dict[str, Known]) -> dict[str, Known]:
    """Return these runs by name; of those that are as they were, what was known."""
    return {folder.name: _read(folder, known.get(folder.name)) for folder in folders}


def _read(folder: RunFolder, known: Known | None) -> Known:
    stamp = _stamp(folder)
    if known is not None and known.stamp == stamp:
        return known
    return Known(look_at(folder), size_bytes(folder), stamp)


def _stamp(folder: RunFolder) -> Stamp:
    """Return what differs once a run has gone on: whether it lives, and its files' sizes and times."""
    try:
        alive: bool | str = is_alive(folder)
    except FsconsoleError as error:
        alive = str(error)
    files = (folder.journal, folder.journal + "-wal", folder.last_word)
    return (folder.path, alive, *(_file_stamp(path) for path in files))


def _file_stamp(path: str) -> tuple[int, ...]:
    try:
        status = os.stat(path)
    except OSError:
        return ()
    return (status.st_ino, status.st_size, status.st_mtime_ns)


def targets_of(folder: RunFolder) -> tuple[str, ...]:
    """Return the devices of a run; none where its journal can't be read, which a command on it then tells."""
    try:
        return read_state(folder).request.plan.targets
    except FsconsoleError:
        return ()
