"""Where the kernel shows the writeback of a mounted filesystem."""

from __future__ import annotations

import os

from fsconsole.system.mounts import MountEntry, read_mounts


def bdi_stats_path(debug: str, mount_point: str) -> str | None:
    """Return the stats file of the filesystem mounted there, or None where this machine doesn't offer it.

    debug is where debugfs is mounted; empty where it isn't. Raises OSError where mounts can't be read.
    """
    mounted = [entry for entry in read_mounts() if entry.mount_point == mount_point]
    if not debug or not mounted:
        return None
    name = bdi_name(mounted[-1])
    path = os.path.join(debug, "bdi", name, "stats")
    return path if name and os.path.exists(path) else None


def bdi_name(entry: MountEntry, sys: str = "/sys") -> str:
    """Return the name of a mount's backing device info; empty where sysfs doesn't tell it.

    It is MAJOR:MINOR of the whole disk; btrfs makes one of its own for each filesystem, btrfs-N
    (super_setup_bdi, fs/super.c), found through the device that it was mounted from.
    """
    link = _btrfs_link(entry, sys) if entry.filesystem == "btrfs" else _disk_link(entry.device_number, sys)
    return os.path.basename(os.readlink(link)) if link else ""


def _disk_link(device_number: int, sys: str) -> str:
    numbers = f"{os.major(device_number)}:{os.minor(device_number)}"
    return _first_link(os.path.realpath(f"{sys}/dev/block/{numbers}"))


def _first_link(directory: str) -> str:
    # A partition's directory lies in that of its disk, which alone has the link.
    candidates = (f"{directory}/bdi", f"{os.path.dirname(directory)}/bdi")
    return next((link for link in candidates if os.path.islink(link)), "")


def _btrfs_link(entry: MountEntry, sys: str) -> str:
    return _btrfs_member_link(os.path.basename(os.path.realpath(entry.source)), sys)


def _btrfs_member_link(member: str, sys: str) -> str:
    root = f"{sys}/fs/btrfs"
    filesystems = sorted(os.listdir(root)) if os.path.isdir(root) else []
    links = (
        f"{root}/{name}/bdi" for name in filesystems if os.path.exists(f"{root}/{name}/devices/{member}")
    )
    return next((link for link in links if os.path.islink(link)), "")


def device_bdi_path(debug: str, name: str, sys: str = "/sys") -> str | None:
    """Return the stats file of a device's writeback, or None where this machine doesn't offer it.

    A member of a mounted btrfs has that of the filesystem; any other device that of its disk, where writes to the
    device itself count too. debug is where debugfs is mounted, which root alone may read.
    """
    link = _btrfs_member_link(name, sys) or _first_link(os.path.realpath(f"{sys}/class/block/{name}"))
    bdi = os.path.basename(os.readlink(link)) if link else ""
    path = os.path.join(debug, "bdi", bdi, "stats")
    return path if bdi and os.access(path, os.R_OK) else None
