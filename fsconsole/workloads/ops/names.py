"""Operations on files as a whole, which move none of their data: stat and delete."""

from __future__ import annotations

import os
import time

from fsconsole.model.latency import Timed
from fsconsole.workloads.ops.base import Means


class Stat:
    """Asks for what the inode says."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._stopwatch = means.stopwatch(Timed.STAT)

    def run(self, directory_fd: int, name: str, _number: int) -> bool:
        """Look at one file. Raises OSError."""
        began_ns = time.monotonic_ns()
        os.stat(name, dir_fd=directory_fd, follow_symlinks=False)
        self._stopwatch.lap(began_ns)
        self._means.words[self._means.operations_word] += 1
        return True


class Delete:
    """Removes the file."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._stopwatch = means.stopwatch(Timed.DELETE)

    def run(self, directory_fd: int, name: str, _number: int) -> bool:
        """Remove one file. Raises OSError."""
        began_ns = time.monotonic_ns()
        os.unlink(name, dir_fd=directory_fd)
        self._stopwatch.lap(began_ns)
        self._means.words[self._means.operations_word] += 1
        return True
