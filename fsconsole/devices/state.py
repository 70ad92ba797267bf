"""Sums up a device's state in one short text: free, in use and by what, hazardous and why."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any

from fsconsole.devices.graph import DeviceGraph
from fsconsole.devices.hazards import ASKED_OF_SCRATCH
from fsconsole.model.contract import Document
from fsconsole.model.device import SHARED, Device, DeviceKind, Hazard, Signature, Usage, Verdict
from fsconsole.model.wire import Wire
from fsconsole.text import printable

# What a device stands on, by the name under which its owner knows it.

_OWNERS = {"LVM": "LV", "CRYPT": "encrypted volume", "mpath": "multipath"}
"""Owners by the part of a dm UUID before its first dash (libdevmapper.h, DM_UUID_PREFIX of each tool)."""


def stands_on(device: Device) -> str:
    """Return "loop over /path", "LV vg/lv on sdb1", "md raid5 of sdb, sdc", "dm NAME"; empty for what stands for itself."""
    if device.loop is not None:
        return f"loop over {device.loop.path}"
    if device.dm_name:
        owner = _OWNERS.get(device.dm_uuid.split("-", 1)[0], "dm")
        name = volume_name(device.dm_name) if owner == "LV" else device.dm_name
        return f"{owner} {name} on {', '.join(device.lower)}" if device.lower else f"{owner} {name}"
    if device.md is not None and device.md.members:
        members = ", ".join(member.name for member in device.md.members)
        return f"md {device.md.level} of {members}".replace("  ", " ")
    return f"partition of {device.parent}" if device.parent else ""


def volume_name(dm_name: str) -> str:
    """Return "vg/lv" of an LV's dm name, in which a dash of either is doubled (man 8 lvm)."""
    volume = dm_name.replace("--", "\0").split("-", 1)
    return "/".join(volume).replace("\0", "-")


class Claim(str, Enum):
    """Summary of a state; UNKNOWN: nothing seen, but without root not everything can be read."""

    FREE = "free"
    IN_USE = "in use"
    HAZARDOUS = "hazardous"
    UNKNOWN = "unknown"


class DeviceState(Wire, frozen=True):
    """A claim with its words, safe to print: "ext4 mounted on /", "member of md0", "holds ext4 'label'"."""

    claim: Claim
    text: str


class ListedDevice(Device, frozen=True, kw_only=True):
    """A device in the answer of `fsconsole devices --json`."""

    is_scratch: bool
    state: DeviceState
    hazards: tuple[Hazard, ...]
    stripes: tuple[str, ...]
    """Notes on its stripes, in sentences."""
    can_discard: bool = True
    """False where queue/discard_max_bytes is 0."""
    keeps_blocks: bool = True
    """False for a scratch device whose file may get other blocks when it is zeroed."""
    written_bytes_per_s: float = 0.0
    """Rate at which the file of a scratch device was written when it was made; 0: not known."""
    shares_with: str = ""
    """What of the running system, or of its runs, is on a disk of the device: "/ and the run folder"; empty if nothing."""

    @classmethod
    def of(
        cls, device: Device, state: DeviceState, hazards: tuple[Hazard, ...], stripes: tuple[str, ...], **more: Any
    ) -> ListedDevice:
        """Return a device with its state, hazards, notes on its stripes, and more fields by name."""
        told = {name: getattr(device, name) for name in Device.__struct_fields__}
        return cls(**told, is_scratch=device.is_scratch, state=state, hazards=hazards, stripes=stripes, **more)

    @property
    def device(self) -> Device:
        """The device alone."""
        return Device(**{name: getattr(self, name) for name in Device.__struct_fields__})


class DevicesAnswer(Document, frozen=True):
    """The answer of `fsconsole devices --json`: devices in the order of their tree, and notes on how they were looked at."""

    devices: tuple[ListedDevice, ...]
    notes: tuple[str, ...]


def device_state(device: Device, graph: DeviceGraph, hazards: tuple[Hazard, ...] | None = None) -> DeviceState:
    """Return how a device stands among all devices.

    hazards is what the gate found on it, and None where the gate wasn't asked: then nothing is called free.
    Its signatures, where they were probed, are in the device; what a scratch device holds is nobody's loss.
    """
    uses = tuple(_uses(device, graph))
    troubles = tuple(_troubles(device))
    if uses:
        return _state(Claim.IN_USE, (*uses, *troubles))
    contents = holdings(device.signatures)
    held = (f"holds {contents}",) if contents else ()
    refused = tuple(_clauses(hazards or (), Verdict.REFUSED)) if not troubles else ()
    asked = tuple(
        hazard.reason
        for hazard in hazards or ()
        if hazard.verdict is Verdict.ASKED and (not held or hazard.check in (SHARED, *ASKED_OF_SCRATCH))
    )
    dangers = (*troubles, *refused, *held, *(asked if not refused else ()))
    kept = any(hazard.check in ASKED_OF_SCRATCH for hazard in hazards or ())
    if device.is_scratch and hazards is not None and not (troubles or refused or kept):
        return _state(Claim.FREE, ("free", *held))
    if dangers:
        return _state(Claim.HAZARDOUS, dangers)
    return _state(Claim.UNKNOWN, ("no use seen",)) if hazards is None else _state(Claim.FREE, ("free",))


def holdings(signatures: tuple[Signature, ...]) -> str:
    """Return what signatures say is on a device: "ext4 'label'", "a gpt partition table"; "" for none.

    Copies of one signature (a backup superblock, the protective table beside gpt) are told once.
    """
    return ", ".join(dict.fromkeys(map(_holding, signatures)))


def _state(claim: Claim, clauses: tuple[str, ...]) -> DeviceState:
    return DeviceState(claim, printable("; ".join(dict.fromkeys(clauses))))


def _uses(device: Device, graph: DeviceGraph) -> Iterator[str]:
    if device.mounts:
        first, others = device.mounts[0], len(device.mounts) - 1
        where = f"mounted on {first.mount_point}" if first.mount_point else "mounted out of sight"
        yield f"{first.filesystem} {where}" + (f" and {others} more" if others else "")
    if device.swap:
        yield "swap"
    for holder in device.holders:
        yield _held(device, holder, graph.by_name.get(holder))
    for loop in graph.loops_over(device):
        yield f"held by {loop.name}"
    if in_use := [part.name for part in graph.partitions(device) if any(_uses(part, graph))]:
        more = f" and {len(in_use) - 3} more" if len(in_use) > 3 else ""
        yield f"in use: {', '.join(in_use[:3])}{more}"


_ROLES = (("F", "failed member of"), ("S", "spare of"), ("J", "journal of"), ("R", "replacement in"))
"""Flags of a member in /proc/mdstat, what says most first; every member of an inactive array has an S."""


def _held(device: Device, name: str, holder: Device | None) -> str:
    # An inactive array holds its members though it may not be listed.
    if not name.startswith("md") and (holder is None or holder.kind is not DeviceKind.MD):
        return f"held by {name}"
    array = holder.md if holder is not None else None
    members = array.members if array is not None and array.active else ()
    flags = "".join(member.flags for member in members if f"/dev/{member.name}" == device.path)
    return next((f"{role} {name}" for flag, role in _ROLES if flag in flags), f"member of {name}")


def _troubles(device: Device) -> Iterator[str]:
    if (array := device.md) is not None:
        if not array.active:
            yield "inactive array"
        if array.progress_percent is not None:
            yield f"{array.action} {array.progress_percent:.0f} %"
        elif array.action:
            yield f"resync {array.action.lower()}"
        if array.degraded:
            yield f"degraded {array.slots}"
    if device.read_only:
        yield "read-only"


def _clauses(hazards: tuple[Hazard, ...], verdict: Verdict) -> Iterator[str]:
    return (hazard.reason for hazard in hazards if hazard.verdict is verdict)


def _holding(signature: Signature) -> str:
    # libblkid calls the table of one entry that guards a gpt disk "PMBR".
    if signature.usage is Usage.PARTITION_TABLE or signature.type == "PMBR":
        return "a gpt partition table" if signature.type == "PMBR" else f"a {signature.type} partition table"
    return f"{signature.type} '{signature.label}'" if signature.label else signature.type
