"""Parts of the system's own disks that a run may have: free partitions and plain LVM volumes, which share no byte with it."""

from __future__ import annotations

import re

from fsconsole.devices.evidence import Evidence, Relation
from fsconsole.devices.graph import DeviceGraph, number_of
from fsconsole.devices.hazards import signature_words
from fsconsole.devices.identity import read_table
from fsconsole.devices.partitions import read_table as read_partition_table
from fsconsole.model.command import Executor
from fsconsole.model.device import Device, DeviceKind, Usage

_LINUX_TYPES = frozenset({"0x83", "0fc63daf-8483-4772-8e79-3d69d8477de4"})
"""Partition types of a plain Linux filesystem, DOS and GPT. Boot loaders keep code without any signature in others."""
_DISKS = frozenset({DeviceKind.DISK, DeviceKind.LOOP})
_PLAIN_TARGETS = frozenset({"linear", "striped"})
_VOLUME_UUID = re.compile(r"LVM-[A-Za-z0-9]{64}")
"""LVM's hidden layers have an ending after it: -real, -cow, -tdata, -tpool, -cvol (lib/activate/dev_manager.c)."""


def bound_by(evidence: Evidence, graph: DeviceGraph, executor: Executor) -> str:
    """Return why a device on a disk of the system may be part of it, as a clause; empty where it is apart from it.

    Raises ToolMissing or ToolFailed where a partition table, or a device-mapper table, can't be read.
    """
    device = evidence.device
    roles = {relative.role for relative in evidence.relatives if relative.number != number_of(device)}
    if any(number_of(device) in place.numbers for place in evidence.system_places):
        return "is a part of what it lies on"
    # One that overlaps another partition has that one inside.
    if device.kind is DeviceKind.PARTITION and roles == {Relation.DISK}:
        return _bound_partition(device, graph, executor)
    if _VOLUME_UUID.fullmatch(device.dm_uuid) and roles == {Relation.BELOW}:
        below = [graph.by_number[relative.number] for relative in evidence.relatives[1:]]
        if any(layer.kind not in _DISKS | {DeviceKind.PARTITION} for layer in below):
            return "is a volume on something else than disks and their partitions"
        targets = {line.split()[2] for line in read_table(device, executor).splitlines()}
        others = ", ".join(sorted(targets - _PLAIN_TARGETS)) or "empty"
        return "" if targets and targets <= _PLAIN_TARGETS else f"is no linear or striped volume ({others})"
    return "is neither a partition of it nor a linear or striped LVM volume"


def bound_by_content(evidence: Evidence) -> str:
    """Return why what is on such a device may be a part of the system, as a clause; empty where nothing is."""
    for found in evidence.signatures:
        # libblkid takes a member of a ZFS pool for a filesystem.
        if found.signature.usage is not Usage.FILESYSTEM or found.signature.type == "zfs_member":
            return f"holds {signature_words(found)}"
    # What is not mounted now may be later, by systemd on its own too.
    return next((f"is named in {path}" for path in evidence.named_in), "")


def _bound_partition(device: Device, graph: DeviceGraph, executor: Executor) -> str:
    disk, start = graph.disk(device), device.partition_start_bytes
    if disk.kind not in _DISKS:
        return f"is a partition of {disk.path}, which is no plain disk"
    # The table as it is on the disk now: the kernel may have read it when it was another one.
    table = read_partition_table(disk.path, executor)
    entries = [entry for entry in table if (entry.start_bytes, entry.size_bytes) == (start, device.size_bytes)]
    if len(entries) != 1:
        return f"is not as the partition table on {disk.path} has it"
    (entry,) = entries
    if entry.type not in _LINUX_TYPES:
        return f"has the partition type {entry.type or 'unknown'}, not that of Linux data"
    return "" if entry.flags == "0x0" else f"has the partition flags {entry.flags}, as what a machine boots from has"
