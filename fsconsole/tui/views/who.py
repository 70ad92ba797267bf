"""Who a device is within one boot: what was ticked is compared with what stands under its name later. Pure."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields

from fsconsole.errors import ChildFailed
from fsconsole.model.device import Device
from fsconsole.units import format_bytes_exact

_WORDS = {
    "serial": "serial number",
    "wwn": "WWN",
    "size_bytes": "size",
    "scratch_id": "scratch mark",
    "dm_uuid": "device-mapper UUID",
    "partition_uuid": "PARTUUID",
    "partition_start_bytes": "partition start",
    "backing_inode": "file",
    "backing_device": "filesystem of its file",
    "diskseq": "sequence number",
    "number": "number",
}
"""What tells most comes first."""
_MOST_TOLD = 2
_BYTES = frozenset({"size_bytes", "partition_start_bytes"})


@dataclass(frozen=True, slots=True)
class Who:
    """All by which a list of devices tells two of one name apart; zero and empty: it has none.

    The table of a device-mapper device is not in it: that takes root, and a command for each. A volume that got
    another table between tick and plan passes here; the codes that bind a start to its plan have the table in them.
    """

    number: str
    """"MAJOR:MINOR"."""
    size_bytes: int
    diskseq: int = 0
    wwn: str = ""
    serial: str = ""
    partition_start_bytes: int = 0
    partition_uuid: str = ""
    dm_uuid: str = ""
    backing_device: int = 0
    backing_inode: int = 0
    scratch_id: str = ""


def who(device: Device) -> Who:
    """Return who a listed device is."""
    loop = device.loop
    return Who(
        number=f"{device.major}:{device.minor}",
        size_bytes=device.size_bytes,
        diskseq=device.diskseq,
        wwn=device.wwn,
        serial=device.serial,
        partition_start_bytes=device.partition_start_bytes,
        partition_uuid=device.partition_uuid,
        dm_uuid=device.dm_uuid,
        backing_device=loop.file_device if loop is not None else 0,
        backing_inode=loop.inode if loop is not None else 0,
        scratch_id=loop.scratch_id if loop is not None else "",
    )


def who_told(identity: Mapping[str, object]) -> Who:
    """Return who a target is by the identity that `fsconsole plan --json` tells. Raises ChildFailed."""
    try:
        told = {field.name: identity[field.name] for field in fields(Who) if field.name != "number"}
        number = identity["device_number"]
    except KeyError as error:
        raise _untold(f"no {error}") from error
    if not isinstance(number, int) or not all(isinstance(value, (str, int)) for value in told.values()):
        raise _untold("no figures")
    return Who(number=f"{os.major(number)}:{os.minor(number)}", **told)  # type: ignore[arg-type]


def others(before: Who, now: Who) -> str:
    """Return in words where two devices differ most: "size 64MiB, now 128MiB"; empty where they are one."""
    differing = [name for name in _WORDS if getattr(before, name) != getattr(now, name)]
    told = differing[:_MOST_TOLD]
    return "; ".join(f"{_WORDS[name]} {_told(before, name)}, now {_told(now, name)}" for name in told)


def _told(one: Who, name: str) -> str:
    value: object = getattr(one, name)
    if name in _BYTES:
        return format_bytes_exact(int(str(value)))
    return str(value) if value else "none"


def _untold(why: str) -> ChildFailed:
    return ChildFailed(words="plan", said=f"The plan's answer does not tell who a target is: {why}.")
