"""Reads md arrays: superblocks on members, the state of an array in sysfs, and /proc/mdstat.

An array's number and name say nothing: udev puts leftovers together under another one. Its UUID stands on each
member (struct mdp_superblock_1 in include/uapi/linux/raid/md_p.h), its members in sysfs
(Documentation/ABI/testing/sysfs-block, slaves).
"""

from __future__ import annotations

import os
import re
import struct
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from fsconsole.errors.runs import KernelUnreadable
from fsconsole.model.device import MdArray, MdMember
from fsconsole.system.files import opened, read_int_or, read_text, read_text_or
from fsconsole.text import KIB

SUPERBLOCK_BYTES = 4096
_OFFSET_BYTES = 4096
"""Of metadata 1.2, which is what a run's own arrays have."""
_HEAD = struct.Struct("<II8x16s")
"""magic, major_version, then set_uuid."""
_MAGIC, _MAJOR_VERSION = 0xA92B4EFC, 1


@dataclass(frozen=True, slots=True)
class HeldArray:
    """An md array that the kernel has put together, started or not; members are kernel names of those still there."""

    name: str
    members: frozenset[str]
    metadata: str = ""
    """Version of its members' superblocks, "1.2"; "none" for one that `mdadm --build` made (md.rst, metadata_version)."""

    @property
    def path(self) -> str:
        """Its node."""
        return f"/dev/{self.name}"


@dataclass(frozen=True, slots=True)
class SyncState:
    """Resync state of an array (Documentation/admin-guide/md.rst)."""

    action: str
    """"idle", "resync", "recover", "check", ..."""
    is_in_step: bool
    members: tuple[str, ...]
    """Those that it has: one that was pulled is first faulty, and then taken out by udev."""
    faulty: tuple[str, ...]
    """Members that failed."""
    done_percent: float
    is_at_work: bool
    """True if md is about it, neither delayed by another array's resync nor halted by hand."""


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
    with opened(path) as fd:
        # md writes past the page cache, which may hold what was there before.
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        return parse_superblock(os.pread(fd, SUPERBLOCK_BYTES, _OFFSET_BYTES))


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
    is_whole = read_int_or(f"{folder}/degraded", 0) == 0 and read_text_or(f"{folder}/resync_start", "none") == "none"
    members = tuple(sorted(e.removeprefix("dev-") for e in os.listdir(folder) if e.startswith("dev-")))
    # "1234 / 5678" in sectors, "none" or "delayed".
    done, is_at_work, total = read_text_or(f"{folder}/sync_completed", "").partition(" / ")
    return SyncState(
        action=action,
        is_in_step=is_whole and action == "idle",
        members=members,
        faulty=tuple(m for m in members if "faulty" in read_text_or(f"{folder}/dev-{m}/state", "")),
        done_percent=100 * int(done) / int(total) if done.isdigit() and int(total or 0) else 0.0,
        is_at_work=bool(is_at_work),
    )


# The text of /proc/mdstat as values.
#
# The format is written by md_seq_show, status_resync and each level's status function (drivers/md/md.c,
# drivers/md/raid*.c) and described in Documentation/admin-guide/md.rst. It has grown since 2.6, never shrunk:
# details that are not known are passed over, a headline that is not understood is an error.

MDSTAT_PATH = "/proc/mdstat"

_NOT_ARRAYS = ("Personalities", "unused devices")
_HEADLINE = re.compile(r"(?P<name>\S+) : (?P<state>active|inactive|broken)(?P<rest>( .*)?)")
_READ_ONLY = ("(read-only)", "(auto-read-only)")
_MEMBER = re.compile(r"(?P<name>[^\s\[]+)\[(?P<slot>-?[0-9]{1,9})\](?P<flags>(\([A-Z]\))*)")
_BLOCKS = re.compile(r"([0-9]{1,19}) blocks\b")
_SUPER = " super "
_METADATA = re.compile(_SUPER + r"(\S+)")
_CHUNK = re.compile(r"([0-9]{1,12})k (?:chunks?|rounding)\b", re.IGNORECASE)
_NEAR = re.compile(r"\b([0-9]{1,9}) near-copies\b")
_HEALTH = re.compile(r"\[([0-9]{1,9})/([0-9]{1,9})\] \[([U_]+)\]")
_WAITING = re.compile(r"\b(?:resync|recovery|recover|reshape|check)=(DELAYED|PENDING|REMOTE)\b")
_PROGRESS = re.compile(r"\b(resync|recovery|reshape|check) = *([0-9]{1,9}\.[0-9])%")
_FINISH = re.compile(r"\bfinish=([0-9]{1,12}\.[0-9])min")
_SPEED = re.compile(r"\bspeed=([0-9]{1,12})K/sec")
_BITMAP = re.compile(r"^\s*bitmap: (.*)$", re.MULTILINE)


def parse_mdstat(text: str) -> tuple[MdArray, ...]:
    """Return the arrays in the order of the text. Raises KernelUnreadable at a headline it can't read."""
    blocks = (block for block in re.split(r"\n(?=\S)", text) if not block[:1].isspace())
    return tuple(
        _array(block.split("\n"))
        for block in blocks
        if " : " in block.split("\n")[0] and not block.startswith(_NOT_ARRAYS)
    )


def _array(block: list[str]) -> MdArray:
    # An array without any member has its metadata on the same line: an mdadm that was killed leaves one.
    line, super_, metadata_words = block[0].partition(_SUPER)
    head = _HEADLINE.fullmatch(line)
    words = head["rest"].split() if head else []
    read_only = bool(words) and words[0] in _READ_ONLY
    words = words[1:] if read_only else words
    is_active = head is not None and head["state"] != "inactive"
    level = words[0] if is_active and words and not _MEMBER.fullmatch(words[0]) else ""
    members = [_MEMBER.fullmatch(word) for word in words[1 if level else 0 :]]
    if head is None or None in members:
        raise KernelUnreadable(path=MDSTAT_PATH, line=line)
    details = "\n".join((super_ + metadata_words, *block[1:]))
    blocks, chunk, health, near = (pattern.search(details) for pattern in (_BLOCKS, _CHUNK, _HEALTH, _NEAR))
    metadata, bitmap = _METADATA.search(details), _BITMAP.search(details)
    before = details[: bitmap.start()] if bitmap else details
    progress, waiting = _PROGRESS.search(before), _WAITING.search(before)
    finish, speed = _FINISH.search(details), _SPEED.search(details)
    return MdArray(
        name=head["name"],
        active=is_active,
        read_only=read_only,
        level=level,
        members=tuple(MdMember(m["name"], int(m["slot"]), re.sub(r"[()]", "", m["flags"])) for m in members if m),
        size_bytes=int(blocks[1]) * KIB if blocks else 0,
        chunk_bytes=int(chunk[1]) * KIB if chunk else 0,
        slots=health[3] if health else "",
        degraded=max(0, int(health[1]) - int(health[2])) if health else 0,
        action=progress[1] if progress else waiting[1] if waiting else "",
        progress_percent=float(progress[2]) if progress else None,
        finish_min=float(finish[1]) if finish else None,
        speed_bytes_s=float(speed[1]) * KIB if speed else None,
        bitmap=bitmap[1] if bitmap else "",
        metadata=metadata[1] if metadata else "",
        near_copies=int(near[1]) if near else 0,
    )
