"""Values of the wipe gate: its context, and the evidence on one device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from fsconsole.model.command import Executor
from fsconsole.model.device import ContentSample, Device, MdArray, PlacedSignature, Signature, WriteMark


@dataclass(frozen=True, slots=True)
class GateContext:
    """Facts that the gate needs beside the device's path."""

    executor: Executor
    runs_dir: str
    """Folder of runs: its disk is never wiped."""
    marks: Mapping[str, tuple[WriteMark, ...]]
    """Write marks of each filesystem (Catalog.marks)."""
    min_bytes: int = 0
    max_bytes: int = 0
    """0: no upper limit."""
    holds_lock: bool = False
    """True while this run holds the lock of claims.lock_disks()."""
    content_is_ours: bool = False
    """True once this run has begun to write on the device: what is sampled from then on is its own."""


class Relation(str, Enum):
    """Relations of another block device to the bytes of the device that is asked about."""

    SELF = "self"
    INSIDE = "inside"
    """A partition of it (or of the device under a loop)."""
    DISK = "disk"
    """The whole disk that it is a partition of; other partitions of that disk may well be in use."""
    UNDER = "under"
    """The block device that it is a loop over; anything that uses that one uses the same bytes."""
    BELOW = "below"
    """Devices that md or dm made it of, down to whole disks; md and dm rightly hold those."""
    TWIN = "twin"
    """Another path to one of its disks, or a partition on that path."""


class Relative(NamedTuple):
    """One device in one role. number is makedev(major, minor)."""

    number: int
    path: str
    role: Relation


class UseKind(str, Enum):
    """The ways in which a block device can be claimed by something; the values name the checks that refuse it."""

    MOUNT = "mounted"
    BTRFS = "mounted-btrfs"
    """Of the devices of a mounted btrfs the mount table names one only."""
    SWAP = "swap"
    HOLDER = "held"
    ARRAY = "array-member"
    VOLUME_GROUP = "active-volume-group"
    """Even where none of the group's active volumes lies on the device."""
    LOOP = "under-loop"
    """A loop over the device or over a file on it; O_EXCL does not see that."""
    SAME_FILE = "shared-backing-file"
    EXPORT = "exported"
    RESERVED = "reserved"
    LOCKED = "locked"
    OPEN = "open-elsewhere"
    BUSY = "busy"
    """O_EXCL says EBUSY (man 2 open): mounted in some mount namespace, or claimed by a driver or a program."""


class Use(NamedTuple):
    """One claim on the device of that number; clause completes "/dev/sdb ...": "is mounted on /srv"."""

    kind: UseKind
    number: int
    clause: str
    by: int = 0
    """The number of the device that claims it (a loop over it); 0 where no device does."""
    is_system: bool = False
    """True for a mount that the running system needs, such as /usr, on whichever disk."""


class HiddenProcess(NamedTuple):
    """A process whose descriptors cannot be read. pid is 0 for all those outside of this container."""

    pid: int
    label: str
    """"process 1 (init)"."""


class SystemPlace(NamedTuple):
    """A folder that the machine or the run lives in, with every device from its filesystem down to the disks."""

    place: str
    numbers: frozenset[int]


class FoundSignature(NamedTuple):
    """A signature with the device that it was found on: the one asked about, or a partition of it."""

    device: Device
    signature: Signature


class Unread(NamedTuple):
    """Something that could not be determined: source names it, why says what was in the way."""

    source: str
    why: str


SYSTEM_DISKS = "the disks of /, /boot and the run folder"
"""Source of an Unread: where the running system lies could not be determined."""
RUN_FOLDER = "the run folder"
"""A SystemPlace that the running system does not need."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that the checks decide over; what is empty here was looked at and found empty.

    A source that could not be read stands in unread, never as an empty value.
    """

    device: Device
    relatives: tuple[Relative, ...]
    partitions: tuple[Device, ...] = ()
    uses: tuple[Use, ...] = ()
    system_places: tuple[SystemPlace, ...] = ()
    bound: str = "was not told apart from it"
    """Why a device on a disk of the system may be part of it, as a clause; empty where it shares the disk alone."""
    hidden_places: tuple[str, ...] = ()
    """Why it can't be told which disks the running system stands on, as clauses."""
    arrays: tuple[MdArray, ...] = ()
    """md arrays that are the device or lie below it."""
    signatures: tuple[FoundSignature, ...] = ()
    content: ContentSample | None = None
    """None where content was not asked about: refused before, or this run's own by now."""
    placed: tuple[PlacedSignature, ...] = ()
    """The same signatures with write marks; read together with the content."""
    blank_twins: tuple[str, ...] = ()
    """Disks of the same size and serial number (or WWN) that are as blank as its own."""
    file_doubts: tuple[str, ...] = ()
    """Uses of files that may be the one below a loop device, as clauses: "is mounted on /srv (erofs)"."""
    named_in: tuple[str, ...] = ()
    """Files such as /etc/fstab that name the device or a partition of it, though nothing uses it now."""
    is_uncounted: bool = False
    """True where the kernel counts no writes to it, or somebody keeps it too busy to read the count."""
    hidden_processes: tuple[HiddenProcess, ...] = ()
    """Processes that show their descriptors to nobody, not even to CAP_SYS_PTRACE."""
    min_bytes: int = 0
    max_bytes: int = 0
    """0: no upper limit."""
    strange_node: str = ""
    """A clause, where the device node does not lead to the device of its name."""
    unread: tuple[Unread, ...] = ()

    @property
    def shares_with(self) -> str:
        """The places of the system on the device's disks, in words; empty where there are none."""
        own = {relative.number for relative in self.relatives if relative.role is not Relation.TWIN}
        return " and ".join(dict.fromkeys(place.place for place in self.system_places if place.numbers & own))

    @property
    def is_shared(self) -> bool:
        """True for a part of a disk of the system that is apart from the system itself."""
        return not self.bound and bool(self.shares_with)
