"""Records which file owns which part of a device while the extents of a tree are surveyed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fsconsole.inspect.extents import FileLayout, median
from fsconsole.model.layout import FREE, OTHERS, OWNERS, Layout, Region, SizeAtOffset, gaps
from fsconsole.system.block import ExtentFlag, RawExtent
from fsconsole.text import printable

MOST_EXTENTS = 8000
"""Beyond that, regions: 8,000 extents take 85 to 110 KB of a journal."""
REGIONS = 2048
"""25 lines of 80 columns; about 30 KB of a journal."""
_LEAST_REGIONS = 256
_LONGEST_NAME = 80
MOST_SAMPLED = 64
"""Files whose extent lists are looked at with the filesystem's own tool."""
_INLINE = int(ExtentFlag.INLINE)


class LayoutRecorder:
    """Takes file after file; keeps extents up to a limit, then regions, so that memory is bounded."""

    def __init__(self, device_bytes: int, unit_bytes: int, *, surveys: int = 1, group_bytes: int = 0) -> None:
        """Take the device's size and the filesystem's block size; surveys share what a cell's journal may take.

        group_bytes is the size of an allocation group; 0 where the filesystem has none.
        """
        self._device_bytes, self._unit_bytes = device_bytes, max(1, unit_bytes)
        self._most = MOST_EXTENTS // max(1, surveys)
        self._count = max(_LEAST_REGIONS, REGIONS // max(1, surveys))
        self._group_bytes = group_bytes
        self._extents: list[tuple[int, int, int]] = []
        self._regions: list[_Region] = []
        self._region_units = 1
        self._names: list[str] = []
        self._sizes: dict[int, Counter[int]] = {}
        self._files = self._pieces = self._compressed = 0
        self._groups = 0
        self._grouped = 0
        self._begun: Counter[int] = Counter()
        self._sampled: list[int] = []
        self._every = 1

    def add(self, path: str, inode: int, extents: Sequence[RawExtent], layout: FileLayout) -> None:
        """Record one more file."""
        number = self._files
        self._files += 1
        self._sample(inode, number)
        if number < OWNERS:
            self._names.append(printable(path)[:_LONGEST_NAME])
        self._compressed += layout.is_compressed
        placed = [extent for extent in extents if not extent.flags & _INLINE]
        for start, length in _merged(placed, self._unit_bytes):
            self._pieces += 1
            if self._group_bytes:
                self._begun[start * self._unit_bytes // self._group_bytes] += 1
            if not self._regions and len(self._extents) == self._most:
                self._begin_regions()
            if self._regions:
                self._count_in_regions(start, length, number)
            else:
                self._extents.append((start, length, number))
        for offset, size in zip(layout.offsets, layout.runs, strict=True) if not layout.is_compressed else ():
            self._sizes.setdefault(_power_below(offset), Counter())[size] += 1
        if self._group_bytes and placed:
            self._grouped += 1
            self._groups += len(
                {
                    group
                    for extent in placed
                    for group in range(
                        extent.physical_bytes // self._group_bytes,
                        (extent.physical_bytes + extent.length_bytes - 1) // self._group_bytes + 1,
                    )
                }
            )

    @property
    def groups_per_file(self) -> float | None:
        """Mean number of allocation groups that a file's extents lie in; None where nothing tells."""
        return self._groups / self._grouped if self._grouped else None

    @property
    def sampled_inodes(self) -> tuple[int, ...]:
        """Inode numbers of at most MOST_SAMPLED files, evenly spread over the order of names."""
        return tuple(self._sampled)

    def layout(self) -> Layout:
        """Return what was recorded."""
        return Layout(
            device_bytes=self._device_bytes,
            unit_bytes=self._unit_bytes,
            files=self._files,
            extent_count=self._pieces,
            names=tuple(self._names),
            extents=() if self._regions else gaps(self._extents),
            regions=tuple(region.closed() for region in self._regions),
            sizes=tuple(
                SizeAtOffset(offset, sizes.total(), median(sizes)) for offset, sizes in sorted(self._sizes.items())
            ),
            compressed_files=self._compressed,
            group_bytes=self._group_bytes,
            group_extents=tuple(self._begun[group] for group in range(max(self._begun, default=-1) + 1)),
        )

    def _sample(self, inode: int, number: int) -> None:
        if number % self._every == 0:
            self._sampled.append(inode)
            if len(self._sampled) > MOST_SAMPLED:
                self._sampled = self._sampled[::2]
                self._every *= 2

    def _begin_regions(self) -> None:
        units = -(-self._device_bytes // self._unit_bytes)
        self._region_units = max(1, -(-units // self._count))
        self._regions = [_Region() for _ in range(self._count)]
        for extent in self._extents:
            self._count_in_regions(*extent)
        self._extents = []

    def _count_in_regions(self, start: int, length: int, file: int) -> None:
        end, each = start + length, self._region_units
        while start < end:
            # An address beyond the device (btrfs) is counted in the last region.
            number = min(start // each, self._count - 1)
            upto = end if number == self._count - 1 else min(end, (number + 1) * each)
            self._regions[number].add(file, upto - start)
            start = upto


class _Region:
    """Owners of one region; files from OWNERS on are one owner, so that its memory is bounded."""

    __slots__ = ("extents", "files", "last", "owned")

    def __init__(self) -> None:
        self.owned: dict[int, int] = {}
        self.extents = self.files = 0
        self.last = FREE

    def add(self, file: int, length: int) -> None:
        owner = min(file, OTHERS)
        self.owned[owner] = self.owned.get(owner, 0) + length
        self.extents += 1
        # Files come one after the other.
        self.files += file != self.last
        self.last = file

    def closed(self) -> Region:
        if not self.owned:
            return Region()
        owner = max(self.owned, key=lambda each: (self.owned[each], -each))
        return Region(sum(self.owned.values()), self.files, self.extents, owner, self.owned[owner])


def _merged(extents: Sequence[RawExtent], unit_bytes: int) -> list[tuple[int, int]]:
    """Return the physically contiguous pieces as (start, length) in units."""
    pieces: list[tuple[int, int]] = []
    for extent in extents:
        start = extent.physical_bytes // unit_bytes
        length = -(-extent.length_bytes // unit_bytes)
        if pieces and sum(pieces[-1]) == start:
            pieces[-1] = (pieces[-1][0], pieces[-1][1] + length)
        else:
            pieces.append((start, length))
    return pieces


def _power_below(offset: int) -> int:
    return 1 << (offset.bit_length() - 1) if offset else 0
