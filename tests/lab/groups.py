"""The groups of tests that run in a virtual machine: each folder of inside/ is one boot with these disks."""

from __future__ import annotations

from pathlib import Path

from tests.lab.cache import KERNEL, NEWER_KERNEL
from tests.lab.machine import Disk

GROUPS: dict[str, tuple[Disk, ...]] = {
    # vda to vdd, sda, sdb, nvme0n1
    "arrays": (Disk(96), Disk(96), Disk(96), Disk(96), Disk(96, "scsi"), Disk(96, "scsi"), Disk(96, "nvme")),
    # vda; vdb to vdd; vde, sda
    "faults": (Disk(400), Disk(200), Disk(200), Disk(200), Disk(200), Disk(200, "scsi")),
    # hazards.py: A to E, S, N
    "hazards": (Disk(32), Disk(32), Disk(144), Disk(144), Disk(320), Disk(32, "scsi"), Disk(32, "nvme")),
    # vda; all others are plugged in by the tests
    "hotplug": (Disk(96),),
    # vda to vdc
    "runs": (Disk(256), Disk(256), Disk(256)),
    # The same, below another kernel
    "newer": (Disk(256), Disk(256), Disk(256)),
    # vda to vdd
    "whatif": (Disk(96), Disk(96), Disk(96), Disk(96)),
}

KERNELS = {"newer": NEWER_KERNEL}


def kernel_of(group: str) -> Path:
    """Return what a group boots: the stable release's kernel, or the one that is named for it here."""
    return KERNELS.get(group, KERNEL)
