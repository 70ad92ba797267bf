"""Links of disks, from sysfs trees in the shape that kernels give them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from fsconsole.telemetry.links import Link, links_below

RECORDED = Path(__file__).parents[2] / "data/sysfs/links-6.1.txt"
"""Of Linux 6.1 in qemu (q35: ich9-ahci, nvme and virtio-blk-pci each on a pcie-root-port, usb-storage, mptsas1068)."""

PCI = "devices/pci0000:00/0000:00:1c.0"
NVME = f"{PCI}/0000:01:00.0"
WIDE = {"current_link_speed": "8.0 GT/s PCIe", "current_link_width": "4"}
SATA = "devices/pci0000:00/0000:00:17.0/ata{0}"
SAS = f"{PCI}/0000:02:00.0/host0/port-0:0"
USB = "devices/pci0000:00/0000:00:14.0/usb2/2-1"


def made(base: Path, disks: Mapping[str, str], files: Mapping[str, str]) -> str:
    """Make a sysfs with these disks at these places, and these files."""
    for name, text in files.items():
        place = base / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"{text}\n")
    (base / "class/block").mkdir(parents=True)
    for name, place in disks.items():
        (base / place).mkdir(parents=True, exist_ok=True)
        (base / "class/block" / name).symlink_to(base / place)
    return str(base)


def ata(number: int, speed: str) -> dict[str, str]:
    return {f"{SATA.format(number)}/link{number}/ata_link/link{number}/sata_spd": speed}


def pci(place: str, speed: str, width: str) -> dict[str, str]:
    return {f"{place}/current_link_speed": speed, f"{place}/current_link_width": width}


def sata_disk(number: int, name: str) -> str:
    return f"{SATA.format(number)}/host{number}/target0:0:0/0:0:0:0/block/{name}"


def test_links_are_found_where_a_kernel_has_them(tmp_path: Path) -> None:
    (tmp_path / "class/block").mkdir(parents=True)
    for line in RECORDED.read_text().splitlines():
        name, mark, value = (
            line.removeprefix("/sys/").replace(" -> /sys/", " -> ").partition(" -> " if " -> " in line else " = ")
        )
        place = tmp_path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if mark == " = ":
            place.write_text(f"{value}\n")
        else:
            (tmp_path / value).mkdir(parents=True, exist_ok=True)
            place.symlink_to(tmp_path / value)
    found = {name: links_below(f"/dev/{name}", str(tmp_path)) for name in ("sda", "sdb", "sdc", "nvme0n1", "vda")}
    assert {name: [(link.words, round(link.bytes_per_s / 1e6)) for link in links] for name, links in found.items()} == {
        "sda": [("SATA 1.5 Gb/s", 150)],
        "sdb": [("SAS 3 Gb/s", 300)],
        "sdc": [("USB 5000 Mb/s", 500)],
        "nvme0n1": [("PCIe 2.5 GT/s x1", 250)],
        "vda": [],
    }


@pytest.mark.parametrize(
    ("place", "files", "words", "bytes_per_s"),
    [
        (sata_disk(1, "x"), ata(1, "6.0 Gbps"), "SATA 6 Gb/s", 600e6),
        (sata_disk(1, "x"), ata(1, "1.5 Gbps"), "SATA 1.5 Gb/s", 150e6),
        (f"{NVME}/nvme/nvme0/x", pci(NVME, "8.0 GT/s PCIe", "4"), "PCIe 8 GT/s x4", 3.938e9),
        (f"{NVME}/nvme/nvme0/x", pci(NVME, "16.0 GT/s PCIe", "4"), "PCIe 16 GT/s x4", 7.877e9),
        # The slot is narrower than the disk's own link, as below a switch.
        (
            f"{NVME}/nvme/nvme0/x",
            pci(NVME, "8.0 GT/s PCIe", "4") | pci(PCI, "5.0 GT/s PCIe", "2"),
            "PCIe 5 GT/s x2",
            1e9,
        ),
        (f"{USB}/2-1:1.0/host6/target6:0:0/6:0:0:0/block/x", {f"{USB}/speed": "480"}, "USB 480 Mb/s", 60e6),
        (f"{USB}/2-1:1.0/host6/target6:0:0/6:0:0:0/block/x", {f"{USB}/speed": "5000"}, "USB 5000 Mb/s", 500e6),
        (f"{USB}/2-1:1.0/host6/target6:0:0/6:0:0:0/block/x", {f"{USB}/speed": "10000"}, "USB 10000 Mb/s", 1.212e9),
        (
            f"{SAS}/end_device-0:0/target0:0:0/0:0:0:0/block/x",
            {f"{SAS}/phy-0:{phy}/sas_phy/phy-0:{phy}/negotiated_linkrate": "12.0 Gbit" for phy in (0, 1)},
            "SAS 24 Gb/s",
            2.4e9,
        ),
    ],
)  # fmt: skip
def test_a_link_carries_its_speed_times_its_width_less_its_encoding(tmp_path, place, files, words, bytes_per_s):
    sys = made(tmp_path, {"x": place}, files)
    assert links_below("/dev/x", sys) == (Link(words, pytest.approx(bytes_per_s, rel=1e-3)),)


def test_a_disk_that_tells_no_link_has_none_nor_has_a_virtio_disk_or_a_device_in_memory(tmp_path):
    disks = {
        "sda": sata_disk(1, "sda"),
        "vda": f"{NVME}/virtio3/block/vda",
        "loop0": "devices/virtual/block/loop0",
        "nvme0n1": f"{NVME}/nvme/nvme0/nvme0n1",
    }
    files = ata(1, "<unknown>") | {f"{NVME}/current_link_speed": "Unknown", f"{NVME}/current_link_width": "0"}
    sys = made(tmp_path, disks, files)
    assert [links_below(f"/dev/{name}", sys) for name in disks] == [()] * len(disks)


def test_an_array_has_the_links_of_all_its_members_and_none_where_one_tells_none(tmp_path):
    disks = {"sda": sata_disk(1, "sda"), "sdb": sata_disk(2, "sdb"), "md0": "devices/virtual/block/md0"}
    files = ata(1, "6.0 Gbps") | ata(2, "3.0 Gbps")
    files |= {f"devices/virtual/block/md0/slaves/{name}/dev": "8:0" for name in ("sda", "sdb")}
    sys = made(tmp_path, disks, files)
    assert [link.bytes_per_s for link in links_below("/dev/md0", sys)] == pytest.approx([600e6, 300e6])
    (tmp_path / SATA.format(2) / "link2/ata_link/link2/sata_spd").unlink()
    assert links_below("/dev/md0", sys) == ()


def test_a_disk_with_two_nvme_controllers_has_the_links_of_both(tmp_path):
    head = "devices/virtual/nvme-subsystem/nvme-subsys0"
    paths = [f"{PCI}/0000:0{number}:00.0" for number in (1, 2)]
    files = pci(paths[0], "8.0 GT/s PCIe", "2") | pci(paths[1], "8.0 GT/s PCIe", "2")
    sys = made(tmp_path, {"nvme0n1": f"{head}/nvme0n1"}, files)
    for number, path in enumerate(paths):
        controller = tmp_path / path / f"nvme/nvme{number}"
        controller.mkdir(parents=True)
        (tmp_path / head / f"nvme{number}").symlink_to(controller)
    assert links_below("/dev/nvme0n1", sys) == (Link("PCIe 8 GT/s x2", pytest.approx(3.938e9, rel=1e-3)),)
