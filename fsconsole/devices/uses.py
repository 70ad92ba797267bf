"""Lists the uses of block devices: mounts, swaps, btrfs, md, loop devices, sysfs holders, exports, LVM."""

from __future__ import annotations

import errno
import glob
import os
import re
import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from fsconsole.devices.content import read_start
from fsconsole.devices.evidence import FoundSignature, Use, UseKind
from fsconsole.devices.graph import DeviceGraph, number_of
from fsconsole.devices.sysfs import parse_number
from fsconsole.model.device import Device, MdArray
from fsconsole.system.files import read_text
from fsconsole.system.mounts import MountEntry

# Block devices and files that this machine's kernel serves to others.


class _Exporter(NamedTuple):
    """A kernel server, its module and configuration folder below /sys, and the files that name what it serves."""

    name: str
    module: str
    root: str
    files: str
    path_in: re.Pattern[str] = re.compile("(.*)")
    """Finds the path in such a file's text; no match means that nothing is served."""


_EXPORTERS = (
    # drivers/nvme/target/configfs.c; it opens the device without claiming it, so that O_EXCL can't tell.
    _Exporter("NVMe target", "nvmet", "nvmet", "subsystems/*/namespaces/*/device_path"),
    # Documentation/target/tcm_mod_builder.rst, drivers/target/target_core_configfs.c
    _Exporter("LIO target", "target_core_mod", "target", "core/*/*/udev_path"),
    # target_core_file.c, fd_show_configfs_dev_params: it opens a device as a file, and only targetcli sets udev_path.
    _Exporter(
        "LIO target",
        "target_core_mod",
        "target",
        "core/fileio_*/*/info",
        re.compile(r".*? File: (.+?)  Size: ", re.DOTALL),
    ),
    # Documentation/usb/mass-storage.rst, drivers/usb/gadget/function/f_mass_storage.c
    _Exporter("USB gadget", "usb_f_mass_storage", "usb_gadget", "*/functions/mass_storage.*/lun.*/file"),
)


def export_uses(devices: Iterable[Device], sys_root: str = "/sys") -> Iterator[Use]:
    """Yield a use for every exported block device, and for a loop device whose backing file is exported.

    Raises OSError, and LookupError where an exporter is loaded and its configuration is not to be seen.
    """
    files = {(d.loop.file_device, d.loop.inode): number_of(d) for d in devices if d.loop is not None}
    for path, clause in exported_paths(sys_root):
        try:
            found = os.stat(path)
        except FileNotFoundError as error:
            raise LookupError(f"{path} is exported and not to be found") from error
        is_device = stat.S_ISBLK(found.st_mode)
        number = found.st_rdev if is_device else files.get((found.st_dev, found.st_ino), 0)
        if number:
            yield Use(UseKind.EXPORT, number, clause)


def exported_paths(sys_root: str = "/sys") -> Iterator[tuple[str, str]]:
    """Yield the path of every device and file that is exported, with a clause. Raises as export_uses()."""
    for exporter in _EXPORTERS:
        root = f"{sys_root}/kernel/config/{exporter.root}"
        if os.path.isdir(f"{sys_root}/module/{exporter.module}") and not os.path.isdir(root):
            raise LookupError(f"{exporter.name} is loaded and {root} is not there: mount configfs")
        for name in glob.glob(f"{root}/{exporter.files}"):
            path = _served(name, exporter.path_in)
            if path and path != "(null)":
                yield path, f"is exported by the {exporter.name} ({name})"


def _served(path: str, shape: re.Pattern[str]) -> str:
    try:
        found = shape.match(read_text(path))
    except OSError as error:
        # The export was removed meanwhile, or has no device set yet.
        if error.errno in {errno.ENOENT, errno.ENODEV}:
            return ""
        raise
    return found[1] if found else ""


_SECOND_DEVICES = ("logdev=", "rtdev=", "journal_path=", "device=")
"""Mount options that name a further device (man 5 xfs, man 5 ext4, man 5 btrfs)."""

_ORIGIN_LAYER = "-real"
"""LVM calls the layer below a volume and its snapshots by the volume's UUID with this ending (dev_manager.c)."""


def mounted_numbers(mount: MountEntry, numbers: Mapping[str, int]) -> frozenset[int]:
    """Return the numbers of all devices that an entry of a mount table stands on or names; numbers has those listed, by path.

    A filesystem over several devices (btrfs, bcachefs) has an anonymous number (major 0): there the source tells them,
    with colons between.
    """
    words = [option.partition("=")[2] for option in mount.super_options if option.startswith(_SECOND_DEVICES)]
    # Elsewhere than in /dev a path may lie on a network filesystem, where a stat can hang.
    if os.major(mount.device_number) == 0 and mount.source.startswith("/dev/"):
        words += mount.source.split(":")
    paths = [word for word in words if word.startswith("/dev/")]
    named = {number for path in paths for number in (numbers.get(path, 0), block_number(path))}
    return frozenset({mount.device_number, *named} - {0})


_SYSTEM_POINTS = frozenset({"/", "/boot", "/efi", "/etc", "/usr", "/var"})
_BELOW_BOOT = "/boot/"


def is_of_system(mount_point: str) -> bool:
    """Return whether the running system needs what is mounted there, so that nobody is told to unmount it."""
    return mount_point in _SYSTEM_POINTS or mount_point.startswith(_BELOW_BOOT)


def table_uses(devices: Iterable[Device]) -> Iterator[Use]:
    """Yield a use for every mount of a device and for its swap area."""
    for device in devices:
        for mount in device.mounts:
            if mount.mount_point:
                where = " in the mount table of PID 1" if mount.seen_in == "init" else ""
                clause = f"is mounted on {mount.mount_point} ({mount.filesystem}){where}"
                is_system = is_of_system(mount.mount_point)
                yield Use(UseKind.MOUNT, number_of(device), clause, is_system=is_system)
        if device.swap:
            yield Use(UseKind.SWAP, number_of(device), "is in use as swap")


def block_number(path: str) -> int:
    """Return the number of the block device that a path leads to; 0 where it leads to none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return 0
    return found.st_rdev if stat.S_ISBLK(found.st_mode) else 0


def read_btrfs_members(sys_root: str = "/sys") -> dict[str, frozenset[int]]:
    """Return the device numbers of every mounted btrfs by its UUID (Documentation/ABI/testing/sysfs-fs-btrfs).

    The folder of a filesystem exists while it is mounted. Raises OSError.
    """
    members: dict[str, set[int]] = {}
    for path in glob.glob(f"{sys_root}/fs/btrfs/*/devices/*/dev"):
        try:
            number = parse_number(read_text(path))
        except FileNotFoundError:
            # Unmounted, or the disk pulled, since the listing.
            continue
        members.setdefault(path.split("/")[-4], set()).add(number)
    return {uuid: frozenset(numbers) for uuid, numbers in members.items()}


def btrfs_uses(members: dict[str, frozenset[int]]) -> Iterator[Use]:
    """Yield a use for every device of every mounted btrfs."""
    for uuid, numbers in sorted(members.items()):
        clause = f"belongs to the mounted btrfs {uuid}"
        yield from (Use(UseKind.BTRFS, number, clause) for number in sorted(numbers))


_BTRFS_DEVICES_AT = 65536 + 0x88
"""num_devices of struct btrfs_super_block (include/uapi/linux/btrfs_tree.h)."""


def btrfs_devices(device: Device) -> int:
    """Return how many devices the btrfs has that a device belongs to, as its superblock says. Raises OSError."""
    start = read_start(device.path, device.size_bytes, _BTRFS_DEVICES_AT + 8)
    return int.from_bytes(start[_BTRFS_DEVICES_AT:], "little")


def btrfs_without(found: Iterable[FoundSignature], members: Mapping[str, frozenset[int]]) -> Iterator[Use]:
    """Yield a use for every device of a btrfs that is mounted without it: a degraded mount lists only those it has.

    Raises OSError.
    """
    for one in found:
        mounted, number = members.get(one.signature.uuid), number_of(one.device)
        if one.signature.type == "btrfs" and mounted is not None and number not in mounted:
            count = btrfs_devices(one.device)
            yield Use(
                UseKind.BTRFS,
                number,
                f"is one of {count} devices of a btrfs that is mounted degraded without it",
            )


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
    by_name = graph.by_name
    for device in graph.devices:
        for name in device.holders:
            clause = f"is held by {_holder_words(name, by_name.get(name))}"
            yield Use(UseKind.HOLDER, number_of(device), clause)
    # The snapshots of an LVM volume hold not the volume but the layer below it.
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


def loop_uses(devices: Iterable[Device]) -> Iterator[Use]:
    """Yield what the attached loop devices stand on: devices, files, and files that they share."""
    loops = [(device, device.loop) for device in devices if device.loop is not None and device.loop.inode]
    sharing: dict[tuple[int, int], list[Device]] = defaultdict(list)
    for device, below in loops:
        sharing[below.file_device, below.inode].append(device)
    for device, below in loops:
        by = number_of(device)
        if below.device_number:
            clause = f"is what the loop device {device.path} stands on"
            yield Use(UseKind.LOOP, below.device_number, clause, by)
            continue
        yield Use(UseKind.LOOP, below.file_device, f"holds the file below the loop device {device.path}", by)
        for other in sharing[below.file_device, below.inode]:
            if other is not device:
                clause = f"shares its backing file with {other.path}"
                yield Use(UseKind.SAME_FILE, by, clause, number_of(other))


# LVM: physical volumes of active volume groups.

_METADATA_BYTES = 2 * 2**20
"""LVM's label is in the first four sectors, its metadata text in the first MiB after it (man 5 lvm, pvcreate)."""
_ID = re.compile(rb'\bid = "([A-Za-z0-9]{6}(?:-[A-Za-z0-9]{4}){5}-[A-Za-z0-9]{6})"')
_DM_PREFIX = "LVM-"
_ID_CHARACTERS = 32
_MEMBER_TYPES = frozenset({"LVM2_member", "LVM1_member"})


def volume_group_uses(found: Iterable[FoundSignature], groups: frozenset[str]) -> Iterator[Use]:
    """Yield a use for every physical volume found whose group is one of those, the active ones. Raises OSError."""
    for member in {f.device.path: f.device for f in found if f.signature.type in _MEMBER_TYPES}.values():
        with open(member.path, "rb") as device:
            os.posix_fadvise(device.fileno(), 0, _METADATA_BYTES, os.POSIX_FADV_DONTNEED)
            metadata = device.read(_METADATA_BYTES)
        if ids_in(metadata) & groups:
            clause = "belongs to an LVM volume group with active volumes"
            yield Use(UseKind.VOLUME_GROUP, number_of(member), clause)


def ids_in(metadata: bytes) -> frozenset[str]:
    """Return every id in LVM metadata text without its dashes: the group's, its volumes' and members'."""
    return frozenset(match.decode("ascii").replace("-", "") for match in _ID.findall(metadata))


def active_groups(devices: Iterable[Device]) -> frozenset[str]:
    """Return the ids of the volume groups with an active volume: dm UUIDs are "LVM-", group id, volume id."""
    return frozenset(
        device.dm_uuid[len(_DM_PREFIX) :][:_ID_CHARACTERS]
        for device in devices
        if device.dm_uuid.startswith(_DM_PREFIX)
    )
