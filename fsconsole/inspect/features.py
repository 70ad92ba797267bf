"""Effective features and mount options, read back from the filesystems' own tools and from the kernel."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from fsconsole.system.files import read_text_or
from fsconsole.system.mounts import MountEntry, mounted_at

_ROUTINE = re.compile(
    r"\s*$"
    r"|e2fsck \d|Pass \d|\S+: \d+/\d+ files \("
    r"|Phase \d|\s+- |Cannot get host filesystem geometry|Repair may fail if|the image and the host|No modify flag set"
    r"|\[\d+/\d+\] |checking |Opening filesystem|Checking filesystem|UUID: "
    r"|found \d+ bytes used|total |btree space|file data blocks| *referenced \d"
    r"|Info: |  \"|  from |    to |fsck\.jfs version|processing started|The current device|Block size in"
    r"|Filesystem size in|\*\*Phase|reiserfsck|Will (?:read-only|put log)|#+$|Replaying journal: "
    r"|ext2fs_open2: |[Uu]sage: "
)
"""Output of e2fsck, xfs_repair, btrfs check, fsck.f2fs, fsck.jfs and reiserfsck on sound filesystems."""
_MOST_CHARACTERS = 200


def first_complaint(output: str) -> str:
    """Return the first line of a check's output that is not routine; empty if all are."""
    for line in output.splitlines():
        if not _ROUTINE.match(line):
            return line.strip()[:_MOST_CHARACTERS]
    return ""


ON = "on"
"""The value of a feature or option without one."""


_UNIT = re.compile(r" (?:aggregate )?(?:bytes|blocks)$")


def _labelled(text: str, *, flags: str, values: Mapping[str, str], separator: str = ":") -> Iterator[tuple[str, str]]:
    """Yield the words behind the label of flags, and the values of the given labels by their names.

    dump.f2fs prints the bits of its flags before their names, jfs_tune writes them as JFS_LINUX.
    """
    for line in text.splitlines():
        label, found, value = line.removeprefix("Info: ").partition(separator)
        label = label.strip() if found else ""
        if label == flags:
            words = value.rpartition(":")[2].split()
            yield from ((word.removeprefix("JFS_").lower(), ON) for word in words if word != "(none)")
        elif label in values:
            yield values[label], _UNIT.sub("", value.strip())


_DUMPE2FS_VALUES: Mapping[str, str] = {
    "Default mount options": "default_mount_options",
    "Inode count": "inodes",
    "Reserved block count": "reserved_blocks",
    "Block size": "block_size",
    "Cluster size": "cluster_size",
    "Blocks per group": "blocks_per_group",
    "Inodes per group": "inodes_per_group",
    "Flex block group size": "flex_bg_size",
    "RAID stride": "stride",
    "RAID stripe width": "stripe_width",
    "Inode size": "inode_size",
    "Journal features": "journal_features",
    "Journal size": "journal_size",
    "Total journal size": "journal_size",
    "Checksum type": "checksum",
}
"""Lines of dumpe2fs -h that depend on mkfs options; the journal's size has another label since 1.46."""
_F2FS_VALUES: Mapping[str, str] = {
    "Segments per section": "segments_per_section",
    "Sections per zone": "sections_per_zone",
}
_NILFS_VALUES: Mapping[str, str] = {
    "Block size": "block_size",
    "# of blocks per segment": "blocks_per_segment",
    "Reserved segments %": "reserved_percent",
}
_JFS_VALUES: Mapping[str, str] = {
    "JFS version": "format",
    "Aggregate block size": "block_size",
    "Aggregate size": "aggregate_size",
    "Allocation group size": "group_size",
}
_REISERFS_VALUES: Mapping[str, re.Pattern[str]] = {
    "format": re.compile(r" of format (\S+) with"),
    "block_size": re.compile(r"^Blocksize: (\d+)", re.MULTILINE),
    "hash": re.compile(r'^Hash function used to sort names: "(\w+)"', re.MULTILINE),
    "journal_size": re.compile(r"^\tSize (\d+) blocks", re.MULTILINE),
    "transaction_size": re.compile(r"^\tMax transaction length (\d+) blocks", re.MULTILINE),
}


def _debugreiserfs(text: str) -> Iterator[tuple[str, str]]:
    """Yield format and sizes of `debugreiserfs DEVICE` (man 8 debugreiserfs)."""
    found = ((name, pattern.search(text)) for name, pattern in _REISERFS_VALUES.items())
    yield from ((name, match[1]) for name, match in found if match)


MKFS = "mkfs"
MOUNT = "mount"
EXT_OPTIONS = "/proc/fs/ext4/{device}/options"
"""All effective options including defaults, for ext2, ext3 and ext4 under the ext4 driver
(Documentation/filesystems/ext4/, fs/ext4/super.c ext4_seq_options_show)."""


@dataclass(frozen=True, slots=True)
class Feature:
    """One feature or option in effect: ("mkfs", "has_journal", "on"), ("mount", "commit", "5")."""

    scope: str
    name: str
    value: str


def parse_mkfs_features(filesystem: str, text: str) -> tuple[Feature, ...]:
    """Return the features that the filesystem's own tool prints; empty without a parser for it.

    Leaves out what differs between two identical mkfs calls: identifiers, times, checksums, used space.
    """
    if filesystem not in _PARSERS:
        return ()
    return tuple(Feature(MKFS, name, value) for name, value in _PARSERS[filesystem](text))


def group_bytes(features: Mapping[str, str]) -> int:
    """Return the size of an allocation group by what xfs_info printed; 0 for other filesystems."""
    found = re.match(r"\d+", features.get("meta-data.agsize", "")), re.match(r"\d+", features.get("data.bsize", ""))
    blocks, size = (int(match[0]) if match else 0 for match in found)
    return blocks * size


def parse_options(words: Iterable[str]) -> tuple[Feature, ...]:
    """Return mount options ("commit=5", "delalloc") as features, duplicates once."""
    found: dict[str, Feature] = {}
    for word in words:
        name, equals, value = word.strip().partition("=")
        if name:
            found[name] = Feature(MOUNT, name, value if equals else ON)
    return tuple(found.values())


def read_mount_options(device: str, mount_point: str) -> tuple[Feature, ...]:
    """Return the driver and the effective options of a mount; empty if nothing is mounted there.

    ext2, ext3 and ext4 list defaults, too; xfs and btrfs don't. Raises OSError.
    """
    entry = mounted_at(mount_point)
    if entry is None:
        return ()
    listed = read_text_or(EXT_OPTIONS.format(device=os.path.basename(os.path.realpath(device))), "")
    return effective_options(entry, listed)


def effective_options(entry: MountEntry, ext_options: str) -> tuple[Feature, ...]:
    """Return the driver and all options of a mount; ext_options is the text of EXT_OPTIONS, if it exists."""
    driver = Feature(MOUNT, "driver", "ext4" if ext_options else entry.filesystem)
    words = (*entry.super_options, *entry.options, *ext_options.splitlines())
    return (driver, *parse_options(words))


_XFS_PAIR = re.compile(r"([a-z0-9-]+)=\s*(\S+?),?(?=\s|$)")


def _xfs_info(text: str) -> Iterator[tuple[str, str]]:
    """Yield ("data.sunit", "16"); sunit and swidth are in blocks in the data section (man 8 xfs_info)."""
    section = ""
    for line in text.splitlines():
        head, equals, rest = line.partition("=")
        if not equals:
            continue
        section = head.strip() or section
        # After the section's name comes the device's name, "internal log", "version 2", or blanks.
        yield from ((f"{section}.{name}", value) for name, value in _XFS_PAIR.findall(rest))


_SUPER_VALUES = frozenset({"csum_type", "sectorsize", "nodesize", "stripesize", "num_devices"})
_SUPER_FLAGS = frozenset({"compat_flags", "compat_ro_flags", "incompat_flags"})
_FLAG = re.compile(r"[A-Za-z0-9_]+")


def _dump_super(text: str) -> Iterator[tuple[str, str]]:
    """Yield ("no_holes", "on") for each feature flag, and sizes (man 8 btrfs-inspect-internal)."""
    in_flags = False
    for line in text.splitlines():
        if line.startswith("\t"):
            if in_flags:
                yield from ((name.lower(), ON) for name in _FLAG.findall(line))
            continue
        name, _, value = line.partition("\t")
        in_flags = name in _SUPER_FLAGS
        if name in _SUPER_VALUES:
            yield name, value.strip()


_dumpe2fs = partial(_labelled, flags="Filesystem features", values=_DUMPE2FS_VALUES)
_PARSERS: Mapping[str, Callable[[str], Iterator[tuple[str, str]]]] = {
    "ext2": _dumpe2fs,
    "ext3": _dumpe2fs,
    "ext4": _dumpe2fs,
    "xfs": _xfs_info,
    "btrfs": _dump_super,
    "f2fs": partial(_labelled, flags="superblock features", values=_F2FS_VALUES, separator="="),
    "nilfs2": partial(_labelled, flags="Filesystem features", values=_NILFS_VALUES),
    "jfs": partial(_labelled, flags="JFS flags", values=_JFS_VALUES),
    "reiserfs": _debugreiserfs,
}
"""By filesystem: the parser of what dumpe2fs -h, xfs_info, btrfs inspect-internal dump-super, dump.f2fs, nilfs-tune -l,
jfs_tune -l and debugreiserfs print (man 8 of each)."""
