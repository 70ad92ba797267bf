"""What dump.f2fs, nilfs-tune, jfs_tune and debugreiserfs say that mkfs made. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

ON = "on"
"""The value of a feature or option that has none of its own."""


def dump_f2fs(text: str) -> Iterator[tuple[str, str]]:
    """Yield features and sizes of `dump.f2fs DEVICE` (man 8 dump.f2fs); each line begins with "Info: "."""
    for line in text.splitlines():
        label, equals, value = line.removeprefix("Info: ").partition("=")
        name = _F2FS_VALUES.get(label.strip(), "") if equals else ""
        if name:
            yield name, value.strip()
        elif label.strip() == "superblock features":
            yield from ((feature, ON) for feature in value.partition(":")[2].split())


def nilfs_tune(text: str) -> Iterator[tuple[str, str]]:
    """Yield features and sizes of `nilfs-tune -l` (man 8 nilfs-tune): a label, a colon, blanks, a value."""
    for line in text.splitlines():
        label, _, value = line.partition(":")
        if label == "Filesystem features":
            yield from ((feature, ON) for feature in value.split() if feature != "(none)")
        elif label in _NILFS_VALUES:
            yield _NILFS_VALUES[label], value.strip()


def jfs_tune(text: str) -> Iterator[tuple[str, str]]:
    """Yield flags and sizes of `jfs_tune -l` (man 8 jfs_tune), whose superblock is said in lines with a colon."""
    for line in text.splitlines():
        label, _, value = line.partition(":")
        if label == "JFS flags":
            yield from ((flag.removeprefix("JFS_").lower(), ON) for flag in value.split())
        elif label in _JFS_VALUES:
            yield _JFS_VALUES[label], value.strip().partition(" ")[0]


def debugreiserfs(text: str) -> Iterator[tuple[str, str]]:
    """Yield format and sizes of `debugreiserfs DEVICE` (man 8 debugreiserfs)."""
    for name, pattern in _REISERFS_VALUES.items():
        found = pattern.search(text)
        if found:
            yield name, found[1]


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
