"""Holding a device for a run, and keeping everybody else from it while a tool writes there."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import glob
import os
import re
import stat
import struct
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial

from fsconsole.devices.evidence import HiddenProcess, Relation, Relative, Use, UseKind
from fsconsole.devices.graph import DeviceGraph, number_of
from fsconsole.devices.snapshot import take_snapshot
from fsconsole.devices.uses import mounted_numbers
from fsconsole.errors.targets import DeviceChanged, DeviceLocked, DeviceOpen
from fsconsole.model.device import Device, DeviceKind
from fsconsole.system.block import open_exclusive
from fsconsole.system.files import opened, read_text, read_text_or
from fsconsole.system.isolation import module_of
from fsconsole.system.locks import FileLock, is_locked, lockers
from fsconsole.system.processes import (
    OpenDescriptor,
    Target,
    holders_of,
    is_at_work,
    mount_tables,
    numbers_in,
    own_pid_in_host_proc,
)
from fsconsole.text import error_reason

# Claims that last: udev, and the tools that it starts, look at whatever was written, and go.

PASSING_BY_S = 0.5
UDEV_PROBE_S = 10.0
"""Seconds that udev's workers, and whoever is at work, may have a device open: a slow disk or a busy machine makes a probe last."""
_PAUSE_S = 0.05

_UDEV_WORKERS = frozenset({"(udev-worker)", "(systemd-udevd)", "systemd-udevd", "udevd"})
"""Their names since systemd 252, before, and with eudev; what they start (mdadm, pvscan) has a name of its own."""


def lasting(look: Callable[[], bool]) -> bool:
    """Return what look() says: at once where that is no, else what it says at the end of the wait."""
    deadline = time.monotonic() + PASSING_BY_S
    while look():
        if time.monotonic() >= deadline:
            return True
        time.sleep(_PAUSE_S)
    return False


def lasting_holders(
    look: Callable[[frozenset[int]], tuple[OpenDescriptor, ...]],
) -> tuple[OpenDescriptor, ...]:
    """Return who stays on any target: each was there at every look for as long as its kind may pass by.

    look is given the processes to look at, and none for all: while somebody is waited for, only he is looked at.
    Others may come and go meanwhile; where that has no end, who is there at the end of the longest wait counts.
    """
    first_seen_s: dict[tuple[int, Target], float] = {}
    begun_s = time.monotonic()
    known: frozenset[int] = frozenset()
    while True:
        seen, now_s = look(known), time.monotonic()
        first_seen_s = {(h.pid, h.target): first_seen_s.get((h.pid, h.target), now_s) for h in seen}
        staying = tuple(h for h in seen if now_s - first_seen_s[h.pid, h.target] >= patience_s(h))
        undecided = {holder.target for holder in seen} - {holder.target for holder in staying}
        if undecided and now_s - begun_s < UDEV_PROBE_S:
            known = frozenset(holder.pid for holder in seen)
            time.sleep(_PAUSE_S)
        elif known:
            # Whoever was waited for has gone or stays: who has come meanwhile?
            known = frozenset()
        else:
            return (*staying, *(holder for holder in seen if holder.target in undecided))


def patience_s(holder: OpenDescriptor) -> float:
    """Return how long a process may have a device open and still be passing by.

    On a busy machine a look at a device (blkid, another console) waits for a CPU or the disk: it is at work all the time.
    """
    may_last = holder.command in _UDEV_WORKERS or is_at_work(holder.pid)
    return UDEV_PROBE_S if may_last else PASSING_BY_S


TOOLS_WITH_O_EXCL = frozenset({
    "mkfs.ext2", "mkfs.ext3", "mkfs.ext4", "mke2fs", "mkfs.xfs", "mkfs.btrfs", "mkfs.f2fs", "mkfs.jfs", "mkreiserfs",
    "mdadm", "mkswap", "mount",
})  # fmt: skip
"""Tools that refuse a device which another descriptor holds with O_EXCL; each was tried (tests/loop, mdadm in tests/lab).

mkfs.nilfs2, nilfs-tune, jfs_tune, fsck.jfs, blkdiscard, wipefs, fio and dd go ahead on it, some of them when given -f."""

TOOLS_THAT_TEST_O_EXCL = frozenset({"mkfs.btrfs"})
"""Of those, tools that close the device after a test with O_EXCL, and open it again without (btrfs-progs 6.2)."""

ACCOUNTED = frozenset({
    "mkfs.btrfs", "mkfs.f2fs", "mkfs.jfs", "mkfs.nilfs2", "mkreiserfs", "jfs_tune", "nilfs-tune", "shred", "wipefs",
})  # fmt: skip
"""Tools whose writes the kernel accounts to them in full; the others also have it zero ranges (fallocate), which it does not."""

MODULES_WITH_O_EXCL = frozenset({"fsconsole.workloads.raw"})
"""Programs of this package (python -I -m MODULE) that take O_EXCL themselves, tried likewise."""


_DISK_LOCK = "/run/fsconsole-disk-{}.lock"
"""Keeps two runs from one disk where its node may not be locked for so long."""


def lock_paths(device: Device, graph: DeviceGraph, system: frozenset[int] = frozenset()) -> dict[str, str]:
    """Return the nodes and files that a run locks, each with the node it stands for.

    They are the device, its whole disk, all below md, dm or a loop over a device, and a file for each whole disk.
    Partitions among them too: while one is open the kernel lets nobody delete it and make it again elsewhere.
    Of disks whose numbers are in system only the device itself and the file: udevd skips a disk that is locked.
    """
    layers = sorted(graph.down(device), key=number_of)
    nodes = [layer for layer in layers if layer == device or number_of(graph.disk(layer)) not in system]
    files = {_DISK_LOCK.format(layer.name): layer.path for layer in layers if not layer.parent}
    return {node.path: node.path for node in nodes} | files


def other_engines(own: int) -> dict[str, int]:
    """Return the pids of the engines of other runs on this machine, by the kernel's name of a disk that each has locked."""
    held = lockers(glob.glob(_DISK_LOCK.format("*")))
    begin, end = _DISK_LOCK.split("{}")
    return {path.removeprefix(begin).removesuffix(end): pid for path, pid in held.items() if pid != own}


def lock_disks(device: Device, system: frozenset[int] = frozenset()) -> ExitStack:
    """Take flock(LOCK_EX) on all that lock_paths() names, until the stack is closed.

    Raises DeviceLocked where a run or a tool has one of them, DeviceChanged where the device is gone, OSError.
    """
    graph = take_snapshot().graph
    current = graph.by_number.get(number_of(device))
    if current is None:
        raise DeviceChanged(device.path, "it is gone")
    with ExitStack() as locks:
        for path in lock_paths(current, graph, system):
            locks.enter_context(lock_node(path, device.path))
        return locks.pop_all()


def lock_node(path: str, device_path: str) -> FileLock:
    """Lock one node until it is released. Udev's workers hold a shared lock while they probe (systemd: BLOCK_DEVICE_LOCKING): they pass."""
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
def held_exclusively(path: str, may_wait: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Hold the device with O_EXCL: nothing in the kernel has claimed it, and nothing can until this ends.

    Who has claimed it is waited for as long as may_wait(). Raises DeviceOpen then, DeviceChanged where it can't be
    opened at all.
    """
    while True:
        try:
            fd = open_exclusive(path)
            break
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise DeviceChanged(path, f"it can't be opened for writing: {error_reason(error)}") from error
            if not may_wait():
                raise DeviceOpen(
                    path,
                    "is claimed by something else now (O_EXCL says busy)",
                    f"`lsblk {path}` and `fuser --verbose {path}` help to find who it is.",
                ) from error
        time.sleep(_PAUSE_S)
    try:
        yield
    finally:
        os.close(fd)


def needs_hold(argv: tuple[str, ...]) -> bool:
    """Return whether a device must be held_exclusively() while this command writes on it.

    True for every tool that is not known to take O_EXCL itself; those that do refuse a device that is held.
    """
    if module := module_of(argv):
        return module not in MODULES_WITH_O_EXCL
    return os.path.basename(argv[0]) not in TOOLS_WITH_O_EXCL


# SCSI reservations, asked of the disk itself.

_SG_IO = 0x2285
_FROM_DEVICE = -3
_TIMEOUT_MS = 5000
_ANSWER_BYTES = 24
_RESERVATION_CONFLICT = 0x18
_GOOD = 0x00
_HEADER_BYTES = 8


_SG_IO_HDR = struct.Struct("@iiBBHIPPPIIiPBBBBHHiII0P")
"""struct sg_io_hdr (include/scsi/sg.h): interface, direction, lengths of command and sense, scatter lists, length of
the answer; answer, command, sense; timeout, flags, id; pointer; status and what else is told of the end."""
_STATUS_FIELD = 13


def is_reserved(path: str) -> bool:
    """Return whether the disk answers that an initiator has reserved it (SPC-4, PERSISTENT RESERVE IN).

    False where the device doesn't know the command: no SCSI disk, or one without reservations.
    Raises OSError.
    """
    command = ctypes.create_string_buffer(bytes((0x5E, 0x01, 0, 0, 0, 0, 0, 0, _ANSWER_BYTES, 0)), 10)
    answer, sense = ctypes.create_string_buffer(_ANSWER_BYTES), ctypes.create_string_buffer(32)
    lengths = (len(command), len(sense), 0, len(answer))
    places = (ctypes.addressof(answer), ctypes.addressof(command), ctypes.addressof(sense))
    header = bytearray(
        _SG_IO_HDR.pack(ord("S"), _FROM_DEVICE, *lengths, *places, _TIMEOUT_MS, *[0] * 12),
    )
    with opened(path, os.O_RDONLY | os.O_NONBLOCK) as fd:
        try:
            fcntl.ioctl(fd, _SG_IO, header)
        except OSError as error:
            if error.errno in {errno.ENOTTY, errno.EINVAL, errno.EOPNOTSUPP, errno.ENODEV}:
                return False
            raise
    return says_reserved(_SG_IO_HDR.unpack(header)[_STATUS_FIELD], answer.raw)


def says_reserved(status: int, answer: bytes) -> bool:
    """Return what a SCSI status and a READ RESERVATION answer mean: a descriptor in it is a reservation.

    The answer is 4 bytes of generation, 4 of additional length, and 16 of descriptor where there is one.
    """
    if status == _RESERVATION_CONFLICT:
        return True
    return status == _GOOD and int.from_bytes(answer[4:_HEADER_BYTES], "big") > 0


# Claims of this moment: open descriptors, locks, O_EXCL and reservations. Only a claim that lasts counts.

SAME_BYTES = frozenset({Relation.SELF, Relation.INSIDE, Relation.DISK, Relation.UNDER, Relation.TWIN})
_EXCLUSIVE = frozenset({Relation.SELF, Relation.UNDER, Relation.TWIN})
"""A whole disk may be busy by another partition than ours, what is below md and dm is rightly busy."""
_CAP_SYS_PTRACE = 19
"""include/uapi/linux/capability.h"""


def open_uses(relatives: Iterable[Relative], graph: DeviceGraph) -> Iterator[Use]:
    """Yield a use for every descriptor that another process of the visible /proc has and keeps on a relative.

    relatives are those of all devices that are asked about: the processes are looked at once for all. A loop's bytes
    are those of its file, which a virtual machine may be running from. Raises OSError where other processes may not
    be looked at.
    """
    status = dict(line.split(":", 1) for line in read_text("/proc/self/status").splitlines())
    # /proc/PID/fd asks for it (man 5 proc_pid_fd).
    if not int(status.get("CapEff", "0"), 16) >> _CAP_SYS_PTRACE & 1:
        raise PermissionError(errno.EPERM, "the descriptors of other processes may not be looked at")
    files: dict[Target, list[int]] = defaultdict(list)
    generic: dict[Target, tuple[int, str]] = {}
    numbers = {relative.number for relative in relatives if relative.role in SAME_BYTES}
    for number in numbers:
        device = graph.by_number[number]
        generic |= {node: (number, path) for node, path in _generic_nodes(device)}
        if device.loop is not None and device.loop.inode and not graph.under(device):
            files[device.loop.file_device, device.loop.inode].append(number)
    targets: frozenset[Target] = frozenset((*numbers, *files, *generic))
    for holder in lasting_holders(partial(holders_of, targets, frozenset({own_pid_in_host_proc()}))):
        process = f"process {holder.pid} ({holder.command})"
        if isinstance(holder.target, int):
            yield Use(UseKind.OPEN, holder.target, f"is open in {process}")
        for number in files.get(holder.target, ()):
            yield Use(UseKind.OPEN, number, f"stands on a file that is open in {process}")
        if holder.target in generic:
            number, node = generic[holder.target]
            yield Use(UseKind.OPEN, number, f"is open as {node} in {process}")


def _generic_nodes(device: Device) -> Iterator[tuple[Target, str]]:
    """Yield the character devices that take commands for a disk past the block layer (man 4 sg; nvme-generic)."""
    names = map(os.path.basename, glob.glob(f"/sys/class/block/{device.name}/device/scsi_generic/*"))
    for path in (f"/dev/{name}" for name in (*names, re.sub("^nvme", "ng", device.name))):
        with suppress(OSError):
            found = os.stat(path)
            if stat.S_ISCHR(found.st_mode):
                yield (found.st_dev, found.st_ino), path


def hidden_processes() -> tuple[HiddenProcess, ...]:
    """Return the processes whose descriptors stay hidden even from root, by pid.

    A security module or a sandbox hides them; a plain system has none. A container with a PID namespace of its own
    hides all processes of the host, kernel threads included.
    """
    is_host = read_text_or("/proc/2/comm", "") == "kthreadd"
    hidden = [] if is_host else [HiddenProcess(0, "a process outside of this container")]
    for pid in sorted(numbers_in("/proc")):
        try:
            for name in os.listdir(f"/proc/{pid}/fd")[:1]:
                os.readlink(f"/proc/{pid}/fd/{name}")
        except PermissionError:
            hidden.append(HiddenProcess(pid, f"process {pid} ({read_text_or(f'/proc/{pid}/comm', 'gone')})"))
        except (FileNotFoundError, ProcessLookupError):
            # It has ended, or closed that one.
            continue
    return tuple(hidden)


def lock_uses(device: Device, graph: DeviceGraph) -> Iterator[Use]:
    """Yield a use for every node that a run would lock and somebody else has locked. Raises OSError."""
    for path, node in lock_paths(device, graph).items():
        if lasting(partial(is_locked, path)):
            words = "is locked" if node == device.path else f"is on {node}, which is locked"
            yield Use(UseKind.LOCKED, number_of(device), f"{words} by another run or tool")


def busy_uses(relatives: Iterable[Relative], graph: DeviceGraph, *, is_ours: bool) -> Iterator[Use]:
    """Yield a use for every relative that the kernel refuses to open exclusively; is_ours: this run holds its lock.

    Raises OSError.
    """
    for relative in relatives:
        is_partition_of_twin = relative.role is Relation.TWIN and graph.by_number[relative.number].parent
        if relative.role not in _EXCLUSIVE or is_partition_of_twin:
            continue
        if lasting(partial(is_busy, relative.path, is_ours=is_ours)):
            clause = "is claimed by something that is not shown here (O_EXCL says busy)"
            yield Use(UseKind.BUSY, relative.number, next(_mounts_elsewhere(relative.number, graph), clause))


def _mounts_elsewhere(number: int, graph: DeviceGraph) -> Iterator[str]:
    """Yield a clause for each mount of a device in the mount namespaces of other processes; each is read once."""
    numbers = {device.path: number_of(device) for device in graph.devices}
    for pid, mounts in mount_tables():
        process = f"process {pid} ({read_text_or(f'/proc/{pid}/comm', 'gone')})"
        for mount in mounts:
            if number in mounted_numbers(mount, numbers):
                yield f"is mounted on {mount.mount_point} in another mount namespace, of {process}"


def is_busy(path: str, *, is_ours: bool = False) -> bool:
    """Return whether something in the kernel, or a program with O_EXCL, has claimed the device. Raises OSError.

    It is opened for reading: the claim is the same (block/bdev.c, bd_prepare_to_claim), and closing a device that was
    open for writing has udev probe it anew. A device that another run has locked is not claimed: that run's mkfs or
    mount would fail with EBUSY meanwhile.
    """
    with opened(path, os.O_RDONLY) as fd:
        try:
            if not is_ours:
                fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
            os.close(os.open(path, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno == errno.EBUSY:
                return True
            raise
    return False


def reservation_uses(relatives: Iterable[Relative], graph: DeviceGraph) -> Iterator[Use]:
    """Yield a use for every SCSI disk, the device itself or one below, that says it is reserved.

    USB bridges are not asked: some hang on a command that they don't know, and none has reservations.
    Raises OSError.
    """
    for relative in relatives:
        device = graph.by_number[relative.number]
        is_asked = device.kind is DeviceKind.DISK and device.transport != "usb" and relative.role is not Relation.TWIN
        if is_asked and is_reserved(relative.path):
            yield Use(UseKind.RESERVED, relative.number, "is reserved by a SCSI initiator")
