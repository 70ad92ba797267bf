"""The hazards of the wipe gate: one table of checks, each finding its cases in the evidence on a device."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from fsconsole.devices.evidence import Evidence, FoundSignature, Relation, Relative, UseKind
from fsconsole.model.device import Hazard, MdArray, Usage, Verdict
from fsconsole.units import format_bytes


class Case(NamedTuple):
    """One case of a hazard: reason completes "DEVICE ..."; device and hint stand for the evidence's and the check's."""

    reason: str
    device: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """A reason to refuse a device, or to ask about it. find reads nothing but the evidence."""

    name: str
    verdict: Verdict
    find: Callable[[Evidence], Iterable[Case]]


# Refused: something uses the device, or a device that shares bytes with it.

_SHARING = frozenset({Relation.SELF, Relation.INSIDE, Relation.DISK, Relation.UNDER, Relation.BELOW})
_NOT_BELOW = _SHARING - {Relation.BELOW}
"""What an array or a volume is made of is held by that array or volume, rightly."""
_OWN_CHAIN = frozenset({Relation.SELF, Relation.UNDER, Relation.BELOW})
"""That a device stands on these is no hazard to it."""

_LINKS = {
    Relation.SELF: "",
    Relation.INSIDE: "has the partition {path}, which ",
    Relation.DISK: "is a partition of {path}, which ",
    Relation.UNDER: "stands on {path}, which ",
    Relation.BELOW: "is made of {path}, which ",
    Relation.TWIN: "is the same disk as {path}, which ",
}


def _about(relative: Relative, clause: str) -> str:
    return _LINKS[relative.role].format(path=relative.path) + clause


def _used(name: str, kind: UseKind, roles: frozenset[Relation] = _SHARING) -> Check:
    """Return the check that refuses a device for the uses of one kind on its relatives in these roles."""

    def find(evidence: Evidence) -> Iterator[Case]:
        uses = [use for use in evidence.uses if use.kind is kind]
        if not uses:
            return
        own = {relative.number for relative in evidence.relatives if relative.role in _OWN_CHAIN}
        by_number = {relative.number: relative for relative in evidence.relatives if relative.role in roles}
        for use in uses:
            if use.number in by_number and use.by not in own:
                yield Case(_about(by_number[use.number], use.clause))

    return Check(name, Verdict.REFUSED, find)


# Refused: the disk is one that the machine or the run lives on, or one in use by another path.


def _system_disk(evidence: Evidence) -> Iterator[Case]:
    numbers = {relative.number for relative in evidence.relatives if relative.role is not Relation.TWIN}
    for place in dict.fromkeys(place.place for place in evidence.system_places if place.numbers & numbers):
        yield Case(f"is on the disk that holds {place}")


def _second_path(evidence: Evidence) -> Iterator[Case]:
    twins = {relative.number: relative for relative in evidence.relatives if relative.role is Relation.TWIN}
    for use in evidence.uses:
        if use.number in twins:
            yield Case(_about(twins[use.number], use.clause))
    for place in evidence.system_places:
        for number in twins.keys() & place.numbers:
            hint = "Nothing on that disk is ever wiped, by none of its names."
            yield Case(_about(twins[number], f"holds {place.place}"), hint=hint)


# Refused: the device can't be written now, has the wrong size, or could not be looked at.


def _states(evidence: Evidence, name: str) -> Iterator[str]:
    """Yield the device's own state under a check's name."""
    device, size = evidence.device, format_bytes(evidence.device.size_bytes)
    if name == "strange-node" and evidence.strange_node:
        yield evidence.strange_node
    elif name == "read-only" and device.read_only:
        yield "is read-only"
    elif name == TOO_SMALL and device.size_bytes < max(evidence.min_bytes, 1):
        yield f"has {size}, and {format_bytes(max(evidence.min_bytes, 1))} are needed"
    elif name == "too-large" and 0 < evidence.max_bytes < device.size_bytes:
        yield f"has {size}, and {format_bytes(evidence.max_bytes)} are the limit"
    elif name == "inactive-array":
        yield from ("is an inactive array" for a in evidence.arrays if a.name == device.name and not a.active)
    elif name == RESYNCING:
        yield from (_resync_words(array, device.name) for array in evidence.arrays if array.action)


def _state(name: str) -> Check:
    return Check(name, Verdict.REFUSED, lambda evidence: map(Case, _states(evidence, name)))


def _resync_words(array: MdArray, name: str) -> str:
    is_itself = array.name == name
    if array.progress_percent is None:
        what = "has a" if is_itself else f"has the array /dev/{array.name} with a"
        return f"{what} resync {array.action.lower()}"
    what = "is" if is_itself else f"has the array /dev/{array.name}"
    return f"{what} in {array.action}, at {array.progress_percent:.1f} %"


_IO_ERROR = os.strerror(errno.EIO)
_DISK_FAILS = "The disk itself can't be read: `smartctl --all DEVICE` and `dmesg` say more of its health."


def _undetermined(evidence: Evidence) -> Iterator[Case]:
    for unread in evidence.unread:
        hint = _DISK_FAILS if _IO_ERROR in unread.why else ""
        yield Case(f"could not be proved free: {unread.source}: {unread.why}", hint=hint)


# Asked about: what is on the device and would be lost, and processes that hide what they have open.

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


def _signed(name: str, usage: Usage) -> Check:
    """Return the check that asks about the signatures of one usage, on the device and on its partitions."""
    return Check(
        name,
        Verdict.ASKED,
        lambda evidence: (
            Case(f"holds {signature_words(found)}", found.device.path)
            for found in evidence.signatures
            if found.signature.usage is usage
        ),
    )


def _partition(evidence: Evidence) -> Iterator[Case]:
    for partition in evidence.partitions:
        size, start = format_bytes(partition.size_bytes), partition.partition_start_bytes
        yield Case(f"has the partition {partition.path} of {size} at byte {start}")


def _data(evidence: Evidence) -> Iterator[Case]:
    """Yield data without a signature too: plain dm-crypt, a raw database."""
    content = evidence.content
    if content is not None and content.blocks_nonzero:
        yield Case(
            f"holds data: {content.blocks_nonzero} of {content.blocks_read} sampled blocks are not zero"
        )


def _hidden_process(evidence: Evidence) -> Iterator[Case]:
    for process in evidence.hidden_processes:
        yield Case(f"may be open in process {process}, which does not show what it has open")


MOUNTED, MOUNTED_BTRFS, LOCKED, TOO_SMALL, RESYNCING = (
    "mounted",
    "mounted-btrfs",
    "locked",
    "too-small",
    "resyncing",
)
PARTITION, DATA, HIDDEN_PROCESS = "partition", "data", "hidden-process"

_OF_SIGNATURES = (
    _signed("filesystem", Usage.FILESYSTEM),
    _signed("raid-signature", Usage.RAID),
    _signed("encryption", Usage.CRYPTO),
    _signed("other-signature", Usage.OTHER),
)
CONTENT_CHECKS = frozenset({check.name for check in _OF_SIGNATURES} | {"partition-table", PARTITION, DATA})
"""Names of the checks of what is on a device."""

ALL_CHECKS: tuple[Check, ...] = (
    _state("strange-node"),
    _used(MOUNTED, UseKind.MOUNT),
    # Of the devices of a mounted btrfs the mount table names one only.
    _used(MOUNTED_BTRFS, UseKind.BTRFS),
    _used("swap", UseKind.SWAP),
    Check("system-disk", Verdict.REFUSED, _system_disk),
    _used("held", UseKind.HOLDER, _NOT_BELOW),
    _used("array-member", UseKind.ARRAY, _NOT_BELOW),
    # Even where none of the group's active volumes lies on it.
    _used("active-volume-group", UseKind.VOLUME_GROUP, frozenset({Relation.SELF, Relation.INSIDE})),
    # A loop over the device or over a file on it; O_EXCL does not see that.
    _used("under-loop", UseKind.LOOP),
    _used("shared-backing-file", UseKind.SAME_FILE, _SHARING - {Relation.INSIDE}),
    Check("second-path", Verdict.REFUSED, _second_path),
    _used("exported", UseKind.EXPORT),
    _used("reserved", UseKind.RESERVED),
    _used(LOCKED, UseKind.LOCKED),
    _used("open-elsewhere", UseKind.OPEN),
    # O_EXCL says EBUSY (man 2 open): mounted in some mount namespace, or claimed by a driver or a program.
    _used("busy", UseKind.BUSY, frozenset({Relation.SELF, Relation.UNDER})),
    _state(RESYNCING),
    _state("inactive-array"),
    _state("read-only"),
    _state(TOO_SMALL),
    _state("too-large"),
    # What can't be told from a device in use is not free.
    Check("undetermined", Verdict.REFUSED, _undetermined),
    _signed("partition-table", Usage.PARTITION_TABLE),
    Check(PARTITION, Verdict.ASKED, _partition),
    *_OF_SIGNATURES,
    Check(DATA, Verdict.ASKED, _data),
    Check(HIDDEN_PROCESS, Verdict.ASKED, _hidden_process),
)
"""In the order in which they are told: what says most about a device comes first."""

_HINTS = {
    "strange-node": "`fsconsole devices` lists the true names; remove the node if nobody needs it.",
    MOUNTED: "If nobody needs what is on it, unmount it: `umount DEVICE`; `findmnt` shows where it is.",
    MOUNTED_BTRFS: "`btrfs filesystem show` lists its devices; unmount it, if nobody needs what is on it.",
    "swap": "`swapoff DEVICE` frees it, where there is memory enough.",
    "system-disk": "Nothing on that disk is ever wiped; choose another disk, or `fsconsole scratch create`.",
    "held": "`lsblk DEVICE` shows what stands on it; take that apart first, if nobody needs it.",
    "array-member": "`cat /proc/mdstat` shows the array; `mdadm --stop` frees its members, if nobody needs it.",
    "active-volume-group": "`pvs` and `lvs` show the group; `vgchange --activate n` frees it, if nobody needs it.",
    "under-loop": "`losetup --list` shows it; `losetup --detach LOOP` frees it, if nobody needs it.",
    "shared-backing-file": "Detach the other one: `losetup --detach LOOP`.",
    "second-path": "Two names with one WWN or serial number are one disk: `lsblk -o NAME,WWN,SERIAL`.",
    "exported": "Remove the export first (nvmetcli, targetcli), if no other machine needs it.",
    "reserved": "`sg_persist --in --read-reservation DEVICE` shows the holder; ask whoever runs that cluster.",
    LOCKED: "`fsconsole runs` shows living runs; wait, or stop the other one with `fsconsole stop`.",
    "open-elsewhere": "`fuser --verbose DEVICE` shows the process; end it, if nobody needs it.",
    "busy": "`lsblk DEVICE`, `fuser --verbose DEVICE` and `lsns --type mnt` help to find who it is; what was "
    "unmounted during a run's load stays busy until that load ends.",
    RESYNCING: "It can be waited for: `cat /proc/mdstat`.",
    "inactive-array": "`mdadm --run DEVICE` starts it if enough members are there; `cat /proc/mdstat` shows them.",
    "read-only": "A switch on the medium, or `blockdev --setrw DEVICE`, if it may be written at all.",
    TOO_SMALL: 'Choose a larger device, smaller files, or `scale = "fit"` in the plan.',
    "too-large": "Choose a smaller device, or a partition of it.",
    "undetermined": "Run as root; `fsconsole doctor` shows what this system hides.",
    "partition-table": "`fdisk --list DEVICE` shows the partitions that would be lost.",
    PARTITION: "`fdisk --list DEVICE` shows the partitions.",
    "filesystem": "Mount it read-only to see what is on it: `mount -o ro DEVICE /mnt`.",
    "raid-signature": "`mdadm --examine DEVICE` or `pvs` shows what it belongs to.",
    # A lost header loses the data, passphrase or not.
    "encryption": "`cryptsetup luksDump DEVICE` shows the header.",
    "other-signature": "`wipefs DEVICE` lists the signatures.",
    DATA: "A new disk reads as zeros, and so does one after `blkdiscard` or zeroing.",
    HIDDEN_PROCESS: "`ps` tells what the process is.",
}


def find_hazards(evidence: Evidence) -> tuple[Hazard, ...]:
    """Return the hazards of all checks, each once."""
    hazards: dict[Hazard, None] = {}
    for check in ALL_CHECKS:
        for case in check.find(evidence):
            device, hint = case.device or evidence.device.path, case.hint or _HINTS[check.name]
            hazard = Hazard(
                check.name, check.verdict, device, case.reason, hint, waits=check.name == RESYNCING
            )
            hazards[hazard] = None
    return tuple(hazards)


def is_refused(evidence: Evidence) -> bool:
    """Return whether any check refuses the device."""
    return any(check.verdict is Verdict.REFUSED and any(check.find(evidence)) for check in ALL_CHECKS)
