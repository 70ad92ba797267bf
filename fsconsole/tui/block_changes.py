"""Which devices came and went since a list was made: asked of sysfs alone, in a moment, and no device is opened."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from fsconsole.devices.attributes import read_device
from fsconsole.devices.enumerate import SYS_ROOT
from fsconsole.errors import DeviceMissing
from fsconsole.model.device import Device
from fsconsole.system.text import read_int_or


@dataclass(frozen=True, slots=True)
class BlockChanges:
    """Names of those of the list that are gone or another device by now, and those that are new."""

    gone: frozenset[str] = frozenset()
    new: tuple[Device, ...] = ()


def read_changes(listed: Iterable[Device], sys_root: str = SYS_ROOT) -> BlockChanges:
    """Return what has changed since devices were listed; what is new is known by its attributes alone.

    A loop device without a file has no size, and neither has a card reader without a card: they are not there. An
    array that is not active is there without one.
    """
    known = {device.name: device for device in listed}
    try:
        names = set(os.listdir(f"{sys_root}/class/block"))
    except OSError:
        return BlockChanges()
    gone = frozenset(device.name for device in known.values() if not _is_still_there(device, sys_root))
    unlisted = (name for name in names - known.keys() | gone if _has_room(name, sys_root))
    return BlockChanges(gone, tuple(_read(unlisted, sys_root)))


def _is_still_there(device: Device, sys_root: str) -> bool:
    own = f"{sys_root}/class/block/{device.name}"
    # A partition has no number of its own (Documentation/ABI/stable/sysfs-block, diskseq).
    is_same = read_int_or(f"{own}/diskseq", device.diskseq) == device.diskseq
    has_room = _has_room(device.name, sys_root) or (device.md is not None and os.path.exists(own))
    return is_same and has_room


def _has_room(name: str, sys_root: str) -> bool:
    return read_int_or(f"{sys_root}/class/block/{name}/size", 0) > 0


def _read(names: Iterable[str], sys_root: str) -> Iterable[Device]:
    for name in sorted(names):
        with suppress(DeviceMissing):
            yield read_device(name, sys_root)
