"""One block device as its sysfs directory tells it (Documentation/ABI/stable/sysfs-block)."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from fsconsole.devices.enumerate import SYS_ROOT
from fsconsole.devices.hardware import read_hardware
from fsconsole.errors import DeviceMissing
from fsconsole.model.device import Device, DeviceKind
from fsconsole.system.text import read_int_or, read_text_or
from fsconsole.units import KIB, SECTOR_BYTES

_LOOP_MAJOR = 7
_NO_DISK_MAJORS = frozenset({1, 2, 11})
"""Ram disks, floppies and CD-ROMs (Documentation/admin-guide/devices.txt)."""
_DEVICE_NUMBER = re.compile(r"([0-9]+):([0-9]+)")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a device stands in sysfs: its own directory and that of its whole disk, the same for a disk."""

    own: str
    disk: str

    @property
    def is_partition(self) -> bool:
        return self.own != self.disk


def read_device(
    name: str, sys_root: str = SYS_ROOT, udev: Mapping[str, Mapping[str, str]] | None = None
) -> Device:
    """Return what sysfs and udev tell of a device; a partition has its disk's hardware and queue.

    udev maps names of devices to udev's properties of them, as block_devices() returns them.
    Loop backing, md state, mounts and swap are not in here. Raises DeviceMissing where it has gone, and for
    a hidden one without a device number (a path below an NVMe multipath head).
    """
    place = _place(name, sys_root)
    number = _DEVICE_NUMBER.fullmatch(read_text_or(f"{place.own}/dev", ""))
    if number is None:
        raise DeviceMissing(device=name)
    major, minor = int(number[1]), int(number[2])
    uevent = parse_uevent(read_text_or(f"{place.own}/uevent", ""))
    disk_name = os.path.basename(place.disk)
    properties = udev or {}
    hardware = read_hardware(place.disk, _kernel_path(place.disk, sys_root), properties.get(disk_name, {}))
    queue = f"{place.disk}/queue"
    schedulers, scheduler = parse_scheduler(read_text_or(f"{queue}/scheduler", ""))
    return Device(
        name=name,
        path="/dev/" + uevent.get("DEVNAME", name.replace("!", "/")),
        kind=_kind(place, major),
        major=major,
        minor=minor,
        size_bytes=read_int_or(f"{place.own}/size", 0) * SECTOR_BYTES,
        read_only=read_int_or(f"{place.own}/ro", 0) == 1,
        removable=read_int_or(f"{place.disk}/removable", 0) == 1,
        rotational=_flag(f"{queue}/rotational"),
        model=hardware.model,
        serial=hardware.serial,
        wwn=hardware.wwn,
        transport=hardware.transport,
        diskseq=read_int_or(f"{place.disk}/diskseq", 0),
        logical_sector_bytes=read_int_or(f"{queue}/logical_block_size", SECTOR_BYTES),
        physical_sector_bytes=read_int_or(f"{queue}/physical_block_size", SECTOR_BYTES),
        optimal_io_bytes=read_int_or(f"{queue}/optimal_io_size", 0),
        minimum_io_bytes=read_int_or(f"{queue}/minimum_io_size", 0),
        read_ahead_bytes=read_int_or(f"{queue}/read_ahead_kb", 0) * KIB,
        scheduler=scheduler,
        schedulers=schedulers,
        write_cache=read_text_or(f"{queue}/write_cache", ""),
        parent=disk_name if place.is_partition else "",
        partition_start_bytes=read_int_or(f"{place.own}/start", 0) * SECTOR_BYTES
        if place.is_partition
        else 0,
        partition_uuid=_partition_uuid(uevent, properties.get(name, {})),
        holders=_entries(f"{place.own}/holders"),
        lower=_entries(f"{place.own}/slaves"),
        dm_name=read_text_or(f"{place.own}/dm/name", ""),
        dm_uuid=read_text_or(f"{place.own}/dm/uuid", ""),
    )


def parse_scheduler(text: str) -> tuple[tuple[str, ...], str]:
    """Return all I/O schedulers of queue/scheduler and the chosen one, which stands in brackets."""
    words = text.split()
    chosen = next((word[1:-1] for word in words if word.startswith("[") and word.endswith("]")), "")
    names = tuple(word.strip("[]") for word in words)
    return names, chosen or (names[0] if len(names) == 1 else "")


def parse_uevent(text: str) -> dict[str, str]:
    """Return the KEY=VALUE lines of a uevent file."""
    pairs = (line.partition("=") for line in text.splitlines())
    return {key: value for key, separator, value in pairs if separator}


def _place(name: str, sys_root: str) -> _Place:
    own = os.path.realpath(f"{sys_root}/class/block/{name}")
    is_partition = os.path.exists(f"{own}/partition")
    return _Place(own, os.path.dirname(own) if is_partition else own)


def _kernel_path(directory: str, sys_root: str) -> str:
    return "/" + os.path.relpath(directory, os.path.realpath(sys_root))


def _kind(place: _Place, major: int) -> DeviceKind:
    if place.is_partition:
        return DeviceKind.PARTITION
    if os.path.isdir(f"{place.own}/md"):
        return DeviceKind.MD
    if os.path.isdir(f"{place.own}/dm"):
        return DeviceKind.DM
    if major == _LOOP_MAJOR:
        return DeviceKind.LOOP
    is_hardware = os.path.isdir(f"{place.own}/device") and major not in _NO_DISK_MAJORS
    return DeviceKind.DISK if is_hardware else DeviceKind.OTHER


def _partition_uuid(uevent: Mapping[str, str], udev: Mapping[str, str]) -> str:
    return (uevent.get("PARTUUID") or udev.get("ID_PART_ENTRY_UUID", "")).lower()


def _flag(path: str) -> bool | None:
    value = read_int_or(path, -1)
    return None if value < 0 else value == 1


def _entries(path: str) -> tuple[str, ...]:
    try:
        return tuple(sorted(os.listdir(path)))
    except OSError:
        return ()
