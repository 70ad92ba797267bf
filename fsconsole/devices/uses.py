"""Who uses which block device, from mount tables, swaps, btrfs, md, loops and sysfs holders."""

from __future__ import annotations

import errno
import glob
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import replace

from fsconsole.devices.evidence import Use, UseKind
from fsconsole.devices.mdstat import MDSTAT_PATH, parse_mdstat
from fsconsole.devices.relatives import DeviceGraph, number_of
from fsconsole.model.device import Device, DeviceKind, MdArray
from fsconsole.system.loop import LoopStatus, status
from fsconsole.system.mounts import MountEntry, SwapEntry
from fsconsole.system.text import read_text

BTRFS_SYSFS = "/sys/fs/btrfs"
_SECOND_DEVICES = ("logdev=", "rtdev=", "journal_path=", "device=")
"""Mount options that name a further device (man 5 xfs, man 5 ext4, man 5 btrfs)."""

_ORIGIN_LAYER = "-real"


def mount_uses(own: Iterable[MountEntry]) -> Iterator[Use]:
    """Yield a use for every block device that an entry of this process's mount table stands on or names.

    Filesystems over several devices (btrfs, bcachefs) have a number of their own, so that the source
    is resolved too. Raises nothing: a source that is no node here is the O_EXCL proof's matter.
    """
    for mount in own:
        clause = f"is mounted on {mount.mount_point} ({mount.filesystem})"
        numbers = {mount.device_number, *_named_devices(mount)}
        yield from (Use(UseKind.MOUNT, number, clause) for number in sorted(numbers))


def init_mount_uses(of_init: Iterable[MountEntry], known: Iterable[Use]) -> Iterator[Use]:
    """Yield the uses of PID 1's mount table that are not known from the own one, as mount_uses() does."""
    seen = set(known)
    for use in mount_uses(of_init):
        if use not in seen:
            yield replace(use, clause=f"{use.clause} in the mount table of PID 1")


def _named_devices(mount: MountEntry) -> Iterator[int]:
    words = [option.partition("=")[2] for option in mount.super_options if option.startswith(_SECOND_DEVICES)]
    if os.major(mount.device_number) == 0:
        words += mount.source.split(":")
    # Elsewhere than in /dev a path may lie on a network filesystem, where a stat can hang.
    numbers = (block_number(word) for word in words if word.startswith("/dev/"))
    yield from (number for number in numbers if number)


def block_number(path: str) -> int:
    """Return the number of the block device that a path leads to; 0 where it leads to none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return 0
    return found.st_rdev if stat.S_ISBLK(found.st_mode) else 0


def swap_uses(swaps: Iterable[SwapEntry]) -> Iterator[Use]:
    """Yield a use for every block device that is swapped on. Raises LookupError for a node that is not found."""
    for swap in swaps:
        if swap.kind != "partition":
            continue
        number = block_number(swap.path)
        if not number:
            raise LookupError(f"the swap device {swap.path} is no device node here")
        yield Use(UseKind.SWAP, number, "is in use as swap")


def read_btrfs_members() -> dict[str, frozenset[int]]:
    """Return the device numbers of every mounted btrfs by its UUID (Documentation/ABI/testing/sysfs-fs-btrfs).

    The folder of a filesystem exists while it is mounted. Raises OSError.
    """
    members: dict[str, set[int]] = {}
    for path in glob.glob(f"{BTRFS_SYSFS}/*/devices/*/dev"):
        try:
            number = parse_number(read_text(path))
        except FileNotFoundError:
            # Unmounted, or the disk pulled, since the listing.
            continue
        members.setdefault(path.split("/")[4], set()).add(number)
    return {uuid: frozenset(numbers) for uuid, numbers in members.items()}


def parse_number(text: str) -> int:
    """Return the device number in a sysfs dev file, "8:16". Raises ValueError."""
    major, _, minor = text.partition(":")
    return os.makedev(int(major), int(minor))


def btrfs_uses(members: dict[str, frozenset[int]]) -> Iterator[Use]:
    """Yield a use for every device of every mounted btrfs."""
    for uuid, numbers in sorted(members.items()):
        clause = f"belongs to the mounted btrfs {uuid}"
        yield from (Use(UseKind.BTRFS, number, clause) for number in sorted(numbers))


def read_arrays() -> tuple[MdArray, ...]:
    """Return the md arrays, inactive ones too; none where the kernel has no md.

    Raises OSError, and KernelUnreadable.
    """
    return parse_mdstat(read_text(MDSTAT_PATH)) if os.path.exists(MDSTAT_PATH) else ()


def array_uses(arrays: Iterable[MdArray], graph: DeviceGraph) -> Iterator[Use]:
    """Yield a use for every member of every array, assembled or inactive; a member that is gone claims nothing."""
    # mdstat writes a name as the driver does, "cciss/c0d0p1"; sysfs can't (drivers/base/core.c).
    numbers = {device.name.replace("!", "/"): number_of(device) for device in graph.devices}
    for array in arrays:
        state = "" if array.active else "inactive "
        clause = f"is a member of the {state}array /dev/{array.name}"
        present = (numbers[member.name] for member in array.members if member.name in numbers)
        yield from (Use(UseKind.ARRAY, number, clause) for number in present)


def holder_uses(graph: DeviceGraph) -> Iterator[Use]:
    """Yield a use for every sysfs holder (md, dm, bcache: Documentation/ABI/testing/sysfs-block)."""
    by_name = {device.name: device for device in graph.devices}
    for device in graph.devices:
        for name in device.holders:
            yield Use(
                UseKind.HOLDER, number_of(device), f"is held by {_holder_words(name, by_name.get(name))}"
            )
    yield from _snapshot_uses(graph, by_name)


def _snapshot_uses(graph: DeviceGraph, by_name: dict[str, Device]) -> Iterator[Use]:
    """Yield a use for every LVM volume that has snapshots, which hold not the volume but the layer below it.

    LVM calls that layer by the volume's UUID with this ending (lib/activate/dev_manager.c).
    """
    origins = {f"{device.dm_uuid}{_ORIGIN_LAYER}": device for device in graph.devices if device.dm_uuid}
    for layer in graph.devices:
        origin = origins.get(layer.dm_uuid)
        for name in layer.holders if origin is not None else ():
            if origin is not None and name != origin.name:
                clause = f"has the snapshot {_holder_words(name, by_name.get(name))}"
                yield Use(UseKind.HOLDER, number_of(origin), clause)


def _holder_words(name: str, holder: Device | None) -> str:
    if holder is None:
        return f"/dev/{name}"
    words = f"{holder.path} ({holder.dm_name})" if holder.dm_name else holder.path
    if holder.mounts:
        words += f", which is mounted on {holder.mounts[0].mount_point}"
    return words


def read_loops(devices: Iterable[Device]) -> dict[str, LoopStatus]:
    """Return what every attached loop device stands on, by path. Raises OSError."""
    statuses: dict[str, LoopStatus] = {}
    for device in devices:
        if device.kind is DeviceKind.LOOP:
            try:
                statuses[device.path] = status(device.path)
            except OSError as error:
                # Detached since the listing.
                if error.errno not in {errno.ENXIO, errno.ENOENT}:
                    raise
    return statuses


def read_graph(devices: tuple[Device, ...]) -> DeviceGraph:
    """Return the devices with the edges between them, those of loops over devices included. Raises OSError."""
    statuses = read_loops(devices)
    over = {number_of(d): statuses[d.path].backing_device_number for d in devices if d.path in statuses}
    return DeviceGraph(devices, {loop: backing for loop, backing in over.items() if backing})


def loop_uses(statuses: dict[str, LoopStatus], graph: DeviceGraph) -> Iterator[Use]:
    """Yield what the attached loop devices, by path, stand on: devices, files, and files that they share."""
    loops = {device.path: number_of(device) for device in graph.devices if device.kind is DeviceKind.LOOP}
    for path, below in statuses.items():
        by = loops.get(path, 0)
        if below.backing_device_number:
            yield Use(
                UseKind.LOOP, below.backing_device_number, f"is what the loop device {path} stands on", by
            )
            continue
        clause = f"holds the file below the loop device {path}"
        yield Use(UseKind.LOOP, below.device_number_of_file, clause, by)
        for other, below_other in statuses.items():
            if other != path and file_of(below_other) == file_of(below):
                yield Use(UseKind.SAME_FILE, by, f"shares its backing file with {other}", loops.get(other, 0))


def file_of(status: LoopStatus) -> tuple[int, int, int]:
    """Return what tells one backing file from every other: its filesystem, inode, and 0 for no device."""
    return (status.device_number_of_file, status.inode, status.backing_device_number)
