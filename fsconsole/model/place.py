"""A directory as target: where a run may make files of its own, and nothing is formatted."""

from __future__ import annotations

from fsconsole.model.wire import Wire

NAME_PREFIX = "fsconsole-"
"""Begins the name of the one directory that a run makes inside a directory."""
MEMORY = "memory"
"""The label without which tmpfs and ramfs are refused."""
FILL_SHARE = 0.60
"""Of the free space, and of the free inodes: the most that the loads of a cell may use on a filesystem that is live."""
RESERVE_SHARE = 0.05
"""Of the filesystem's size: what must stay free, whatever else writes there."""


class Place(Wire, frozen=True):
    """Who a directory is, and what it lies on; sizes as they were when the plan was made (man 3 statvfs)."""

    device_number: int
    """st_dev."""
    inode: int
    filesystem: str
    """As /proc/self/mountinfo calls it: ext4, zfs, nfs4, overlay."""
    source: str
    """As mountinfo has it: /dev/sda1, tank/data, server:/export."""
    mount_point: str
    size_bytes: int
    free_bytes: int
    """For users without privilege."""
    free_inodes: int = 0
    """0: limited by space only, as btrfs and ZFS say."""
    device: str = ""
    """Path of the one block device that it lies on; empty where that is not known (ZFS, NFS, btrfs on several)."""
    boot_id: str = ""
    options: tuple[str, ...] = ()
    """Of the mount and of the filesystem."""

    @property
    def allowed_bytes(self) -> int:
        """The most that the loads of a cell may write."""
        return allowed_bytes(self.size_bytes, self.free_bytes)

    @property
    def words(self) -> str:
        """Filesystem and source: "ext4 on /dev/sda1"."""
        return (
            f"{self.filesystem} on {self.source}"
            if self.source not in ("", "none", self.filesystem)
            else self.filesystem
        )


def allowed_bytes(size_bytes: int, free_bytes: int) -> int:
    """Return how much of a live filesystem's free space loads may fill."""
    return max(0, min(int(free_bytes * FILL_SHARE), free_bytes - reserve_bytes(size_bytes)))


def reserve_bytes(size_bytes: int) -> int:
    """Return the free space below which a load is stopped."""
    return int(size_bytes * RESERVE_SHARE)


def own_name(run_id: str) -> str:
    """Return the name of the directory that a run makes."""
    return f"{NAME_PREFIX}{run_id}"
