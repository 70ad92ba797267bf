"""Makes, lists and removes scratch devices: loop devices over files that fsconsole made and marked."""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Literal

from fsconsole.devices.claims import lasting, lock_node
from fsconsole.devices.graph import DeviceGraph
from fsconsole.devices.identity import listed_identity
from fsconsole.devices.marker import proven_marker, write_marker
from fsconsole.devices.records import observe, remove_record, remove_stale, write_record
from fsconsole.devices.snapshot import discover, find_device
from fsconsole.devices.state import Claim, device_state
from fsconsole.errors.runs import NoSpace
from fsconsole.errors.targets import (
    BadQuantity,
    DeviceLocked,
    ScratchImpossible,
    ScratchInUse,
    ScratchMissing,
)
from fsconsole.model import DEFAULT_SCRATCH_DIR
from fsconsole.model.contract import SCHEMA, Document
from fsconsole.model.device import Device, Identity
from fsconsole.model.wire import Wire
from fsconsole.system import block
from fsconsole.system.block import open_exclusive
from fsconsole.system.files import opened
from fsconsole.system.processes import holders_of, own_pid_in_host_proc
from fsconsole.text import GIB, MIB, error_reason
from fsconsole.units import format_bytes


@contextmanager
def held_for_removal(device_path: str) -> Iterator[None]:
    """Hold a loop device so that nobody else can mount or claim it. Raises ScratchInUse, OSError.

    In use is what is mounted in any namespace, swapped on, held by md or dm, locked by a run, or open in
    another process.
    """
    graph = DeviceGraph(discover())
    state = device_state(find_device(device_path, graph.devices), graph)
    if state.claim is Claim.IN_USE:
        raise ScratchInUse(name=device_path, why=state.text)
    with ExitStack() as held:
        # The lock first: while it is open exclusively, no program of a run could open it, and its cell would fail.
        try:
            held.enter_context(lock_node(device_path, device_path))
        except DeviceLocked as error:
            raise ScratchInUse(name=device_path, why="a run has locked it") from error
        try:
            held.callback(os.close, open_exclusive(device_path))
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            raise ScratchInUse(name=device_path, why="mounted or claimed in another namespace") from error

        def user() -> str:
            others = holders_of(frozenset({os.stat(device_path).st_rdev}), frozenset({own_pid_in_host_proc()}))
            return f"open in process {others[0].pid} ({others[0].command})" if others else ""

        if lasting(lambda: bool(user())) and (why := user()):
            raise ScratchInUse(name=device_path, why=why)
        yield


# How much of a host filesystem a scratch file may take: never the last of the disk.

KEEP_FREE_BYTES = GIB
KEEP_FREE_PERCENT = 5
"""Space that stays free in any case: the larger of the two. Logs, mail and databases of the host need room."""


def need_room(directory: str, size_bytes: int) -> None:
    """Raise NoSpace where a file of that size would leave less free than must be kept. Raises OSError."""
    found = os.statvfs(directory)
    free_bytes = found.f_bavail * found.f_frsize
    kept_bytes = kept_free(found.f_blocks * found.f_frsize)
    if size_bytes + kept_bytes > free_bytes:
        needed = f"{format_bytes(size_bytes)}, with {format_bytes(kept_bytes)} left free,"
        raise NoSpace(path=directory, needed=needed, free=format_bytes(free_bytes))


def kept_free(total_bytes: int) -> int:
    """Return the bytes that must stay free on a filesystem of that size."""
    return max(KEEP_FREE_BYTES, total_bytes * KEEP_FREE_PERCENT // 100)


MIN_BYTES = MIB
BLOCK_BYTES = 4096
"""Sizes are whole blocks, so that direct I/O reaches the file's last byte on disks with 4 KiB sectors."""


class Scratch(Wire, frozen=True):
    """A scratch file, and the loop device over it while one is attached."""

    device: str
    """Path of the loop device; empty while detached (after a reboot)."""
    path: str
    size_bytes: int
    scratch_id: str
    purpose: str = ""
    attached: bool = True
    direct_io: bool = True
    """False while detached, and where the filesystem below refuses it: then the host's page cache is between."""
    identity: Identity | None = None
    """Who its loop device is within this boot, as the list of devices has it; None while detached."""


class ScratchAnswer(Scratch, frozen=True, kw_only=True):
    """A scratch device that was created, attached or removed."""

    schema: Literal[4] = SCHEMA

    @classmethod
    def of(cls, made: Scratch) -> ScratchAnswer:
        """Return a scratch device as an answer."""
        return cls(**{name: getattr(made, name) for name in Scratch.__struct_fields__})


class ScratchListAnswer(Document, frozen=True):
    """Scratch devices and detached files."""

    scratch: tuple[Scratch, ...]


def attached_loops() -> tuple[Device, ...]:
    """Return the attached loop devices. Raises what discover() raises."""
    return tuple(device for device in discover() if device.loop is not None)


def create(
    size_bytes: int,
    directory: str = DEFAULT_SCRATCH_DIR,
    *,
    purpose: str = "",
    progress: Callable[[int], None] = lambda _bytes: None,
) -> Scratch:
    """Make, mark, write in full and attach a scratch file; a failure on the way leaves nothing.

    size_bytes is a multiple of 4 KiB, 1 MiB or more. The directory is made where it is missing, for root
    alone. progress is told the bytes written. Raises BadQuantity, NoSpace, ScratchImpossible, KernelLacks.
    """
    if size_bytes < MIN_BYTES or size_bytes % BLOCK_BYTES:
        raise BadQuantity(
            text=f"{size_bytes}B",
            wanted="a size for a scratch device (whole 4 KiB blocks, 1 MiB or more)",
            examples="512MiB, 4GiB",
        )
    scratch_id = secrets.token_hex(4)
    folder = os.path.realpath(directory)
    path = f"{folder}/scratch-{scratch_id}.img"
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        need_room(folder, size_bytes)
        with ExitStack() as undo:
            with opened(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600) as fd:
                undo.callback(os.unlink, path)
                # Marked before it is filled: what a kill leaves can still be listed and removed.
                write_marker(fd, scratch_id, purpose)
                begun_s = time.monotonic()
                _write_zeros(fd, size_bytes, progress)
                rate = size_bytes / max(time.monotonic() - begun_s, _LEAST_S)
                write_marker(fd, scratch_id, purpose, round(rate))
            undo.callback(remove_record, scratch_id)
            write_record(observe(path, scratch_id))
            remove_stale()
            made = _attach_proven(path, undo)
            undo.pop_all()
    except OSError as error:
        raise _worded(error, folder, size_bytes) from error
    return made


_CHUNK_BYTES = 8 * MIB
_LEAST_S = 0.001
"""A shorter time is no measurement."""


def _write_zeros(fd: int, size_bytes: int, progress: Callable[[int], None]) -> None:
    """Fill a file: the first write to a block is slower where the storage below gives it out only then."""
    try:
        block.reserve(fd, size_bytes)
    except OSError as error:
        if error.errno != errno.EOPNOTSUPP:
            raise
    with suppress(OSError):
        fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_DIRECT)
    zeros, at = memoryview(mmap.mmap(-1, _CHUNK_BYTES)), 0
    while at < size_bytes:
        at += os.pwrite(fd, zeros[: size_bytes - at], at)
        progress(at)


def attach(path: str) -> Scratch:
    """Attach a scratch file again, as after a reboot; an attached one is returned as it is.

    Raises ScratchMissing where the file is not marked, ScratchImpossible, KernelLacks.
    """
    known = _of_file(path, attached_loops())
    if known.attached:
        return known
    try:
        with ExitStack() as undo:
            made = _attach_proven(known.path, undo)
            undo.pop_all()
    except OSError as error:
        raise _worded(error, path, known.size_bytes) from error
    return made


@contextmanager
def attached_for_now(scratch: Scratch) -> Iterator[str]:
    """Yield the path of a scratch device; a detached one is attached for as long as that takes. Raises as attach()."""
    now = attach(scratch.path)
    try:
        yield now.device
    finally:
        if not scratch.attached:
            block.detach(now.device)
            # Udev may look at it still.
            lasting(lambda: _of_file(scratch.path, attached_loops()).attached)
            _renew(now.device)


def listing(directory: str = DEFAULT_SCRATCH_DIR) -> tuple[Scratch, ...]:
    """Return the attached scratch devices, wherever their files lie, and the detached files in directory."""
    loops = attached_loops()
    folder = os.path.realpath(directory)
    paths = {device.loop.path for device in loops if device.loop is not None and device.is_scratch}
    with suppress(FileNotFoundError, NotADirectoryError):
        paths.update(os.path.join(folder, name) for name in os.listdir(folder))
    found = []
    for path in sorted(paths):
        with suppress(ScratchMissing):
            found.append(_of_file(path, loops))
    return tuple(found)


def find(name: str, directory: str = DEFAULT_SCRATCH_DIR) -> Scratch:
    """Return the scratch device that name means: its device, its id, its file's path or the file's name, with or without its ending.

    Raises ScratchMissing.
    """
    for scratch in listing(directory):
        paths = [path for path in (scratch.path, scratch.device) if path]
        names = [os.path.basename(path) for path in paths]
        if name in {scratch.scratch_id, *paths, *names, *(one.removesuffix(".img") for one in names)}:
            return scratch
    if "/" not in name:
        raise ScratchMissing(name=name)
    return _of_file(os.path.realpath(name), attached_loops())


def remove(scratch: Scratch) -> None:
    """Detach a scratch device and delete its file.

    Raises ScratchMissing where the file is not the marked one any more, and ScratchInUse where anything
    still uses it; then nothing has changed.
    """
    loops = attached_loops()
    now = _of_file(scratch.path, loops)
    if now.scratch_id != scratch.scratch_id:
        raise ScratchMissing(name=scratch.path)
    devices = [device.path for device in _loops_over(os.lstat(now.path), loops)]
    with ExitStack() as held:
        for device in devices:
            held.enter_context(held_for_removal(device))
        # Another file may have come to its place while somebody was waited for.
        if _of_file(scratch.path, loops).scratch_id != scratch.scratch_id:
            raise ScratchMissing(name=scratch.path)
        # Detached while held exclusively: it goes at the last close, and nobody can come in between.
        for device in devices:
            block.detach(device)
        os.unlink(now.path)
        remove_record(now.scratch_id)
        remove_stale()
    for device in devices:
        _renew(device)


def _attach_proven(path: str, undo: ExitStack) -> Scratch:
    """Attach path and return the scratch device. Raises ScratchMissing if another file than ours was taken.

    It has no discard: that punches holes into the file, by mkfs, or by btrfs on its own (discard=async).
    """
    device = block.attach(path)
    undo.callback(block.detach, device)
    with suppress(OSError):
        block.forbid_discard(device)
    made = _of_file(path, [loop for loop in attached_loops() if loop.path == device])
    if not made.attached:
        raise ScratchMissing(name=path)
    return made


def _renew(device: str) -> None:
    """Give a detached loop device its discard back, after its last close; whoever opens it meanwhile only looks."""

    def is_busy() -> bool:
        try:
            block.renew(device)
        except OSError as error:
            return error.errno == errno.EBUSY
        return False

    lasting(is_busy)


def _of_file(path: str, loops: Iterable[Device]) -> Scratch:
    """Return the scratch device of a marked file; loops are those to look for it. Raises ScratchMissing."""
    try:
        found = os.lstat(path)
    except (OSError, ValueError) as error:
        raise ScratchMissing(name=path) from error
    marker = proven_marker(path, found.st_dev, found.st_ino)
    if not marker.scratch_id:
        raise ScratchMissing(name=path)
    over = next(iter(_loops_over(found, loops)), None)
    return Scratch(
        device=over.path if over else "",
        path=os.path.abspath(path),
        size_bytes=found.st_size,
        scratch_id=marker.scratch_id,
        purpose=marker.purpose,
        attached=over is not None,
        direct_io=over is not None and over.loop is not None and over.loop.direct_io,
        identity=listed_identity(over) if over is not None else None,
    )


def _loops_over(found: os.stat_result, loops: Iterable[Device]) -> list[Device]:
    place = (found.st_dev, found.st_ino)
    return [d for d in loops if d.loop is not None and (d.loop.file_device, d.loop.inode) == place]


def _worded(error: OSError, path: str, size_bytes: int) -> NoSpace | ScratchImpossible:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return NoSpace(path=path, needed=format_bytes(size_bytes), free="too little")
    if error.errno == errno.EOPNOTSUPP:
        why = "its filesystem keeps no extended attributes, so that a file can't be marked as fsconsole's own"
        return ScratchImpossible(path=path, why=why)
    return ScratchImpossible(path=path, why=error_reason(error))
