"""Stopped arrays of a dead engine, put together for a look: what somebody has made on one since shows only so."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress

from fsconsole.devices.md_members import held_arrays, kernel_name, member_uuid
from fsconsole.engine.arrays import OwnArray
from fsconsole.model.command import Command, Executor
from fsconsole.plan.array_steps import look_command

_TIMEOUT_S = 60.0
_NUMBERS = range(401, 500)
"""Behind the one that runs use, where nobody else soon comes to."""


def assemble_stopped(own: OwnArray, executor: Executor) -> None:
    """Put a run's stopped arrays together, read-only, under numbers that are free: not a byte of a member changes.

    One that can't be, as too many members are gone, shows nothing to anybody and stays as it is. Raises ToolMissing.
    """
    for path, members in zip(_free_paths(), _stopped(own), strict=False):
        executor.run(Command(look_command(path, members), timeout_s=_TIMEOUT_S))


def _stopped(own: OwnArray) -> tuple[tuple[str, ...], ...]:
    """Return the members of each of the run's arrays of which the kernel holds none together."""
    held = frozenset[str]().union(*(array.members for array in held_arrays()))
    found: dict[str, list[str]] = defaultdict(list)
    busy = set()
    for path in own.members:
        # Of one that is gone, or doesn't give its superblock, nothing can be put together.
        with suppress(OSError):
            uuid = member_uuid(path)
            found[uuid].append(path)
            if kernel_name(path) in held:
                busy.add(uuid)
    return tuple(tuple(found[uuid]) for uuid in found.keys() & own.uuids - busy)


def _free_paths() -> Iterator[str]:
    return (f"/dev/md{number}" for number in _NUMBERS if not os.path.exists(f"/sys/block/md{number}"))
