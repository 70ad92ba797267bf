"""Which block devices are mounted or swapped on: mount tables and swap list, matched by device number.

Filesystems such as btrfs mount under an anonymous number (major 0); there the source path and
/sys/fs/btrfs/UUID/devices tell the devices (fs/btrfs/sysfs.c).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fsconsole.devices.uses import block_number
from fsconsole.model.device import Device, MountUse
from fsconsole.system.mounts import MountEntry, parse_mountinfo, parse_swaps

_TABLES = (("self", "self"), ("init", "1"))


@dataclass(frozen=True, slots=True)
class Tables:
    """What is mounted and swapped on, as read; names of one btrfs filesystem's devices stand together."""

    mounts: tuple[tuple[str, MountEntry], ...]
    """Each with whose table it stands in: "self" or "init"."""
    swap_paths: tuple[str, ...]
    btrfs_groups: tuple[frozenset[str], ...]


def read_tables(sys_root: str, proc_root: str) -> Tables:
    """Return the tables as they are now; a table that may not be read has no entries. Raises ValueError."""
    mounts = tuple(
        (seen_in, entry)
        for seen_in, pid in _TABLES
        for entry in parse_mountinfo(_read_or_empty(f"{proc_root}/{pid}/mountinfo"))
    )
    swaps = parse_swaps(_read_or_empty(f"{proc_root}/swaps"))
    return Tables(mounts, tuple(swap.path for swap in swaps), tuple(_btrfs_groups(sys_root)))


def mounts_by_number(tables: Tables, devices: tuple[Device, ...]) -> dict[int, tuple[MountUse, ...]]:
    """Return where each device is mounted, by makedev(major, minor); a mount that both tables show counts once."""
    numbers = {device.path: os.makedev(device.major, device.minor) for device in devices}
    names = {device.name: numbers[device.path] for device in devices}
    groups = [frozenset(names[name] for name in group if name in names) for group in tables.btrfs_groups]
    found: dict[int, dict[tuple[str, str], MountUse]] = {}
    # Whole filesystems first: a bind mount of one directory says less.
    for seen_in, entry in sorted(tables.mounts, key=lambda mount: mount[1].root != "/"):
        for number in _numbers(entry, numbers, groups):
            use = MountUse(entry.mount_point, entry.filesystem, seen_in)
            found.setdefault(number, {}).setdefault((use.mount_point, use.filesystem), use)
    for number in frozenset().union(*groups):
        found.setdefault(number, {("", "btrfs"): MountUse("", "btrfs", "btrfs")})
    return {number: tuple(uses.values()) for number, uses in found.items()}


def swap_numbers(tables: Tables) -> frozenset[int]:
    """Return the numbers of the block devices that are swapped on."""
    return frozenset(filter(None, map(block_number, tables.swap_paths)))


def _numbers(entry: MountEntry, numbers: Mapping[str, int], groups: list[frozenset[int]]) -> frozenset[int]:
    if os.major(entry.device_number) != 0:
        return frozenset({entry.device_number})
    # bcachefs names all its devices, with colons between them.
    paths = entry.source.split(":") if entry.source.startswith("/dev/") else []
    own = frozenset(filter(None, (numbers.get(path) or block_number(path) for path in paths)))
    return own.union(*(group for group in groups if group & own))


def _btrfs_groups(sys_root: str) -> Iterator[frozenset[str]]:
    base = f"{sys_root}/fs/btrfs"
    for filesystem in _names_in(base):
        devices = _names_in(f"{base}/{filesystem}/devices")
        if devices:
            yield frozenset(devices)


def _names_in(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []


def _read_or_empty(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return os.fsdecode(file.read())
    except OSError:
        return ""
