"""Free page reporting as sysfs and the kernel's log tell it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsconsole.telemetry.page_reporting import ReportedMemory, is_reporting, reported_bytes

REPORTING, NOT = "01100101" + "0" * 120, "01100001" + "0" * 120


@pytest.mark.parametrize(
    ("device", "features", "has_driver", "is_on"),
    [
        ("0x0005", REPORTING, True, True),
        ("0x0005", NOT, True, False),
        ("0x0005", REPORTING, False, False),
        ("0x0002", REPORTING, True, False),
        ("0x0005", "", True, False),
    ],
)
def test_it_is_on_where_a_balloon_that_has_a_driver_reports(tmp_path, device, features, has_driver, is_on) -> None:
    made = tmp_path / "sys/bus/virtio/devices/virtio0"
    made.mkdir(parents=True)
    (made / "device").write_text(f"{device}\n")
    (made / "features").write_text(f"{features}\n")
    if has_driver:
        (made / "driver").mkdir()
    assert is_reporting(str(tmp_path), log="/nonexistent") is is_on


def test_it_is_on_where_the_kernel_logged_so(tmp_path) -> None:
    log = tmp_path / "kmsg"
    log.write_text("6,1,2,-;mem: 1\n6,2,3,-;Free page reporting enabled\n")
    assert is_reporting(str(tmp_path), log=str(log))
    log.write_text("6,1,2,-;mem: 1\n")
    assert not is_reporting(str(tmp_path), log=str(log))


def test_the_counter_is_read_from_the_boot_and_then_from_look_to_look(tmp_path) -> None:
    root = str(tmp_path)
    assert reported_bytes(root) is None
    assert ReportedMemory(root).since_last() is None
    counter = Path(root, "sys/module/page_reporting/parameters/reported_kib")
    counter.parent.mkdir(parents=True)
    counter.write_text("1024\n")
    looks = ReportedMemory(root)
    assert looks.since_last() == 2**20
    counter.write_text("1030\n")
    assert (looks.since_last(), looks.since_last()) == (6 * 1024, 0)
