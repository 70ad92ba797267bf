"""LVM: whether the volume group that a physical volume belongs to is active."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from fsconsole.devices.evidence import FoundSignature, Use, UseKind
from fsconsole.devices.relatives import number_of
from fsconsole.model.device import Device

_METADATA_BYTES = 2 * 2**20
"""LVM's label is in the first four sectors, its metadata text in the first MiB after it (man 5 lvm, pvcreate)."""
_ID = re.compile(rb'\bid = "([A-Za-z0-9]{6}(?:-[A-Za-z0-9]{4}){5}-[A-Za-z0-9]{6})"')
_DM_PREFIX = "LVM-"
_ID_CHARACTERS = 32
_MEMBER_TYPES = frozenset({"LVM2_member", "LVM1_member"})


def volume_group_uses(found: Iterable[FoundSignature], groups: frozenset[str]) -> Iterator[Use]:
    """Yield a use for every physical volume found whose group is one of those, the active ones. Raises OSError."""
    members = {f.device.path: f.device for f in found if f.signature.type in _MEMBER_TYPES}
    for path, device in members.items():
        if read_ids(path) & groups:
            clause = "belongs to an LVM volume group with active volumes"
            yield Use(UseKind.VOLUME_GROUP, number_of(device), clause)


def read_ids(path: str) -> frozenset[str]:
    """Return the ids that the LVM metadata at the start of a physical volume names. Raises OSError."""
    with open(path, "rb") as device:
        os.posix_fadvise(device.fileno(), 0, _METADATA_BYTES, os.POSIX_FADV_DONTNEED)
        return ids_in(device.read(_METADATA_BYTES))


def ids_in(metadata: bytes) -> frozenset[str]:
    """Return every id in LVM metadata text without its dashes: the group's, its volumes' and members'."""
    return frozenset(match.decode("ascii").replace("-", "") for match in _ID.findall(metadata))


def active_groups(devices: Iterable[Device]) -> frozenset[str]:
    """Return the ids of the volume groups with an active volume: dm UUIDs are "LVM-", group id, volume id."""
    return frozenset(
        device.dm_uuid[len(_DM_PREFIX) :][:_ID_CHARACTERS]
        for device in devices
        if device.dm_uuid.startswith(_DM_PREFIX)
    )
