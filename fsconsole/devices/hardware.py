"""Who makes a disk, its serial number and WWN, and how it is attached: from sysfs, or else from udev.

Sysfs comes first, so that an identity is the same whether or not udevd runs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from fsconsole.plaintext import decode
from fsconsole.system.text import read_text_or

_TRANSPORTS = (
    ("usb", re.compile(r"/usb[0-9]+/")),
    ("ata", re.compile(r"/ata[0-9]+/")),
    ("nvme", re.compile(r"/nvme(-subsystem)?/|/nvme[0-9]+/")),
    ("iscsi", re.compile(r"/session[0-9]+/")),
    ("fc", re.compile(r"/rport-[0-9]")),
    ("sas", re.compile(r"/end_device-[0-9]")),
    ("virtio", re.compile(r"/virtio[0-9]+/")),
    ("mmc", re.compile(r"/mmc_host/")),
    ("scsi", re.compile(r"/host[0-9]+/")),
    ("xen", re.compile(r"/vbd-[0-9]+/")),
)
"""What a disk's sysfs path runs through, the bus nearest to the medium first: a USB bridge is a SCSI host too."""

_USB_DEVICE = re.compile(r"[0-9]+-[0-9.]+")
_VPD_HEAD_BYTES = 4
_UNKNOWN = frozenset({"", "(null)", "0000000000000000"})


@dataclass(frozen=True, slots=True)
class Hardware:
    """What a disk says about itself; each field is empty where it says nothing."""

    model: str = ""
    serial: str = ""
    wwn: str = ""
    transport: str = ""


def read_hardware(directory: str, sys_path: str, udev: Mapping[str, str]) -> Hardware:
    """Return the hardware of a whole disk.

    directory is its real sysfs directory, sys_path the same path as the kernel has it (from "/devices").
    """
    return Hardware(
        model=_model(directory, udev),
        serial=_serial(directory, udev),
        wwn=_wwn(directory, udev),
        transport=_transport(sys_path) or udev.get("ID_BUS", ""),
    )


def parse_vpd_serial(page: bytes) -> str:
    """Return the serial number in a SCSI VPD page 80h (SPC-4, 7.8.15): a head of 4 bytes, its length in two."""
    length = int.from_bytes(page[2:_VPD_HEAD_BYTES], "big")
    return decode(page[_VPD_HEAD_BYTES : _VPD_HEAD_BYTES + length]).strip(" \0")


def normal_wwn(wwid: str) -> str:
    """Return a kernel wwid in udev's form: "naa.5000c500a1b2" becomes "0x5000c500a1b2", others stay."""
    words = " ".join(wwid.split())
    return f"0x{words[4:]}" if words.startswith("naa.") else words


def _model(directory: str, udev: Mapping[str, str]) -> str:
    # SCSI and NVMe call it model, MMC name; udev's copy has underscores for blanks.
    from_sysfs = read_text_or(f"{directory}/device/model", "")
    if not from_sysfs and "/mmc_host/" in directory:
        from_sysfs = read_text_or(f"{directory}/device/name", "")
    return from_sysfs or udev.get("ID_MODEL", "").replace("_", " ").strip()


def _serial(directory: str, udev: Mapping[str, str]) -> str:
    candidates = (
        read_text_or(f"{directory}/serial", ""),
        read_text_or(f"{directory}/device/serial", ""),
        _vpd_serial(f"{directory}/device/vpd_pg80"),
        udev.get("ID_SCSI_SERIAL", ""),
        udev.get("ID_SERIAL_SHORT", ""),
        udev.get("ID_SERIAL", ""),
        _usb_serial(directory),
    )
    return _first_known(candidates)


def _wwn(directory: str, udev: Mapping[str, str]) -> str:
    # ID_WWN alone cuts a 128 bit NAA name in half, which all LUNs of one array share.
    candidates = (
        normal_wwn(read_text_or(f"{directory}/wwid", "")),
        normal_wwn(read_text_or(f"{directory}/device/wwid", "")),
        udev.get("ID_WWN_WITH_EXTENSION", ""),
        udev.get("ID_WWN", ""),
    )
    return _first_known(candidates)


def _first_known(candidates: tuple[str, ...]) -> str:
    return next((text for text in candidates if text not in _UNKNOWN), "")


def _vpd_serial(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return parse_vpd_serial(file.read())
    except OSError:
        return ""


def _usb_serial(directory: str) -> str:
    """Return the serial number of the USB device that a disk hangs on (Documentation/driver-api/usb)."""
    while len(directory) > 1:
        if _USB_DEVICE.fullmatch(os.path.basename(directory)):
            return read_text_or(f"{directory}/serial", "")
        directory = os.path.dirname(directory)
    return ""


def _transport(sys_path: str) -> str:
    return next((name for name, pattern in _TRANSPORTS if pattern.search(sys_path)), "")
