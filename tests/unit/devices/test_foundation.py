from __future__ import annotations

from dataclasses import replace

import pytest

from fsconsole.devices.state import stands_on, volume_name
from fsconsole.model.device import Device, DeviceKind
from tests.tui.device_lists import ARRAY, FREE, MULTIPATH, SCRATCH, SYSTEM, VOLUMES


@pytest.mark.parametrize(
    ("device", "words"),
    [
        (SCRATCH, "loop over /var/lib/fsconsole/scratch/scratch-0a1b2c3d.img"),
        (VOLUMES[0], "LV vg/home"),
        (MULTIPATH, "multipath mpatha"),
        (replace(MULTIPATH, dm_uuid="CRYPT-LUKS2-1234", dm_name="safe"), "encrypted volume safe"),
        (replace(MULTIPATH, dm_uuid="", dm_name="made by hand"), "dm made by hand"),
        (ARRAY, "md raid5 of"),
        (SYSTEM[1], "partition of sda"),
        (FREE, ""),
        (Device("ram0", "/dev/ram0", DeviceKind.OTHER, 1, 0, 4096), ""),
    ],
)
def test_a_device_is_called_what_its_owner_calls_it(device: Device, words: str) -> None:
    assert stands_on(device).startswith(words)
    assert bool(stands_on(device)) is bool(words)


@pytest.mark.parametrize(
    ("name", "volume"),
    [("vg-lv", "vg/lv"), ("my--vg-lv--old", "my-vg/lv-old"), ("vg---lv", "vg-/lv"), ("alone", "alone")],
)
def test_doubled_dashes_of_a_volume_are_dashes(name: str, volume: str) -> None:
    assert volume_name(name) == volume
