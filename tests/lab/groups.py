"""The groups of tests that run in a virtual machine: the folders of inside/, the boots that they share, and their disks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.lab.cache import KERNEL, NEWER_KERNEL
from tests.lab.machine import Disk

INSIDE = Path(__file__).parent / "inside"


@dataclass(frozen=True, slots=True)
class Boot:
    """One machine: the folders whose tests it runs, in this order, and its disks.

    To boot and to load what the tests need takes a guest half a minute; a new boot is for other disks, or another kernel.
    """

    folders: tuple[str, ...]
    disks: tuple[Disk, ...]


BOOTS: dict[str, Boot] = {
    # vda to vdd, sda, sdb, nvme0n1
    "arrays": Boot(
        ("arrays", "whatif"),
        (Disk(96), Disk(96), Disk(96), Disk(96), Disk(96, "scsi"), Disk(96, "scsi"), Disk(96, "nvme")),
    ),
    # hazards.py: A to E, S, N
    "hazards": Boot(
        ("hazards",),
        (Disk(32), Disk(32), Disk(144), Disk(144), Disk(320), Disk(32, "scsi"), Disk(32, "nvme")),
    ),
    # vda; vdb to vdd; vde, sda. What may leave a kernel in a bad state comes last.
    "runs": Boot(
        ("runs", "hotplug", "faults"),
        (Disk(400), Disk(200), Disk(200), Disk(200), Disk(200), Disk(200, "scsi")),
    ),
    # The same disks for the same run, below another kernel
    "newer": Boot(("newer",), (Disk(16), Disk(200), Disk(200), Disk(200))),
}

KERNELS = {"newer": NEWER_KERNEL}


def kernel_of(boot: str) -> Path:
    """Return what is booted: the stable release's kernel, or the one that is named for it here."""
    return KERNELS.get(boot, KERNEL)


def boot_of(path: Path) -> str:
    """Return the boot in which a file's tests are run; empty for every test outside of inside/."""
    if INSIDE not in path.parents:
        return ""
    folder = path.relative_to(INSIDE).parts[0]
    return next(name for name, boot in BOOTS.items() if folder in boot.folders)


def turn_of(path: Path) -> tuple[int, int]:
    """Return where a file of inside/ stands in the order of boots, and of their folders."""
    name = boot_of(path)
    return list(BOOTS).index(name), BOOTS[name].folders.index(path.relative_to(INSIDE).parts[0])
