"""The tools' own outputs, as plain files beside the journal."""

from __future__ import annotations

import errno
import os
import re

from fsconsole.errors import JournalFull, JournalUnusable
from fsconsole.journal.folder import RunFolder

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_NAME = 80
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class RawOutputs:
    """Keeps raw outputs of one run; nothing that was written is ever replaced."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder

    def write(self, cell: int, step: int, name: str, data: bytes) -> str:
        """Write one output durably and return its path relative to the run's folder.

        A cell that is done again gets new files: "raw/003-05-mkfs.2". Raises JournalFull, JournalUnusable.
        """
        stem = f"{cell:03d}-{step:02d}-{_UNSAFE.sub('_', name)[:_LONGEST_NAME]}"
        try:
            fd, path = self._create(stem)
            with os.fdopen(fd, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(fd)
        except OSError as error:
            if error.errno in _NO_ROOM:
                raise JournalFull(path=self._folder.raw) from error
            raise JournalUnusable(path=self._folder.raw, why=os.strerror(error.errno or 0)) from error
        return os.path.relpath(path, self._folder.path)

    def _create(self, stem: str) -> tuple[int, str]:
        number = 1
        while True:
            path = os.path.join(self._folder.raw, stem if number == 1 else f"{stem}.{number}")
            try:
                return os.open(path, _FLAGS, 0o640), path
            except FileExistsError:
                number += 1


def read_tail(folder: RunFolder, output: str, limit: int) -> tuple[bytes, int]:
    """Return the last bytes of an output that the journal names, at most limit, and how many were before them.

    A journal from elsewhere may name any file: only those in the folder's own raw directory are read, and no
    symbolic link is followed. Raises OSError.
    """
    name = os.path.basename(output)
    if output != os.path.join(os.path.basename(folder.raw), name):
        raise FileNotFoundError(errno.ENOENT, "it is no output of this run", output)
    fd = os.open(os.path.join(folder.raw, name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        before = max(0, os.fstat(fd).st_size - limit)
        return os.pread(fd, limit, before), before
    finally:
        os.close(fd)
