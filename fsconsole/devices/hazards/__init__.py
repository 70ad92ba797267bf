"""Every reason why a device must not, or should not, be wiped: one class each, pure over Evidence."""

from __future__ import annotations

from fsconsole.devices.evidence import Evidence
from fsconsole.devices.hazards.base import Check
from fsconsole.devices.hazards.claims import ExclusivelyHeld, HiddenProcess, LockedByRun, OpenElsewhere
from fsconsole.devices.hazards.contents import (
    ArrayMemberFound,
    DataFound,
    EncryptionFound,
    FilesystemFound,
    OtherSignatureFound,
    PartitionFound,
    PartitionTableFound,
)
from fsconsole.devices.hazards.disks import SecondPath, SystemDisk
from fsconsole.devices.hazards.export import Exported, Reserved
from fsconsole.devices.hazards.mounts import ActiveSwap, Mounted, MountedBtrfs
from fsconsole.devices.hazards.size import TooLarge, TooSmall
from fsconsole.devices.hazards.stacking import (
    ActiveVolumeGroup,
    ArrayMember,
    Held,
    SharedBackingFile,
    UnderLoop,
)
from fsconsole.devices.hazards.state import InactiveArray, ReadOnly, Resyncing, StrangeNode, Undetermined
from fsconsole.model.hazard import Hazard

ALL_CHECKS: tuple[Check, ...] = (
    StrangeNode(),
    Mounted(),
    MountedBtrfs(),
    ActiveSwap(),
    SystemDisk(),
    Held(),
    ArrayMember(),
    ActiveVolumeGroup(),
    UnderLoop(),
    SharedBackingFile(),
    SecondPath(),
    Exported(),
    Reserved(),
    LockedByRun(),
    OpenElsewhere(),
    ExclusivelyHeld(),
    Resyncing(),
    InactiveArray(),
    ReadOnly(),
    TooSmall(),
    TooLarge(),
    Undetermined(),
    PartitionTableFound(),
    PartitionFound(),
    FilesystemFound(),
    ArrayMemberFound(),
    EncryptionFound(),
    OtherSignatureFound(),
    DataFound(),
    HiddenProcess(),
)
"""In the order in which they are told: what says most about a device comes first."""


def find_hazards(evidence: Evidence) -> tuple[Hazard, ...]:
    """Return the hazards of all checks, each once."""
    return tuple(dict.fromkeys(hazard for check in ALL_CHECKS for hazard in check.find(evidence)))
