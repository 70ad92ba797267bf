"""Whether a device answers: how much I/O of it, and of what it is made of, has ended."""

from __future__ import annotations

from fsconsole.model.sample import Role
from fsconsole.system.text import read_text_or
from fsconsole.telemetry.layers import SYS, watched_tree

_ENDED = (0, 2, 4, 6, 11, 13, 15)
"""Reads, sectors read, writes, sectors written, discards, sectors discarded, flushes (Documentation/block/stat.rst).
The times among the other fields go on while a request only waits."""


def ended_io(names: tuple[str, ...], sys: str = SYS) -> tuple[tuple[str, ...], ...]:
    """Return the counters of block devices by their kernel names; equal to earlier ones where no I/O has ended since.

    The disk below a loop device's file does not count: others use it too. One that is gone has none.
    """
    tree = (watched for name in names for watched in watched_tree(name, sys))
    return tuple(_counters(one.name, sys) for one in tree if one.role is not Role.BELOW)


def _counters(name: str, sys: str) -> tuple[str, ...]:
    words = read_text_or(f"{sys}/class/block/{name}/stat", "").split()
    return tuple(words[number] for number in _ENDED if number < len(words))
