"""A run's own array, told from every other by its UUID: proved before it is written on, and taken apart by that proof."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fsconsole.devices.md_members import HeldArray, held_arrays, kernel_name, member_uuid
from fsconsole.devices.passing import UDEV_PROBE_S
from fsconsole.errors import ArraysLocked, DeviceChanged, ToolFailed
from fsconsole.plan.array_place import ARRAY_PATH
from fsconsole.plan.array_steps import stop_command, zero_command
from fsconsole.system.locks import FileLock

ARRAYS_LOCK = "/run/fsconsole-arrays.lock"
"""Held by the run that makes arrays: all of them do so under one name."""
_PAUSE_S = 0.2

Act = Callable[[tuple[str, ...]], None]
"""Runs a command that gives something back; raises ToolFailed."""


@dataclass(frozen=True, slots=True)
class OwnArray:
    """Arrays that a run may have made of these devices, proved to be its targets; uuids in lower case."""

    uuids: frozenset[str]
    members: tuple[str, ...]


def lock_arrays() -> FileLock:
    """Take the lock on making arrays. Raises ArraysLocked, OSError."""
    try:
        return FileLock.acquire(ARRAYS_LOCK)
    except BlockingIOError as error:
        raise ArraysLocked(ARRAY_PATH) from error


def require_own(path: str, uuid: str, members: Sequence[str]) -> None:
    """Let an array pass that is of just these members, each with this UUID on it. Raises DeviceChanged."""
    try:
        name = kernel_name(path)
        wanted = {kernel_name(member): member for member in members}
        strange = [member for member in members if member_uuid(member) != uuid]
    except OSError as error:
        raise DeviceChanged(path, f"it, or a member of it, is gone: {error.strerror or error}") from error
    held = next((array.members for array in held_arrays() if array.name == name), frozenset())
    if held != wanted.keys():
        raise DeviceChanged(path, f"it is made of {', '.join(sorted(held)) or 'nothing'} now")
    if strange:
        raise DeviceChanged(path, f"{strange[0]} doesn't bear the UUID that this run gave it, {uuid}")


def dismantle(own: OwnArray, act: Act) -> tuple[str, ...]:
    """Stop a run's arrays, whatever they are called now, and clear their members; return what was left, in clauses.

    An array that has a member of anybody else's, or another UUID, stays as it is, and so do its members.
    """
    names = _names(own.members)
    left: list[str] = []
    for array in held_arrays():
        if array.members & names.keys():
            left += _stopped(array, own, names, act)
    held = frozenset[str]().union(*(array.members for array in held_arrays()))
    for name, path in names.items():
        if name not in held and _uuid_or_nothing(path) in own.uuids:
            left += _done(zero_command(path), path, act)
    return tuple(left)


def _names(paths: Sequence[str]) -> dict[str, str]:
    """Return the paths of the devices that are there, by their kernel names."""
    found = {}
    for path in paths:
        try:
            found[kernel_name(path)] = path
        except OSError:
            # Pulled: what is on it can't be reached.
            continue
    return found


def _stopped(array: HeldArray, own: OwnArray, names: dict[str, str], act: Act) -> tuple[str, ...]:
    strangers = array.members - names.keys()
    if strangers:
        return (f"{array.path} has the member {min(strangers)}, which is not the run's: it stays as it is",)
    found = {_uuid_or_nothing(names[member]) for member in array.members} - {""}
    if not found or not found <= own.uuids:
        return (f"{array.path} is not one that the run made: it stays as it is",)
    return _done(stop_command(array.path), array.path, act, patience_s=UDEV_PROBE_S)


def _uuid_or_nothing(path: str) -> str:
    """Return the UUID on a member; empty too where a failing disk doesn't give it."""
    try:
        return member_uuid(path)
    except OSError:
        return ""


def _done(argv: tuple[str, ...], path: str, act: Act, patience_s: float = 0.0) -> tuple[str, ...]:
    """Run a command until it works, as udev may be looking at the device just now; return why it didn't."""
    deadline = time.monotonic() + patience_s
    while _is_busy(path) and time.monotonic() < deadline:
        time.sleep(_PAUSE_S)
    try:
        act(argv)
    except ToolFailed as error:
        return (f"{path}: {str(error).rstrip('.')}",)
    return ()


def _is_busy(path: str) -> bool:
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))
    except OSError as error:
        return error.errno == errno.EBUSY
    return False
