"""A run's own array, told from every other by its UUID: proved before it is written on, and taken apart by that proof."""

from __future__ import annotations

import errno
import os
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass

from fsconsole.devices.claims import UDEV_PROBE_S, lock_whole_disk
from fsconsole.devices.content import probe_signatures
from fsconsole.devices.discover import discover
from fsconsole.devices.identity import differences, lasting_differences, read_identity
from fsconsole.devices.md import HeldArray, held_arrays, is_started, kernel_name, member_uuid
from fsconsole.errors.runs import ToolFailed
from fsconsole.errors.targets import ArraysLocked, DeviceChanged, DeviceLocked, DeviceSilent
from fsconsole.model.command import Command, Executor
from fsconsole.model.device import Device, Signature
from fsconsole.model.events import Outcome
from fsconsole.model.plan import StepKind
from fsconsole.model.run import Target
from fsconsole.model.state import CellState, CellStatus, RunState
from fsconsole.plan.arrays import ARRAY_NAME, ARRAY_PATH
from fsconsole.plan.expand import array_uuid
from fsconsole.plan.steps import METADATA, look_command, stop_command, zero_command
from fsconsole.system.files import boot_id
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


# Stopped arrays of a dead engine, put together for a look: what somebody has made on one since shows only so.

_TIMEOUT_S = 60.0
_NUMBERS = range(401, 500)
"""Behind the one that runs use, where nobody else soon comes to."""


def assemble_stopped(own: OwnArray, executor: Executor) -> None:
    """Put a run's stopped arrays together, read-only, under numbers that are free: not a byte of a member changes.

    One that can't be, as too many members are gone, shows nothing to anybody and stays as it is. Raises ToolMissing.
    """
    for path, members in zip(_free_paths(), _array_look_stopped(own), strict=False):
        executor.run(Command(look_command(path, members), timeout_s=_TIMEOUT_S))


def _array_look_stopped(own: OwnArray) -> tuple[tuple[str, ...], ...]:
    """Return the members of each of the run's arrays of which the kernel holds none together."""
    held = frozenset[str]().union(*(array.members for array in held_arrays()))
    found: dict[str, list[str]] = defaultdict(list)
    busy = set()
    for path in own.members:
        # Of one that is gone, or doesn't give its superblock, nothing can be put together.
        with suppress(OSError):
            uuid = member_uuid(path)
            found[uuid].append(path)
            if kernel_name(path) in held:
                busy.add(uuid)
    return tuple(tuple(found[uuid]) for uuid in found.keys() & own.uuids - busy)


def _free_paths() -> Iterator[str]:
    return (f"/dev/md{number}" for number in _NUMBERS if not os.path.exists(f"/sys/block/md{number}"))


# Whether somebody has taken an array that a dead engine left for his own: by what is on it that the run didn't make.
#
# A new array may show remains of an older one, of the same members: what it showed stands in the step that made it.

_SHOWED = "showed "
_BETWEEN = ", "


def in_words(signatures: Iterable[Signature]) -> str:
    """Return what a new array shows, as its step's verdict: "showed ext4 UUID"; empty for nothing."""
    words = _BETWEEN.join(sorted({_word(signature) for signature in signatures}))
    return words and _SHOWED + words


class Owner:
    """Looks at the arrays that a run left; state is the run as its journal tells it."""

    def __init__(self, state: RunState, executor: Executor) -> None:
        self._executor = executor
        run_id = state.request.run_id
        cells = zip(state.request.plan.cells, state.cells, strict=True)
        self._known = {array_uuid(run_id, cell.index): (cell.uuid.lower(), known) for cell, known in cells}

    def objection(self, array: HeldArray) -> str:
        """Return, as a clause, that there is something on the array which the run didn't make; empty for nothing.

        Of one that can't be read nobody knows whose it is.
        """
        members = " ".join(sorted(_node(member) for member in array.members))
        by_hand = f"`mdadm --stop {array.path}`, then `mdadm --zero-superblock {members}`, end it, if nobody needs that"
        try:
            strange = [
                word for uuid in self._uuids(array) for word in self._strange(array, *self._known[uuid])
            ]
        except (DeviceSilent, ToolFailed) as error:
            why = str(error).rstrip(".")
            return f"{array.path} may hold anything, as it can't be read: {why}: it stays as it is; {by_hand}"
        if not strange:
            return ""
        return f"{array.path} holds {strange[0]}, which the run didn't make: it stays as it is; {by_hand}"

    def _uuids(self, array: HeldArray) -> frozenset[str]:
        found = set()
        for member in array.members:
            with suppress(OSError):
                found.add(member_uuid(_node(member)))
        return frozenset(found & self._known.keys())

    def _strange(self, array: HeldArray, uuid: str, known: CellState) -> Iterator[str]:
        making = [step for step in known.steps if step.kind is StepKind.ARRAY]
        if not making or making[-1].outcome is not Outcome.DONE:
            # The engine died while it made the array: what that showed is not known.
            return
        if not is_started(array.name):
            # It shows nothing to anybody.
            return
        remains = making[-1].verdict.removeprefix(_SHOWED).split(_BETWEEN)
        found = probe_signatures(self._executor, array.path)
        yield from (_word(s) for s in found if s.uuid.lower() != uuid and _word(s) not in remains)


def _node(name: str) -> str:
    return f"/dev/{name.replace('!', '/')}"


def _word(signature: Signature) -> str:
    return f"{signature.type} {signature.uuid or f'at {signature.offset_bytes}'}"


# Arrays that a dead engine left, under whatever name they are held together now: stopped, and their members cleared.


def take_apart_leftovers(
    state: RunState, executor: Executor, silent: Collection[str] = ()
) -> tuple[str, ...]:
    """Take apart what a run left of arrays though its engine is gone; return what became of it, in clauses.

    The caller holds the run's lock. An array is the run's by the UUID on its members, which are proved to be the
    run's targets, and as long as nobody has made anything of his own on it; what is not stays as it is. Where a member
    is silent, all have to wait.
    """
    uuids = _uuids(state)
    if not uuids:
        return ()
    if silent:
        return (f"its arrays have to wait: {min(silent)} does not answer",)
    members = tuple(_present(state.request.targets, executor))
    own = OwnArray(uuids, tuple(device.path for device in members))
    with ExitStack() as stack:
        try:
            for device in members:
                stack.enter_context(lock_whole_disk(device))
        except (DeviceLocked, DeviceChanged, OSError) as error:
            return (f"its arrays have to wait: {str(error).rstrip('.')}",)
        assemble_stopped(own, executor)
        act = _Acts(executor)
        left = dismantle(own, act, Owner(state, executor).objection)
    return (*act.done, *left, *_foreign(members))


def members_left(state: RunState) -> dict[str, int]:
    """Return the devices, with their bytes, of which an array may be left."""
    return (
        {target.path: target.identity.size_bytes for target in state.request.targets} if _uuids(state) else {}
    )


def _uuids(state: RunState) -> frozenset[str]:
    """Return the UUIDs of the arrays that may not have been taken apart: of cells that were begun, and not done."""
    run_id = state.request.run_id
    cells = zip(state.request.plan.cells, state.cells, strict=True)
    return frozenset(
        array_uuid(run_id, cell.index)
        for cell, known in cells
        if cell.array is not None and known.attempt and known.status is not CellStatus.DONE
    )


def _present(targets: tuple[Target, ...], executor: Executor) -> Iterator[Device]:
    """Yield the devices that are proved to be targets of the run, wherever they are now."""
    devices = discover()
    for target in targets:
        found = [device for device in devices if _is_same(target, device, executor)]
        if len(found) == 1:
            yield found[0]


def _is_same(target: Target, device: Device, executor: Executor) -> bool:
    known = target.identity
    if device.size_bytes != known.size_bytes:
        return False
    found = read_identity(device, executor)
    if device.path == target.path and known.boot_id == boot_id() and not differences(known, found):
        return True
    return bool(known.stable_key()[0]) and not lasting_differences(known, found)


def _foreign(members: tuple[Device, ...]) -> Iterator[str]:
    """Yield a clause where another array has the name of a run's own."""
    names = {device.name for device in members}
    for array in held_arrays():
        if array.name == ARRAY_NAME and not array.members & names:
            yield f"{array.path} is an array of {', '.join(sorted(array.members))}, not the run's: it stays as it is"


class _Acts:
    """Runs what takes an array apart, and keeps it in words."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self.done: list[str] = []

    def __call__(self, argv: tuple[str, ...]) -> None:
        result = self._executor.run(Command(argv, timeout_s=_TIMEOUT_S))
        if result.exit_code != 0 or result.timed_out:
            raise ToolFailed(" ".join(argv), result.exit_code, result.err.strip())
        did = "stopped the array" if "--stop" in argv else "cleared its former member"
        self.done.append(f"{did} {argv[-1]}")
