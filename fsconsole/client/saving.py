"""Writing what a command printed into a file: whole or not at all."""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress

from fsconsole.errors import ExportFailed

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def save(path: str, text: str, *, overwrite: bool) -> None:
    """Write text to a file, in UTF-8. Raises ExportFailed, also for one that is there, unless it may be overwritten.

    A file that is there keeps its content until the new one is wholly written; no link is followed.
    """
    place = f"{path}.{os.getpid()}.new" if overwrite else path
    try:
        with ExitStack() as undo:
            fd = os.open(place, _NEW, 0o640)
            undo.callback(_unlink, place)
            with os.fdopen(fd, "w", encoding="utf-8", newline="") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            if overwrite:
                os.replace(place, path)
            undo.pop_all()
    except OSError as error:
        raise ExportFailed(path=path, why=error.strerror or str(error)) from error


def _unlink(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)
