"""Extent lists in the inode or in blocks of their own, as the filesystem's debugger tells of an unmounted device."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

DEBUGFS, XFS_DB = "debugfs", "xfs_db"
"""Names of the programs, as the catalog has them. ext2 and ext3 have block maps, btrfs has one tree for all files."""

_XFS_FIELDS = "p core.format core.nextents"
_XFS_FORMAT = re.compile(r"^core\.format = (\d+)", re.MULTILINE)
_XFS_BTREE = "3"
"""XFS_DINODE_FMT_BTREE (fs/xfs/libxfs/xfs_format.h); 2: extents, in the inode."""
_EXT_HEAD = "Level Entries"
_EXT_NODE = re.compile(r"^\s*\d+/\s*\d+\s", re.MULTILINE)


def debugger_call(program: str, device: str, inodes: Sequence[int]) -> tuple[tuple[str, ...], bytes]:
    """Return the command that shows the extent lists of these inodes, read-only, and its standard input."""
    if program == DEBUGFS:
        # -n: interior nodes of the extent tree alone, of which a tree within the inode has none (man 8 debugfs).
        requests = "".join(f"ex -n <{inode}>\n" for inode in inodes)
        return (DEBUGFS, "-f", "-", device), requests.encode()
    words = [word for inode in inodes for word in ("-c", f"inode {inode}", "-c", _XFS_FIELDS)]
    return (XFS_DB, "-r", *words, device), b""


def share_in_blocks(program: str, said: str) -> float | None:
    """Return the per cent of the files whose extent list takes blocks of its own; None where nothing was told."""
    return _PARSERS[program](said)


def _xfs_db(said: str) -> float | None:
    formats = _XFS_FORMAT.findall(said)
    return 100 * formats.count(_XFS_BTREE) / len(formats) if formats else None


def _debugfs(said: str) -> float | None:
    told = [part for part in said.split("debugfs: ")[1:] if _EXT_HEAD in part]
    return 100 * sum(_EXT_NODE.search(part) is not None for part in told) / len(told) if told else None


_PARSERS: Mapping[str, Callable[[str], float | None]] = {XFS_DB: _xfs_db, DEBUGFS: _debugfs}
