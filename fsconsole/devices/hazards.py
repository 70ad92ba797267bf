"""The hazards of the wipe gate: one table of checks, and their cases in the evidence on a device."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from typing import NamedTuple

from fsconsole.devices.evidence import RUN_FOLDER, SYSTEM_DISKS, Evidence, FoundSignature, Relation, UseKind
from fsconsole.devices.fingerprint import left_digest
from fsconsole.model.device import SHARED, Hazard, MdArray, Usage, Verdict
from fsconsole.system.processes import INIT_PID
from fsconsole.units import format_bytes

TOO_SMALL, RESYNCING = "too-small", "resyncing"
PARTITION, DATA, SCRATCH_KEPT = "partition", "data", "scratch-kept"
HIDDEN_PROCESS, HIDDEN_INIT = "hidden-process", "hidden-init"
NAMED, FILE_ALIAS, SYSTEM = "named", "file-alias", "system-disk"
_OF_USAGE = {
    Usage.FILESYSTEM: "filesystem",
    Usage.RAID: "raid-signature",
    Usage.CRYPTO: "encryption",
    Usage.OTHER: "other-signature",
    Usage.PARTITION_TABLE: "partition-table",
}
CONTENT_CHECKS = frozenset(_OF_USAGE.values()) | {PARTITION, DATA}
"""Names of the checks of what is on a device."""
ASKED_OF_SCRATCH = frozenset({SCRATCH_KEPT, FILE_ALIAS})
"""Names of the checks by which even a scratch device needs consent: it may hold, or be, what somebody keeps."""
QUESTIONS = (
    CONTENT_CHECKS
    | {
        RESYNCING,
        HIDDEN_PROCESS,
        HIDDEN_INIT,
        SHARED,
        NAMED,
        "btrfs-member",
        "hidden-system",
        "blank-twin",
        "uncounted",
    }
    | ASKED_OF_SCRATCH
)
"""Checks that ask; all others refuse."""
CONTENT_QUESTIONS = CONTENT_CHECKS | {SCRATCH_KEPT, "btrfs-member"}
"""Questions about what is on a device: who agrees to lose that has answered them."""
USE_QUESTIONS = QUESTIONS - CONTENT_QUESTIONS - {RESYNCING, SHARED, HIDDEN_INIT, "uncounted"}
"""Questions that leave it open whether something uses the device, now or later."""

_SCRATCH = "`fsconsole scratch create --size 4GiB` makes a scratch device, which harms no disk"

HINTS = {
    "strange-node": "`fsconsole devices` lists the true names; remove the node if nobody needs it.",
    SYSTEM: f"{_SCRATCH}; or choose another disk. Of this one only a free partition of type Linux, or a linear or "
    "striped LVM volume, with a filesystem or nothing on it, can be wiped.",
    "mounted": "If nobody needs what is on it, unmount it: `umount DEVICE`; `findmnt` shows where it is.",
    "mounted-btrfs": "`btrfs filesystem show` lists its devices; unmount it, if nobody needs what is on it.",
    "swap": "`swapoff DEVICE` frees it, where there is memory enough.",
    "held": "`lsblk DEVICE` shows what stands on it; take that apart first, if nobody needs it.",
    "array-member": "`cat /proc/mdstat` shows the array; `mdadm --stop` frees its members, if nobody needs it.",
    "active-volume-group": "`pvs` and `lvs` show the group; `vgchange --activate n` frees it, if nobody needs it.",
    "under-loop": "`losetup --list` shows it; `losetup --detach LOOP` frees it, if nobody needs it.",
    "shared-backing-file": "Detach the other one: `losetup --detach LOOP`.",
    "second-path": "Two names with one WWN or serial number are one disk: `lsblk -o NAME,WWN,SERIAL`.",
    "exported": "Remove the export first (nvmetcli, targetcli), if no other machine needs it.",
    "reserved": "`sg_persist --in --read-reservation DEVICE` shows the holder; ask whoever runs that cluster.",
    "locked": "`fsconsole runs` shows living runs; wait, or stop the other one with `fsconsole stop`.",
    "open-elsewhere": "`fuser --verbose DEVICE` shows the process; end it, if nobody needs it.",
    "busy": "If a process is named: `nsenter --mount --target PID umount PLACE`, if nobody needs what is on it. Else "
    "`lsblk DEVICE` and `fuser --verbose DEVICE` help; what was unmounted during a run's load stays busy until that ends.",
    RESYNCING: "Wait for it, `mdadm --wait DEVICE`, or go on: each cell's figures are labelled.",
    "inactive-array": "`mdadm --run DEVICE` starts it if enough members are there; `cat /proc/mdstat` shows them.",
    "read-only": "A switch on the medium, or `blockdev --setrw DEVICE`, if it may be written at all.",
    TOO_SMALL: 'Choose a larger device, or in the plan smaller files, `scale = "fit"`, or of a copy a smaller `at_most`.',
    "too-large": "Choose a smaller device, or a partition of it.",
    "undetermined": "Run as root; `fsconsole doctor` shows what this system hides.",
    FILE_ALIAS: "On overlay, FUSE and network filesystems a file has more than one name: `losetup --list` and `findmnt` "
    "show the other one; agree only if you know that it is another file.",
    SHARED: "The system disturbs its figures: better choose a disk of its own. Nothing else on that disk is wiped.",
    NAMED: "Something expects it later; remove it from that file too, if nobody needs what is on it.",
    "partition-table": "`fdisk --list DEVICE` shows the partitions that would be lost.",
    PARTITION: "`fdisk --list DEVICE` shows the partitions.",
    "filesystem": "Mount it read-only to see what is on it: `mount -o ro DEVICE /mnt`.",
    "btrfs-member": "`btrfs filesystem show DEVICE` lists the others; without it they may not mount any more.",
    "raid-signature": "`mdadm --examine DEVICE` or `pvs` shows what it belongs to.",
    # A lost header loses the data, passphrase or not.
    "encryption": "`cryptsetup luksDump DEVICE` shows the header.",
    "other-signature": "`wipefs DEVICE` lists the signatures.",
    SCRATCH_KEPT: "`fsconsole scratch remove` deletes it, if nobody needs what is on it.",
    DATA: "A new disk reads as zeros, and so does one after `blkdiscard` or zeroing.",
    "hidden-system": "Nothing has claimed it. `zpool status`, `findmnt /` and `lsblk` show what the system stands on.",
    "blank-twin": "`lsblk -o NAME,SIZE,SERIAL,HCTL` and the slot's light tell them apart; unplug the other one.",
    "uncounted": "`echo 1 > /sys/block/NAME/queue/iostats` turns the kernel's count on, but not that of linear arrays.",
    HIDDEN_PROCESS: "`ps` shows what it is; in a container, run `fuser --verbose DEVICE` on the host before you agree.",
    HIDDEN_INIT: "A security module hides it. Init starts services and opens no disks for itself.",
}
"""Every check with its hint, in the order in which they are told: what says most comes first. DEVICE is what it is about."""
_ORDER = {check: place for place, check in enumerate(HINTS)}
_RELEASING = frozenset(kind.value for kind in UseKind if kind not in (UseKind.LOCKED, UseKind.RESERVED)) | {NAMED}
"""Checks whose hints say how to release a device: never said of what the running system may use."""
_RUNS_HINT = f"Keep runs on another disk (--runs DIRECTORY); or {_SCRATCH}."
_UNKNOWN_HINT = (
    f"It may hold the running system, whose disks can't be determined here. {_SCRATCH}; or choose another disk."
)


class Case(NamedTuple):
    """One case of a check: reason completes "DEVICE ..."; device and hint stand for the evidence's and the check's."""

    check: str
    reason: str
    device: str = ""
    hint: str = ""


def find_hazards(evidence: Evidence) -> tuple[Hazard, ...]:
    """Return the hazards of all checks, each once."""
    cases = [*_refusals(evidence), *_questions(evidence)]
    if evidence.is_shared:
        cases.append(Case(SHARED, f"is on a disk shared with {evidence.shares_with}"))
    cases = list(_without_release(evidence, cases))
    hazards = (
        Hazard(
            case.check,
            Verdict.ASKED if case.check in QUESTIONS else Verdict.REFUSED,
            case.device or evidence.device.path,
            case.reason,
            (case.hint or HINTS[case.check]).replace("DEVICE", case.device or evidence.device.path),
            waits=case.check == RESYNCING,
        )
        for case in sorted(cases, key=lambda case: _ORDER[case.check])
    )
    return tuple(dict.fromkeys(hazards))


def _without_release(evidence: Evidence, cases: list[Case]) -> Iterator[Case]:
    """Yield the cases; of what the running system may use, without hints to unmount it, swap it off or take it apart."""
    is_unknown = bool(evidence.hidden_places) or any(unread.source == SYSTEM_DISKS for unread in evidence.unread)
    hint = _UNKNOWN_HINT if is_unknown else ""
    if evidence.shares_with:
        hint = _system_hint(evidence.shares_with)
    elif any(case.check == SYSTEM for case in cases):
        hint = HINTS[SYSTEM]
    yield from (case._replace(hint=hint) if hint and case.check in _RELEASING else case for case in cases)


def _system_hint(places: str) -> str:
    return _RUNS_HINT if places == RUN_FOLDER else HINTS[SYSTEM]


def is_refused(evidence: Evidence) -> bool:
    """Return whether any check refuses the device."""
    return next(_refusals(evidence), None) is not None


_SHARING = frozenset({Relation.SELF, Relation.INSIDE, Relation.DISK, Relation.UNDER, Relation.BELOW})
_NOT_BELOW = _SHARING - {Relation.BELOW}
"""Holders that are right: an array or a volume holds what it is made of."""
_OWN_CHAIN = frozenset({Relation.SELF, Relation.UNDER, Relation.BELOW})
"""Layers below a device that are no hazard to it."""
_ROLES = {
    UseKind.HOLDER: _NOT_BELOW,
    UseKind.ARRAY: _NOT_BELOW,
    UseKind.VOLUME_GROUP: frozenset({Relation.SELF, Relation.INSIDE}),
    UseKind.SAME_FILE: _SHARING - {Relation.INSIDE},
    UseKind.BUSY: frozenset({Relation.SELF, Relation.UNDER}),
}
"""Relatives of which a use refuses the device; for other kinds all that share bytes with it."""

_LINKS = {
    Relation.SELF: "",
    Relation.INSIDE: "has the partition {path}, which ",
    Relation.DISK: "is a partition of {path}, which ",
    Relation.UNDER: "stands on {path}, which ",
    Relation.BELOW: "is made of {path}, which ",
    Relation.TWIN: "is the same disk as {path}, which ",
}

_IO_ERROR = os.strerror(errno.EIO)
_DISK_FAILS = "The disk itself can't be read: `smartctl --all DEVICE` and `dmesg` say more of its health."


def _refusals(evidence: Evidence) -> Iterator[Case]:
    """Yield what uses the device or one that shares bytes with it, disks of the system, and why it can't be written now."""
    relatives = {relative.number: relative for relative in evidence.relatives}
    own = {number for number, relative in relatives.items() if relative.role in _OWN_CHAIN}
    for use in evidence.uses:
        if (relative := relatives.get(use.number)) is not None:
            reason = _LINKS[relative.role].format(path=relative.path) + use.clause
            if relative.role is Relation.TWIN:
                yield Case("second-path", reason)
            elif relative.role in _ROLES.get(use.kind, _SHARING) and use.by not in own:
                hint = HINTS[use.kind.value].replace("DEVICE", relative.path)
                yield Case(use.kind.value, reason, hint=hint)
    yield from _of_system(evidence)
    for array in evidence.arrays:
        if array.name == evidence.device.name and not array.active:
            yield Case("inactive-array", "is an inactive array")
    yield from _state(evidence)
    for unread in evidence.unread:
        hint = _DISK_FAILS if _IO_ERROR in unread.why else ""
        yield Case("undetermined", f"could not be proved free: {unread.source}: {unread.why}", hint=hint)


HOLDS_SYSTEM = "holds the running system; never wiped"


def _of_system(evidence: Evidence) -> Iterator[Case]:
    """Yield what binds a device to the system, where they are on one disk or the system has mounted it."""
    related = {relative.number for relative in evidence.relatives if relative.role in _SHARING}
    if any(use.is_system and use.number in related for use in evidence.uses):
        yield Case(SYSTEM, HOLDS_SYSTEM)
    for place in evidence.system_places:
        for relative in (relative for relative in evidence.relatives if relative.number in place.numbers):
            if relative.role is Relation.TWIN:
                reason = _LINKS[relative.role].format(path=relative.path) + f"holds {place.place}"
                hint = "Nothing on that disk is ever wiped, by none of its names."
                yield Case("second-path", reason, hint=hint)
            elif evidence.bound:
                reason = f"is on the disk that holds {place.place} and {evidence.bound}"
                if relative.role is Relation.SELF:
                    reason = f"holds {RUN_FOLDER}" if place.place == RUN_FOLDER else HOLDS_SYSTEM
                yield Case(SYSTEM, reason, hint=_system_hint(evidence.shares_with))


def _state(evidence: Evidence) -> Iterator[Case]:
    device, size = evidence.device, format_bytes(evidence.device.size_bytes)
    least_bytes = max(evidence.min_bytes, 1)
    if evidence.strange_node:
        yield Case("strange-node", evidence.strange_node)
    if device.read_only:
        yield Case("read-only", "is read-only")
    if device.size_bytes < least_bytes:
        yield Case(TOO_SMALL, f"has {size}, and {format_bytes(least_bytes)} are needed")
    if 0 < evidence.max_bytes < device.size_bytes:
        yield Case("too-large", f"has {size}, and {format_bytes(evidence.max_bytes)} are the limit")


def _resync_words(array: MdArray, name: str) -> str:
    # Not how far it is: the consent code covers these words.
    is_itself = array.name == name
    if array.progress_percent is None:
        what = "has a" if is_itself else f"has the array /dev/{array.name} with a"
        return f"{what} resync {array.action.lower()}"
    what = "is" if is_itself else f"has the array /dev/{array.name}"
    return f"{what} in {array.action}"


def _questions(evidence: Evidence) -> Iterator[Case]:
    """Yield what is on the device and would be lost, and processes that hide what they have open."""
    for found in evidence.signatures:
        yield Case(_OF_USAGE[found.signature.usage], f"holds {signature_words(found)}", found.device.path)
    for placed in evidence.placed:
        count = [mark for mark in placed.marks if mark.startswith("devices ") and mark != "devices 1"]
        if placed.signature.type == "btrfs" and count:
            yield Case("btrfs-member", f"is one of {count[0].split()[1]} devices of a btrfs")
    for partition in evidence.partitions:
        size, start = format_bytes(partition.size_bytes), partition.partition_start_bytes
        yield Case(PARTITION, f"has the partition {partition.path} of {size} at byte {start}")
    yield from (Case(NAMED, f"is named in {path}") for path in evidence.named_in)
    alias = "stands on a file that may be, by another name, the one that {}"
    yield from (Case(FILE_ALIAS, alias.format(clause)) for clause in evidence.file_doubts)
    if why := _kept(evidence):
        yield Case(SCRATCH_KEPT, f"is a scratch device, but {why}")
    content = evidence.content
    # Data without a signature too: plain dm-crypt, a raw database.
    if content is not None and content.blocks_nonzero:
        counts = f"{content.blocks_nonzero} of {content.blocks_read} sampled blocks"
        yield Case(DATA, f"holds data: {counts} are not zero")
    for array in evidence.arrays:
        if array.action:
            yield Case(RESYNCING, _resync_words(array, evidence.device.name))
    for why in evidence.hidden_places:
        yield Case("hidden-system", f"may be part of what this machine runs from: {why}")
    for path in evidence.blank_twins:
        yield Case("blank-twin", f"may be the same disk as {path}: one size and serial number, and both are blank")
    if evidence.is_uncounted:
        yield Case("uncounted", "has no count of writes, so that one before the start may go unnoticed")
    # The file of a scratch device was made by fsconsole for itself: there is nothing to look at.
    for process in () if evidence.device.is_scratch else evidence.hidden_processes:
        check = HIDDEN_INIT if process.pid == INIT_PID else HIDDEN_PROCESS
        yield Case(check, f"may be open in {process.label}, which does not show what it has open")


def _kept(evidence: Evidence) -> str:
    """Return why a scratch device may hold what somebody keeps there, as a clause; empty where it doesn't."""
    loop, content = evidence.device.loop, evidence.content
    if loop is None or not loop.scratch_id or content is None:
        return ""
    if not loop.is_in_place:
        return "its file was renamed or moved since it was made"
    if not loop.is_recorded:
        return "this machine has no record of how fsconsole left it"
    is_blank = not (content.blocks_nonzero or evidence.signatures or evidence.partitions)
    is_left = loop.left == left_digest(evidence.placed, content.digest)
    if not (is_blank or is_left):
        return "it holds what no run of fsconsole left there"
    return f"it was written to since {'a run left it' if loop.left else 'it was made'}" * loop.is_written


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
