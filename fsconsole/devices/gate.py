"""Wipe gate: reports the reasons not to wipe a device, and re-checks them before every mkfs."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass, replace

from fsconsole.devices.evidence import Evidence, FoundSignature, GateContext, UseKind
from fsconsole.devices.fingerprint import NOT_COUNTED, changes, sectors_written
from fsconsole.devices.gather import gather, gather_content
from fsconsole.devices.hazards import (
    ASKED_OF_SCRATCH,
    CONTENT_QUESTIONS,
    SYSTEM,
    TOO_SMALL,
    USE_QUESTIONS,
    find_hazards,
    signature_words,
)
from fsconsole.devices.identity import differences, lasting_differences, read_identity
from fsconsole.devices.snapshot import find_device, take_snapshot
from fsconsole.devices.sysfs import slot_of
from fsconsole.errors.targets import (
    ConsentMissing,
    DeviceChanged,
    DeviceLocked,
    DeviceMounted,
    DeviceOpen,
    DeviceRefused,
    DeviceTooSmall,
    NotAlone,
    NotBlank,
)
from fsconsole.model.command import Executor
from fsconsole.model.device import SHARED, ContentSample, Device, Fingerprint, Hazard, Identity, Verdict
from fsconsole.model.run import Target
from fsconsole.system.block import notice_medium

_MOUNTS = frozenset({UseKind.MOUNT, UseKind.BTRFS})
PASSING = frozenset({UseKind.OPEN, UseKind.BUSY})
"""Claims that may end by themselves: a monitor, a mount namespace that is given up later than its mounts elsewhere."""


@dataclass(frozen=True, slots=True)
class GateReport:
    """Everything found on one device at one moment, and who the device was then."""

    device: Device
    fingerprint: Fingerprint
    """Without content and write marks where the device is refused anyway, and where they are this run's own."""
    hazards: tuple[Hazard, ...]
    found: tuple[FoundSignature, ...]
    """Signatures of the device and of its partitions, copies included."""
    needs_consent: bool
    """False for a scratch device as fsconsole made or left it only; an empty disk needs consent too."""
    place: str
    """Port that its disk is plugged into."""
    lookalike: str
    """Another disk of the same model and size."""
    mark: str
    """Text that tells it from that one: the end of its serial number, or its place."""
    loss: str
    """Content that would be lost, in words that complete "holds ..."."""

    @property
    def identity(self) -> Identity:
        """Who the device was."""
        return self.fingerprint.identity

    @property
    def is_shared(self) -> bool:
        """True for a part of a disk that holds the system too."""
        return any(hazard.check == SHARED for hazard in self.hazards)

    @property
    def is_free(self) -> bool:
        """True if nothing uses the device or expects it later; a use that cannot be determined counts as one."""
        return not any(hazard.verdict is Verdict.REFUSED or hazard.check in USE_QUESTIONS for hazard in self.hazards)

    @property
    def is_blank(self) -> bool:
        """True if nothing is on a free device that has a disk of its own, apart from the system."""
        has_content = any(hazard.check in CONTENT_QUESTIONS for hazard in self.hazards)
        return self.is_free and not has_content and not self.is_shared

    @property
    def refusals(self) -> tuple[Hazard, ...]:
        """The hazards that end the matter."""
        return tuple(hazard for hazard in self.hazards if hazard.verdict is Verdict.REFUSED)


def inspect_device(path: str, context: GateContext) -> GateReport:
    """Return what speaks against wiping the device at path; nothing on it is changed.

    Raises DeviceMissing, NotABlockDevice, and ToolMissing or ToolFailed where a device-mapper table can't be read.
    """
    real = os.path.realpath(path)
    notice_medium(real)
    snapshot = take_snapshot()
    device = find_device(real, snapshot.devices)
    # Counted before all else: a write from here on is a difference at the next look.
    written = sectors_written(device)
    (evidence,) = gather([(device, real)], snapshot, context)
    loss = [
        signature_words(found) + ("" if found.device == device else f" on {found.device.path}")
        for found in evidence.signatures
    ]
    loss += [f"the partition {partition.path}" for partition in evidence.partitions]
    content = evidence.content
    if content is not None and content.blocks_nonzero:
        loss.append(f"data in {content.blocks_nonzero} of {content.blocks_read} sampled blocks")
    evidence = replace(evidence, is_uncounted=NOT_COUNTED in written)
    hazards = find_hazards(evidence)
    place = slot_of(snapshot.graph.disk(device).path)
    alike = snapshot.graph.lookalikes(device)
    return GateReport(
        device=device,
        fingerprint=_fingerprint(evidence, written, context.executor),
        hazards=hazards,
        found=evidence.signatures,
        needs_consent=not device.is_scratch or any(hazard.check in ASKED_OF_SCRATCH for hazard in hazards),
        place=place,
        lookalike=alike[0].path if alike else "",
        mark=(snapshot.graph.serial_end(device) or place) if alike else "",
        loss="; ".join(dict.fromkeys(loss)) or _no_loss(content),
    )


def _no_loss(content: ContentSample | None) -> str:
    return "no signature" if content is None else f"nothing (looks empty, {content.blocks_read} blocks read)"


def take_fingerprint(path: str, context: GateContext) -> Fingerprint:
    """Return the fingerprint of a device that nobody else writes to, whoever else has it open.

    Raises OSError where it can't be read, DeviceMissing, NotABlockDevice, ToolMissing, ToolFailed.
    """
    snapshot = take_snapshot()
    device = find_device(path, snapshot.devices)
    written = sectors_written(device)
    evidence = gather_content(device, snapshot, context)
    for unread in evidence.unread:
        raise OSError(errno.EIO, f"{unread.source}: {unread.why}")
    return _fingerprint(evidence, written, context.executor)


def _fingerprint(evidence: Evidence, written: tuple[str, ...], executor: Executor) -> Fingerprint:
    return Fingerprint(
        identity=read_identity(evidence.device, executor),
        partitions=tuple(sorted((p.partition_start_bytes, p.size_bytes) for p in evidence.partitions)),
        signatures=evidence.placed,
        content=evidence.content.digest if evidence.content is not None else "",
        written=written,
    )


def require(report: GateReport) -> None:
    """Raise for a device that is refused; what is only asked about needs consent.

    Raises DeviceMounted, DeviceLocked, DeviceTooSmall, DeviceOpen or DeviceRefused, with the reason and the remedy.
    """
    path = report.device.path
    if report.refusals and {hazard.check for hazard in report.refusals} <= PASSING:
        raise DeviceOpen(path, report.refusals[0].reason, report.refusals[0].hint)
    is_mounted = any(hazard.check in _MOUNTS for hazard in report.refusals)
    # What says most first: that a disk holds the system, that a device is mounted.
    for hazard in sorted(report.refusals, key=lambda hazard: (hazard.check != SYSTEM, hazard.check not in _MOUNTS)):
        if is_mounted:
            raise DeviceMounted(path, hazard.reason, hazard.hint)
        if hazard.check == UseKind.LOCKED:
            raise DeviceLocked(path)
        if hazard.check == TOO_SMALL:
            raise DeviceTooSmall(path, hazard.reason, hazard.hint)
        raise DeviceRefused(path, hazard.reason, hazard.hint)


def require_free(report: GateReport) -> None:
    """Raise unless the device is free. Raises what require() raises."""
    require(report)
    for hazard in report.hazards:
        if hazard.check in USE_QUESTIONS:
            raise DeviceRefused(report.device.path, hazard.reason, hazard.hint)


def require_blank(report: GateReport) -> None:
    """Raise unless the device is free and blank. Raises NotBlank, NotAlone, and what require() raises."""
    require_free(report)
    if reasons := [hazard.reason for hazard in report.hazards if hazard.check in CONTENT_QUESTIONS]:
        raise NotBlank(report.device.path, "; ".join(reasons))
    if reasons := [hazard.reason for hazard in report.hazards if hazard.check == SHARED]:
        raise NotAlone(report.device.path, "; ".join(reasons))


def require_same(report: GateReport, target: Target, known: Fingerprint) -> None:
    """Raise unless a device is the target, free, consented to, and as it was when its fingerprint was taken.

    report must be fresh. Raises DeviceChanged, ConsentMissing, and what require() raises.
    """
    is_same_boot = known.identity.boot_id == report.identity.boot_id
    compare = differences if is_same_boot else lasting_differences
    if changed := compare(known.identity, report.identity):
        raise DeviceChanged(target.path, "; ".join(changed))
    require(report)
    if changed := changes(known, report.fingerprint):
        if report.found and known.signatures == report.fingerprint.signatures:
            # In the middle of a cell none are compared: what is there now tells who wrote.
            changed = (*changed, f"it holds {report.loss}")
        raise DeviceChanged(target.path, "; ".join(changed))
    if report.is_shared and not target.shared:
        raise DeviceChanged(target.path, "its disk is shared with the system now")
    if report.needs_consent and not target.consent:
        raise ConsentMissing(target.path, report.loss)
