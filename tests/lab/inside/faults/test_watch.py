"""A SCSI disk that comes and goes is told, with udevd and without."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from tests.lab.guest import udevd
from tests.lab.scsi import scsi_disks
from tests.lab.watched import assert_told


@pytest.mark.parametrize("with_udevd", [True, False], ids=["with udevd", "without udevd"])
def test_a_disk_that_comes_or_goes_is_told_at_once(with_udevd: bool) -> None:
    with udevd() if with_udevd else nullcontext(), scsi_disks(1, size_mib=16) as (disk,):
        assert_told(disk.plug, disk.pull)
