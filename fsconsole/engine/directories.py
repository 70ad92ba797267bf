"""Runs in directories: what an engine holds of them, how they are resumed, and what a killed one left in them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

from fsconsole.devices.place import DIRECTORY_FLAGS, differs, place_of
from fsconsole.errors.targets import DeviceLocked, DirectoryChanged
from fsconsole.model.place import own_name
from fsconsole.model.run import RunRequest, Target
from fsconsole.model.state import RunState
from fsconsole.system.locks import lock_descriptor
from fsconsole.text import error_reason
from fsconsole.workloads import run_directory
from fsconsole.workloads.run_directory import NotOwn


@dataclass(frozen=True, slots=True)
class DirectoryRun:
    """Devices below a run's directories, as far as an engine knows them."""

    devices: tuple[str, ...]
    """Paths of the devices that are known."""
    tells_progress: bool
    """True if finished I/O of the devices tells whether the run gets on: all are known, and no process of others counts."""

    @classmethod
    def of(cls, request: RunRequest) -> DirectoryRun | None:
        """Return it for a run in directories, None for one on devices."""
        places = [target.place for target in request.targets if target.place is not None]
        if not places:
            return None
        devices = tuple(dict.fromkeys(place.device for place in places if place.device))
        return cls(devices, all(place.device for place in places) and os.geteuid() == 0)


def lock_directory(target: Target) -> ExitStack:
    """Prove that a directory is the run's, and lock it against other runs where its filesystem has locks, until the stack is closed.

    Raises DirectoryChanged, DeviceLocked.
    """
    with ExitStack() as stack:
        fd = _open(target)
        stack.callback(os.close, fd)
        try:
            lock_descriptor(fd)
        except BlockingIOError as error:
            raise DeviceLocked(target.path) from error
        except OSError:
            # NFS without a lock daemon, for one: two runs at once would only disturb each other.
            pass
        return stack.pop_all()


def _open(target: Target) -> int:
    """Return a descriptor of a run's directory. Raises DirectoryChanged."""
    if target.place is None:
        raise DirectoryChanged(target.path, "the run knows nothing of it")
    with ExitStack() as stack:
        try:
            fd = os.open(target.path, DIRECTORY_FLAGS)
            stack.callback(os.close, fd)
            difference = differs(target.place, place_of(fd))
        except (OSError, ValueError) as error:
            why = error_reason(error)
            raise DirectoryChanged(target.path, f"it can't be opened: {why}") from error
        if difference:
            raise DirectoryChanged(target.path, difference)
        stack.pop_all()
    return fd


def require_same_directories(request: RunRequest) -> None:
    """Raise DirectoryChanged unless each directory of a run is the one that its plan was made for."""
    for target in request.targets:
        os.close(_open(target))


def remove_left(state: RunState) -> Iterator[str]:
    """Remove what a killed engine left in the run's directories, and yield a clause for each that had something."""
    run_id = state.request.run_id
    for target in state.request.targets:
        if target.place is None or not any(cell.attempt for cell in state.cells):
            continue
        path = f"{target.path.rstrip('/')}/{own_name(run_id)}"
        try:
            left = run_directory.find_left(target.path, _open(target), run_id)
            if left is None:
                continue
            try:
                run_directory.remove(left)
            finally:
                left.close()
            yield f"{path} is removed"
        except DirectoryChanged as error:
            if os.path.lexists(path):
                yield f"{path} is left as it is: {error.difference}"
        except NotOwn as error:
            yield f"{path} is left as it is: {error}"
        except OSError as error:
            yield f"{path} could not be removed: {error_reason(error)}"
