"""Whether a device answers: how much I/O of it, and of what it is made of, has ended."""

from __future__ import annotations

import os
from collections.abc import Sequence

from fsconsole.model.sample import Role
from fsconsole.system.text import read_text_or
from fsconsole.telemetry.blockstat import Watched
from fsconsole.telemetry.layers import SYS, watched_tree

_ENDED = (0, 2, 4, 6, 11, 13, 15)
"""Reads, sectors read, writes, sectors written, discards, sectors discarded, flushes (Documentation/block/stat.rst).
The times among the other fields go on while a request only waits."""


def ended_io(names: tuple[str, ...], sys: str = SYS) -> tuple[tuple[str, ...], ...]:
    """Return the counters of block devices by their kernel names; equal to earlier ones where no I/O has ended since.

    What others use too does not count, or their I/O would be taken for an answer of ours: the disk below a loop device's
    file with what that is made of, and the disk of a volume group with other volumes on it. A device that is gone has no
    counters.
    """
    trees = [watched for name in names for watched in watched_tree(name, sys)]
    ours = _ours(trees, sys)
    return tuple(_counters(one.name, sys) for one in trees if one.name in ours)


def _ours(trees: Sequence[Watched], sys: str) -> set[str]:
    """Return the names of those that were asked for, and of those below that nothing else stands on."""
    asked = {one.name for one in trees if one.role is Role.TARGET}
    members = {one.name for one in trees if one.role is Role.MEMBER} - asked
    # What is below a shared device is shared as well: until no more are found.
    while shared := {name for name in members if not _holders(name, sys) <= asked | members}:
        members -= shared
    return asked | members


def _holders(name: str, sys: str) -> set[str]:
    """Return what md and dm have made of a device; empty where that can't be read."""
    try:
        # Documentation/ABI/testing/sysfs-block: the counterpart of slaves.
        return set(os.listdir(f"{sys}/class/block/{name}/holders"))
    except OSError:
        return set()


def _counters(name: str, sys: str) -> tuple[str, ...]:
    words = read_text_or(f"{sys}/class/block/{name}/stat", "").split()
    return tuple(words[number] for number in _ENDED if number < len(words))
