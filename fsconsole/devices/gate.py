"""The wipe gate: what speaks against wiping a device, and the proof, before every mkfs, that nothing does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fsconsole.devices.evidence import Evidence, FoundSignature, GateContext
from fsconsole.devices.gather import gather
from fsconsole.devices.hazards import find_hazards
from fsconsole.devices.hazards.claims import LockedByRun
from fsconsole.devices.hazards.contents import PartitionFound, signature_words
from fsconsole.devices.hazards.mounts import Mounted, MountedBtrfs
from fsconsole.devices.hazards.size import TooSmall
from fsconsole.devices.identity import differences, differences_across_boots, read_identity
from fsconsole.errors import (
    ConsentMissing,
    DeviceChanged,
    DeviceLocked,
    DeviceMounted,
    DeviceRefused,
    DeviceTooSmall,
    FsconsoleError,
)
from fsconsole.model.device import ContentSample, Device, Identity, Signature
from fsconsole.model.hazard import Hazard, Inspection, Verdict
from fsconsole.model.run import Target

__all__ = ["GateContext", "GateReport", "inspect_device", "re_prove", "require"]

_MOUNTS = frozenset({Mounted.name, MountedBtrfs.name})


@dataclass(frozen=True, slots=True)
class GateReport:
    """Everything found on one device at one moment, and who the device was then."""

    device: Device
    identity: Identity
    hazards: tuple[Hazard, ...]
    found: tuple[FoundSignature, ...]
    """Signatures of the device and of its partitions, copies included."""
    content: ContentSample | None
    """None where the device is refused anyway, and where the content is this run's own."""
    needs_consent: bool
    """False for a proved scratch device only; an empty disk needs consent too."""
    loss: str
    """What would be lost, in words that complete "holds ..."."""

    @property
    def signatures(self) -> tuple[Signature, ...]:
        """The signatures of the device itself."""
        return tuple(found.signature for found in self.found if found.device == self.device)

    @property
    def content_digest(self) -> str:
        """The digest of the sampled blocks; empty where none were sampled."""
        return self.content.digest if self.content is not None else ""

    @property
    def inspection(self) -> Inspection:
        """The hazards as refusals and questions."""
        return Inspection(self.device.path, self.hazards)


def inspect_device(path: str, context: GateContext) -> GateReport:
    """Return what speaks against wiping the device at path; nothing on it is changed.

    Raises DeviceMissing, NotABlockDevice, and ToolMissing or ToolFailed where a device-mapper table can't be read.
    """
    evidence = gather(path, context, _is_refused)
    return GateReport(
        device=evidence.device,
        identity=read_identity(evidence.device, context.executor),
        hazards=find_hazards(evidence),
        found=evidence.signatures,
        content=evidence.content,
        needs_consent=not evidence.device.is_scratch,
        loss=_loss(evidence),
    )


def _is_refused(evidence: Evidence) -> bool:
    return any(hazard.verdict is Verdict.REFUSED for hazard in find_hazards(evidence))


def _loss(evidence: Evidence) -> str:
    words = [_place_words(evidence.device, found) for found in evidence.signatures]
    words += [f"the partition {partition.path}" for partition in evidence.partitions]
    content = evidence.content
    if content is not None and content.blocks_nonzero:
        words.append(f"data in {content.blocks_nonzero} of {content.blocks_read} sampled blocks")
    return "; ".join(dict.fromkeys(words)) or "nothing that a probe and a sample of its blocks show"


def _place_words(device: Device, found: FoundSignature) -> str:
    where = "" if found.device == device else f" on {found.device.path}"
    return signature_words(found) + where


def require(report: GateReport) -> None:
    """Let a device pass that has no refusal; what is asked about is consent's matter.

    Raises DeviceMounted, DeviceLocked, DeviceTooSmall or DeviceRefused, with the reason and the remedy.
    """
    refusals = sorted(report.inspection.refusals, key=lambda hazard: hazard.check not in _MOUNTS)
    if refusals:
        raise _refusal(report.device.path, refusals[0])


def _refusal(path: str, hazard: Hazard) -> FsconsoleError:
    if hazard.check in _MOUNTS:
        return DeviceMounted(path, hazard.reason, hazard.hint)
    if hazard.check == LockedByRun.name:
        return DeviceLocked(path)
    if hazard.check == TooSmall.name:
        return DeviceTooSmall(path, hazard.reason, hazard.hint)
    return DeviceRefused(path, hazard.reason, hazard.hint)


def re_prove(
    report: GateReport,
    target: Target,
    ours: frozenset[str],
    last_made: str = "",
    proved_as: Identity | None = None,
) -> None:
    """Let a device pass that is still what was agreed upon: the same one, in no use, nothing new on it.

    report must be fresh. ours are the filesystem UUIDs that this run has assigned; last_made is that of the
    filesystem which must be on it now, empty where none need be. proved_as is who it was when it last passed:
    across a reboot a filesystem of the run proves it once, and must not be there still after a wipe. Raises
    DeviceChanged, ConsentMissing, and what require() raises.
    """
    own_uuids = frozenset(uuid.lower() for uuid in ours if uuid)
    changes = _identity_changes(report, proved_as or target.identity, own_uuids)
    if changes:
        raise DeviceChanged(target.path, "; ".join(changes))
    require(report)
    if report.needs_consent and not target.consent:
        raise ConsentMissing(target.path, report.loss)
    changes = (
        *_unknown_on_it(report, target, own_uuids),
        *_missing_on_it(report, last_made),
        *_content_changes(report, target),
    )
    if changes:
        raise DeviceChanged(target.path, "; ".join(changes))


def _identity_changes(report: GateReport, known: Identity, ours: frozenset[str]) -> tuple[str, ...]:
    if report.identity.boot_id == known.boot_id:
        return differences(known, report.identity)
    found = frozenset(signature.uuid.lower() for signature in report.signatures)
    return differences_across_boots(known, report.identity, found, ours)


def _unknown_on_it(report: GateReport, target: Target, ours: frozenset[str]) -> Iterator[str]:
    """Yield, in words, every signature and partition that was neither shown nor made by this run."""
    # After a reboot the same disk may have another name; its identity is proved by then.
    same_boot = report.identity.boot_id == target.identity.boot_id
    shown = {(hazard.device if same_boot else "", hazard.reason) for hazard in target.shown}
    for found in report.found:
        is_ours = found.device == report.device and found.signature.uuid.lower() in ours
        words = signature_words(found)
        if not is_ours and (found.device.path if same_boot else "", f"holds {words}") not in shown:
            yield f"{found.device.path} holds {words}, which was not there when it was agreed upon"
    for hazard in report.hazards:
        if (
            hazard.check == PartitionFound.name
            and (hazard.device if same_boot else "", hazard.reason) not in shown
        ):
            yield f"it {hazard.reason}, which was not there when it was agreed upon"


def _missing_on_it(report: GateReport, last_made: str) -> Iterator[str]:
    """Yield words where this run's last filesystem has gone: whatever is there instead, signature or none."""
    if last_made and last_made.lower() not in {s.uuid.lower() for s in report.signatures}:
        yield f"the filesystem that this run made on it, UUID {last_made}, is no longer there"


def _content_changes(report: GateReport, target: Target) -> Iterator[str]:
    if report.content is not None and report.content.digest != target.content_digest:
        yield "what is written on it has changed since it was agreed upon"
