"""All block devices of the machine, put together from sysfs, udev, mdstat, loop devices and mount tables."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import replace

from fsconsole.devices.attributes import read_device
from fsconsole.devices.enumerate import SYS_ROOT, block_devices
from fsconsole.devices.loops import loop_backing
from fsconsole.devices.mdstat import parse_mdstat
from fsconsole.devices.mounted import Tables, mounts_by_number, read_tables, swap_numbers
from fsconsole.devices.tree import natural_key
from fsconsole.errors import DeviceMissing, NotABlockDevice
from fsconsole.model.device import Device, DeviceKind, MdArray
from fsconsole.system.text import read_text_or

PROC_ROOT = "/proc"

_FILE_TYPES = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISREG, "a plain file"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
)


def discover(sys_root: str = SYS_ROOT, proc_root: str = PROC_ROOT) -> tuple[Device, ...]:
    """Return every block device that has a size, and inactive md arrays, in natural order of their names.

    Nothing is opened but loop devices, to ask what they stand on. Signatures are not probed. Raises OSError
    where there is no sysfs, and KernelUnreadable where mdstat is not understood.
    """
    udev = block_devices(sys_root)
    arrays = {array.name: array for array in parse_mdstat(read_text_or(f"{proc_root}/mdstat", ""))}
    found = [_with_layers(device, arrays, sys_root) for device in _present(udev, sys_root)]
    listed = tuple(device for device in found if device.size_bytes > 0 or device.md is not None)
    in_order = tuple(sorted(listed, key=lambda device: natural_key(device.name)))
    return _with_uses(in_order, read_tables(sys_root, proc_root))


def find_device(path: str, devices: tuple[Device, ...] | None = None) -> Device:
    """Return the device that a path leads to, through symbolic links and by its number, never by its name.

    Raises DeviceMissing (also where the node's number has no device behind it) and NotABlockDevice.
    """
    number = device_number(path)
    for device in discover() if devices is None else devices:
        if os.makedev(device.major, device.minor) == number:
            return device
    raise DeviceMissing(device=path)


def device_number(path: str) -> int:
    """Return the number (makedev) of the block device that a path leads to. Raises DeviceMissing, NotABlockDevice."""
    try:
        found = os.stat(path)
    except (OSError, ValueError) as error:
        raise DeviceMissing(device=path) from error
    if not stat.S_ISBLK(found.st_mode):
        raise NotABlockDevice(device=path, what=_file_type(found.st_mode))
    return found.st_rdev


def _present(udev: Mapping[str, Mapping[str, str]], sys_root: str) -> list[Device]:
    devices = []
    for name in udev:
        try:
            devices.append(read_device(name, sys_root, udev))
        except DeviceMissing:
            continue
    return devices


def _with_layers(device: Device, arrays: Mapping[str, MdArray], sys_root: str) -> Device:
    if device.kind is DeviceKind.LOOP:
        return replace(device, loop=loop_backing(device.name, sys_root))
    if device.kind is DeviceKind.MD:
        return replace(device, md=arrays.get(device.name))
    return device


def _with_uses(devices: tuple[Device, ...], tables: Tables) -> tuple[Device, ...]:
    mounts, swaps = mounts_by_number(tables, devices), swap_numbers(tables)
    numbered = ((os.makedev(device.major, device.minor), device) for device in devices)
    return tuple(
        replace(device, mounts=mounts.get(number, ()), swap=number in swaps) for number, device in numbered
    )


def _file_type(mode: int) -> str:
    return next((what for is_type, what in _FILE_TYPES if is_type(mode)), "something else")
