"""Holding a device for a run, and keeping everybody else from it while a tool writes there."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType

from fsconsole.devices.discovery import discover
from fsconsole.devices.passing import PASSING_BY_S, UDEV_PROBE_S
from fsconsole.devices.relatives import DeviceGraph, number_of
from fsconsole.devices.uses import read_graph
from fsconsole.errors import DeviceChanged, DeviceLocked, DeviceRefused
from fsconsole.model.device import Device
from fsconsole.system.blockdev import open_exclusive
from fsconsole.system.locks import FileLock, is_locked

_PAUSE_S = 0.05

TOOLS_WITH_O_EXCL = frozenset(
    {
        "mkfs.ext2",
        "mkfs.ext3",
        "mkfs.ext4",
        "mke2fs",
        "mkfs.xfs",
        "mkfs.btrfs",
        "mkfs.f2fs",
        "mkfs.jfs",
        "mkreiserfs",
        "mkswap",
        "mount",
    }
)
"""Tools that refuse a device which another descriptor holds with O_EXCL; each was tried (tests/loop)."""

ARRAY_TOOLS_WITH_O_EXCL = frozenset({"mdadm"})
"""Likewise; tried in a virtual machine, as not every kernel has md (tests/lab)."""

MODULES_WITH_O_EXCL = frozenset({"fsconsole.workloads.rawstream"})
"""Programs of this package (python -I -m MODULE) that take O_EXCL themselves, tried likewise."""

TOOLS_WITHOUT_O_EXCL = frozenset(
    {"mkfs.nilfs2", "nilfs-tune", "jfs_tune", "fsck.jfs", "blkdiscard", "wipefs", "fio", "dd"}
)
"""Tools that go ahead on it, tried too: mkfs.nilfs2, blkdiscard and wipefs when given -f, the others always."""


class DeviceLocks:
    """The locks on one device's disks, held until release() or the end of the process."""

    def __init__(self, locks: ExitStack, paths: tuple[str, ...]) -> None:
        self._locks = locks
        self.paths = paths

    def release(self) -> None:
        """Give all of them back; a second call does nothing."""
        self._locks.close()

    def __enter__(self) -> DeviceLocks:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def lock_paths(device: Device, graph: DeviceGraph) -> tuple[str, ...]:
    """Return the nodes that a run locks: the device, its whole disk, and all below md, dm or a loop over a device.

    Partitions among them too: while one is open the kernel lets nobody delete it and make it again elsewhere.
    """
    nodes = {number_of(layer): layer.path for layer in graph.down(device)}
    return tuple(nodes[number] for number in sorted(nodes))


def lock_whole_disk(device: Device) -> DeviceLocks:
    """Take flock(LOCK_EX) on the device, on its whole disk and on all that lies below it.

    Raises DeviceLocked where a run or a tool has one of them, DeviceChanged where the device is gone, OSError.
    """
    graph = read_graph(discover())
    current = graph.by_number.get(number_of(device))
    if current is None:
        raise DeviceChanged(device.path, "it is gone")
    paths = lock_paths(current, graph)
    with ExitStack() as locks:
        for path in paths:
            locks.enter_context(_acquire(path, device.path))
        return DeviceLocks(locks.pop_all(), paths)


def _acquire(path: str, device_path: str) -> FileLock:
    """Lock one node. Udev's workers hold a shared lock while they probe (systemd: BLOCK_DEVICE_LOCKING): they pass."""
    begun_s = time.monotonic()
    while True:
        try:
            return FileLock.acquire(path)
        except BlockingIOError as error:
            patience_s = PASSING_BY_S if is_locked(path) else UDEV_PROBE_S
            if time.monotonic() >= begun_s + patience_s:
                raise DeviceLocked(device_path) from error
            time.sleep(_PAUSE_S)


@contextmanager
def held_exclusively(path: str) -> Iterator[None]:
    """Hold the device with O_EXCL: nothing in the kernel has claimed it, and nothing can until this ends.

    Raises DeviceRefused where something has, DeviceChanged where it can't be opened at all.
    """
    try:
        fd = open_exclusive(path)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise DeviceChanged(path, f"it can't be opened for writing: {error.strerror}") from error
        raise DeviceRefused(
            path,
            "is claimed by something else now (O_EXCL says busy)",
            "`lsblk DEVICE` and `fuser --verbose DEVICE` help to find who it is.",
        ) from error
    try:
        yield
    finally:
        os.close(fd)


def needs_hold(argv: tuple[str, ...]) -> bool:
    """Return whether a device must be held_exclusively() while this command writes on it.

    True for every tool that is not known to take O_EXCL itself; those that do refuse a device that is held.
    """
    if argv[1:3] == ("-I", "-m") and argv[3:4]:
        return argv[3] not in MODULES_WITH_O_EXCL
    return os.path.basename(argv[0]) not in TOOLS_WITH_O_EXCL | ARRAY_TOOLS_WITH_O_EXCL
