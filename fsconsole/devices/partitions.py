"""Reads the partition table of a disk as it is on the disk now."""

from __future__ import annotations

import re
from typing import NamedTuple

from fsconsole.errors.runs import ToolFailed
from fsconsole.model.command import Command, Executor
from fsconsole.text import SECTOR_BYTES

_TABLE = ("partx", "--pairs", "--output", "NR,START,SECTORS,FLAGS,TYPE,UUID,NAME")
_TIMEOUT_S = 30.0
_FIELD = re.compile(r'([A-Z]+)="([^"]*)"')
"""partx writes a quotation mark in a name as ``\\x22``."""


class PartitionEntry(NamedTuple):
    """One entry of a partition table (man 8 partx)."""

    number: int
    start_bytes: int
    size_bytes: int
    flags: str = ""
    type: str = ""
    """A DOS type, "0x83", or a GPT type's UUID; empty if the table has none."""
    uuid: str = ""
    """PARTUUID: of a DOS table the disk's id and the number, "abcdef12-01"."""
    label: str = ""
    """PARTLABEL, GPT only; partx writes bytes that are not plain ASCII as ``\\xNN``."""


def read_table(disk_path: str, executor: Executor) -> tuple[PartitionEntry, ...]:
    """Return the entries of a disk's partition table. Raises ToolMissing, and ToolFailed if the disk has no table."""
    result = executor.run(Command((*_TABLE, disk_path), timeout_s=_TIMEOUT_S))
    if result.exit_code != 0 or result.timed_out:
        raise ToolFailed(" ".join(result.argv), result.exit_code, result.err.strip() or "no output")
    return tuple(map(_parse_entry, result.out.splitlines()))


def _parse_entry(line: str) -> PartitionEntry:
    fields = dict(_FIELD.findall(line))
    return PartitionEntry(
        number=int(fields["NR"]),
        start_bytes=int(fields["START"]) * SECTOR_BYTES,
        size_bytes=int(fields["SECTORS"]) * SECTOR_BYTES,
        flags=fields.get("FLAGS", ""),
        type=fields.get("TYPE", ""),
        uuid=fields.get("UUID", ""),
        label=fields.get("NAME", ""),
    )
