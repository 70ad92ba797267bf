"""Mount tables and swap areas, as the kernel lists them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

_BLANKS = re.compile("[ \t]+")
_OCTAL = re.compile(rb"\\([0-3][0-7]{2})")


@dataclass(frozen=True, slots=True)
class MountEntry:
    """One line of /proc/PID/mountinfo (man 5 proc_pid_mountinfo); device_number is makedev(major, minor)."""

    mount_id: int
    parent_id: int
    device_number: int
    root: str
    mount_point: str
    options: tuple[str, ...]
    filesystem: str
    source: str
    super_options: tuple[str, ...]
    propagation: tuple[str, ...] = ()
    """Optional fields: "shared:1", "master:2", "propagate_from:3", "unbindable"."""


@dataclass(frozen=True, slots=True)
class SwapEntry:
    """One line of /proc/swaps (man 5 proc_swaps); kind is "partition" for any block device, or "file"."""

    path: str
    kind: str
    size_bytes: int


def read_mounts(pid: str = "self") -> tuple[MountEntry, ...]:
    """Return the mounts that a process of the visible /proc sees. Raises OSError."""
    return parse_mountinfo(_read(f"/proc/{pid}/mountinfo"))


def read_swaps() -> tuple[SwapEntry, ...]:
    """Return the active swap areas; none where the kernel has no swap support. Raises OSError."""
    return parse_swaps(_read("/proc/swaps")) if os.path.exists("/proc/swaps") else ()


def parse_mountinfo(text: str) -> tuple[MountEntry, ...]:
    """Return the entries of a mountinfo file in their order. Raises ValueError on a line of another shape."""
    return tuple(_mount_entry(line) for line in text.split("\n") if line)


def parse_swaps(text: str) -> tuple[SwapEntry, ...]:
    """Return the entries of a /proc/swaps file; its sizes are KiB. Raises ValueError."""
    lines = [_BLANKS.split(line) for line in text.split("\n")[1:] if line]
    return tuple(SwapEntry(unescape(line[0]), line[1], int(line[2]) * 1024) for line in lines)


def unescape(field: str) -> str:
    r"""Return a field with the kernel's octal escapes (\040 \011 \012 \134 \043) undone.

    The text is what os.fsdecode makes of the kernel's bytes, so that a path can be used as one.
    """
    raw = os.fsencode(field)
    return os.fsdecode(_OCTAL.sub(lambda match: bytes([int(match[1], 8)]), raw))


def _mount_entry(line: str) -> MountEntry:
    left, separator, right = line.partition(" - ")
    fields, supers = left.split(" "), right.split(" ")
    if not separator or len(fields) < 6 or len(supers) < 2:
        raise ValueError(f"not a mountinfo line: {line!r}")
    major, minor = fields[2].split(":")
    return MountEntry(
        mount_id=int(fields[0]),
        parent_id=int(fields[1]),
        device_number=os.makedev(int(major), int(minor)),
        root=unescape(fields[3]),
        mount_point=unescape(fields[4]),
        options=_words(fields[5]),
        filesystem=unescape(supers[0]),
        source=unescape(supers[1]),
        super_options=_words(supers[2] if len(supers) > 2 else ""),
        propagation=tuple(fields[6:]),
    )


def _words(field: str) -> tuple[str, ...]:
    return tuple(unescape(word) for word in field.split(",") if word)


def _read(path: str) -> str:
    with open(path, "rb") as file:
        return os.fsdecode(file.read())
