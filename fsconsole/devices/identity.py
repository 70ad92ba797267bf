"""Reads the identity of a device, and compares it within one boot and across boots."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace

from fsconsole.devices.graph import number_of
from fsconsole.devices.snapshot import device_number
from fsconsole.devices.sysfs import SYS_ROOT
from fsconsole.errors.runs import ToolFailed
from fsconsole.errors.targets import DeviceMissing, NotABlockDevice
from fsconsole.model.command import Command, Executor
from fsconsole.model.device import Device, Identity
from fsconsole.system.files import boot_id, read_int_or
from fsconsole.units import format_bytes_exact

_DM_TIMEOUT_S = 30.0
_WORDS = {
    "name": "name",
    "boot_id": "boot",
    "device_number": "device number",
    "size_bytes": "size",
    "diskseq": "sequence number (diskseq)",
    "wwn": "WWN",
    "serial": "serial number",
    "partition_start_bytes": "partition start",
    "partition_uuid": "PARTUUID",
    "dm_uuid": "device-mapper UUID",
    "dm_table": "device-mapper table",
    "backing_device": "filesystem of the backing file",
    "backing_inode": "inode of the backing file",
    "backing_offset_bytes": "offset in the backing file",
    "backing_limit_bytes": "limit in the backing file",
    "scratch_id": "scratch marker",
}
"""Every field of Identity, so that none is left out of the comparison; a test holds that true."""

_LASTING = (
    "wwn", "serial", "dm_uuid", "scratch_id", "backing_inode", "backing_offset_bytes", "backing_limit_bytes", "size_bytes", "partition_start_bytes", "partition_uuid",
)  # fmt: skip
"""Fields of Identity.stable_key(), and the inode, without which a copied scratch file would pass."""


def read_identity(device: Device, executor: Executor) -> Identity:
    """Return who a device is now. Raises ToolMissing or ToolFailed for a dm device whose table can't be read."""
    table = read_table(device, executor) if device.dm_name else ""
    return replace(listed_identity(device), boot_id=boot_id(), dm_table=table)


def read_table(device: Device, executor: Executor) -> str:
    """Return the table of a dm device (man 8 dmsetup), a line for each target. Raises ToolMissing, ToolFailed."""
    # Without --showkeys it tells no key.
    result = executor.run(Command(("dmsetup", "table", device.dm_name), timeout_s=_DM_TIMEOUT_S))
    if result.exit_code != 0 or result.timed_out:
        raise ToolFailed(" ".join(result.argv), result.exit_code, result.err.strip() or "no output")
    return result.out.strip()


def listed_identity(device: Device) -> Identity:
    """Return who a listed device is: without boot, and without the table that takes a command to read. Pure."""
    loop = device.loop
    return Identity(
        name=device.name,
        boot_id="",
        device_number=number_of(device),
        size_bytes=device.size_bytes,
        diskseq=device.diskseq,
        wwn=device.wwn,
        serial=device.serial,
        partition_start_bytes=device.partition_start_bytes,
        partition_uuid=device.partition_uuid,
        dm_uuid=device.dm_uuid,
        backing_device=loop.file_device if loop else 0,
        backing_inode=loop.inode if loop else 0,
        backing_offset_bytes=loop.offset_bytes if loop else 0,
        backing_limit_bytes=loop.limit_bytes if loop else 0,
        scratch_id=loop.scratch_id if loop else "",
    )


def differences(expected: Identity, found: Identity, names: Iterable[str] = tuple(_WORDS)) -> tuple[str, ...]:
    """Return every difference in words, "size: 64MiB, now 128MiB"; empty where all agree."""

    def shown(name: str, identity: Identity) -> str:
        value: object = getattr(identity, name)
        is_size = name.endswith("_bytes")
        return format_bytes_exact(int(str(value))) if is_size else str(value) or "none"

    return tuple(
        f"{_WORDS[name]}: {shown(name, expected)}, now {shown(name, found)}"
        for name in names
        if getattr(expected, name) != getattr(found, name)
    )


def lasting_differences(expected: Identity, found: Identity) -> tuple[str, ...]:
    """Return, in words, where two identities differ in what neither a reboot nor another name changes."""
    return differences(expected, found, _LASTING)


def absence(path: str, identity: Identity) -> str:
    """Return why a device of this boot is not to be had at its path any more, as a clause; empty where it is."""
    try:
        number = device_number(path)
    except (DeviceMissing, NotABlockDevice):
        return "is gone: it was pulled, detached, or its driver gave it up"
    own = os.path.realpath(f"{SYS_ROOT}/dev/block/{os.major(number)}:{os.minor(number)}")
    disk = os.path.dirname(own) if os.path.exists(f"{own}/partition") else own
    if (number, read_int_or(f"{disk}/diskseq", 0)) != (identity.device_number, identity.diskseq):
        return "is another device now: the one that was agreed upon is gone"
    return ""
