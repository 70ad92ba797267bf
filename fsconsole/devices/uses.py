"""Who uses which block device, from mount tables, swaps, btrfs, md, loops and sysfs holders."""

from __future__ import annotations

import errno
import glob
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from fsconsole.devices.evidence import FoundSignature, Relative, Role, Use, UseKind
from fsconsole.devices.md import MDSTAT_PATH, parse_mdstat
from fsconsole.model.device import Device, DeviceKind, MdArray, MountUse
from fsconsole.system.block import LoopStatus, status
from fsconsole.system.files import read_text
from fsconsole.system.mounts import MountEntry, SwapEntry, parse_mountinfo, parse_swaps

# Block devices and files that this machine's kernel serves to others.


@dataclass(frozen=True, slots=True)
class _Exporter:
    """A kernel server: where below /sys each of its exports names what it serves, its module and root folder."""

    name: str
    pattern: str
    module: str
    root: str
    shape: re.Pattern[str] = re.compile("(.*)")
    """What of the file's text is the path; no match means that nothing is served."""


_EXPORTERS = (
    # drivers/nvme/target/configfs.c; it opens the device without claiming it, so that O_EXCL can't tell.
    _Exporter(
        "NVMe target",
        "kernel/config/nvmet/subsystems/*/namespaces/*/device_path",
        "module/nvmet",
        "kernel/config/nvmet",
    ),
    # Documentation/target/tcm_mod_builder.rst, drivers/target/target_core_configfs.c
    _Exporter(
        "LIO target",
        "kernel/config/target/core/*/*/udev_path",
        "module/target_core_mod",
        "kernel/config/target",
    ),
    # target_core_file.c, fd_show_configfs_dev_params: it opens a device as a file, and only targetcli sets udev_path.
    _Exporter(
        "LIO target",
        "kernel/config/target/core/fileio_*/*/info",
        "module/target_core_mod",
        "kernel/config/target",
        re.compile(r".*? File: (.+?)  Size: ", re.DOTALL),
    ),
    # Documentation/usb/mass-storage.rst, drivers/usb/gadget/function/f_mass_storage.c
    _Exporter(
        "USB gadget",
        "kernel/config/usb_gadget/*/functions/mass_storage.*/lun.*/file",
        "module/usb_f_mass_storage",
        "kernel/config/usb_gadget",
    ),
)


def export_uses(loops: tuple[tuple[int, Device], ...], sys_root: str = "/sys") -> Iterator[Use]:
    """Yield a use for every exported block device, and for a loop whose backing file is exported.

    loops are the loop devices with their numbers. Raises OSError, and LookupError where an exporter is
    loaded and its configuration is not to be seen.
    """
    files = {(d.loop.file_device, d.loop.inode): number for number, d in loops if d.loop is not None}
    for exporter in _EXPORTERS:
        if os.path.isdir(f"{sys_root}/{exporter.module}") and not os.path.isdir(
            f"{sys_root}/{exporter.root}"
        ):
            raise LookupError(
                f"{exporter.name} is loaded and {sys_root}/{exporter.root} is not there: mount configfs"
            )
        for path in glob.glob(f"{sys_root}/{exporter.pattern}"):
            number = _exported_number(_served(path, exporter.shape), files)
            if number:
                yield Use(UseKind.EXPORT, number, f"is exported by the {exporter.name} ({path})")


def _served(path: str, shape: re.Pattern[str]) -> str:
    try:
        found = shape.match(read_text(path))
    except OSError as error:
        # The export was removed meanwhile, or has no device set yet.
        if error.errno in {errno.ENOENT, errno.ENODEV}:
            return ""
        raise
    return found[1] if found else ""


def _exported_number(path: str, files: dict[tuple[int, int], int]) -> int:
    """Return the number of the device that is served; 0 for nothing, and for a file that no loop stands on."""
    if not path or path == "(null)":
        return 0
    try:
        found = os.stat(path)
    except FileNotFoundError as error:
        raise LookupError(f"{path} is exported and not to be found") from error
    return found.st_rdev if stat.S_ISBLK(found.st_mode) else files.get((found.st_dev, found.st_ino), 0)


# Which other block devices share bytes with a device, and how: pure, over fresh Device values.

_HARDWARE = (DeviceKind.DISK, DeviceKind.OTHER)


def number_of(device: Device) -> int:
    """Return makedev(major, minor), the only name by which devices are compared."""
    return os.makedev(device.major, device.minor)


class DeviceGraph:
    """All devices of the machine at one instant, with the edges between them.

    loops_over maps the number of a loop device to the number of the block device that it stands on;
    loops over plain files have no entry: such a loop is a disk of its own.
    """

    def __init__(self, devices: tuple[Device, ...], loops_over: Mapping[int, int]) -> None:
        self.devices = devices
        self.by_number = {number_of(device): device for device in devices}
        self._by_name = {device.name: device for device in devices}
        self._loops_over = loops_over

    def partitions(self, device: Device) -> tuple[Device, ...]:
        """Return the partitions of a whole disk, in the order of the listing."""
        return tuple(d for d in self.devices if d.parent == device.name)

    def disk(self, device: Device) -> Device:
        """Return the whole disk of a partition, and any other device itself."""
        return self._by_name.get(device.parent, device)

    def under(self, device: Device) -> Device | None:
        """Return the block device that a loop stands on; None for a loop over a file and for no loop."""
        return self.by_number.get(self._loops_over.get(number_of(device), 0))

    def lower(self, device: Device) -> tuple[Device, ...]:
        """Return what md or dm made the device of."""
        return tuple(self._by_name[name] for name in device.lower if name in self._by_name)

    def gaps(self, device: Device) -> tuple[str, ...]:
        """Return what the device lies on and is not in the listing: names, or numbers of devices under loops."""
        missing: list[str] = []
        for layer in self.down(device):
            missing += [name for name in (layer.parent, *layer.lower) if name and name not in self._by_name]
            under = self._loops_over.get(number_of(layer), 0)
            if under and under not in self.by_number:
                missing.append(f"{os.major(under)}:{os.minor(under)}")
        return tuple(missing)

    def down(self, device: Device) -> tuple[Device, ...]:
        """Return the device and all that it lies on: its disk, members, the device under a loop; down to disks."""
        found = {number_of(device): device}
        pending = [device]
        while pending:
            for next_one in self._next_down(pending.pop()):
                if number_of(next_one) not in found:
                    found[number_of(next_one)] = next_one
                    pending.append(next_one)
        return tuple(found.values())

    def stands_on_files(self, device: Device) -> bool:
        """Return whether all that the device lies on ends at loops over plain files: at none of the machine's disks."""
        bottoms = [layer for layer in self.down(device) if set(self._next_down(layer)) <= {layer}]
        return all(bottom.kind is DeviceKind.LOOP for bottom in bottoms)

    def _next_down(self, device: Device) -> Iterator[Device]:
        yield self.disk(device)
        yield from self.lower(device)
        under = self.under(device)
        if under is not None:
            yield under


def relatives(device: Device, graph: DeviceGraph) -> tuple[Relative, ...]:
    """Return every device that shares bytes with this one, itself first, each in its closest role."""
    found: dict[int, Relative] = {}

    def note(other: Device, role: Role) -> None:
        found.setdefault(number_of(other), Relative(number_of(other), other.path, role))

    note(device, Role.SELF)
    for layer in _layers(device, graph):
        if layer is not device:
            note(layer, Role.UNDER)
        for partition in graph.partitions(layer):
            note(partition, Role.INSIDE)
        note(graph.disk(layer), Role.DISK)
    for lower in graph.down(device):
        note(lower, Role.BELOW)
    for twin in _twins(tuple(graph.by_number[number] for number in found), graph):
        note(twin, Role.TWIN)
        for partition in graph.partitions(twin):
            note(partition, Role.TWIN)
    return tuple(found.values())


def _layers(device: Device, graph: DeviceGraph) -> tuple[Device, ...]:
    """Return the device, and for a loop over a device that one too, and so on down."""
    layers = [device]
    while True:
        layer = graph.under(layers[-1])
        # A listing taken while loops are made anew could show a circle.
        if layer is None or layer in layers:
            return tuple(layers)
        layers.append(layer)


def _twins(related: tuple[Device, ...], graph: DeviceGraph) -> Iterator[Device]:
    """Yield the disks outside the family that are the same disk as one of it by another path."""
    numbers = {number_of(device) for device in related}
    disks = [device for device in related if device.kind in _HARDWARE]
    for other in graph.devices:
        is_stranger = other.kind in _HARDWARE and number_of(other) not in numbers
        if is_stranger and any(same_disk(disk, other) for disk in disks):
            yield other


def same_disk(one: Device, other: Device) -> bool:
    """Return whether two nodes name one medium: by WWN where both have one, else by serial number.

    NVMe namespaces share their controller's serial and differ in WWN, so the WWN decides alone.
    """
    if one.wwn and other.wwn:
        return one.wwn == other.wwn
    return one.serial != "" and one.serial == other.serial


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


# Which block devices are mounted or swapped on: mount tables and swap list, matched by device number.
#
# Filesystems such as btrfs mount under an anonymous number (major 0); there the source path and
# /sys/fs/btrfs/UUID/devices tell the devices (fs/btrfs/sysfs.c).

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


# LVM: whether the volume group that a physical volume belongs to is active.

_METADATA_BYTES = 2 * 2**20
"""LVM's label is in the first four sectors, its metadata text in the first MiB after it (man 5 lvm, pvcreate)."""
_ID = re.compile(rb'\bid = "([A-Za-z0-9]{6}(?:-[A-Za-z0-9]{4}){5}-[A-Za-z0-9]{6})"')
_DM_PREFIX = "LVM-"
_ID_CHARACTERS = 32
_MEMBER_TYPES = frozenset({"LVM2_member", "LVM1_member"})


def volume_group_uses(found: Iterable[FoundSignature], groups: frozenset[str]) -> Iterator[Use]:
    """Yield a use for every physical volume found whose group is one of those, the active ones. Raises OSError."""
    members = {f.device.path: f.device for f in found if f.signature.type in _MEMBER_TYPES}
    for path, device in members.items():
        if read_ids(path) & groups:
            clause = "belongs to an LVM volume group with active volumes"
            yield Use(UseKind.VOLUME_GROUP, number_of(device), clause)


def read_ids(path: str) -> frozenset[str]:
    """Return the ids that the LVM metadata at the start of a physical volume names. Raises OSError."""
    with open(path, "rb") as device:
        os.posix_fadvise(device.fileno(), 0, _METADATA_BYTES, os.POSIX_FADV_DONTNEED)
        return ids_in(device.read(_METADATA_BYTES))


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
