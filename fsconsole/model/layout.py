"""Layout map: which file owns which part of a device, as exact extents or, beyond some thousands, region by region."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from fsconsole.model.wire import Wire

OWNERS = 62
"""Files that have a letter of their own in a map: A to Z, a to z, 0 to 9."""
FREE, OTHERS = -1, OWNERS
"""In place of a file's number: no file of the load; and in regions, any file from number OWNERS on."""


class Region(Wire, frozen=True, array_like=True):
    """One of the equal parts of the device; amounts in units of the layout."""

    used: int = 0
    files: int = 0
    extents: int = 0
    owner: int = FREE
    """The file with most of it: its number, or OTHERS."""
    owned: int = 0
    """Index of the owner's file, or the state of an unowned region."""


class SizeAtOffset(Wire, frozen=True, array_like=True):
    """Sizes of the extents that begin at file offsets from this one up to twice it; 0: at the beginning of a file."""

    offset_bytes: int
    extents: int
    median_bytes: float


class Layout(Wire, frozen=True, kw_only=True):
    """Files of a tree on their device; a file's number is its place in the order of names, from 0."""

    device_bytes: int
    unit_bytes: int
    files: int
    extent_count: int
    """Physically contiguous pieces, over all files."""
    names: tuple[str, ...] = ()
    """Paths below the tree of the first files, at most OWNERS."""
    extents: tuple[int, ...] = ()
    """Three numbers an extent, by rising address: units from the end of the one before, length in units, file.

    Empty where there are regions instead."""
    regions: tuple[Region, ...] = ()
    sizes: tuple[SizeAtOffset, ...] = ()
    compressed_files: int = 0
    """Their extents are drawn as long as what they hold, not as what they take."""
    group_bytes: int = 0
    """Size of an allocation group (xfs); 0 where the filesystem has none."""
    group_extents: tuple[int, ...] = ()
    """Extents that begin in each allocation group, from the first group on."""

    def spans(self) -> Iterator[tuple[int, int, int]]:
        """Yield (start, end, file) of each exact extent, in bytes, by rising address."""
        at = 0
        numbers = iter(self.extents)
        for gap, length, file in zip(numbers, numbers, numbers, strict=False):
            begin = at + gap
            at = begin + length
            yield begin * self.unit_bytes, at * self.unit_bytes, file

    @property
    def end_bytes(self) -> int:
        """End of the map: the device's end, or the highest address, which may lie beyond it (btrfs)."""
        return max([self.device_bytes, *(end for _, end, _ in self.spans())])


def gaps(extents: list[tuple[int, int, int]]) -> tuple[int, ...]:
    """Return sorted (start, length, file) in units as Layout keeps them."""
    ordered = sorted(extents)
    numbers: list[int] = []
    for (before, length, _), (begin, own, file) in pairwise([(0, 0, 0), *ordered]):
        numbers += (begin - before - length, own, file)
    return tuple(numbers)
