"""Whether anything still uses a scratch device: asked before it is taken away."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from fsconsole.devices.discovery import discover, find_device
from fsconsole.devices.state import Claim, device_state
from fsconsole.errors import ScratchInUse
from fsconsole.system.blockdev import open_exclusive
from fsconsole.system.locks import lock_descriptor
from fsconsole.system.processes import holders_of, own_pid_in_host_proc

_PASSING_BY_S = 0.5
"""udev's workers lock and open a device for some milliseconds after it appears; a user stays."""
_PAUSE_S = 0.02


@contextmanager
def held_for_removal(device_path: str) -> Iterator[None]:
    """Hold a loop device so that nobody else can mount or claim it. Raises ScratchInUse, OSError.

    In use is what is mounted in any namespace, swapped on, held by md or dm, locked by a run, or open in
    another process.
    """
    _need_unclaimed(device_path)
    fd = _open_exclusive(device_path)
    try:
        _need_alone(fd, device_path)
        yield
    finally:
        os.close(fd)


def _need_unclaimed(device_path: str) -> None:
    devices = discover()
    state = device_state(find_device(device_path, devices), devices)
    if state.claim is Claim.IN_USE:
        raise ScratchInUse(name=device_path, why=state.text)


def _open_exclusive(device_path: str) -> int:
    try:
        return open_exclusive(device_path)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        raise ScratchInUse(name=device_path, why="mounted or claimed in another namespace") from error


def _need_alone(fd: int, device_path: str) -> None:
    deadline = time.monotonic() + _PASSING_BY_S
    while why := _locked(fd) or _opened(fd):
        if time.monotonic() > deadline:
            raise ScratchInUse(name=device_path, why=why)
        time.sleep(_PAUSE_S)


def _locked(fd: int) -> str:
    try:
        lock_descriptor(fd)
    except BlockingIOError:
        return "a run has locked it"
    return ""


def _opened(fd: int) -> str:
    others = holders_of(os.fstat(fd).st_rdev, frozenset({own_pid_in_host_proc()}))
    return f"open in process {others[0].pid} ({others[0].command})" if others else ""
