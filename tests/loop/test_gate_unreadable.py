"""A disk whose ends can't be read holds nobody knows what: a probe that fails there says just nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fsconsole.devices.evidence import GateContext
from fsconsole.devices.gate import inspect_device, require
from fsconsole.errors.targets import DeviceRefused
from fsconsole.system.run import RealExecutor
from fsconsole.text import MIB
from tests.conftest import MakeLoopDevice

pytestmark = pytest.mark.root


@pytest.mark.parametrize("is_ours", [False, True])
@pytest.mark.parametrize("left", [0, 4 * MIB])
def test_a_disk_that_can_not_be_read_is_refused_also_in_the_middle_of_a_run(
    loop_device: MakeLoopDevice, tmp_path: Path, left: int, is_ours: bool
):
    device = loop_device(8 * MIB)
    # With direct I/O a loop device answers reads beyond the end of its file with EIO (drivers/block/loop.c).
    os.truncate(tmp_path / "disk0", left)
    context = GateContext(RealExecutor(), str(tmp_path), content_is_ours=is_ours)
    report = inspect_device(device, context)
    (hazard,) = report.inspection.refusals
    assert hazard.reason == f"could not be proved free: the signatures on {device}: Input/output error"
    assert "`smartctl --all DEVICE`" in hazard.hint
    with pytest.raises(DeviceRefused):
        require(report)
