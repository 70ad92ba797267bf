"""What the kernel's tables say of block devices, read cheaply and without opening any: whether it is worth looking anew."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from fsconsole.devices.mdstat import parse_mdstat
from fsconsole.errors import KernelUnreadable
from fsconsole.model.device import MdArray
from fsconsole.system.text import read_text_or

_SYS_BLOCK = "/sys/block"
_TABLES = ("/proc/partitions", "/proc/self/mounts", "/proc/swaps")
_MDSTAT = "/proc/mdstat"
_WHICH = ("diskseq", "loop/backing_file")
"""The first is there since Linux 5.15 (Documentation/ABI/stable/sysfs-block)."""


@dataclass(frozen=True, slots=True)
class BlockTables:
    """The tables at one moment; equal where nothing has changed but the progress of arrays."""

    texts: tuple[str, ...]
    arrays: tuple[MdArray, ...]
    """Without their progress."""


def read_tables() -> BlockTables:
    """Return the tables as they are; one that can't be read is empty."""
    try:
        names = sorted(os.listdir(_SYS_BLOCK))
    except OSError:
        names = []
    disks = "\n".join(" ".join((name, *_which(name))) for name in names)
    texts = (disks, *(read_text_or(path, "") for path in _TABLES))
    return BlockTables(texts, tuple(_at_rest(array) for array in read_arrays()))


def _which(name: str) -> tuple[str, ...]:
    """Return what tells a disk from another one that has taken its name, of the same size maybe."""
    return tuple(read_text_or(f"{_SYS_BLOCK}/{name}/{file}", "").strip() for file in _WHICH)


def read_arrays() -> tuple[MdArray, ...]:
    """Return the md arrays with their progress; none where mdstat is missing or not understood."""
    try:
        return parse_mdstat(read_text_or(_MDSTAT, ""))
    except KernelUnreadable:
        return ()


def _at_rest(array: MdArray) -> MdArray:
    """Return the array without what moves while it syncs: that it syncs is told by the action."""
    return replace(array, progress_percent=None, finish_min=None, speed_bytes_s=None, bitmap="")
