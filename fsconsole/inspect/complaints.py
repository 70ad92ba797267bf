"""The line in which a filesystem check first says what is wrong, among all that it says anyway. Pure."""

from __future__ import annotations

import re

_ROUTINE = re.compile(
    r"\s*$"
    r"|e2fsck \d|Pass \d|\S+: \d+/\d+ files \("
    r"|Phase \d|\s+- |Cannot get host filesystem geometry|Repair may fail if|the image and the host|No modify flag set"
    r"|\[\d+/\d+\] |checking |Opening filesystem|Checking filesystem|UUID: "
    r"|found \d+ bytes used|total |btree space|file data blocks| *referenced \d"
    r"|Info: |  \"|  from |    to |fsck\.jfs version|processing started|The current device|Block size in"
    r"|Filesystem size in|\*\*Phase|reiserfsck|Will (?:read-only|put log)|#+$|Replaying journal: "
    r"|ext2fs_open2: |[Uu]sage: "
)
"""What e2fsck, xfs_repair, btrfs check, fsck.f2fs, fsck.jfs and reiserfsck say of sound filesystems too."""
_MOST_CHARACTERS = 200


def first_complaint(output: str) -> str:
    """Return the first line of a check's output that is no routine; empty where every line is."""
    for line in output.splitlines():
        if not _ROUTINE.match(line):
            return line.strip()[:_MOST_CHARACTERS]
    return ""
