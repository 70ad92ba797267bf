"""Where a run's devices are now: under other names, plugged in or attached again, after a reboot or without."""

from __future__ import annotations

from dataclasses import replace

from fsconsole.devices import scratch
from fsconsole.devices.discovery import discover, find_device
from fsconsole.devices.identity import lasting_differences, read_identity
from fsconsole.errors import DeviceChanged, DeviceMissing, NotABlockDevice, ScratchMissing
from fsconsole.model.command import Executor
from fsconsole.model.run import Target
from fsconsole.system.host import boot_id
from fsconsole.units import format_bytes_exact


def present_target(target: Target, executor: Executor) -> Target:
    """Return a run's device as it is reached now; a detached scratch device is attached.

    The identity stays the one that was agreed upon, but for a scratch device: that is proved by its file, whatever
    loop device it lies under. Raises DeviceChanged where it is not found, or more than one device answers to what
    is known of it.
    """
    path = _present_path(target, executor)
    if not target.identity.scratch_id:
        return replace(target, path=path)
    identity = read_identity(find_device(path), executor)
    changes = lasting_differences(target.identity, identity)
    if changes:
        raise DeviceChanged(target.path, "; ".join(changes))
    shown = tuple(replace(hazard, device=path) for hazard in target.shown)
    return replace(target, path=path, identity=identity, shown=shown)


def _present_path(target: Target, executor: Executor) -> str:
    if target.identity.scratch_id and target.backing_file:
        return _attached(target)
    if target.identity.boot_id == boot_id() and _is_in_place(target, executor):
        return target.path
    return _found_again(target, executor)


def _is_in_place(target: Target, executor: Executor) -> bool:
    """Return whether the disk is where it was; one that was pulled and plugged in again may have another name."""
    try:
        return not lasting_differences(target.identity, read_identity(find_device(target.path), executor))
    except (DeviceMissing, NotABlockDevice):
        return False


def _attached(target: Target) -> str:
    try:
        return scratch.attach(target.backing_file).device
    except ScratchMissing as error:
        raise DeviceChanged(target.path, f"its file {target.backing_file} is gone") from error


def _found_again(target: Target, executor: Executor) -> str:
    """Return the one device that has what lasts across boots; one that has nothing of it may be asked about."""
    if not target.identity.stable_key()[0]:
        try:
            return find_device(target.path).path
        except (DeviceMissing, NotABlockDevice) as error:
            raise DeviceChanged(target.path, "it is gone") from error
    found = [
        device.path
        for device in discover()
        if device.size_bytes == target.identity.size_bytes
        and not lasting_differences(target.identity, read_identity(device, executor))
    ]
    if len(found) == 1:
        return found[0]
    if found:
        raise DeviceChanged(target.path, f"several devices answer to its name: {', '.join(found)}")
    names = (("WWN", target.identity.wwn), ("serial number", target.identity.serial))
    known = " and ".join(f"{word} {value}" for word, value in names if value) or "its device-mapper UUID"
    size = format_bytes_exact(target.identity.size_bytes)
    raise DeviceChanged(target.path, f"no device of {size} with {known} is there now")
