"""Extents of files by an own FS_IOC_FIEMAP (Documentation/filesystems/fiemap.rst), counted as `filefrag` does."""

from __future__ import annotations

import fcntl
import os
import statistics
import struct
from dataclasses import dataclass
from pathlib import Path

FS_IOC_FIEMAP = 0xC020660B
_HEAD, _EXTENT = struct.Struct("=QQLLLL"), struct.Struct("=QQQQQLLLL")
_AT_ONCE, _LAST, _ENCODED = 128, 0x1, 0x8


@dataclass(frozen=True)
class Layout:
    """The lengths of a file's runs on the disk."""

    runs: tuple[int, ...]
    encoded: bool


def layout_of(path: Path) -> Layout:
    """Return a file's runs: extents that follow each other on the disk, or across a hole as wide as on the disk, are one."""
    runs: list[int] = []
    encoded, start, before = False, 0, None
    fd = os.open(path, os.O_RDONLY | os.O_NOATIME)
    try:
        while True:
            request = bytearray(_HEAD.pack(start, 2**64 - 1, 0, 0, _AT_ONCE, 0)) + bytes(_EXTENT.size * _AT_ONCE)
            fcntl.ioctl(fd, FS_IOC_FIEMAP, request)
            mapped, flags = _HEAD.unpack_from(request)[3], 0
            for number in range(mapped):
                logical, physical, length, _, _, flags, *_ = _EXTENT.unpack_from(
                    request, _HEAD.size + number * _EXTENT.size
                )
                expected = () if before is None else (before[1] + before[2], before[1] + logical - before[0])
                if physical in expected:
                    runs[-1] += length
                else:
                    runs.append(length)
                encoded |= bool(flags & _ENCODED)
                before, start = (logical, physical, length), logical + length
            if not mapped or flags & _LAST:
                return Layout(tuple(runs), encoded)
    finally:
        os.close(fd)


def figures_of(tree: Path) -> dict[str, float]:
    """Return the figures of all files below a directory, by the names that fsconsole stores."""
    layouts = [layout_of(path) for path in sorted(tree.rglob("*")) if path.is_file() and not path.is_symlink()]
    plain = [layout for layout in layouts if not layout.encoded]
    figures = {"files_mapped": len(layouts), "files_compressed": len(layouts) - len(plain)}
    counts = [len(layout.runs) for layout in plain]
    if counts:
        figures |= {"extents_mean": sum(counts) / len(counts), "extents_max": max(counts)}
        figures["extents_median"] = statistics.median(counts)
    if lengths := [length for layout in plain for length in layout.runs]:
        figures["extent_size_median"] = statistics.median(lengths)
    return figures
