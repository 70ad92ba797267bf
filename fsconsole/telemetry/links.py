"""Link speeds between disks and their controllers, from sysfs: SATA, SAS, USB, PCIe."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from glob import glob
from typing import NamedTuple

from fsconsole.system.files import read_text_or
from fsconsole.telemetry.block import SYS, watched_tree

_NUMBER = re.compile(r"[0-9.]+")
_ATA, _SAS, _USB = re.compile(r"ata\d+"), re.compile(r"port-[\d:]+"), re.compile(r"\d+-[\d.]+")
_8B_10B = 0.8
"""Of 10 bits sent 8 are data: SATA, SAS up to 12 Gb/s, USB at 5 Gb/s, PCIe up to 5 GT/s."""


class Link(NamedTuple):
    """A link's name and the bytes/s of data that it carries in one direction, packet headers not counted."""

    words: str
    bytes_per_s: float


def links_below(target: str, sys: str = SYS) -> tuple[Link, ...]:
    """Return the narrowest link of each disk below a target; none if sysfs knows no link of one of them.

    A virtio disk has none: the link of its emulated PCI device limits nothing.
    """
    tree = watched_tree(os.path.basename(os.path.realpath(target)), sys)
    upper = {watched.above for watched in tree}
    links = [_narrowest(watched.name, sys) for watched in tree if watched.name not in upper]
    return tuple(link for link in links if link) if all(links) else ()


def _narrowest(name: str, sys: str) -> Link | None:
    directory = os.path.realpath(f"{sys}/class/block/{name}")
    if "/virtio" in directory:
        return None
    # A disk with several NVMe controllers is below none of them, and uses them all.
    controllers = [entry for entry in glob(f"{directory}/../nvme*") if os.path.islink(entry)]
    found = [_least(_links_above(os.path.realpath(entry))) for entry in controllers or [directory]]
    known = [link for link in found if link]
    return Link(known[0].words, sum(link.bytes_per_s for link in known)) if known else None


def _least(links: Iterable[Link]) -> Link | None:
    return min(links, key=lambda link: link.bytes_per_s, default=None)


def _links_above(directory: str) -> Iterator[Link]:
    """Yield every link on the way from a device up to the root of its bus."""
    while os.path.dirname(directory) != directory:
        name = os.path.basename(directory)
        if _ATA.fullmatch(name):
            # Documentation/ABI/testing/sysfs-ata; behind a port multiplier a disk has one link of several.
            speeds = [_number(path) for path in glob(f"{directory}/link*/ata_link/link*/sata_spd")]
            yield from (Link(f"SATA {speed:g} Gb/s", speed / 8 * _8B_10B * 1e9) for speed in speeds if speed)
        elif _SAS.fullmatch(name):
            # drivers/scsi/scsi_transport_sas.c; a wide port has several.
            speeds = [_number(path) for path in glob(f"{directory}/phy-*/sas_phy/phy-*/negotiated_linkrate")]
            if sum(speeds):
                yield Link(f"SAS {sum(speeds):g} Gb/s", sum(speeds) / 8 * _8B_10B * 1e9)
        elif _USB.fullmatch(name) and (speed := _number(f"{directory}/speed")):
            # In Mb/s (Documentation/ABI/testing/sysfs-bus-usb); from 10 Gb/s on 128 of 132 bits are data.
            share = {5000: _8B_10B}.get(int(speed), 128 / 132 if speed > 5000 else 1.0)
            yield Link(f"USB {speed:g} Mb/s", speed / 8 * share * 1e6)
        elif speed := _number(f"{directory}/current_link_speed"):
            # Documentation/ABI/testing/sysfs-bus-pci; from 8 GT/s on 128 of 130 bits are data.
            lanes = _number(f"{directory}/current_link_width")
            share = _8B_10B if speed <= 5 else 128 / 130
            if lanes:
                yield Link(f"PCIe {speed:g} GT/s x{lanes:g}", speed / 8 * lanes * share * 1e9)
        directory = os.path.dirname(directory)


def _number(path: str) -> float:
    """Return the number that a file begins with; 0 where it has none ("<unknown>", "Unknown")."""
    found = _NUMBER.match(read_text_or(path, ""))
    return float(found[0]) if found else 0.0
