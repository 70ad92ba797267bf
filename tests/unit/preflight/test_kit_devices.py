"""The lasting name of a device, among all that udev gives it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fsconsole.model.device import Device, DeviceKind
from fsconsole.preflight.kit_devices import lasting_name

NULL = os.stat("/dev/null").st_rdev
DEVICE = Device("sdx", "/dev/sdx", DeviceKind.DISK, os.major(NULL), os.minor(NULL), 2**30)
"""With the number of a node that every machine has."""


@pytest.mark.parametrize(
    ("names", "best"),
    [
        (("ata-DISK_1", "scsi-1", "wwn-0x5"), "wwn-0x5"),
        (("nvme-DISK_1", "nvme-eui.01", "usb-X"), "nvme-eui.01"),
        (("odd name", "wwn-0x5;reboot", "zz-1"), "zz-1"),
        (("wwn-*",), ""),
        ((), ""),
    ],
)
def test_the_name_that_a_disk_keeps_longest_is_taken_and_odd_ones_never(
    tmp_path: Path, names: tuple[str, ...], best: str
) -> None:
    for name in names:
        (tmp_path / name).symlink_to("/dev/null")
    (tmp_path / "wwn-0x0").symlink_to("/dev/zero")
    (tmp_path / "wwn-0x1").symlink_to("/dev/gone")
    assert lasting_name(DEVICE, str(tmp_path)) == (f"{tmp_path}/{best}" if best else "/dev/sdx")
    assert lasting_name(DEVICE, str(tmp_path / "none")) == "/dev/sdx"
