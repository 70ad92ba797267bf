"""Finds the disks below /, /boot and the run folder: from a folder down to whole disks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fsconsole.devices.evidence import SystemPlace
from fsconsole.devices.graph import number_of
from fsconsole.devices.snapshot import MachineSnapshot
from fsconsole.devices.uses import block_number
from fsconsole.model.device import Device
from fsconsole.system.files import nearest_existing, read_text
from fsconsole.system.mounts import MountEntry

DISKLESS = frozenset({
    "tmpfs", "ramfs", "rootfs", "devtmpfs", "proc", "sysfs", "nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "hostfs", "virtiofs", "autofs",
})  # fmt: skip
"""Filesystems that lie on no block device of this machine (man 5 filesystems)."""

_OVERLAY_LAYERS = ("lowerdir", "upperdir", "workdir")
_SYSTEM_FOLDERS = ("/", "/boot")
_RUN_FOLDER = "the run folder"


class NotDetermined(LookupError):
    """A folder whose disks can't be found out; its words say why."""


@dataclass(frozen=True, slots=True)
class PlaceFinder:
    """Finds the devices below folders in one snapshot."""

    snapshot: MachineSnapshot

    def system_places(self, runs_dir: str) -> tuple[SystemPlace, ...]:
        """Return /, /boot and the run folder (or its nearest parent) with all devices below each.

        Raises NotDetermined, and OSError.
        """
        folders = [(folder, folder) for folder in _SYSTEM_FOLDERS if _is_there(folder)]
        folders.append((_RUN_FOLDER, nearest_existing(runs_dir)))
        own = [SystemPlace(name, self.numbers_below(path)) for name, path in folders]
        of_init = [
            SystemPlace(mount.mount_point, self._down(self._numbers_of(mount), mount.mount_point))
            for mount in self.snapshot.init_mounts
            if mount.mount_point in _SYSTEM_FOLDERS
        ]
        return (*own, *of_init)

    def numbers_below(self, path: str) -> frozenset[int]:
        """Return every device from the filesystem that path lies on down to whole disks.

        A loop is followed to the disk of its file. Raises NotDetermined, and OSError.
        """
        mount_id = _mount_id(path)
        for mount in self._mounts():
            if mount.mount_id == mount_id:
                return self._down(self._numbers_of(mount), path)
        raise NotDetermined(f"the mount that {path} lies on is in no mount table")

    def _down(self, numbers: Iterable[int], path: str) -> frozenset[int]:
        found: set[int] = set()
        pending = list(numbers)
        while pending:
            number = pending.pop()
            if number in found:
                continue
            device = self._listed(number, path)
            found.add(number)
            pending += [number_of(lower) for lower in self.snapshot.graph.down(device)]
            if device.loop is not None and self.snapshot.graph.under(device) is None:
                pending += self._below_filesystem(device.loop.file_device, device.loop.path)
        return frozenset(found)

    def _mounts(self) -> tuple[MountEntry, ...]:
        return self.snapshot.own_mounts + self.snapshot.init_mounts

    def _listed(self, number: int, path: str) -> Device:
        device = self.snapshot.graph.by_number.get(number)
        if device is None:
            raise NotDetermined(
                f"{path} lies on device {os.major(number)}:{os.minor(number)}, not in the listing"
            )
        gaps = self.snapshot.graph.gaps(device)
        if gaps:
            raise NotDetermined(f"{path} lies on {', '.join(gaps)}, not in the listing")
        return device

    def _below_filesystem(self, number: int, path: str) -> tuple[int, ...]:
        """Return the devices of a filesystem known by its st_dev alone; path serves for words."""
        if number in self.snapshot.graph.by_number:
            return (number,)
        for mount in self._mounts():
            if mount.device_number == number:
                return tuple(self._numbers_of(mount))
        # Every subvolume of a btrfs has an st_dev of its own that stands in no table.
        if self.snapshot.btrfs_members:
            return tuple(frozenset().union(*self.snapshot.btrfs_members.values()))
        raise NotDetermined(f"the filesystem that {path} lies on is in no mount table")

    def _numbers_of(self, mount: MountEntry) -> Iterator[int]:
        if os.major(mount.device_number):
            yield mount.device_number
        elif mount.filesystem == "btrfs":
            yield from self._btrfs_numbers(mount)
        elif mount.filesystem == "overlay":
            for layer in overlay_layers(mount):
                yield from self.numbers_below(layer)
        elif mount.filesystem not in DISKLESS:
            raise NotDetermined(f"{mount.mount_point} is {mount.filesystem}, which doesn't tell its disks")

    def _btrfs_numbers(self, mount: MountEntry) -> frozenset[int]:
        source = block_number(mount.source)
        for numbers in self.snapshot.btrfs_members.values():
            if source in numbers:
                return numbers
        if not self.snapshot.btrfs_members:
            raise NotDetermined(f"{mount.mount_point} is a btrfs, and the kernel lists none")
        # The source may be a name like /dev/root: then all of them, which refuses too much rather than too little.
        return frozenset[int]().union(*self.snapshot.btrfs_members.values())


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


def _mount_id(path: str) -> int:
    """Return the id of the mount that path lies on, by which mountinfo names it (man 5 proc_pid_fdinfo)."""
    # The dot has an automount take place: what lies on the disk is what would be mounted.
    fd = os.open(f"{path}/.", os.O_PATH | os.O_CLOEXEC)
    try:
        info = read_text(f"/proc/self/fdinfo/{fd}")
    finally:
        os.close(fd)
    for line in info.splitlines():
        key, _, value = line.partition(":")
        if key == "mnt_id":
            return int(value)
    raise NotDetermined(f"the kernel doesn't say on which mount {path} lies")


def _is_there(path: str) -> bool:
    """Return whether there is such a path. Raises OSError where that can't be told."""
    try:
        os.stat(path)
    except FileNotFoundError:
        return False
    return True
