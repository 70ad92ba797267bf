"""Operations on files as a whole, which move none of their data: stat and delete."""

from __future__ import annotations

import os
import time

from fsconsole.model.latency import Timed
from fsconsole.workloads.ops.base import FileRef, Means


class Stat:
    """Asks for what the inode says."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._stopwatch = means.stopwatch(Timed.STAT)

    def run(self, file: FileRef) -> bool:
        """Look at one file. Raises OSError."""
        began_ns = time.monotonic_ns()
        os.stat(file.name, dir_fd=file.directory_fd, follow_symlinks=False)
        self._stopwatch.lap(began_ns)
        self._means.words[self._means.operations_word] += 1
        return True


class Delete:
    """Removes the file."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._stopwatch = means.stopwatch(Timed.DELETE)

    def run(self, file: FileRef) -> bool:
        """Remove one file. Raises OSError."""
        began_ns = time.monotonic_ns()
        os.unlink(file.name, dir_fd=file.directory_fd)
        self._stopwatch.lap(began_ns)
        self._means.words[self._means.operations_word] += 1
        return True
