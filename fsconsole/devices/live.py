"""Claims of this moment: open descriptors, locks, O_EXCL and reservations.

Only a claim that lasts counts: who merely passes by is told apart in passing.py.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from functools import partial

from fsconsole.devices.claims import lock_paths
from fsconsole.devices.evidence import Relative, Role, Use, UseKind
from fsconsole.devices.passing import lasting, lasting_holders
from fsconsole.devices.relatives import DeviceGraph, number_of
from fsconsole.devices.reservation import is_reserved
from fsconsole.model.device import Device, DeviceKind
from fsconsole.system.locks import is_locked
from fsconsole.system.processes import (
    OpenDescriptor,
    holders_of,
    holders_of_any,
    holders_of_file,
    own_pid_in_host_proc,
)
from fsconsole.system.text import read_text, read_text_or

_SAME_BYTES = frozenset({Role.SELF, Role.INSIDE, Role.DISK, Role.UNDER, Role.TWIN})
_EXCLUSIVE = frozenset({Role.SELF, Role.UNDER, Role.TWIN})
"""A whole disk may be busy by another partition than ours, what is below md and dm is rightly busy."""
_CAP_SYS_PTRACE = 19
"""include/uapi/linux/capability.h"""


def open_uses(relatives: Iterable[Relative], graph: DeviceGraph, own_pids: frozenset[int]) -> Iterator[Use]:
    """Yield a use for every descriptor that another process of the visible /proc has and keeps on a relative.

    A loop's bytes are those of its file, which a virtual machine may be running from. Raises OSError where other processes may not be looked at.
    """
    if not _may_look_at_processes():
        raise PermissionError(errno.EPERM, "the descriptors of other processes may not be looked at")
    ignored = own_pids | {own_pid_in_host_proc()}
    files = {
        relative.number: _file_below(relative.number, graph)
        for relative in relatives
        if relative.role in _SAME_BYTES
    }
    # Mostly nobody has any of them open: one look at all processes says so for all of them.
    if not holders_of_any(frozenset(files), frozenset(filter(None, files.values())), ignored):
        return
    for number, file in files.items():
        for holder in lasting_holders(partial(holders_of, number, ignored)):
            yield Use(UseKind.OPEN, number, f"is open in {_process_words(holder)}")
        if file is None:
            continue
        for holder in lasting_holders(partial(holders_of_file, *file, ignored)):
            yield Use(UseKind.OPEN, number, f"stands on a file that is open in {_process_words(holder)}")


def _file_below(number: int, graph: DeviceGraph) -> tuple[int, int] | None:
    """Return st_dev and st_ino of the file that a loop stands on; None for what is no loop, or one over a device."""
    device = graph.by_number[number]
    if device.loop is None or not device.loop.inode or graph.under(device):
        return None
    return device.loop.file_device, device.loop.inode


def hidden_processes(own_pids: frozenset[int]) -> tuple[str, ...]:
    """Return the processes whose descriptors stay hidden even from root, "1 (init)", by pid.

    A security module does that, or a sandbox; on a plain system there are none.
    """
    pids = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
    return tuple(f"{pid} ({_name_of(pid)})" for pid in pids if pid not in own_pids and _is_hidden(pid))


def _is_hidden(pid: int) -> bool:
    folder = f"/proc/{pid}/fd"
    try:
        for name in os.listdir(folder)[:1]:
            os.readlink(f"{folder}/{name}")
    except PermissionError:
        return True
    except (FileNotFoundError, ProcessLookupError):
        # It has ended, or closed that one.
        return False
    return False


def _name_of(pid: int) -> str:
    return read_text_or(f"/proc/{pid}/comm", "gone")


def _may_look_at_processes() -> bool:
    """Return whether CAP_SYS_PTRACE is in effect, which /proc/PID/fd asks for (man 5 proc_pid_fd)."""
    for line in read_text("/proc/self/status").splitlines():
        key, _, value = line.partition(":")
        if key == "CapEff":
            return bool(int(value, 16) >> _CAP_SYS_PTRACE & 1)
    return False


def _process_words(holder: OpenDescriptor) -> str:
    return f"process {holder.pid} ({holder.command})"


def lock_uses(device: Device, graph: DeviceGraph) -> Iterator[Use]:
    """Yield a use for every node that a run would lock and somebody else has locked. Raises OSError."""
    for path in lock_paths(device, graph):
        if lasting(partial(is_locked, path)):
            words = "is locked" if path == device.path else f"is on {path}, which is locked"
            yield Use(UseKind.LOCKED, number_of(device), f"{words} by another run or tool")


def busy_uses(relatives: Iterable[Relative], graph: DeviceGraph) -> Iterator[Use]:
    """Yield a use for every relative that the kernel refuses to open exclusively. Raises OSError."""
    for relative in relatives:
        is_partition_of_twin = relative.role is Role.TWIN and graph.by_number[relative.number].parent
        if relative.role not in _EXCLUSIVE or is_partition_of_twin:
            continue
        if lasting(partial(is_busy, relative.path)):
            clause = "is claimed by something that is not shown here (O_EXCL says busy)"
            yield Use(UseKind.BUSY, relative.number, clause)


def is_busy(path: str) -> bool:
    """Return whether something in the kernel, or a program with O_EXCL, has claimed the device. Raises OSError.

    It is opened for reading: the claim is the same (block/bdev.c, bd_prepare_to_claim), and closing a device that was
    open for writing has udev probe it anew.
    """
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))
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
        is_asked = (
            device.kind is DeviceKind.DISK and device.transport != "usb" and relative.role is not Role.TWIN
        )
        if is_asked and is_reserved(relative.path):
            yield Use(UseKind.RESERVED, relative.number, "is reserved by a SCSI initiator")
