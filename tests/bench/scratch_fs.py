"""A filesystem of a measurement's own, on a loop device over a file that is gone afterwards."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

MKFS = {
    "ext4": ("mkfs.ext4", "-q", "-F"),
    "xfs": ("mkfs.xfs", "-q", "-f"),
    "btrfs": ("mkfs.btrfs", "-q", "-f"),
}


@dataclass(frozen=True)
class Mounted:
    """A mounted filesystem and the device below it."""

    device: str
    point: Path

    def settle(self) -> None:
        """Have nothing dirty left of this filesystem."""
        run("sync", "--file-system", str(self.point))


@contextmanager
def room(directory: str | None = None) -> Iterator[Path]:
    """Make a directory that is gone afterwards, on a disk: /tmp may be memory, which has no direct I/O."""
    with tempfile.TemporaryDirectory(prefix="fsconsole-bench-", dir=directory or "/var/tmp") as made:
        yield Path(made)


@contextmanager
def loop_device(file: Path, size_bytes: int, *, allocate: bool = True) -> Iterator[str]:
    """Make a loop device with direct I/O over a new file; both are gone afterwards."""
    with ExitStack() as stack:
        with file.open("wb") as opened:
            opened.truncate(size_bytes)
            stack.callback(file.unlink)
            if allocate:
                os.posix_fallocate(opened.fileno(), 0, size_bytes)
        device = run("losetup", "--find", "--show", "--direct-io=on", str(file)).strip()
        stack.callback(run, "losetup", "--detach", device)
        yield device


@contextmanager
def filesystem(
    place: Path, size_bytes: int, kind: str = "ext4", mkfs: tuple[str, ...] = (), *, allocate: bool = True
) -> Iterator[Mounted]:
    """Make and mount a filesystem; all is given back afterwards."""
    with ExitStack() as stack:
        device = stack.enter_context(loop_device(place / "disk", size_bytes, allocate=allocate))
        run(*MKFS[kind], *mkfs, device)
        point = place / "mnt"
        point.mkdir()
        stack.callback(point.rmdir)
        # Due before it is done: a Ctrl-C between the two must not leave a mount.
        stack.callback(subprocess.run, ("umount", str(point)), check=False, stderr=subprocess.DEVNULL)
        run("mount", "-o", "nosuid,nodev", device, str(point))
        yield Mounted(device, point)


def run(*argv: str) -> str:
    """Run a program that must not fail and return what it printed."""
    return subprocess.run(argv, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout
