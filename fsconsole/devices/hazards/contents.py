"""Asked about: whatever is on the device and would be lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from fsconsole.devices.evidence import Evidence, FoundSignature
from fsconsole.devices.hazards.base import Check
from fsconsole.model.device import Usage
from fsconsole.model.hazard import Hazard, Verdict
from fsconsole.units import format_bytes

_KNOWN_TYPES = {
    "LVM2_member": "LVM physical volume",
    "LVM1_member": "LVM physical volume (LVM1)",
    "linux_raid_member": "Linux md member",
    "crypto_LUKS": "LUKS",
    "zfs_member": "ZFS pool member",
    "swap": "swap area",
    "gpt": "GPT partition table",
    "dos": "DOS partition table",
    "PMBR": "protective MBR",
}
"""blkid's names for what admins call otherwise (man 8 blkid); the rest are shown as they are."""


def signature_words(found: FoundSignature) -> str:
    """Return what a signature stands for by type, label, UUID and the size of its device."""
    signature = found.signature
    words = _KNOWN_TYPES.get(signature.type, signature.type)
    if signature.label:
        words += f" '{signature.label}'"
    if signature.uuid:
        words += f", UUID {signature.uuid}"
    return f"{words}, {format_bytes(found.device.size_bytes)}"


class SignatureCheck(Check):
    """Asks about every signature of one usage, on the device and on its partitions."""

    verdict = Verdict.ASKED
    usage: ClassVar[Usage]
    hint: ClassVar[str]

    def find(self, evidence: Evidence) -> Iterator[Hazard]:
        """Yield a hazard for every signature; copies (a backup superblock) are one."""
        for found in evidence.signatures:
            if found.signature.usage is self.usage:
                yield self.hazard(found.device.path, f"holds {signature_words(found)}", self.hint)


class FilesystemFound(SignatureCheck):
    """A filesystem, mounted by nobody."""

    name = "filesystem"
    usage = Usage.FILESYSTEM
    hint = "Mount it read-only to see what is on it: `mount -o ro DEVICE /mnt`."


class PartitionTableFound(SignatureCheck):
    """A partition table, even where the kernel shows no partition of it."""

    name = "partition-table"
    usage = Usage.PARTITION_TABLE
    hint = "`fdisk --list DEVICE` shows the partitions that would be lost."


class ArrayMemberFound(SignatureCheck):
    """An md member or LVM physical volume that nothing has assembled."""

    name = "raid-signature"
    usage = Usage.RAID
    hint = "`mdadm --examine DEVICE` or `pvs` shows what it belongs to."


class EncryptionFound(SignatureCheck):
    """A LUKS header: without it the data is lost, passphrase or not."""

    name = "encryption"
    usage = Usage.CRYPTO
    hint = "`cryptsetup luksDump DEVICE` shows the header."


class OtherSignatureFound(SignatureCheck):
    """Any other signature that libblkid knows: swap areas, caches, logs."""

    name = "other-signature"
    usage = Usage.OTHER
    hint = "`wipefs DEVICE` lists the signatures."


class PartitionFound(Check):
    """A partition that the kernel shows, with or without a signature in it."""

    name = "partition"
    verdict = Verdict.ASKED

    def find(self, evidence: Evidence) -> Iterator[Hazard]:
        """Yield a hazard for every partition with its place and size."""
        for partition in evidence.partitions:
            size, start = format_bytes(partition.size_bytes), partition.partition_start_bytes
            reason = f"has the partition {partition.path} of {size} at byte {start}"
            yield self.hazard(evidence.device.path, reason, "`fdisk --list DEVICE` shows the partitions.")


class DataFound(Check):
    """Sampled blocks that are not zero: data without a signature is data (plain dm-crypt, a raw database)."""

    name = "data"
    verdict = Verdict.ASKED

    def find(self, evidence: Evidence) -> Iterator[Hazard]:
        """Yield one hazard with the share of blocks that are not zero."""
        content = evidence.content
        if content is not None and content.blocks_nonzero:
            reason = (
                f"holds data: {content.blocks_nonzero} of {content.blocks_read} sampled blocks are not zero"
            )
            hint = "A new disk reads as zeros, and so does one after `blkdiscard` or zeroing."
            yield self.hazard(evidence.device.path, reason, hint)
