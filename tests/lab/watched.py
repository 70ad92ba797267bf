"""What the console listens to: a disk that comes or goes is told by an event. In qemu on each bus, else on SCSI."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue

from fsconsole.tui.watch import UdevWatch, read_tables

PATIENCE_S = 120.0


def assert_told(*changes: Callable[[], object]) -> None:
    """Prove that each change of the kernel's tables is told."""
    told: SimpleQueue[None] = SimpleQueue()
    watch = UdevWatch(lambda: told.put(None))
    watch.start()
    watch.wait_until_listening()
    for change in changes:
        before = read_tables()
        change()
        told.get(timeout=PATIENCE_S)
        while read_tables() == before:
            # That was of the disk before; what changes the kernel's tables must be told, too.
            told.get(timeout=PATIENCE_S)
    watch.stop()
