"""Identity within one boot: a ticked device is compared with the one that has its name later."""

from __future__ import annotations

import os
from dataclasses import replace

from fsconsole.model.device import Identity
from fsconsole.units import format_bytes_exact

COMPARED = {
    "serial": "serial number",
    "wwn": "WWN",
    "size_bytes": "size",
    "scratch_id": "scratch mark",
    "dm_uuid": "device-mapper UUID",
    "partition_uuid": "PARTUUID",
    "partition_start_bytes": "partition start",
    "backing_inode": "file",
    "backing_offset_bytes": "offset in its file",
    "backing_limit_bytes": "limit in its file",
    "backing_device": "filesystem of its file",
    "diskseq": "sequence number",
    "device_number": "number",
}
"""Groups, the most telling one first. A name is not among them: rows with the same name are compared."""
_MOST_TOLD = 2
_BYTES = frozenset({"size_bytes", "partition_start_bytes", "backing_offset_bytes", "backing_limit_bytes"})


def within_boot(identity: Identity) -> Identity:
    """Return who a device is, without what the list of devices doesn't tell.

    A dm table takes root and a command for each device. A volume that got another one between tick and plan passes
    here; the codes that bind a start to its plan have the table in them.
    """
    return replace(identity, boot_id="", dm_table="")


def others(before: Identity, now: Identity) -> str:
    """Return in words where two devices differ most: "size 64MiB, now 128MiB"; empty where they are one."""
    differing = [name for name in COMPARED if getattr(before, name) != getattr(now, name)]
    told = differing[:_MOST_TOLD]
    return "; ".join(f"{COMPARED[name]} {_told(before, name)}, now {_told(now, name)}" for name in told)


def _told(one: Identity, name: str) -> str:
    value: object = getattr(one, name)
    if name in _BYTES:
        return format_bytes_exact(int(str(value)))
    if name == "device_number":
        return f"{os.major(int(str(value)))}:{os.minor(int(str(value)))}"
    return str(value) if value else "none"
