"""Takes a snapshot of the machine's block devices, each table read once, and finds the disks below folders in it."""

from __future__ import annotations

import errno
import os
import stat
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from msgspec.structs import replace

from fsconsole.devices.evidence import RUN_FOLDER, SystemPlace, Unread, Use
from fsconsole.devices.graph import DeviceGraph, natural_key, number_of
from fsconsole.devices.md import parse_mdstat
from fsconsole.devices.sysfs import SYS_ROOT, loop_backing, read_devices
from fsconsole.devices.uses import (
    array_uses,
    block_number,
    btrfs_uses,
    export_uses,
    holder_uses,
    loop_uses,
    mounted_numbers,
    read_btrfs_members,
    table_uses,
)
from fsconsole.errors.targets import DeviceMissing, NotABlockDevice
from fsconsole.model.device import Device, DeviceKind, MdArray, MountUse
from fsconsole.system.block import LoopStatus, status
from fsconsole.system.files import nearest_existing, opened, read_text
from fsconsole.system.mounts import MountEntry, read_mounts, read_swaps

PROC_ROOT = "/proc"

_FILE_TYPES = {
    stat.S_IFDIR: "a directory",
    stat.S_IFREG: "a plain file",
    stat.S_IFCHR: "a character device",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
}

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class MachineSnapshot:
    """All block devices of the machine at one instant, and every use of them that tables show."""

    graph: DeviceGraph
    own_mounts: tuple[MountEntry, ...]
    init_mounts: tuple[MountEntry, ...]
    """PID 1's: in a chroot or a container its / and /boot may be other ones."""
    btrfs_members: Mapping[str, frozenset[int]]
    arrays: tuple[MdArray, ...]
    uses: Mapping[int, tuple[Use, ...]]
    """By the number of the device that is used."""
    unread: tuple[Unread, ...]
    """Sources that could not be read: what they would have told is missing above."""

    @property
    def devices(self) -> tuple[Device, ...]:
        """Every device that has a size, and inactive md arrays, in natural order of their names."""
        return self.graph.devices


def take_snapshot(sys_root: str = SYS_ROOT, proc_root: str = PROC_ROOT) -> MachineSnapshot:
    """Read the machine once. No device is opened but loop devices, to ask what they stand on.

    A source that can't be read is named in the snapshot. Raises OSError where there is no sysfs, KernelUnreadable
    and ValueError where mdstat or a mount table is not understood.
    """
    unread: list[Unread] = []

    def rows(source: str, read: Callable[[], Iterable[_T]]) -> tuple[_T, ...]:
        """Return what a source has; nothing, and the reason in unread, where it can't be read."""
        try:
            return tuple(read())
        except (OSError, LookupError) as error:
            unread.append(Unread(source, str(error).rstrip(".")))
            return ()

    own = rows("its mounts", lambda: read_mounts("self", proc_root))
    init = rows("the mounts of PID 1", lambda: read_mounts("1", proc_root))
    swaps = {
        area.path: block_number(area.path)
        for area in rows("the swap areas", lambda: read_swaps(proc_root))
        if area.kind == "partition"
    }
    unread += [
        Unread("the swap areas", f"the swap device {path} is no device node here")
        for path, number in swaps.items()
        if not number
    ]
    btrfs = dict(rows("the mounted btrfs", lambda: read_btrfs_members(sys_root).items()))
    arrays = rows("the md arrays", lambda: read_arrays(proc_root))
    listed = sorted(read_devices(sys_root), key=lambda device: natural_key(device.name))
    loops = read_loops(listed if sys_root == SYS_ROOT else (), unread)
    mounts = _mounts_by_number((("self", own), ("init", init)), btrfs, listed)
    by_name = {array.name: array for array in arrays}
    devices = []
    for device in listed:
        array = by_name.get(device.name) if device.kind is DeviceKind.MD else None
        if not device.size_bytes and array is None:
            continue
        loop = None
        if device.kind is DeviceKind.LOOP:
            loop = loop_backing(device.name, loops.get(device.path), sys_root)
        number = number_of(device)
        uses_told = {"mounts": mounts.get(number, ()), "swap": number in swaps.values()}
        devices.append(replace(device, loop=loop, md=array, **uses_told))
    graph = DeviceGraph(devices)
    uses: dict[int, tuple[Use, ...]] = defaultdict(tuple)
    for use in (
        *table_uses(devices),
        *btrfs_uses(btrfs),
        *holder_uses(graph),
        *loop_uses(devices),
        *rows("the exports", lambda: export_uses(devices, sys_root)),
        *array_uses(arrays, graph),
    ):
        uses[use.number] += (use,)
    return MachineSnapshot(graph, own, init, btrfs, arrays, uses, tuple(unread))


def read_arrays(proc_root: str = PROC_ROOT) -> tuple[MdArray, ...]:
    """Return the md arrays, inactive ones too; none where the kernel has no md. Raises OSError, KernelUnreadable."""
    path = f"{proc_root}/mdstat"
    return parse_mdstat(read_text(path)) if os.path.exists(path) else ()


def read_loops(devices: Iterable[Device], unread: list[Unread]) -> dict[str, LoopStatus]:
    """Return what every attached loop device stands on, by path; one that doesn't say goes to unread."""
    statuses: dict[str, LoopStatus] = {}
    for device in devices:
        if device.kind is DeviceKind.LOOP and device.size_bytes:
            try:
                statuses[device.path] = status(device.path)
            except OSError as error:
                # Detached since the listing, or its node leads elsewhere: that device is refused, others are not.
                if error.errno not in {errno.ENXIO, errno.ENOENT, errno.ENOTTY}:
                    unread.append(Unread(f"what {device.path} stands on", str(error).rstrip(".")))
    return statuses


def _mounts_by_number(
    tables: Iterable[tuple[str, Iterable[MountEntry]]],
    btrfs: Mapping[str, frozenset[int]],
    devices: Iterable[Device],
) -> dict[int, tuple[MountUse, ...]]:
    """Return where each device is mounted, by number; a mount that both tables show counts once.

    Of a btrfs over several devices the source names one, and sysfs the others (fs/btrfs/sysfs.c).
    """
    numbers = {device.path: number_of(device) for device in devices}
    found: dict[int, dict[tuple[str, str], MountUse]] = defaultdict(dict)
    mounts = ((seen_in, entry) for seen_in, table in tables for entry in table)
    # Whole filesystems first: a bind mount of one directory says less.
    for seen_in, entry in sorted(mounts, key=lambda mount: mount[1].root != "/"):
        mounted = mounted_numbers(entry, numbers)
        use = MountUse(entry.mount_point, entry.filesystem, seen_in)
        for number in mounted.union(*(members for members in btrfs.values() if members & mounted)):
            found[number].setdefault((use.mount_point, use.filesystem), use)
    for number in frozenset[int]().union(*btrfs.values()) - found.keys():
        found[number] = {("", "btrfs"): MountUse("", "btrfs", "btrfs")}
    return {number: tuple(uses.values()) for number, uses in found.items()}


def discover(sys_root: str = SYS_ROOT, proc_root: str = PROC_ROOT) -> tuple[Device, ...]:
    """Return the devices of a new snapshot; signatures are not probed. Raises what take_snapshot() raises."""
    return take_snapshot(sys_root, proc_root).devices


def find_device(path: str, devices: tuple[Device, ...] | None = None) -> Device:
    """Return the device that a path leads to, through symbolic links and by its number, never by its name.

    Raises DeviceMissing (also where the node's number has no device behind it) and NotABlockDevice.
    """
    number = device_number(path)
    for device in discover() if devices is None else devices:
        if number_of(device) == number:
            return device
    raise DeviceMissing(device=path)


def device_number(path: str) -> int:
    """Return the number (makedev) of the block device that a path leads to. Raises DeviceMissing, NotABlockDevice."""
    try:
        found = os.stat(path)
    except (OSError, ValueError) as error:
        raise DeviceMissing(device=path) from error
    if not stat.S_ISBLK(found.st_mode):
        what = _FILE_TYPES.get(stat.S_IFMT(found.st_mode), "something else")
        raise NotABlockDevice(device=path, what=what)
    return found.st_rdev


# The disks below /, /boot and the run folder: from a folder down to whole disks.

DISKLESS = frozenset({
    "tmpfs", "ramfs", "rootfs", "devtmpfs", "proc", "sysfs", "nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "hostfs", "virtiofs", "autofs",
})  # fmt: skip
"""Filesystems that lie on no block device of this machine (man 5 filesystems)."""

_OVERLAY_LAYERS = ("lowerdir", "upperdir", "workdir")
_SYSTEM_FOLDERS = ("/", "/boot")


class NotDetermined(LookupError):
    """A folder whose disks can't be found out; its words say why."""


def system_places(snapshot: MachineSnapshot, runs_dir: str) -> tuple[tuple[SystemPlace, ...], tuple[str, ...]]:
    """Return /, /boot and the run folder (or its nearest parent) with all devices below each.

    Beside them, as clauses, why the devices below others can't be told: ZFS names none, nor does an overlay whose layers
    can't be seen, as of rescue systems. Raises OSError.
    """
    folders = {folder: folder for folder in _SYSTEM_FOLDERS if os.path.lexists(folder)}
    folders[RUN_FOLDER] = nearest_existing(runs_dir)
    looks = [(place, partial(_below_folder, snapshot, folder)) for place, folder in folders.items()]
    looks += [
        (mount.mount_point, partial(below_mount, snapshot, mount, mount.mount_point))
        for mount in snapshot.init_mounts
        if mount.mount_point in _SYSTEM_FOLDERS
    ]
    found, hidden = [], []
    for place, look in looks:
        try:
            found.append(SystemPlace(place, look()))
        except NotDetermined as error:
            hidden.append(str(error))
    return tuple(found), tuple(dict.fromkeys(hidden))


def system_numbers(snapshot: MachineSnapshot, runs_dir: str) -> frozenset[int]:
    """Return the numbers of all devices below those places; none where the gate refuses whatever may be one of them."""
    try:
        places, _ = system_places(snapshot, runs_dir)
    except (OSError, LookupError):
        return frozenset()
    return frozenset().union(*(place.numbers for place in places))


def _below_folder(snapshot: MachineSnapshot, path: str) -> frozenset[int]:
    """Return every device from the filesystem that path lies on down to whole disks."""
    # The dot has an automount take place: what lies on the disk is what would be mounted.
    with opened(f"{path}/.", os.O_PATH) as fd:
        info = read_text(f"/proc/self/fdinfo/{fd}")
    # mountinfo names a mount by the same id (man 5 proc_pid_fdinfo).
    mount_id = dict(line.split(":", 1) for line in info.splitlines())["mnt_id"]
    for mount in snapshot.own_mounts + snapshot.init_mounts:
        if mount.mount_id == int(mount_id):
            return below_mount(snapshot, mount, path)
    raise NotDetermined(f"the mount that {path} lies on is in no mount table")


def below_mount(snapshot: MachineSnapshot, mount: MountEntry, path: str) -> frozenset[int]:
    """Return every device from a mount, on which path lies, down to whole disks; a loop is followed to the disk of its file.

    Raises NotDetermined, and OSError.
    """
    graph, found = snapshot.graph, set[int]()
    pending = list(_numbers_of(snapshot, mount))
    while pending:
        number = pending.pop()
        if number in found:
            continue
        device = graph.by_number.get(number)
        lost = (f"device {os.major(number)}:{os.minor(number)}",) if device is None else graph.gaps(device)
        if device is None or lost:
            raise NotDetermined(f"{path} lies on {', '.join(lost)}, not in the listing")
        found.add(number)
        pending += [number_of(lower) for lower in graph.down(device)]
        if device.loop is not None and graph.under(device) is None:
            pending += _below_filesystem(snapshot, device.loop.file_device, device.loop.path)
    return frozenset(found)


def _below_filesystem(snapshot: MachineSnapshot, number: int, path: str) -> Iterable[int]:
    """Return the devices of a filesystem known by its st_dev alone; path serves for words."""
    if number in snapshot.graph.by_number:
        return (number,)
    for mount in snapshot.own_mounts + snapshot.init_mounts:
        if mount.device_number == number:
            return _numbers_of(snapshot, mount)
    # Every subvolume of a btrfs has an st_dev of its own that stands in no table.
    if snapshot.btrfs_members:
        return frozenset().union(*snapshot.btrfs_members.values())
    raise NotDetermined(f"the filesystem that {path} lies on is in no mount table")


def _numbers_of(snapshot: MachineSnapshot, mount: MountEntry) -> Iterator[int]:
    if os.major(mount.device_number):
        yield mount.device_number
    elif mount.filesystem == "btrfs":
        known, source = snapshot.btrfs_members.values(), block_number(mount.source)
        if not known:
            raise NotDetermined(f"{mount.mount_point} is a btrfs, and the kernel lists none")
        # The source may be a name like /dev/root: then all of them, which refuses too much rather than too little.
        yield from next((members for members in known if source in members), frozenset().union(*known))
    elif mount.filesystem == "overlay":
        for layer in overlay_layers(mount):
            yield from _below_folder(snapshot, layer)
    elif mount.filesystem not in DISKLESS:
        raise NotDetermined(f"{mount.mount_point} is {mount.filesystem}, which doesn't tell its disks")


def overlay_layers(mount: MountEntry) -> tuple[str, ...]:
    """Return the folders that an overlay is made of (Documentation/filesystems/overlayfs.rst). Raises NotDetermined."""
    layers: list[str] = []
    for option in mount.super_options:
        name, _, value = option.partition("=")
        if name.rstrip("+") in _OVERLAY_LAYERS:
            layers += [layer for layer in value.split(":") if layer]
    lost = [layer for layer in layers if not os.path.isdir(layer)]
    if lost or not layers:
        raise NotDetermined(f"the overlay on {mount.mount_point} has layers that can't be seen from here")
    return tuple(layers)
