"""What mkfs really made and what is really mounted, read back. The parsers are pure; read_mount_options is not."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from fsconsole.inspect.rare_features import ON, debugreiserfs, dump_f2fs, jfs_tune, nilfs_tune
from fsconsole.system.mounts import MountEntry, read_mounts
from fsconsole.system.text import read_text_or

MKFS = "mkfs"
MOUNT = "mount"
EXT_OPTIONS = "/proc/fs/ext4/{device}/options"
"""All options in effect, defaults too, for ext2, ext3 and ext4 where the ext4 driver serves them
(Documentation/filesystems/ext4/, fs/ext4/super.c ext4_seq_options_show)."""


@dataclass(frozen=True, slots=True)
class Feature:
    """One feature or option in effect: ("mkfs", "has_journal", "on"), ("mount", "commit", "5")."""

    scope: str
    name: str
    value: str


def parse_mkfs_features(filesystem: str, text: str) -> tuple[Feature, ...]:
    """Return what the filesystem's own tool says was made; empty for a filesystem without a parser here.

    Left out is what differs between two equal mkfs: identifiers, times, checksums, what is in use.
    """
    parsers = {
        "ext2": _dumpe2fs,
        "ext3": _dumpe2fs,
        "ext4": _dumpe2fs,
        "xfs": _xfs_info,
        "btrfs": _dump_super,
        "f2fs": dump_f2fs,
        "nilfs2": nilfs_tune,
        "jfs": jfs_tune,
        "reiserfs": debugreiserfs,
    }
    if filesystem not in parsers:
        return ()
    return tuple(Feature(MKFS, name, value) for name, value in parsers[filesystem](text))


def parse_options(words: Iterable[str]) -> tuple[Feature, ...]:
    """Return mount options, "commit=5" or "delalloc" each, as features; one that stands twice counts once."""
    found: dict[str, Feature] = {}
    for word in words:
        name, equals, value = word.strip().partition("=")
        if name:
            found[name] = Feature(MOUNT, name, value if equals else ON)
    return tuple(found.values())


def parse_mount_line(line: str) -> tuple[Feature, ...]:
    """Return the options in one line of /proc/mounts (man 5 proc_pid_mounts). Raises ValueError on another shape."""
    fields = line.split(" ")
    if len(fields) != 6:
        raise ValueError(f"not a line of /proc/mounts: {line!r}")
    return parse_options(fields[3].split(","))


def read_mount_options(device: str, mount_point: str) -> tuple[Feature, ...]:
    """Return the driver and the options in effect of what is mounted at mount_point; empty where nothing is.

    ext2, ext3 and ext4 list defaults too; xfs and btrfs leave theirs out. Raises OSError.
    """
    entries = [entry for entry in read_mounts() if entry.mount_point == mount_point]
    if not entries:
        return ()
    listed = read_text_or(EXT_OPTIONS.format(device=os.path.basename(os.path.realpath(device))), "")
    return effective_options(entries[-1], listed)


def effective_options(entry: MountEntry, ext_options: str) -> tuple[Feature, ...]:
    """Return the driver and all options of a mount; ext_options is the text of EXT_OPTIONS, where there is one."""
    driver = Feature(MOUNT, "driver", "ext4" if ext_options else entry.filesystem)
    words = (*entry.super_options, *entry.options, *ext_options.splitlines())
    return (driver, *parse_options(words))


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
"""Lines of dumpe2fs -h that mkfs options decide; the journal's size is named differently since 1.46."""


def _dumpe2fs(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        label, colon, value = line.partition(":")
        if colon and label == "Filesystem features":
            yield from ((name, ON) for name in value.split())
        elif colon and label in _DUMPE2FS_VALUES:
            yield _DUMPE2FS_VALUES[label], value.strip()


_XFS_PAIR = re.compile(r"([a-z0-9-]+)=\s*(\S+?),?(?=\s|$)")


def _xfs_info(text: str) -> Iterator[tuple[str, str]]:
    """Yield ("data.sunit", "16"); sunit and swidth are in blocks in the data section (man 8 xfs_info)."""
    section = ""
    for line in text.splitlines():
        head, equals, rest = line.partition("=")
        if not equals:
            continue
        section = head.strip() or section
        # What follows the section's name is the device's name, "internal log", "version 2", or blanks.
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
