"""What a check is, and the words for a claim on a related device."""

from __future__ import annotations

import errno
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from fsconsole.devices.evidence import Evidence, FoundSignature, Relative, Role, UseKind
from fsconsole.model.device import Hazard, MdArray, Usage, Verdict
from fsconsole.units import format_bytes


class Check(ABC):
    """One reason to refuse or to ask; subclasses say which, and find it in the evidence."""

    name: ClassVar[str]
    verdict: ClassVar[Verdict]

    @abstractmethod
    def find(self, evidence: Evidence) -> Iterator[Hazard]:
        """Yield a hazard for every case of it that the evidence holds; reads nothing else."""

    def hazard(self, device: str, reason: str, hint: str, *, waits: bool = False) -> Hazard:
        """Return a hazard of this check; reason completes "DEVICE ..."."""
        return Hazard(self.name, self.verdict, device, reason, hint, waits)


class UseCheck(Check):
    """Refuses a device because something uses it, or uses a device that shares bytes with it."""

    verdict = Verdict.REFUSED
    kind: ClassVar[UseKind]
    roles: ClassVar[frozenset[Role]] = frozenset({Role.SELF, Role.INSIDE, Role.DISK, Role.UNDER, Role.BELOW})
    hint: ClassVar[str]

    def find(self, evidence: Evidence) -> Iterator[Hazard]:
        """Yield a hazard for every use of this kind on a relative in one of the roles."""
        own = _own_chain(evidence)
        roles = {relative.number: relative for relative in evidence.relatives if relative.role in self.roles}
        for use in evidence.uses:
            relative = roles.get(use.number)
            if use.kind is self.kind and relative is not None and use.by not in own:
                yield self.hazard(evidence.device.path, clause_for(relative, use.clause), self.hint)


_HERE = {Role.SELF, Role.UNDER, Role.BELOW}


def _own_chain(evidence: Evidence) -> frozenset[int]:
    """Return the numbers of the device and of what it stands on: that it stands on them is no hazard."""
    return frozenset(relative.number for relative in evidence.relatives if relative.role in _HERE)


_LINKS = {
    Role.INSIDE: "has the partition {path}, which",
    Role.DISK: "is a partition of {path}, which",
    Role.UNDER: "stands on {path}, which",
    Role.BELOW: "is made of {path}, which",
    Role.TWIN: "is the same disk as {path}, which",
}


def clause_for(relative: Relative, clause: str) -> str:
    """Return a clause about a relative as one about the device itself."""
    if relative.role is Role.SELF:
        return clause
    return f"{_LINKS[relative.role].format(path=relative.path)} {clause}"


# Refused: a program, another run or something in the kernel has claimed the device.


class LockedByRun(UseCheck):
    """Locked by flock: by another run of this tool, or by a tool that is careful."""

    name = "locked"
    kind = UseKind.LOCKED
    hint = "`fsconsole runs` shows living runs; wait, or stop the other one with `fsconsole stop`."


class OpenElsewhere(UseCheck):
    """Open in another process, whatever for: a virtual machine, a database, a disk editor."""

    name = "open-elsewhere"
    kind = UseKind.OPEN
    hint = "`fuser --verbose DEVICE` shows the process; end it, if nobody needs it."


class HiddenProcess(Check):
    """A process that shows its descriptors to nobody: whether it has the device open is for the operator to know."""

    name = "hidden-process"
    verdict = Verdict.ASKED

    def find(self, evidence: Evidence) -> Iterator[Hazard]:
        """Yield a hazard for every such process."""
        for process in evidence.hidden_processes:
            reason = f"may be open in process {process}, which does not show what it has open"
            yield self.hazard(evidence.device.path, reason, "`ps` tells what the process is.")


class ExclusivelyHeld(UseCheck):
    """O_EXCL says EBUSY (man 2 open): mounted in some mount namespace, or claimed by a driver or a program."""

    name = "busy"
    kind = UseKind.BUSY
    roles = frozenset({Role.SELF, Role.UNDER})
    hint = (
        "`lsblk DEVICE`, `fuser --verbose DEVICE` and `lsns --type mnt` help to find who it is; what was "
        "unmounted during a run's load stays busy until that load ends."
    )


# Asked about: whatever is on the device and would be lost.

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


# Refused: the disk is one that the machine or the run lives on, or one in use by another path.


class SystemDisk(Check):
    """A disk below /, /boot or the run folder, with all that is on it, in use or not."""

    name = "system-disk"
    verdict = Verdict.REFUSED

    def find(self, evidence: Evidence) -> Iterator[Hazard]:
        """Yield a hazard for each such folder, once."""
        numbers = {relative.number for relative in evidence.relatives if relative.role is not Role.TWIN}
        places = {place.place: None for place in evidence.system_places if place.numbers & numbers}
        for place in places:
            yield self.hazard(
                evidence.device.path,
                f"is on the disk that holds {place}",
                "Nothing on that disk is ever wiped; choose another disk, or `fsconsole scratch create`.",
            )


class SecondPath(Check):
    """The same WWN (or serial number) as a device that is in use."""

    name = "second-path"
    verdict = Verdict.REFUSED

    def find(self, evidence: Evidence) -> Iterator[Hazard]:
        """Yield a hazard for every use of another path to the same disk, whatever its kind."""
        twins = {relative.number: relative for relative in evidence.relatives if relative.role is Role.TWIN}
        for use in evidence.uses:
            if use.number in twins:
                yield self.hazard(
                    evidence.device.path,
                    clause_for(twins[use.number], use.clause),
                    "Two names with one WWN or serial number are one disk: `lsblk -o NAME,WWN,SERIAL`.",
                )
        for place in evidence.system_places:
            for twin in twins.values():
                if twin.number in place.numbers:
                    yield self.hazard(
                        evidence.device.path,
                        clause_for(twin, f"holds {place.place}"),
                        "Nothing on that disk is ever wiped, by none of its names.",
                    )


# Refused: other machines work on the device.


class Exported(UseCheck):
    """Served by a kernel target: nvmet, LIO, a USB gadget."""

    name = "exported"
    kind = UseKind.EXPORT
    hint = "Remove the export first (nvmetcli, targetcli), if no other machine needs it."


class Reserved(UseCheck):
    """A SCSI reservation: some machine has claimed the disk for itself."""

    name = "reserved"
    kind = UseKind.RESERVED
    hint = "`sg_persist --in --read-reservation DEVICE` shows the holder; ask whoever runs that cluster."


# Refused: a filesystem or a swap area that the kernel is working on.


class Mounted(UseCheck):
    """Mounted here, or in PID 1's mount table."""

    name = "mounted"
    kind = UseKind.MOUNT
    hint = "If nobody needs what is on it, unmount it: `umount DEVICE`; `findmnt` shows where it is."


class MountedBtrfs(UseCheck):
    """One of the devices of a mounted btrfs, of which the mount table names one only."""

    name = "mounted-btrfs"
    kind = UseKind.BTRFS
    hint = "`btrfs filesystem show` lists its devices; unmount it, if nobody needs what is on it."


class ActiveSwap(UseCheck):
    """Swapped on."""

    name = "swap"
    kind = UseKind.SWAP
    hint = "`swapoff DEVICE` frees it, where there is memory enough."


# Refused: too small or too large for what is planned.


class TooSmall(Check):
    """Less room than the plan or a filesystem needs."""

    name = "too-small"
    verdict = Verdict.REFUSED

    def find(self, evidence: Evidence) -> Iterator[Hazard]:
        """Yield one hazard for a device below the wanted size."""
        size_bytes, wanted_bytes = evidence.device.size_bytes, max(evidence.min_bytes, 1)
        if size_bytes < wanted_bytes:
            reason = f"has {format_bytes(size_bytes)}, and {format_bytes(wanted_bytes)} are needed"
            hint = 'Choose a larger device, smaller files, or `scale = "fit"` in the plan.'
            yield self.hazard(evidence.device.path, reason, hint)


class TooLarge(Check):
    """More room than a filesystem of the plan can use, or than the operator has allowed."""

    name = "too-large"
    verdict = Verdict.REFUSED

    def find(self, evidence: Evidence) -> Iterator[Hazard]:
        """Yield one hazard for a device above the limit."""
        size_bytes, limit_bytes = evidence.device.size_bytes, evidence.max_bytes
        if limit_bytes and size_bytes > limit_bytes:
            reason = f"has {format_bytes(size_bytes)}, and {format_bytes(limit_bytes)} are the limit"
            yield self.hazard(evidence.device.path, reason, "Choose a smaller device, or a partition of it.")


# Refused: something is built on the device.

_NOT_BELOW = frozenset({Role.SELF, Role.INSIDE, Role.DISK, Role.UNDER})
"""What an array or a volume is made of is held by that array or volume, rightly."""


class Held(UseCheck):
    """Held by md, dm (LVM, LUKS, multipath) or bcache."""

    name = "held"
    kind = UseKind.HOLDER
    roles = _NOT_BELOW
    hint = "`lsblk DEVICE` shows what stands on it; take that apart first, if nobody needs it."


class ArrayMember(UseCheck):
    """A member of an md array, assembled or inactive."""

    name = "array-member"
    kind = UseKind.ARRAY
    roles = _NOT_BELOW
    hint = "`cat /proc/mdstat` shows the array; `mdadm --stop` frees its members, if nobody needs it."


class ActiveVolumeGroup(UseCheck):
    """A physical volume of a group with active volumes, even where none of them lies on it."""

    name = "active-volume-group"
    kind = UseKind.VOLUME_GROUP
    roles = frozenset({Role.SELF, Role.INSIDE})
    hint = "`pvs` and `lvs` show the group; `vgchange --activate n` frees it, if nobody needs it."


class UnderLoop(UseCheck):
    """What a loop device stands on, as a device or through a file on it: O_EXCL does not see that."""

    name = "under-loop"
    kind = UseKind.LOOP
    hint = "`losetup --list` shows it; `losetup --detach LOOP` frees it, if nobody needs it."


class SharedBackingFile(UseCheck):
    """Another loop device over the same file writes the same bytes."""

    name = "shared-backing-file"
    kind = UseKind.SAME_FILE
    roles = frozenset({Role.SELF, Role.UNDER, Role.BELOW, Role.DISK})
    hint = "Detach the other one: `losetup --detach LOOP`."


# Refused: the device can't be written now, or nobody can say whether it may be.


class StrangeNode(Check):
    """A device node that leads to another device than its name says."""

    name = "strange-node"
    verdict = Verdict.REFUSED

    def find(self, evidence: Evidence) -> Iterator[Hazard]:
        """Yield one hazard where the node is stale or forged."""
        if evidence.strange_node:
            hint = "`fsconsole devices` lists the true names; remove the node if nobody needs it."
            yield self.hazard(evidence.device.path, evidence.strange_node, hint)


class ReadOnly(Check):
    """The kernel refuses writes to it."""

    name = "read-only"
    verdict = Verdict.REFUSED

    def find(self, evidence: Evidence) -> Iterator[Hazard]:
        """Yield one hazard for a read-only device."""
        if evidence.device.read_only:
            hint = "A switch on the medium, or `blockdev --setrw DEVICE`, if it may be written at all."
            yield self.hazard(evidence.device.path, "is read-only", hint)


class Resyncing(Check):
    """An md array that is busy with itself: figures would be false, and a check interrupted."""

    name = "resyncing"
    verdict = Verdict.REFUSED

    def find(self, evidence: Evidence) -> Iterator[Hazard]:
        """Yield a hazard for every array, the device itself or below it, that resyncs or waits to."""
        for array in evidence.arrays:
            if array.action:
                yield self.hazard(
                    evidence.device.path,
                    _resync_words(array, evidence.device.name),
                    "It can be waited for: `cat /proc/mdstat`.",
                    waits=True,
                )


def _resync_words(array: MdArray, name: str) -> str:
    is_itself = array.name == name
    if array.progress_percent is None:
        what = "has a" if is_itself else f"has the array /dev/{array.name} with a"
        return f"{what} resync {array.action.lower()}"
    what = "is" if is_itself else f"has the array /dev/{array.name}"
    return f"{what} in {array.action}, at {array.progress_percent:.1f} %"


class InactiveArray(Check):
    """An md array that was put together but not started: it has no size, and its members are held."""

    name = "inactive-array"
    verdict = Verdict.REFUSED

    def find(self, evidence: Evidence) -> Iterator[Hazard]:
        """Yield one hazard where the device itself is such an array."""
        for array in evidence.arrays:
            if array.name == evidence.device.name and not array.active:
                hint = "`mdadm --run DEVICE` starts it if enough members are there; `cat /proc/mdstat` shows them."
                yield self.hazard(evidence.device.path, "is an inactive array", hint)


_IO_ERROR = os.strerror(errno.EIO)
_DISK_FAILS = "The disk itself can't be read: `smartctl --all DEVICE` and `dmesg` say more of its health."
_HIDDEN = "Run as root; `fsconsole doctor` shows what this system hides."


class Undetermined(Check):
    """Something that would tell a device in use from a free one could not be read: then it is not free."""

    name = "undetermined"
    verdict = Verdict.REFUSED

    def find(self, evidence: Evidence) -> Iterator[Hazard]:
        """Yield a hazard for everything that could not be determined."""
        for unread in evidence.unread:
            yield self.hazard(
                evidence.device.path,
                f"could not be proved free: {unread.source}: {unread.why}",
                _DISK_FAILS if _IO_ERROR in unread.why else _HIDDEN,
            )


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
