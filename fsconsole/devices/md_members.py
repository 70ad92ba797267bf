"""What md has written on a device, and which arrays the kernel holds together: whose array is whose.

An array's number and name say nothing: udev puts leftovers together under another one. Its UUID stands on each
member (struct mdp_superblock_1 in include/uapi/linux/raid/md_p.h), its members in sysfs
(Documentation/ABI/testing/sysfs-block, slaves).
"""

from __future__ import annotations

import os
import struct
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from fsconsole.system.text import read_int_or, read_text, read_text_or

SUPERBLOCK_BYTES = 4096
_OFFSET_BYTES = 4096
"""Of metadata 1.2, which is what a run's own arrays have."""
_HEAD = struct.Struct("<II8x16s")
"""magic, major_version, then set_uuid."""
_MAGIC, _MAJOR_VERSION = 0xA92B4EFC, 1
_BETWEEN = " / "
"""Stands between the sectors that a resync has done and all of them."""


@dataclass(frozen=True, slots=True)
class HeldArray:
    """An md array that the kernel has put together, started or not; members are kernel names of those still there."""

    name: str
    members: frozenset[str]
    metadata: str = ""
    """Where and how its members are marked, "1.2"; "none" for one that `mdadm --build` made (md.rst, metadata_version)."""

    @property
    def path(self) -> str:
        """Its node."""
        return f"/dev/{self.name}"


@dataclass(frozen=True, slots=True)
class SyncState:
    """How far an array is from being in step (Documentation/admin-guide/md.rst)."""

    action: str
    """"idle", "resync", "recover", "check", ..."""
    is_in_step: bool
    members: tuple[str, ...]
    """Those that it has: one that was pulled is first faulty, and then taken out by udev."""
    faulty: tuple[str, ...]
    """Members that failed."""
    done_percent: float
    is_at_work: bool
    """Whether md is about it, neither delayed by another array's resync nor halted by hand."""


def parse_superblock(raw: bytes) -> str:
    """Return the array's UUID in 4096 bytes from the place of a 1.2 superblock; empty where there is none."""
    if len(raw) < _HEAD.size:
        return ""
    magic, major_version, set_uuid = _HEAD.unpack_from(raw)
    if (magic, major_version) != (_MAGIC, _MAJOR_VERSION):
        return ""
    return str(uuid.UUID(bytes=set_uuid))


def member_uuid(path: str) -> str:
    """Return the UUID of the array that a device is, or was, a member of; empty for none. Raises OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        # md writes past the page cache, which may hold what was there before.
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        return parse_superblock(os.pread(fd, SUPERBLOCK_BYTES, _OFFSET_BYTES))
    finally:
        os.close(fd)


def kernel_name(path: str, sys: str = "/sys") -> str:
    """Return the name in /sys/class/block of the device that a path leads to. Raises OSError."""
    number = os.stat(path).st_rdev
    link = f"{sys}/dev/block/{os.major(number)}:{os.minor(number)}"
    return os.path.basename(os.path.realpath(link, strict=True))


def held_arrays(sys: str = "/sys") -> Iterator[HeldArray]:
    """Yield every array that has members now; a number that is left without any is none."""
    for name in sorted(os.listdir(f"{sys}/block")):
        if os.path.isdir(f"{sys}/block/{name}/md"):
            try:
                members = os.listdir(f"{sys}/block/{name}/slaves")
            except FileNotFoundError:
                # Stopped since the listing.
                continue
            if members:
                # Of a disk that was pulled the link stays, and leads nowhere.
                there = (m for m in members if os.path.exists(f"{sys}/block/{name}/slaves/{m}"))
                metadata = read_text_or(f"{sys}/block/{name}/md/metadata_version", "")
                yield HeldArray(name, frozenset(there), metadata)


def is_left_empty(name: str, sys: str = "/sys") -> bool:
    """Return whether a number is that of an array which has no member and was never started: an mdadm died over it."""
    folder = f"{sys}/block/{name}"
    try:
        return read_text(f"{folder}/md/array_state") == "inactive" and not os.listdir(f"{folder}/slaves")
    except OSError:
        return False


def is_started(name: str, sys: str = "/sys") -> bool:
    """Return whether an array gives its data to readers, or did before it broke (Documentation/admin-guide/md.rst)."""
    return read_text_or(f"{sys}/block/{name}/md/array_state", "") not in ("", "clear", "inactive")


def sync_state(name: str, sys: str = "/sys") -> SyncState:
    """Return how an array's members stand to each other. Raises OSError (it is gone)."""
    folder = f"{sys}/block/{name}/md"
    action = read_text(f"{folder}/sync_action")
    # MaxSector, "none": there is nothing that a resync would begin with (drivers/md/md.c, resync_start_show).
    is_whole = (
        read_int_or(f"{folder}/degraded", 0) == 0 and read_text_or(f"{folder}/resync_start", "none") == "none"
    )
    members = tuple(sorted(e.removeprefix("dev-") for e in os.listdir(folder) if e.startswith("dev-")))
    completed = read_text_or(f"{folder}/sync_completed", "")
    return SyncState(
        action=action,
        is_in_step=is_whole and action == "idle",
        members=members,
        faulty=tuple(member for member in members if _is_faulty(f"{folder}/dev-{member}")),
        done_percent=_done_percent(completed),
        is_at_work=_BETWEEN in completed,
    )


def _is_faulty(folder: str) -> bool:
    return "faulty" in read_text_or(f"{folder}/state", "")


def _done_percent(text: str) -> float:
    """Return the share in sync_completed, "1234 / 5678" in sectors; 0 for "none" and "delayed"."""
    done, _, total = text.partition(_BETWEEN)
    if not (done.isdigit() and total.isdigit()) or int(total) == 0:
        return 0.0
    return 100 * int(done) / int(total)
