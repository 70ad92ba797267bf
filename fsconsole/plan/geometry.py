"""How an array spreads what is written over its disks, and the words by which mkfs learns of it; pure.

Documentation/admin-guide/md.rst, man 8 mke2fs (stride, stripe_width), man 8 mkfs.xfs (su, sw).
"""

from __future__ import annotations

from dataclasses import dataclass

from fsconsole.model.device import MdArray
from fsconsole.units import KIB

BLOCK_BYTES = 4096
"""What ext4 and xfs take for a block, unless a plan says otherwise."""
_PARITY_DISKS = {"raid0": 0, "raid4": 1, "raid5": 1, "raid6": 2}
_NOT_IN_THE_ROW = frozenset("SJ")
"""Flags of mdstat: a spare, and the disk of a write journal."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """A chunk goes to each data disk in turn; all of them in a row are a stripe."""

    chunk_bytes: int
    data_disks: int
    has_parity: bool = False
    """True where a part of a stripe can't be written without reading others of it first."""

    @property
    def stripe_bytes(self) -> int:
        """The chunks of all data disks."""
        return self.chunk_bytes * self.data_disks

    @property
    def ext4_words(self) -> str:
        """What mkfs.ext4 takes, in blocks."""
        chunk, stripe = self.chunk_bytes // BLOCK_BYTES, self.stripe_bytes // BLOCK_BYTES
        return f"-E stride={chunk},stripe_width={stripe}"

    @property
    def xfs_words(self) -> str:
        """What mkfs.xfs takes."""
        return f"-d su={self.chunk_bytes // KIB}k,sw={self.data_disks}"


def geometry(level: str, chunk_bytes: int, disks: int, near_copies: int = 2) -> Geometry | None:
    """Return the geometry of an array of so many disks without spares; None for a level that has no stripes.

    level as in mdstat; near_copies counts for raid10 alone: 0 where all its copies are far or offset (man 4 md).
    """
    if level == "raid10":
        # Copies side by side that don't come out even shift from row to row: the kernel counts all disks then.
        data_disks = disks if near_copies < 1 or disks % near_copies else disks // near_copies
    elif level in _PARITY_DISKS:
        data_disks = disks - _PARITY_DISKS[level]
    else:
        return None
    if chunk_bytes < BLOCK_BYTES or data_disks < 1:
        return None
    return Geometry(chunk_bytes, data_disks, has_parity=_PARITY_DISKS.get(level, 0) > 0)


def geometry_of(array: MdArray) -> Geometry | None:
    """Return the geometry of an array as it is now; None also while it is reshaped into another."""
    if array.action == "reshape":
        return None
    in_the_row = [member for member in array.members if not _NOT_IN_THE_ROW.intersection(member.flags)]
    return geometry(array.level, array.chunk_bytes, len(array.slots) or len(in_the_row), array.near_copies)
