"""Rules for the sources of a copy or a command: absolute paths that its cage shows read-only."""

from __future__ import annotations

from collections.abc import Sequence
from os.path import basename, normpath

from fsconsole.text import printable

MAX_SOURCES = 100
MAX_PATH_BYTES = 4096
KEPT_OUT = ("/dev", "/proc", "/sys", "/run", "/var/run", "/var/lib/fsconsole")
"""Devices, the kernel's files, mounts and sockets of the machine, and fsconsole's own files (seal, runs, scratch files)."""


def lies_in(path: str, folder: str) -> bool:
    """Return whether a path is a folder or something below it."""
    return f"{path}/".startswith(f"{folder.rstrip('/')}/")


def source_objection(path: str) -> str:
    """Return why a path can't be a source, as a clause; empty if it can."""
    if not path.startswith("/"):
        return "must be an absolute path"
    if "\0" in path or path != printable(path):
        return "has characters that can't be printed"
    if normpath(path) != path or path.startswith("//"):
        return f"write it as {printable(normpath('/' + path.lstrip('/')))}"
    if path == "/":
        return "the whole machine is too much: name directories"
    if len(path.encode()) > MAX_PATH_BYTES:
        return "is too long"
    inside = next((kept for kept in KEPT_OUT if lies_in(path, kept)), "")
    return f"nothing below {inside} can be a source" if inside else ""


def sources_objection(paths: Sequence[str], *, is_copied_by_name: bool) -> str:
    """Return what is wrong with sources together, as a clause; empty if nothing is.

    is_copied_by_name: cp gives each its last name in one directory.
    """
    if len(paths) > MAX_SOURCES:
        return f"at most {MAX_SOURCES} sources"
    for path in paths:
        if why := source_objection(path):
            return f"{printable(path) or 'an empty path'}: {why}"
    for one in paths:
        for other in paths:
            if one != other and lies_in(one, other):
                return f"{one} lies in {other}, which is a source too"
            if is_copied_by_name and one != other and basename(one) == basename(other):
                return f"{one} and {other} would be copied to the same name"
    return "a source is named twice" if len(set(paths)) < len(paths) else ""
