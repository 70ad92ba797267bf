"""Arrays that a dead engine left, under whatever name they are held together now: stopped, and their members cleared."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import ExitStack

from fsconsole.devices.claims import lock_whole_disk
from fsconsole.devices.discovery import discover
from fsconsole.devices.identity import differences, lasting_differences, read_identity
from fsconsole.devices.md_members import held_arrays
from fsconsole.engine.array_look import assemble_stopped
from fsconsole.engine.array_owner import Owner
from fsconsole.engine.arrays import OwnArray, dismantle
from fsconsole.errors import DeviceChanged, DeviceLocked, ToolFailed
from fsconsole.model.command import Command, Executor
from fsconsole.model.device import Device
from fsconsole.model.run import Target
from fsconsole.model.state import CellStatus, RunState
from fsconsole.plan.array_place import ARRAY_NAME
from fsconsole.plan.expand import array_uuid
from fsconsole.system.host import boot_id

_TIMEOUT_S = 60.0


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
