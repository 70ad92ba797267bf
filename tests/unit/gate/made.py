"""Devices, evidence and reports made by hand, for tests of pure code."""

from __future__ import annotations

import os
from dataclasses import replace

from fsconsole.devices.evidence import Evidence, FoundSignature, Relation, Relative, Use, UseKind
from fsconsole.devices.gate import GateReport
from fsconsole.devices.hazards import find_hazards
from fsconsole.engine.target_state import Agreed, Proof, TargetState
from fsconsole.model.device import (
    ContentSample,
    Device,
    DeviceKind,
    Fingerprint,
    Hazard,
    Identity,
    LoopBacking,
    PlacedSignature,
    Signature,
    Usage,
)
from fsconsole.model.run import Target

GIB = 2**30
UUID = "3f1c3e2a-0f3b-4f5e-9b1d-3c1f0f6f1a11"
OTHER_UUID = "9d7d0c52-6a4e-4a44-8b0c-0a4b2d2f7e22"

KINDS = {"sd": DeviceKind.DISK, "md": DeviceKind.MD, "dm-": DeviceKind.DM, "loop": DeviceKind.LOOP}


def device(name: str, major: int = 8, minor: int = 16, **facts: object) -> Device:
    """Return a device of 4 GiB whose kind its name tells; with parent= it is a partition."""
    kind = next(kind for prefix, kind in KINDS.items() if name.startswith(prefix))
    if facts.get("parent"):
        kind = DeviceKind.PARTITION
    plain = Device(name, f"/dev/{name}", kind, major, minor, 4 * GIB)
    return replace(plain, **facts)  # type: ignore[arg-type]


def number(made: Device) -> int:
    return os.makedev(made.major, made.minor)


SDA = device("sda", minor=0, wwn="0x5000c500a0000001", serial="ROOT")
SDA1 = device("sda1", minor=1, parent="sda", partition_start_bytes=2**20)
SDB = device("sdb", minor=16, wwn="0x5000c500b0000002", serial="DATA")
SDB1 = device("sdb1", minor=17, parent="sdb", partition_start_bytes=2**20, size_bytes=GIB)
SDB2 = device("sdb2", minor=18, parent="sdb", partition_start_bytes=2 * GIB, size_bytes=GIB)
SDC = device("sdc", minor=32, wwn=SDB.wwn, serial="DATA")
SDC1 = device("sdc1", minor=33, parent="sdc")
LOOP0 = device("loop0", 7, 0, loop=LoopBacking("/srv/disk", 64512, 77, direct_io=True, autoclear=False))
SCRATCH = replace(
    LOOP0,
    loop=LoopBacking("/srv/s", 64512, 78, direct_io=True, autoclear=False, scratch_id="0123abcd", is_recorded=True),
)


def over(loop: Device, below: Device) -> Device:
    """Return the loop device as it is when it stands on another device."""
    backing = LoopBacking(below.path, 5, 7, direct_io=True, autoclear=False, device_number=number(below))
    return replace(loop, loop=backing)


def evidence(of: Device = SDB, *relatives: Relative, **facts: object) -> Evidence:
    """Return evidence in which nothing speaks against the device, but for the facts given."""
    family = (Relative(number(of), of.path, Relation.SELF), *relatives)
    return replace(Evidence(of, family), **facts)  # type: ignore[arg-type]


def relative(of: Device, role: Relation) -> Relative:
    return Relative(number(of), of.path, role)


def use(kind: UseKind, of: Device, clause: str = "is used", by: int = 0) -> Use:
    return Use(kind, number(of), clause, by)


def signature(
    kind: str = "ext4", usage: Usage = Usage.FILESYSTEM, uuid: str = UUID, label: str = "data", at: int = 1080
) -> Signature:
    return Signature(kind, usage, at, label, uuid)


def found(of: Device = SDB, what: Signature | None = None) -> FoundSignature:
    return FoundSignature(of, what or signature())


def identity(of: Device = SDB, **facts: object) -> Identity:
    plain = Identity(of.name, "boot-1", number(of), of.size_bytes, 9, of.wwn, of.serial)
    return replace(plain, **facts)  # type: ignore[arg-type]


def report(what: Evidence | None = None, who: Identity | None = None, *, needs_consent: bool = True) -> GateReport:
    """Return the gate's report on made evidence."""
    what = what or evidence()
    return GateReport(
        what.device,
        fingerprint(what, who),
        find_hazards(what),
        what.signatures,
        needs_consent,
        place="",
        lookalike="",
        mark="",
        loss="what is on it",
    )


def fingerprint(what: Evidence, who: Identity | None = None) -> Fingerprint:
    """Return what a device with that evidence is known by."""
    return Fingerprint(
        who or identity(what.device),
        tuple((partition.partition_start_bytes, partition.size_bytes) for partition in what.partitions),
        tuple(PlacedSignature(one.device.partition_start_bytes, one.signature) for one in what.signatures),
        what.content.digest if what.content is not None else "",
        ("8", "0"),
    )


def agreed(before: GateReport) -> Target:
    """Return the target that an operator agreed to who saw that report."""
    return Target(before.device.path, before.fingerprint, before.hazards, "CODE")


def checks(hazards: tuple[Hazard, ...]) -> set[str]:
    return {hazard.check for hazard in hazards}


def sample(nonzero: int = 0, digest: str = "d0") -> ContentSample:
    return ContentSample(64, nonzero, digest)


def proved_state(time_s: float) -> TargetState:
    """Return the state of a target that was proved at that time, with the counters ("8",)."""
    return TargetState(Agreed(fingerprint(evidence())), Proof(SDB, identity(SDB), ("8",), time_s))
