"""Disks that come and go on each bus are told, with udevd and without."""

from __future__ import annotations

from itertools import count

import pytest

from tests.lab.qmp import DRIVERS, Qmp
from tests.lab.watched import assert_told

NUMBERS = count()


@pytest.mark.usefixtures("udevd")
@pytest.mark.parametrize("bus", DRIVERS)
def test_a_disk_that_comes_or_goes_is_told_at_once(qmp: Qmp, bus: str) -> None:
    disk = qmp.disk(f"seen-{next(NUMBERS)}", 16, bus, serial="SEEN")
    assert_told(disk.plug_in, disk.pull_out)
