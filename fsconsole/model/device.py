"""Block devices as the kernel shows them, what is written on them, and who they are."""

from __future__ import annotations

from enum import Enum
from typing import Literal

from fsconsole.model.wire import Wire


class DeviceKind(str, Enum):
    """Kinds of block devices; the values are printed."""

    DISK = "disk"
    PARTITION = "partition"
    MD = "md"
    DM = "dm"
    LOOP = "loop"
    OTHER = "other"


class Usage(str, Enum):
    """Uses of a device by its signature (blkid's USAGE)."""

    FILESYSTEM = "filesystem"
    PARTITION_TABLE = "partition-table"
    RAID = "raid"
    CRYPTO = "crypto"
    OTHER = "other"


class Signature(Wire, frozen=True):
    """One magic string found on a device by a fresh low-level probe (man 8 wipefs)."""

    type: str
    usage: Usage
    offset_bytes: int
    label: str = ""
    uuid: str = ""


class ContentSample(Wire, frozen=True):
    """Blocks spread over a device and read: no signature is not empty."""

    blocks_read: int
    blocks_nonzero: int
    digest: str
    """sha256 over the sampled blocks, hexadecimal: changes when what is there changes."""


class LoopBacking(Wire, frozen=True):
    """The file below a loop device (LOOP_GET_STATUS64, man 4 loop)."""

    path: str
    file_device: int
    inode: int
    direct_io: bool
    autoclear: bool
    offset_bytes: int = 0
    limit_bytes: int = 0
    """0: to the end of the file."""
    scratch_id: str = ""
    """The marker that fsconsole put on the file it made; empty on anybody else's."""
    purpose: str = ""
    """Purpose of the device, such as the name of its run."""
    made_ns: int = 0
    """When it was made; 0 where its filesystem doesn't tell."""
    is_in_place: bool = True
    """False where a scratch file has another name or place than it was made with."""
    is_recorded: bool = False
    """True if this machine has a record of how fsconsole left a scratch file."""
    left: str = ""
    """A digest of what a run left on it, by that record; empty while none has been there."""
    is_written: bool = False
    """True if it was written to since then, or since it was made."""
    device_number: int = 0
    """st_rdev where it stands on a block device instead of a file; 0 for a file."""


class MdMember(Wire, frozen=True):
    """One device of an md array with its slot, and its flags as mdstat prints them (F, S, W, R, J)."""

    name: str
    slot: int
    flags: str = ""


class MdArray(Wire, frozen=True):
    """An md array as /proc/mdstat shows it (Documentation/admin-guide/md.rst)."""

    name: str
    active: bool
    read_only: bool
    level: str
    """"linear", "raid0" ... "raid10"; empty for an inactive array."""
    members: tuple[MdMember, ...]
    size_bytes: int
    chunk_bytes: int = 0
    slots: str = ""
    """The health string between brackets, "UU_U"; empty for levels without redundancy."""
    degraded: int = 0
    action: str = ""
    """"resync", "recovery", "reshape", "check"; "PENDING" or "DELAYED" where it waits; empty when idle."""
    progress_percent: float | None = None
    finish_min: float | None = None
    speed_bytes_s: float | None = None
    bitmap: str = ""
    metadata: str = ""
    """"1.2", "external:imsm", "non-persistent"; empty for 0.90, which mdstat does not print."""
    near_copies: int = 0
    """Of raid10: copies side by side, "2 near-copies"; 0 where all are far or offset ones, and for other levels."""


class MountUse(Wire, frozen=True):
    """A place where a device is mounted, and in whose mount table that stands."""

    mount_point: str
    filesystem: str
    seen_in: str
    """"self", "init" (/proc/1/mountinfo), or "btrfs": /sys/fs/btrfs says it is mounted, no visible table where,
    and mount_point is empty."""


class Identity(Wire, frozen=True):
    """Who a device is. Within one boot every field must agree; across boots stable_key() must.

    device_number is makedev(major, minor); diskseq counts devices since boot (0 where the kernel has none).
    """

    name: str
    boot_id: str
    device_number: int
    size_bytes: int
    diskseq: int = 0
    wwn: str = ""
    serial: str = ""
    partition_start_bytes: int = 0
    partition_uuid: str = ""
    dm_uuid: str = ""
    dm_table: str = ""
    backing_device: int = 0
    backing_inode: int = 0
    backing_offset_bytes: int = 0
    backing_limit_bytes: int = 0
    scratch_id: str = ""

    def stable_key(self) -> tuple[str | int, ...]:
        """Return what survives a reboot and a change of name; its first field is empty where nothing does."""
        lasting = self.wwn or self.serial or self.dm_uuid or self.scratch_id
        return (lasting, self.size_bytes, self.partition_start_bytes, self.partition_uuid)


class WriteMark(Wire, frozen=True):
    """Bytes of a superblock that a mount for writing changes, from the device's start; over 8 are compared by hash."""

    name: str
    offset: int
    bytes: int
    order: Literal["little", "big"] = "little"


class PlacedSignature(Wire, frozen=True):
    """A signature on a device or on a partition of it, with its filesystem's write marks: "mount count 3"."""

    start_bytes: int
    """Of the partition; 0 on the device itself."""
    signature: Signature
    marks: tuple[str, ...] = ()


class Fingerprint(Wire, frozen=True):
    """Who a device is, what is on it, and what a write to it changes: what is compared before each wipe."""

    identity: Identity
    partitions: tuple[tuple[int, int], ...]
    """Start and size in bytes, in order."""
    signatures: tuple[PlacedSignature, ...]
    content: str
    """ContentSample.digest."""
    written: tuple[str, ...]
    """The kernel's counters of writes; of one boot only."""


class Device(Wire, frozen=True):
    """A block device with all that is known without opening it, plus signatures where they were probed."""

    name: str
    """The kernel's name, as in /sys/class/block: "sda1", "md0", "nvme0n1"."""
    path: str
    kind: DeviceKind
    major: int
    minor: int
    size_bytes: int
    read_only: bool = False
    removable: bool = False
    rotational: bool | None = None
    model: str = ""
    serial: str = ""
    wwn: str = ""
    transport: str = ""
    diskseq: int = 0
    logical_sector_bytes: int = 512
    physical_sector_bytes: int = 512
    optimal_io_bytes: int = 0
    minimum_io_bytes: int = 0
    read_ahead_bytes: int = 0
    scheduler: str = ""
    schedulers: tuple[str, ...] = ()
    write_cache: str = ""
    """"write back" or "write through" as queue/write_cache says; empty where the kernel doesn't."""
    parent: str = ""
    """The whole disk of a partition; empty otherwise."""
    partition_start_bytes: int = 0
    partition_uuid: str = ""
    holders: tuple[str, ...] = ()
    lower: tuple[str, ...] = ()
    """Devices that this one is made of: md members, dm's lower devices (sysfs slaves/)."""
    md: MdArray | None = None
    dm_name: str = ""
    dm_uuid: str = ""
    loop: LoopBacking | None = None
    mounts: tuple[MountUse, ...] = ()
    swap: bool = False
    signatures: tuple[Signature, ...] = ()

    @property
    def is_scratch(self) -> bool:
        """True for a loop device over a file that carries fsconsole's marker."""
        return self.loop is not None and self.loop.scratch_id != ""

    @property
    def is_flash(self) -> bool:
        """True for a device that doesn't turn, and is neither a loop device nor memory."""
        return self.rotational is False and self.kind not in (DeviceKind.LOOP, DeviceKind.OTHER)


# Reasons why a device must not, or should not, be wiped.


class Verdict(str, Enum):
    """Refused: never wiped. Asked: wiped only after consent to exactly what was shown."""

    REFUSED = "refused"
    ASKED = "asked"


SHARED = "shared-disk"
"""The check that asks about a part of a disk which holds the system too."""


class Hazard(Wire, frozen=True):
    """One reason, in words. check names the class that found it; what is data for scripts and tests."""

    check: str
    verdict: Verdict
    device: str
    reason: str
    """A clause that completes "DEVICE ...": "is mounted on /srv"."""
    hint: str
    waits: bool = False
    """True where waiting helps (a resync)."""
