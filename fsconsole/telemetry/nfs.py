"""Bytes that an NFS client has read from its server (/proc/PID/mountstats; net/sunrpc/stats.c, include/linux/nfs_iostat.h)."""

from __future__ import annotations

from fsconsole.system.files import read_text_or
from fsconsole.system.mounts import unescape

MOUNTSTATS = "/proc/self/mountstats"
_SERVER_READ = 4
"""NFSIOS_SERVERREADBYTES, counted from 0: what came from the server, with direct I/O and readahead."""


def parse_server_reads(text: str, mount_point: str) -> int | None:
    """Return the bytes read from the server of the NFS mounted there; None where it isn't, or doesn't say."""
    is_there, found = False, None
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["device"] and "mounted" in words:
            # device SERVER:/EXPORT mounted on /POINT with fstype nfs4 statvers=1.1
            after = words[words.index("mounted") :]
            is_there = after[1:2] == ["on"] and len(after) > 2 and unescape(after[2]) == mount_point
            found = None if is_there else found
        elif is_there and words[:1] == ["bytes:"]:
            numbers = words[1:]
            is_number = (
                len(numbers) > _SERVER_READ and numbers[_SERVER_READ].isascii() and numbers[_SERVER_READ].isdigit()
            )
            found = int(numbers[_SERVER_READ]) if is_number and len(numbers[_SERVER_READ]) < 21 else None
    return found


def server_reads(mount_point: str) -> int | None:
    """Return the same, read now."""
    return parse_server_reads(read_text_or(MOUNTSTATS, ""), mount_point)
