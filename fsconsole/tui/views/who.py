"""Who a device is within one boot: what was ticked is compared with what stands under its name later. Pure."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields

from fsconsole.errors import ChildFailed
from fsconsole.model.device import Identity
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
    "device_number": "number",
}
"""What tells most comes first. A name is not among them: what stands under one is what is compared."""
_MOST_TOLD = 2
_BYTES = frozenset({"size_bytes", "partition_start_bytes"})
_NOT_TOLD = frozenset({"boot_id", "dm_table"})
"""The table of a device-mapper device takes root, and a command for each. A volume that got another one between tick
and plan passes here; the codes that bind a start to its plan have the table in them."""


def who_told(identity: Mapping[str, object]) -> Identity:
    """Return who a target is by the identity that `fsconsole plan --json` tells. Raises ChildFailed."""
    kinds = {field.name: int if field.type == "int" else str for field in fields(Identity)}
    try:
        told = {name: identity[name] for name in kinds if name not in _NOT_TOLD}
    except KeyError as error:
        raise _untold(f"no {error}") from error
    if not all(isinstance(value, kinds[name]) for name, value in told.items()):
        raise _untold("no figures")
    return Identity(**told, boot_id="", dm_table="")  # type: ignore[arg-type]


def others(before: Identity, now: Identity) -> str:
    """Return in words where two devices differ most: "size 64MiB, now 128MiB"; empty where they are one."""
    differing = [name for name in _WORDS if getattr(before, name) != getattr(now, name)]
    told = differing[:_MOST_TOLD]
    return "; ".join(f"{_WORDS[name]} {_told(before, name)}, now {_told(now, name)}" for name in told)


def _told(one: Identity, name: str) -> str:
    value: object = getattr(one, name)
    if name in _BYTES:
        return format_bytes_exact(int(str(value)))
    if name == "device_number":
        return f"{os.major(int(str(value)))}:{os.minor(int(str(value)))}"
    return str(value) if value else "none"


def _untold(why: str) -> ChildFailed:
    return ChildFailed(words="plan", said=f"The plan's answer does not tell who a target is: {why}.")
