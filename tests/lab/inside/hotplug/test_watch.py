"""What the console listens to: a disk that comes or goes is told by an event, with udevd and without."""

from __future__ import annotations

from itertools import count
from queue import SimpleQueue

import pytest

from fsconsole.tui.watch import UdevWatch, read_tables
from tests.lab.qmp import DRIVERS, Qmp

PATIENCE_S = 120.0
NUMBERS = count()


@pytest.mark.usefixtures("udevd")
@pytest.mark.parametrize("bus", DRIVERS)
def test_a_disk_that_comes_or_goes_is_told_at_once(qmp: Qmp, bus: str) -> None:
    told: SimpleQueue[None] = SimpleQueue()
    watch = UdevWatch(lambda: told.put(None))
    watch.start()
    watch.wait_until_listening()
    disk = qmp.disk(f"seen-{next(NUMBERS)}", 16, bus, serial="SEEN")
    for change in (disk.plug_in, disk.pull_out):
        before = read_tables()
        change()
        told.get(timeout=PATIENCE_S)
        while read_tables() == before:
            # That was of the disk before; what changes the kernel's tables must be told, too.
            told.get(timeout=PATIENCE_S)
    watch.stop()
