"""The what-if arrays of a run: recognised by UUID, proved before a write, stopped and cleared by the same proof."""

from __future__ import annotations

import errno
import os
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass

from fsconsole.devices.claims import UDEV_PROBE_S, lock_disks
from fsconsole.devices.content import probe_signatures
from fsconsole.devices.identity import differences, lasting_differences, read_identity
from fsconsole.devices.md import HeldArray, held_arrays, is_started, kernel_name, member_uuid
from fsconsole.devices.snapshot import discover
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
"""Held by the run that creates arrays: all use one name."""
_PAUSE_S = 0.2
_ROUNDS = 3
"""Udev may reassemble members between stop and clearing: it ignores locks on LVM volumes."""

Act = Callable[[tuple[str, ...]], None]
"""Runs a release command; raises ToolFailed."""
Objection = Callable[[HeldArray], str]
"""Returns why an array with the run's UUID is foreign all the same, as a clause; empty if it isn't."""


@dataclass(frozen=True, slots=True)
class OwnArray:
    """UUIDs (lower case) of arrays that a run may have created, and the devices proved to be its targets."""

    uuids: frozenset[str]
    members: tuple[str, ...]


def lock_arrays() -> FileLock:
    """Take the lock for creating arrays. Raises ArraysLocked, OSError."""
    try:
        return FileLock.acquire(ARRAYS_LOCK)
    except BlockingIOError as error:
        raise ArraysLocked(ARRAY_PATH) from error


def require_own(path: str, uuid: str, members: Sequence[str]) -> None:
    """Raise DeviceChanged unless the array has exactly these members, each with this UUID."""
    try:
        name = kernel_name(path)
        wanted = {kernel_name(member): member for member in members}
        strange = [member for member in members if member_uuid(member) != uuid]
    except OSError as error:
        raise DeviceChanged(path, f"it, or a member of it, is gone: {error.strerror or error}") from error
    held = next((array.members for array in held_arrays() if array.name == name), frozenset())
    if held != wanted.keys():
        raise DeviceChanged(path, f"it now consists of {', '.join(sorted(held)) or 'nothing'} now")
    if strange:
        raise DeviceChanged(path, f"{strange[0]} lacks the UUID that this run gave it, {uuid}")


def dismantle(own: OwnArray, act: Act, objection: Objection = lambda _: "") -> tuple[str, ...]:
    """Stop a run's arrays under any name and clear their members; return what was left, as clauses.

    An array with a foreign member, another UUID or an objection stays untouched, and so do its members.
    """
    names: dict[str, str] = {}
    for path in own.members:
        with suppress(OSError):  # pulled
            names[kernel_name(path)] = path
    for _ in range(_ROUNDS):
        ours = [array for array in held_arrays() if array.members & names.keys()]
        kept = [clause for array in ours for clause in _stopped(array, own, names, act, objection)]
        not_cleared: list[str] = []
        for name, path in names.items():
            held = any(name in array.members for array in held_arrays())
            if not held and _uuid_or_nothing(path) in own.uuids:
                not_cleared += _done(zero_command(path), path, act)
        remaining = [path for path in names.values() if _uuid_or_nothing(path) in own.uuids]
        if kept or not remaining:
            return (*kept, *not_cleared)
    return tuple(not_cleared) or tuple(f"{path} has the run's superblock again" for path in remaining)


def _stopped(
    array: HeldArray, own: OwnArray, names: dict[str, str], act: Act, objection: Objection
) -> tuple[str, ...]:
    why = _foreign_trait(array, own, names) or objection(array)
    if why:
        return (why,)
    # md stops no array that is open, and udev may be probing it.
    deadline = time.monotonic() + UDEV_PROBE_S
    while _is_busy(array.path) and time.monotonic() < deadline:
        time.sleep(_PAUSE_S)
    for now in held_arrays():
        # Another array may have got its name meanwhile.
        if now.name == array.name:
            why = _foreign_trait(now, own, names) or objection(now)
            return (why,) if why else _done(stop_command(now.path), now.path, act)
    return ()


def _foreign_trait(array: HeldArray, own: OwnArray, names: dict[str, str]) -> str:
    """Return why an array is not entirely the run's, as a clause; empty if it is."""
    strangers = array.members - names.keys()
    if strangers:
        return f"{array.path} has the member {min(strangers)}, which is not the run's: left untouched"
    found = {_uuid_or_nothing(names[member]) for member in array.members} - {""}
    # An array of another metadata version, or without any, leaves an older superblock in place.
    if not found or not found <= own.uuids or array.metadata != METADATA:
        return f"{array.path} was not created by the run: left untouched"
    return ""


def _uuid_or_nothing(path: str) -> str:
    """Return the UUID on a member; empty if it has none or can't be read."""
    try:
        return member_uuid(path)
    except OSError:
        return ""


def _done(argv: tuple[str, ...], path: str, act: Act) -> tuple[str, ...]:
    """Run a command; return a clause if it failed."""
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


_TIMEOUT_S = 60.0
_NUMBERS = range(401, 500)
"""md numbers after the one that runs use: unlikely to be taken."""


def assemble_stopped(own: OwnArray, executor: Executor) -> None:
    """Assemble a run's stopped arrays read-only under free numbers, which changes no byte of a member.

    Their content can be probed only then. One with too many members gone stays stopped. Raises ToolMissing.
    """
    held = frozenset[str]().union(*(array.members for array in held_arrays()))
    found: dict[str, list[str]] = defaultdict(list)
    busy = set()
    for path in own.members:
        with suppress(OSError):
            uuid = member_uuid(path)
            found[uuid].append(path)
            if kernel_name(path) in held:
                busy.add(uuid)
    free = (f"/dev/md{number}" for number in _NUMBERS if not os.path.exists(f"/sys/block/md{number}"))
    for path, uuid in zip(free, found.keys() & own.uuids - busy, strict=False):
        executor.run(Command(look_command(path, tuple(found[uuid])), timeout_s=_TIMEOUT_S))


_SHOWED = "showed "
_BETWEEN = ", "


def in_words(signatures: Iterable[Signature]) -> str:
    """Return a new array's signatures as its step's verdict: "showed ext4 UUID"; empty for none.

    They remain from an older array of the same members.
    """
    words = _BETWEEN.join(sorted({_word(signature) for signature in signatures}))
    return words and _SHOWED + words


def foreign_content(array: HeldArray, state: RunState, executor: Executor) -> str:
    """Return a clause that names content on a dead run's array that the run did not make; empty if it has none.

    An array that can't be read may have some. state comes from the journal.
    """
    cells = zip(state.request.plan.cells, state.cells, strict=True)
    made = {array_uuid(state.request.run_id, cell.index): (cell.uuid.lower(), known) for cell, known in cells}
    nodes = [f"/dev/{member.replace('!', '/')}" for member in sorted(array.members)]
    by_hand = (
        f"if nobody needs it: `mdadm --stop {array.path}`, then `mdadm --zero-superblock {' '.join(nodes)}`"
    )
    uuids = {_uuid_or_nothing(node) for node in nodes} & made.keys()
    try:
        strange = [word for uuid in uuids for word in _foreign_words(array, *made[uuid], executor)]
    except (DeviceSilent, ToolFailed) as error:
        why = str(error).rstrip(".")
        return f"{array.path} may hold anything, since it can't be read: {why}: left untouched; {by_hand}"
    if not strange:
        return ""
    return f"{array.path} holds {strange[0]}, which the run did not make: left untouched; {by_hand}"


def _foreign_words(array: HeldArray, uuid: str, known: CellState, executor: Executor) -> list[str]:
    making = [step for step in known.steps if step.kind is StepKind.ARRAY]
    # An engine that died while it created the array never journalled its signatures.
    if not making or making[-1].outcome is not Outcome.DONE or not is_started(array.name):
        return []
    remains = making[-1].verdict.removeprefix(_SHOWED).split(_BETWEEN)
    found = probe_signatures(executor, array.path)
    return [word for seen in found if seen.uuid.lower() != uuid and (word := _word(seen)) not in remains]


def _word(signature: Signature) -> str:
    return f"{signature.type} {signature.uuid or f'at {signature.offset_bytes}'}"


def take_apart_leftovers(
    state: RunState, executor: Executor, silent: Collection[str] = ()
) -> tuple[str, ...]:
    """Stop a dead run's arrays and clear their members; return the outcomes as clauses.

    The caller holds the run's lock. An array is the run's by the UUID on its members, which are proved to be the
    run's targets, and only without foreign content; others stay untouched. If a member is silent, all must wait.
    """
    uuids = _uuids(state)
    if not uuids:
        return ()
    if silent:
        return (f"its arrays have to wait: {min(silent)} does not answer",)
    members, done = _present(state.request.targets, executor), []

    def act(argv: tuple[str, ...]) -> None:
        result = executor.run(Command(argv, timeout_s=_TIMEOUT_S))
        if result.exit_code != 0 or result.timed_out:
            raise ToolFailed(" ".join(argv), result.exit_code, result.err.strip())
        did = "stopped the array" if "--stop" in argv else "cleared its former member"
        done.append(f"{did} {argv[-1]}")

    own = OwnArray(uuids, tuple(device.path for device in members))
    with ExitStack() as stack:
        try:
            for device in members:
                stack.enter_context(lock_disks(device))
        except (DeviceLocked, DeviceChanged, OSError) as error:
            return (f"its arrays have to wait: {str(error).rstrip('.')}",)
        assemble_stopped(own, executor)
        left = dismantle(own, act, lambda array: foreign_content(array, state, executor))
    names = {device.name for device in members}
    foreign = (
        f"{array.path} is an array of {', '.join(sorted(array.members))}, not the run's: left untouched"
        for array in held_arrays()
        if array.name == ARRAY_NAME and not array.members & names
    )
    return (*done, *left, *foreign)


def members_left(state: RunState) -> dict[str, int]:
    """Return the devices, with their sizes in bytes, that may still carry an array."""
    return (
        {target.path: target.identity.size_bytes for target in state.request.targets} if _uuids(state) else {}
    )


def _uuids(state: RunState) -> frozenset[str]:
    """Return the UUIDs of arrays that may not have been stopped: those of started, unfinished cells."""
    run_id = state.request.run_id
    cells = zip(state.request.plan.cells, state.cells, strict=True)
    return frozenset(
        array_uuid(run_id, cell.index)
        for cell, known in cells
        if cell.array is not None and known.attempt and known.status is not CellStatus.DONE
    )


def _present(targets: tuple[Target, ...], executor: Executor) -> tuple[Device, ...]:
    """Return the devices that are proved to be the run's targets, under any path."""
    devices, present = discover(), []
    for target in targets:
        known, found = target.identity, []
        for device in devices:
            if device.size_bytes == known.size_bytes:
                now = read_identity(device, executor)
                is_in_place = device.path == target.path and known.boot_id == boot_id()
                is_lasting = known.stable_key()[0] and not lasting_differences(known, now)
                if is_lasting or (is_in_place and not differences(known, now)):
                    found.append(device)
        if len(found) == 1:
            present += found
    return tuple(present)
