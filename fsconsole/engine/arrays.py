"""The what-if arrays of a run: recognised by UUID, proved before a write, stopped and cleared by the same proof.

Those of a killed engine are shown, and stopped only with consent.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from fsconsole.devices.ask import require_answer
from fsconsole.devices.claims import UDEV_PROBE_S
from fsconsole.devices.evidence import GateContext
from fsconsole.devices.fingerprint import sectors_written
from fsconsole.devices.gate import GateReport, inspect_device
from fsconsole.devices.md import HeldArray, held_arrays, kernel_name, member_uuid
from fsconsole.devices.snapshot import device_number, find_device
from fsconsole.errors import FsconsoleError
from fsconsole.errors.runs import ToolFailed
from fsconsole.errors.targets import ArrayLeft, ArraysLocked, DeviceChanged
from fsconsole.model.command import Command, Watch
from fsconsole.model.device import Hazard, Verdict
from fsconsole.model.state import CellStatus, RunState
from fsconsole.plan.arrays import ARRAY_PATH
from fsconsole.plan.expand import array_uuid
from fsconsole.plan.steps import METADATA, stop_command, zero_command
from fsconsole.preflight.root_listing import root_listings
from fsconsole.system.locks import FileLock
from fsconsole.system.trace import devices_open_for_writing
from fsconsole.text import error_reason

ARRAYS_LOCK = "/run/fsconsole-arrays.lock"
"""Held by the run that creates arrays: all use one name."""
_PAUSE_S = 0.2
_ROUNDS = 3
"""Udev may reassemble members between stop and clearing: it ignores locks on LVM volumes."""

Act = Callable[[tuple[str, ...], Watch | None], None]
"""Runs a release command, with a watch if it writes to a device; raises ToolFailed and what the watch raises."""
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
        raise DeviceChanged(path, f"it, or a member of it, is gone: {error_reason(error)}") from error
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
                not_cleared += _done(zero_command(path), path, act, _while_ours(path, own.uuids))
        remaining = [path for path in names.values() if _uuid_or_nothing(path) in own.uuids]
        if kept or not remaining:
            return (*kept, *not_cleared)
    return tuple(not_cleared) or tuple(f"{path} has the run's superblock again" for path in remaining)


def _stopped(array: HeldArray, own: OwnArray, names: dict[str, str], act: Act, objection: Objection) -> tuple[str, ...]:
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


def _while_ours(path: str, uuids: frozenset[str]) -> Watch:
    """Return a watch that lets a tool go once it has the member open for writing, and this has one of the UUIDs still.

    The watch raises DeviceChanged otherwise.
    """

    def watch(process: str) -> bool:
        opened = devices_open_for_writing(process)
        if opened and (opened != {device_number(path)} or _uuid_or_nothing(path) not in uuids):
            raise DeviceChanged(path, "it is no member of this run's array any longer")
        return bool(opened)

    return watch


def _done(argv: tuple[str, ...], path: str, act: Act, watch: Watch | None = None) -> tuple[str, ...]:
    """Run a command; return a clause if it failed."""
    try:
        act(argv, watch)
    except (ToolFailed, DeviceChanged) as error:
        return (f"{path}: {str(error).rstrip('.')}",)
    return ()


def _is_busy(path: str) -> bool:
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))
    except OSError as error:
        return error.errno == errno.EBUSY
    return False


_TIMEOUT_S = 60.0


def arrays_left(state: RunState) -> tuple[HeldArray, ...]:
    """Return the assembled arrays that a killed engine left: what has been stored on them since is not known.

    None of the targets may be silent.
    """
    uuids = _uuids(state)
    names = _target_names(state) if uuids else {}
    return tuple(
        array
        for array in held_arrays()
        if any(_uuid_or_nothing(names[member]) in uuids for member in array.members & names.keys())
    )


def _target_names(state: RunState) -> dict[str, str]:
    """Return the paths of the run's targets by their kernel names, without those that are gone."""
    names = dict[str, str]()
    for target in state.request.targets:
        with suppress(OSError):
            names[kernel_name(target.path)] = target.path
    return names


def inspect_left(array: HeldArray, state: RunState, context: GateContext) -> GateReport:
    """Look at an array that a killed engine left. One that has got a member which is not the run's is refused.

    Raises what inspect_device() raises.
    """
    report = inspect_device(array.path, context)
    if strangers := array.members - _target_names(state).keys():
        reason = f"has the member {min(strangers)}, which is not the run's"
        hint = f"`mdadm --detail {array.path}` shows the members; the run stops no array but its own."
        foreign = Hazard("foreign-member", Verdict.REFUSED, array.path, reason, hint)
        report = replace(report, hazards=(foreign, *report.hazards))
    return report


def left_in_words(state: RunState, context: GateContext, silent: Collection[str] = ()) -> Iterator[str]:
    """Yield a clause for each array that a killed engine left: what is on it, and what to do about it.

    Nothing is stopped, as it may be in somebody's use by now. silent are targets that don't answer.
    """
    run = state.request.run_id
    if silent and _uuids(state):
        yield f"its arrays can't be looked at: {min(silent)} does not answer"
        return
    for array in arrays_left(state):
        way = f"`fsconsole resume {run} --show` prints the code that gives it up, or by hand: "
        try:
            require_answer(array.path, find_device(array.path).size_bytes, context.executor)
            report = inspect_left(array, state, context)
            if report.refusals:
                way = "no code can give it up as long as that is so; by hand: "
            found = [hazard.reason for hazard in report.hazards] or ["looks empty"]
            found += root_listings(report, context.executor)
        except FsconsoleError as error:
            found = [f"can't be looked at: {str(error).rstrip('.')}"]
        nodes = " ".join(
            f"/dev/{member.replace('!', '/')}" for member in sorted(array.members & _target_names(state).keys())
        )
        yield (
            f"{array.path} is left assembled, as somebody may have stored files on it since the engine died: it "
            f"{', '.join(found)}; {way}`mdadm --stop {array.path}`, then `mdadm --zero-superblock {nodes}`"
        )


def give_up(report: GateReport, members: Sequence[str], state: RunState, context: GateContext) -> None:
    """Stop an array that a killed engine left, as agreed upon with its report, and clear its members.

    The caller has locked these. Raises ArrayLeft.
    """
    executor = context.executor

    def act(argv: tuple[str, ...], watch: Watch | None) -> None:
        result = executor.run(Command(argv, timeout_s=_TIMEOUT_S, watch=watch))
        if result.exit_code != 0 or result.timed_out:
            raise ToolFailed(" ".join(argv), result.exit_code, result.err.strip())

    def objection(array: HeldArray) -> str:
        now = sectors_written(find_device(array.path))
        return "" if now == report.fingerprint.written else f"somebody wrote to {array.path} since it was shown"

    own = OwnArray(_uuids(state), tuple(members))
    if left := dismantle(own, act, objection):
        raise ArrayLeft(report.device.path, "; ".join(left))


def _uuids(state: RunState) -> frozenset[str]:
    """Return the UUIDs of arrays that may not have been stopped: those of started, unfinished cells."""
    run_id = state.request.run_id
    cells = zip(state.request.plan.cells, state.cells, strict=True)
    return frozenset(
        array_uuid(run_id, cell.index)
        for cell, known in cells
        if cell.array is not None and known.attempt and known.status is not CellStatus.DONE
    )
