"""Extent lists in the inode or in blocks of their own, as the filesystem's debugger tells of an unmounted device."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from fsconsole.errors.runs import ExtentsUnreadable

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


def share_in_blocks(program: str, device: str, said: str) -> float:
    """Return the per cent of the files whose extent list takes blocks of its own. Raises ExtentsUnreadable."""
    in_blocks = _PARSERS[program](said)
    if not in_blocks:
        raise ExtentsUnreadable(device, f"{program} told nothing of the extent lists")
    return 100 * sum(in_blocks) / len(in_blocks)


def _xfs_db(said: str) -> list[bool]:
    return [found == _XFS_BTREE for found in _XFS_FORMAT.findall(said)]


def _debugfs(said: str) -> list[bool]:
    return [_EXT_NODE.search(part) is not None for part in said.split("debugfs: ")[1:] if _EXT_HEAD in part]


_PARSERS: Mapping[str, Callable[[str], list[bool]]] = {XFS_DB: _xfs_db, DEBUGFS: _debugfs}
"""Of each file that was told of: True where its list takes blocks of its own."""
