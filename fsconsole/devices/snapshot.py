"""Takes a snapshot of the machine's block devices: sysfs, udev, mounts, swaps, mdstat, loops, each read once."""

from __future__ import annotations

import errno
import os
import stat
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from fsconsole.devices.evidence import Unread, Use
from fsconsole.devices.graph import DeviceGraph, number_of
from fsconsole.devices.md import parse_mdstat
from fsconsole.devices.sysfs import SYS_ROOT, loop_backing, read_devices
from fsconsole.devices.tree import natural_key
from fsconsole.devices.uses import (
    array_uses,
    block_number,
    btrfs_uses,
    export_uses,
    holder_uses,
    init_mount_uses,
    loop_uses,
    mount_uses,
    read_btrfs_members,
    swap_uses,
)
from fsconsole.errors.targets import DeviceMissing, NotABlockDevice
from fsconsole.model.device import Device, DeviceKind, MdArray, MountUse
from fsconsole.system.block import LoopStatus, status
from fsconsole.system.files import read_text
from fsconsole.system.mounts import MountEntry, SwapEntry, parse_mountinfo, parse_swaps

PROC_ROOT = "/proc"

_FILE_TYPES = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISREG, "a plain file"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
)

_T = TypeVar("_T")
_K = TypeVar("_K")


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


@dataclass(frozen=True, slots=True)
class _Sources:
    """Reads sources one by one and keeps the reasons of those that can't be read: these have no rows."""

    unread: list[Unread]

    def rows(self, source: str, read: Callable[[], Iterable[_T]]) -> tuple[_T, ...]:
        try:
            return tuple(read())
        except (OSError, LookupError) as error:
            self.unread.append(Unread(source, str(error).rstrip(".")))
            return ()

    def table(self, source: str, read: Callable[[], Mapping[_K, _T]]) -> dict[_K, _T]:
        return dict(self.rows(source, lambda: read().items()))


def take_snapshot(sys_root: str = SYS_ROOT, proc_root: str = PROC_ROOT) -> MachineSnapshot:
    """Read the machine once. No device is opened but loop devices, to ask what they stand on.

    A source that can't be read is named in the snapshot. Raises OSError where there is no sysfs, KernelUnreadable
    and ValueError where mdstat or a mount table is not understood.
    """
    sources = _Sources([])
    own = sources.rows("its mounts", lambda: read_mounts(proc_root, "self"))
    init = sources.rows("the mounts of PID 1", lambda: read_mounts(proc_root, "1"))
    swaps = sources.rows("the swap areas", lambda: read_swaps(proc_root))
    btrfs = sources.table("the mounted btrfs", lambda: read_btrfs_members(sys_root))
    arrays = sources.rows("the md arrays", lambda: read_arrays(proc_root))
    listed = tuple(read_devices(sys_root))
    loops = sources.table("what the loop devices stand on", lambda: read_loops(listed, sys_root))
    by_name = {array.name: array for array in arrays}
    found = (
        replace(
            device,
            loop=loop_backing(device.name, loops.get(device.path), sys_root)
            if device.kind is DeviceKind.LOOP
            else None,
            md=by_name.get(device.name) if device.kind is DeviceKind.MD else None,
        )
        for device in listed
    )
    present = sorted(
        (device for device in found if device.size_bytes > 0 or device.md is not None),
        key=lambda device: natural_key(device.name),
    )
    mounts = _mounts_by_number((*_seen_in("self", own), *_seen_in("init", init)), btrfs, present)
    swapped = {block_number(swap.path) for swap in swaps} - {0}
    devices = tuple(
        replace(device, mounts=mounts.get(number_of(device), ()), swap=number_of(device) in swapped)
        for device in present
    )
    over = {number_of(d): loops[d.path].backing_device_number for d in devices if d.path in loops}
    graph = DeviceGraph(devices, {loop: backing for loop, backing in over.items() if backing})
    own_uses = tuple(mount_uses(own))
    uses: tuple[Use, ...] = (
        *own_uses,
        *init_mount_uses(init, own_uses),
        *sources.rows("the swap areas", lambda: swap_uses(swaps)),
        *btrfs_uses(btrfs),
        *sources.rows("its holders", lambda: holder_uses(graph)),
        *loop_uses(loops, graph),
        *sources.rows("the exports", lambda: export_uses(devices, sys_root)),
        *array_uses(arrays, graph),
    )
    return MachineSnapshot(graph, own, init, btrfs, arrays, _by_number(uses), tuple(sources.unread))


def _by_number(uses: Iterable[Use]) -> dict[int, tuple[Use, ...]]:
    found: dict[int, list[Use]] = defaultdict(list)
    for use in uses:
        found[use.number].append(use)
    return {number: tuple(those) for number, those in found.items()}


def read_mounts(proc_root: str, pid: str) -> tuple[MountEntry, ...]:
    """Return the mounts that a process sees. Raises OSError, ValueError."""
    with open(f"{proc_root}/{pid}/mountinfo", "rb") as file:
        return parse_mountinfo(os.fsdecode(file.read()))


def read_swaps(proc_root: str) -> tuple[SwapEntry, ...]:
    """Return the active swap areas; none where the kernel has no swap support. Raises OSError, ValueError."""
    if not os.path.exists(f"{proc_root}/swaps"):
        return ()
    with open(f"{proc_root}/swaps", "rb") as file:
        return parse_swaps(os.fsdecode(file.read()))


def read_arrays(proc_root: str = PROC_ROOT) -> tuple[MdArray, ...]:
    """Return the md arrays, inactive ones too; none where the kernel has no md. Raises OSError, KernelUnreadable."""
    path = f"{proc_root}/mdstat"
    return parse_mdstat(read_text(path)) if os.path.exists(path) else ()


def read_loops(devices: Iterable[Device], sys_root: str = SYS_ROOT) -> dict[str, LoopStatus]:
    """Return what every attached loop device of this machine stands on, by path. Raises OSError."""
    statuses: dict[str, LoopStatus] = {}
    for device in devices if sys_root == SYS_ROOT else ():
        if device.kind is DeviceKind.LOOP and device.size_bytes:
            try:
                statuses[device.path] = status(device.path)
            except OSError as error:
                # Detached since the listing.
                if error.errno not in {errno.ENXIO, errno.ENOENT}:
                    raise
    return statuses


def _seen_in(table: str, mounts: Iterable[MountEntry]) -> Iterable[tuple[str, MountEntry]]:
    return ((table, mount) for mount in mounts)


def _mounts_by_number(
    mounts: Iterable[tuple[str, MountEntry]], btrfs: Mapping[str, frozenset[int]], devices: Iterable[Device]
) -> dict[int, tuple[MountUse, ...]]:
    """Return where each device is mounted, by number; a mount that both tables show counts once.

    Filesystems such as btrfs mount under an anonymous number (major 0): there the source tells the device, and sysfs
    the others of that filesystem (fs/btrfs/sysfs.c).
    """
    numbers = {device.path: number_of(device) for device in devices}
    found: dict[int, dict[tuple[str, str], MountUse]] = defaultdict(dict)
    # Whole filesystems first: a bind mount of one directory says less.
    for seen_in, entry in sorted(mounts, key=lambda mount: mount[1].root != "/"):
        mounted = {entry.device_number}
        if os.major(entry.device_number) == 0:
            # bcachefs names all its devices, with colons between them.
            paths = entry.source.split(":") if entry.source.startswith("/dev/") else []
            mounted = {numbers.get(path) or block_number(path) for path in paths} - {0}
            mounted = mounted.union(*(members for members in btrfs.values() if members & mounted))
        use = MountUse(entry.mount_point, entry.filesystem, seen_in)
        for number in mounted:
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
        kind = next((what for is_type, what in _FILE_TYPES if is_type(found.st_mode)), "something else")
        raise NotABlockDevice(device=path, what=kind)
    return found.st_rdev
