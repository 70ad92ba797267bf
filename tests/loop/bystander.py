"""A device beside those that runs are given: whatever happens to them, no byte of it may change."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from fsconsole.text import MIB
from tests.conftest import run

_SIZE_BYTES = 8 * MIB


@dataclass(frozen=True, slots=True)
class Bystander:
    """A device that no run was given, and the digest of what is on it."""

    device: str
    digest: bytes

    def is_untouched(self) -> bool:
        """Return whether every byte is what it was."""
        return _digest(self.device) == self.digest


@contextmanager
def bystander(directory: str) -> Iterator[Bystander]:
    """Attach a file of random bytes, without a signature; it is gone afterwards."""
    path = os.path.join(directory, "bystander")
    with open(path, "wb") as file:
        file.write(os.urandom(_SIZE_BYTES))
    device = run("losetup", "--find", "--show", path).strip()
    try:
        yield Bystander(device, _digest(device))
    finally:
        run("losetup", "--detach", device)
        os.unlink(path)


def _digest(device: str) -> bytes:
    with open(device, "rb") as file:
        # What is on the device is asked for, not what this machine remembers of it.
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return hashlib.sha256(file.read()).digest()
