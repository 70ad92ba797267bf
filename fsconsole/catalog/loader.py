"""Reads the shipped filesystem declarations: one TOML file each, in the package's own folder."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from importlib.resources import files

import msgspec
import tomli

from fsconsole.catalog.filesystem import Catalog, Filesystem

ORDER = ("ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "nilfs2", "jfs", "reiserfs")
"""Order in which filesystems are listed; a file that is not named here comes after, by name."""


@cache
def load_catalog() -> Catalog:
    """Return all shipped filesystems; raises msgspec.ValidationError for a damaged file."""
    folder = files("fsconsole.catalog") / "filesystems"
    entries = [entry for entry in folder.iterdir() if entry.name.endswith(".toml")]
    found = [parse_filesystem(entry.read_text("utf-8")) for entry in entries]
    rank = {name: number for number, name in enumerate(ORDER)}
    return Catalog(tuple(sorted(found, key=lambda fs: (rank.get(fs.name, len(rank)), fs.name))))


def declaration_digest(name: str) -> str:
    """Return a digest of a shipped filesystem's declarations, which cached probe results belong to."""
    text = (files("fsconsole.catalog") / "filesystems" / f"{name}.toml").read_bytes()
    return hashlib.sha256(text).hexdigest()


def parse_filesystem(text: str) -> Filesystem:
    """Return the filesystem that a declaration's text describes; raises msgspec.ValidationError."""

    def own_type(made: Callable[[object], object], declared: object) -> object:
        return made(declared)

    return msgspec.convert(tomli.loads(text), Filesystem, dec_hook=own_type)
