"""The groups of tests that run in a guest: the folders of inside/, the boots that they share, and their disks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.lab.cache import KERNEL, NEWER_KERNEL, UML
from tests.lab.machine import Disk
from tests.lab.soak import SOAK

INSIDE = Path(__file__).parent / "inside"


@dataclass(frozen=True, slots=True)
class Boot:
    """One guest: the folders whose tests it runs, in this order, its disks, and the kernel that says which machine."""

    folders: tuple[str, ...]
    disks: tuple[Disk, ...]
    kernel: Path = UML


BOOTS: dict[str, Boot] = {
    # Those of whatif are small, as a raw cell writes all of its array; a soak's cells must last until they are killed.
    "arrays": Boot(("arrays", "whatif"), (*(Disk(96),) * 4, *(Disk(96 if SOAK else 24),) * 4)),
    # What may leave a kernel in a bad state comes last.
    "runs": Boot(("runs", "faults"), (Disk(400), *(Disk(200),) * 4)),
    # hazards.py: A to E, S, N
    "hazards": Boot(("hazards",), tuple(Disk(size_mib) for size_mib in (32, 32, 144, 144, 320, 32, 32))),
    # The soak's: buses, modules and hung tasks that user-mode Linux doesn't have: virtio, SCSI, NVMe, nvmet, USB gadgets.
    "hotplug": Boot(("hotplug",), (Disk(144), Disk(32)), KERNEL),
    # The soak's: the disks of "runs" for the same run, below another kernel.
    "newer": Boot(("newer",), (Disk(16), *(Disk(200),) * 3), NEWER_KERNEL),
}


@cache
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
