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
from fsconsole.plan.array_steps import METADATA, stop_command, zero_command
from fsconsole.system.locks import FileLock

ARRAYS_LOCK = "/run/fsconsole-arrays.lock"
"""Held by the run that makes arrays: all of them do so under one name."""
_PAUSE_S = 0.2
_ROUNDS = 3
"""Udev may put members together again between an array's stop and the clearing: it heeds no lock on a volume of LVM."""

Act = Callable[[tuple[str, ...]], None]
"""Runs a command that gives something back; raises ToolFailed."""
Objection = Callable[[HeldArray], str]
"""Returns why an array that bears the run's UUID is somebody else's all the same, as a clause; empty where it isn't."""


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


def dismantle(own: OwnArray, act: Act, objection: Objection = lambda _: "") -> tuple[str, ...]:
    """Stop a run's arrays, whatever they are called now, and clear their members; return what was left, in clauses.

    An array that has a member of anybody else's, or another UUID, or against which there is an objection, stays as
    it is, and so do its members.
    """
    names = _names(own.members)
    for _ in range(_ROUNDS):
        kept = _stop_all(own, names, act, objection)
        not_cleared = _clear_all(own, names, act)
        remaining = _remaining(own, names)
        if kept or not remaining:
            return (*kept, *not_cleared)
    return not_cleared or tuple(f"{path} bears the run's superblock again" for path in remaining)


def _stop_all(own: OwnArray, names: dict[str, str], act: Act, objection: Objection) -> tuple[str, ...]:
    def strangeness(array: HeldArray) -> str:
        return _strangeness(array, own, names) or objection(array)

    ours = [array for array in held_arrays() if array.members & names.keys()]
    return tuple(clause for array in ours for clause in _stopped(array, strangeness, act))


def _clear_all(own: OwnArray, names: dict[str, str], act: Act) -> tuple[str, ...]:
    left: list[str] = []
    for name, path in names.items():
        if name not in _held() and _uuid_or_nothing(path) in own.uuids:
            left += _done(zero_command(path), path, act)
    return tuple(left)


def _remaining(own: OwnArray, names: dict[str, str]) -> tuple[str, ...]:
    """Return the members that still bear a UUID of the run's: udev may have put them together once more meanwhile."""
    return tuple(path for path in names.values() if _uuid_or_nothing(path) in own.uuids)


def _held() -> frozenset[str]:
    return frozenset[str]().union(*(array.members for array in held_arrays()))


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


def _stopped(array: HeldArray, strangeness: Objection, act: Act) -> tuple[str, ...]:
    why = strangeness(array)
    if why:
        return (why,)
    _wait_for_udev(array.path)
    for now in held_arrays():
        # Another array may have got its name meanwhile.
        if now.name == array.name:
            why = strangeness(now)
            return (why,) if why else _done(stop_command(now.path), now.path, act)
    return ()


def _strangeness(array: HeldArray, own: OwnArray, names: dict[str, str]) -> str:
    """Return why an array is not, or not only, the run's, as a clause; empty where it is just that."""
    strangers = array.members - names.keys()
    if strangers:
        return f"{array.path} has the member {min(strangers)}, which is not the run's: it stays as it is"
    found = {_uuid_or_nothing(names[member]) for member in array.members} - {""}
    # An array with its marks elsewhere, or without any, leaves an older superblock where it was.
    if not found or not found <= own.uuids or array.metadata != METADATA:
        return f"{array.path} is not one that the run made: it stays as it is"
    return ""


def _uuid_or_nothing(path: str) -> str:
    """Return the UUID on a member; empty too where a failing disk doesn't give it."""
    try:
        return member_uuid(path)
    except OSError:
        return ""


def _done(argv: tuple[str, ...], path: str, act: Act) -> tuple[str, ...]:
    """Run a command; return why it didn't work."""
    try:
        act(argv)
    except ToolFailed as error:
        return (f"{path}: {str(error).rstrip('.')}",)
    return ()


def _wait_for_udev(path: str) -> None:
    """Wait while the array is open, as udev may be looking at it just now; md stops none that is."""
    deadline = time.monotonic() + UDEV_PROBE_S
    while _is_busy(path) and time.monotonic() < deadline:
        time.sleep(_PAUSE_S)


def _is_busy(path: str) -> bool:
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))
    except OSError as error:
        return error.errno == errno.EBUSY
    return False
