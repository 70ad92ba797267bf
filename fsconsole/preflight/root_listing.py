"""Lists the root directory of a filesystem that is about to be wiped, without a write to its device.

As a program, `python -I -m fsconsole.preflight.root_listing DEVICE TYPE OPTIONS`, it does that in a mount namespace of
its own: the filesystem is mounted read-only over a read-only loop device, and vanishes with the process.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress

from fsconsole.catalog.filesystem import Catalog
from fsconsole.catalog.loader import load_catalog
from fsconsole.devices.gate import GateReport
from fsconsole.errors.runs import ToolFailed, ToolMissing
from fsconsole.model.command import Command, Executor
from fsconsole.model.device import Usage
from fsconsole.model.wire import Mismatch, Wire, decode, encode
from fsconsole.system.isolation import python_argv
from fsconsole.system.run import RealExecutor
from fsconsole.text import error_reason, printable
from fsconsole.units import format_bytes

_OWN_MOUNTS = ("unshare", "--mount", "--propagation", "slave", "--")
_LIMIT_S = 20.0
_MOST_ENTRIES = 200
_SHOWN = 6


class RootEntry(Wire, frozen=True):
    """A name in a root directory: bytes of a file, entries of a directory."""

    name: str
    is_directory: bool
    size: int


class RootListing(Wire, frozen=True):
    """Content of a filesystem: its entries by name, and the bytes in use; why is empty where it could be read."""

    used_bytes: int = 0
    entries: tuple[RootEntry, ...] = ()
    more: int = 0
    why: str = ""

    def __str__(self) -> str:
        """Return it as one sentence."""
        if self.why:
            return f"its files can't be listed: {self.why}"
        names = [self._named(entry) for entry in self.entries[:_SHOWN]]
        more = self.more + len(self.entries) - len(names)
        listed = ", ".join([*names, *([f"{more} more"] if more else [])]) or "no files"
        return f"{format_bytes(self.used_bytes)} used; {listed}"

    @staticmethod
    def _named(entry: RootEntry) -> str:
        if entry.is_directory:
            return f"{entry.name}/ ({entry.size} {'entry' if entry.size == 1 else 'entries'})"
        return f"{entry.name} ({format_bytes(entry.size)})"


def root_listings(report: GateReport, executor: Executor) -> tuple[str, ...]:
    """Return what each filesystem on a device and its partitions holds, as a sentence with the device's name.

    Nothing is mounted from a device that is refused: it may be in use.
    """
    return tuple(
        f"{found.device.path}: {list_root(found.device.path, found.signature.type, load_catalog(), executor)}"
        for found in report.found
        if found.signature.usage is Usage.FILESYSTEM
        and found.signature.type in load_catalog().names
        and not report.refusals
    )


def list_root(device: str, filesystem: str, catalog: Catalog, executor: Executor) -> RootListing:
    """Return what is in the root directory of a filesystem, named as signatures name it."""
    if filesystem not in catalog.names:
        return RootListing(why=f"{filesystem} is not in the catalog")
    options = catalog.get(filesystem).look_words
    child = python_argv("-m", __name__, device, filesystem, options)
    try:
        result = executor.run(Command((*_OWN_MOUNTS, *child), timeout_s=_LIMIT_S))
        return decode(RootListing, result.out.strip())
    except (ToolMissing, ToolFailed) as error:
        return RootListing(why=str(error).rstrip("."))
    except Mismatch:
        return RootListing(why=result.err.strip() or "no answer")


def main(device: str, filesystem: str, options: str) -> None:
    """Print the listing as one line of JSON."""
    executor, point = RealExecutor(), tempfile.mkdtemp(prefix="fsconsole-look-")
    words = ",".join(filter(None, ("ro,loop,nosuid,nodev,noexec", options)))
    try:
        mounted = executor.run(Command(("mount", "-t", filesystem, "-o", words, device, point)))
        if mounted.exit_code:
            said = printable(mounted.err.strip().partition("\n")[0])
            listing = RootListing(why=said or f"mount ended with exit code {mounted.exit_code}")
        else:
            listing = _listing(point)
            executor.run(Command(("umount", point)))
    except OSError as error:
        # A killed engine may leave a damaged filesystem.
        listing = RootListing(why=error_reason(error))
    with suppress(OSError):
        os.rmdir(point)
    sys.stdout.write(f"{encode(listing)}\n")


def _listing(point: str) -> RootListing:
    used, entries = os.statvfs(point), sorted(_entries(point), key=lambda entry: entry.name)
    return RootListing(
        (used.f_blocks - used.f_bfree) * used.f_frsize,
        tuple(entries[:_MOST_ENTRIES]),
        max(len(entries) - _MOST_ENTRIES, 0),
    )


def _entries(point: str) -> Iterator[RootEntry]:
    for entry in os.scandir(point):
        if entry.name == "lost+found":
            continue
        found = entry.stat(follow_symlinks=False)
        is_directory = stat.S_ISDIR(found.st_mode)
        size = len(os.listdir(entry.path)) if is_directory else found.st_size
        yield RootEntry(printable(entry.name), is_directory, size)


if __name__ == "__main__":
    main(*sys.argv[1:])
