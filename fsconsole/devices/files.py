"""Finds uses of the file below a loop device under other names: mounts, swap areas, loop devices and processes.

st_dev and st_ino name one file only on a filesystem that keeps its files itself. On overlay, FUSE and network filesystems
the same bytes have other numbers as well: there two files are different only if something proves it.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from fsconsole.devices.claims import lasting
from fsconsole.devices.content import BLOCK_BYTES, sample_offsets
from fsconsole.devices.evidence import Use, UseKind
from fsconsole.devices.graph import number_of
from fsconsole.devices.marker import marker_of
from fsconsole.devices.place import NO_STORAGE
from fsconsole.devices.snapshot import DISKLESS
from fsconsole.devices.uses import exported_paths
from fsconsole.model.device import Device
from fsconsole.system.block import ExtentFlag, extents
from fsconsole.system.files import mount_id, opened
from fsconsole.system.mounts import MountEntry, read_swaps
from fsconsole.system.processes import holders_of_sizes, mount_tables, own_pid_in_host_proc
from fsconsole.text import SECTOR_BYTES

_ANONYMOUS_AND_LOCAL = frozenset({"bcachefs", "btrfs", "devtmpfs", "erofs", "ramfs", "rootfs", "tmpfs", "zfs"})
"""Filesystems with a device number of their own making that keep their files themselves."""
_UNSTABLE = int(ExtentFlag.UNKNOWN | ExtentFlag.DELALLOC)


@dataclass(frozen=True, slots=True)
class FileView:
    """A file as one path shows it."""

    identity: tuple[int, int]
    """st_dev and st_ino."""
    size_bytes: int
    """0 if it is not known."""
    path: str = ""
    """Leads to it now; empty if none is known, as for a deleted file."""
    is_identified: bool = False
    """True if no other numbers mean the same file."""


Mounts = Mapping[int, MountEntry]
"""All mounts of the machine that a process sees, by their ids, which are unique in the system."""


class UsedFile(NamedTuple):
    """A file that something uses; clause completes "the file that ...": "is mounted on /srv (erofs)"."""

    view: FileView
    clause: str
    kind: UseKind


class FileUses(NamedTuple):
    """Uses of the files below loop devices."""

    uses: tuple[Use, ...]
    doubts: Mapping[int, tuple[str, ...]]
    """By the loop device's number: uses of files that may be the one below it, as clauses of UsedFile."""


def find_file_uses(targets: Collection[Device], devices: Iterable[Device]) -> FileUses:
    """Return what uses the files below the targets, loop devices all of them; devices are the machine's.

    Loop devices, exports and processes that use a file by its own numbers are found elsewhere (devices/uses.py,
    devices/claims.py). Raises OSError, ValueError, LookupError.
    """
    if not targets:
        return FileUses((), {})
    tables = tuple(mount_tables())
    mounts = {mount.mount_id: mount for _, table in tables for mount in table}
    roots = ("", *(f"/proc/{pid}/root" for pid, _ in tables))
    views = {number_of(target): view_backing(target, mounts, roots) for target in targets}
    loops = {
        number_of(device): UsedFile(view_backing(device, mounts, roots), f"is below {device.path}", UseKind.SAME_FILE)
        for device in devices
        if stands_on_file(device)
    }
    kept = (*_mounted_files(tables, mounts), *_swap_files(mounts))
    exported = tuple(_exported_files(mounts))
    uses = [
        Use(used.kind, number, f"stands on a file that {used.clause}")
        for number, view in views.items()
        for used in kept
        if used.view.identity == view.identity
    ]
    doubts: dict[int, list[str]] = defaultdict(list)
    unnamed = tuple(_with_unnamed_files(kept))
    for target in targets:
        # A file that fsconsole made is none of a filesystem's.
        doubts[number_of(target)] += unnamed if not target.is_scratch else ()
    pairs = [
        (number, used)
        for number in views
        for used in (*kept, *exported, *(used for other, used in loops.items() if other != number))
    ]
    for number, clause in _not_proved_different(views, pairs):
        doubts[number].append(clause)
    # Without such a filesystem every file that a process has open has one name: claims.open_uses finds it.
    if any(not (_keeps_its_files(mount) or mount.filesystem in NO_STORAGE) for mount in mounts.values()):
        for number, clause in _lasting_doubts(views, mounts):
            doubts[number].append(clause)
    return FileUses(tuple(uses), {number: tuple(dict.fromkeys(clauses)) for number, clauses in doubts.items()})


def stands_on_file(device: Device) -> bool:
    """Return whether a device is a loop over a plain file whose numbers are known."""
    return device.loop is not None and device.loop.inode != 0 and not device.loop.device_number


def view_file(path: str, mounts: Mounts) -> FileView:
    """Return the view of a regular file. Raises OSError: EINVAL for anything else."""
    with opened(path, os.O_PATH) as fd:
        file, mount = os.fstat(fd), mounts.get(mount_id(fd))
    if not stat.S_ISREG(file.st_mode):
        raise OSError(errno.EINVAL, "it is no plain file", path)
    is_identified = mount is not None and _keeps_its_files(mount)
    return FileView((file.st_dev, file.st_ino), file.st_size, path, is_identified)


def view_backing(device: Device, mounts: Mounts, roots: Iterable[str] = ("",)) -> FileView:
    """Return the view of the file below a loop device, also if no path leads to it. Raises ValueError for another device.

    The kernel's path of it may be one in another mount namespace: roots are those to try.
    """
    loop = device.loop
    if loop is None:
        raise ValueError(f"{device.path} is no loop device")
    identity = (loop.file_device, loop.inode)
    for root in roots:
        with suppress(OSError):
            view = view_file(f"{root}{loop.path}", mounts)
            if view.identity == identity:
                return view
    is_identified = any(
        mount.device_number == loop.file_device and _keeps_its_files(mount) for mount in mounts.values()
    )
    # The loop device ends with the file, but for what is no whole sector, unless it has a limit.
    size = 0 if loop.limit_bytes else loop.offset_bytes + device.size_bytes
    return FileView(identity, size, is_identified=is_identified)


def _keeps_its_files(mount: MountEntry) -> bool:
    """Return whether st_dev and st_ino name one file on a filesystem."""
    is_on_device = os.major(mount.device_number) != 0 and not mount.filesystem.startswith("fuse")
    return is_on_device or mount.filesystem in _ANONYMOUS_AND_LOCAL


# Uses of files: by loop devices, mounts, swap areas and processes.

_MOUNTED_FROM_FILES = frozenset({"erofs"})
"""Filesystems that the kernel mounts from a plain file without a loop device (fs/erofs/fileio.c, Linux 6.12)."""


def _mounted_files(tables: Iterable[tuple[int, Iterable[MountEntry]]], mounts: Mounts) -> Iterator[UsedFile]:
    """Yield the files that filesystems are mounted from, in every mount namespace with a process, each by its path there."""
    for pid, table in tables:
        for mount in table:
            is_path = mount.source.startswith("/") and not mount.source.startswith(("/dev/", "/proc/"))
            if is_path and not os.major(mount.device_number) and mount.filesystem not in DISKLESS:
                with suppress(OSError):
                    view = view_file(f"/proc/{pid}/root{mount.source}", mounts)
                    yield UsedFile(view, f"is mounted on {mount.mount_point} ({mount.filesystem})", UseKind.MOUNT)


_EROFS_MAGIC, _EROFS_MAGIC_AT, _EROFS_EXTRA_DEVICES_AT = b"\xe2\xe1\xf5\xe0", 1024, 1024 + 86
"""magic, of four bytes, and extra_devices, of two, in struct erofs_super_block (fs/erofs/erofs_fs.h)."""


def _with_unnamed_files(used: Iterable[UsedFile]) -> Iterator[str]:
    """Yield the uses by filesystems of several files: no table names those of mount -o device=."""
    for one in used:
        if one.kind is UseKind.MOUNT:
            with suppress(OSError), opened(one.view.path) as fd:
                if os.pread(fd, 4, _EROFS_MAGIC_AT) == _EROFS_MAGIC and any(os.pread(fd, 2, _EROFS_EXTRA_DEVICES_AT)):
                    yield f"{one.clause}, of several files"


def images_mounted(uuids: Iterable[str]) -> Iterator[str]:
    """Yield, as clauses, mounts of filesystems from files that have one of those UUIDs, wherever their files are by now.

    The source of such a mount is a path of the past, or of another process.
    """
    fsids = {_fsid(uuid) for uuid in uuids}
    for pid, mounts in mount_tables() if fsids else ():
        for mount in mounts:
            if mount.filesystem in _MOUNTED_FROM_FILES and not os.major(mount.device_number):
                with suppress(OSError):
                    # Without a UUID the kernel says something else there.
                    if os.statvfs(f"/proc/{pid}/root{mount.mount_point}").f_fsid not in fsids and 0 not in fsids:
                        continue
                yield f"is mounted on {mount.mount_point} ({mount.filesystem})"


def _fsid(uuid: str) -> int:
    """Return what statfs says of a filesystem with that UUID (include/linux/statfs.h, uuid_to_fsid)."""
    raw = bytes.fromhex(uuid.replace("-", ""))
    return int.from_bytes(raw[:8], "little") ^ int.from_bytes(raw[8:], "little")


def _swap_files(mounts: Mounts) -> Iterator[UsedFile]:
    for area in read_swaps():
        if area.kind == "file":
            with suppress(OSError):
                yield UsedFile(view_file(area.path, mounts), f"is the swap file {area.path}", UseKind.SWAP)


def _exported_files(mounts: Mounts) -> Iterator[UsedFile]:
    for path, clause in exported_paths():
        with suppress(OSError):
            yield UsedFile(view_file(path, mounts), clause, UseKind.EXPORT)


def _lasting_doubts(views: Mapping[int, FileView], mounts: Mounts) -> tuple[tuple[int, str], ...]:
    """Return processes that have a file open, for longer than in passing, that may be one of those by another name."""
    found: list[tuple[int, str]] = []

    def look() -> bool:
        found[:] = _opened_doubts(views, mounts)
        return bool(found)

    lasting(look)
    return tuple(found)


def _opened_doubts(views: Mapping[int, FileView], mounts: Mounts) -> Iterable[tuple[int, str]]:
    sizes = {view.size_bytes for view in views.values()}
    identities = {view.identity for view in views.values()}
    by_file = {
        holder.target: holder
        for holder in holders_of_sizes(sizes, frozenset({own_pid_in_host_proc()}))
        if holder.target not in identities
    }
    opened_files = []
    for holder in by_file.values():
        clause = f"is open in process {holder.pid} ({holder.command})"
        with suppress(OSError):
            opened_files.append(UsedFile(view_file(holder.link, mounts), clause, UseKind.OPEN))
    return _not_proved_different(views, [(number, used) for number in views for used in opened_files])


# Two views of one file, or two files.


class Reading(NamedTuple):
    """What is read of a file by which it differs from others; empty if it can't be read."""

    mark: str = ""
    """The id of a scratch file."""
    blocks: tuple[int, ...] = ()
    """Hashes of the sampled blocks."""
    extents: tuple[tuple[int, int, int], ...] | None = None
    """Logical and physical place and length of each; None if the filesystem does not say, or not for sure."""


def _not_proved_different(
    views: Mapping[int, FileView], pairs: Iterable[tuple[int, UsedFile]]
) -> Iterator[tuple[int, str]]:
    """Yield the pairs of which one file may be the other by another name, as the first one's number and the clause."""
    open_pairs = [(number, used) for number, used in pairs if may_be_one(views[number], used.view)]
    concerned = dict.fromkeys(view for number, used in open_pairs for view in (views[number], used.view))
    # Each twice, all of them in between: one file that is written to meanwhile differs from itself for a moment.
    first = {view: _read(view) for view in concerned}
    second = {view: _read(view) for view in concerned}
    for number, used in open_pairs:
        one, other = views[number], used.view
        if not are_different((first[one], first[other]), (second[one], second[other])):
            yield number, used.clause


def may_be_one(one: FileView, other: FileView) -> bool:
    """Return whether two views may be of one file by other numbers, as far as can be told without reading it."""
    if one.identity == other.identity or (one.is_identified and other.is_identified):
        return False
    return len({view.size_bytes // SECTOR_BYTES for view in (one, other) if view.size_bytes}) < 2


def are_different(first: tuple[Reading, Reading], second: tuple[Reading, Reading]) -> bool:
    """Return whether readings of two files, taken twice, prove that they are two: both stayed as they are, and differ."""
    (one, other), (one_again, other_again) = first, second
    if one.mark and other.mark:
        return one.mark != other.mark
    blocks = zip(one.blocks, one_again.blocks, other.blocks, other_again.blocks, strict=False)
    if any(a == a_again != b == b_again for a, a_again, b, b_again in blocks):
        return True
    places = (one.extents, one_again.extents, other.extents, other_again.extents)
    return None not in places and places[0] == places[1] != places[2] == places[3]


def _read(view: FileView) -> Reading:
    reading = Reading()
    with suppress(OSError), opened(view.path, os.O_RDONLY | os.O_NONBLOCK) as fd:
        file = os.fstat(fd)
        if (file.st_dev, file.st_ino) == view.identity:
            reading = reading._replace(mark=marker_of(fd).scratch_id)
            # As its server, or the layer below it, has it.
            os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            offsets = sample_offsets(file.st_size)
            reading = reading._replace(blocks=tuple(hash(os.pread(fd, BLOCK_BYTES, at)) for at in offsets))
            found = tuple(extents(fd))
            if not any(extent.flags & _UNSTABLE for extent in found):
                places = tuple((one.logical_bytes, one.physical_bytes, one.length_bytes) for one in found)
                reading = reading._replace(extents=places)
    return reading
