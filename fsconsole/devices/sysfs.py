"""Reads block devices from sysfs and udev: sizes, queues, hardware names, and the files below loop devices."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from msgspec.structs import replace

from fsconsole.devices.marker import place_of, proven_marker
from fsconsole.devices.records import NO_RECORD, is_written, read_record
from fsconsole.errors.targets import DeviceMissing
from fsconsole.model.device import Device, DeviceKind, LoopBacking
from fsconsole.system.block import LoopStatus
from fsconsole.system.files import read_int_or, read_text, read_text_or
from fsconsole.text import KIB, SECTOR_BYTES, decode

SYS_ROOT = "/sys"
_UDEV_DATABASE = "/run/udev/data"

_UDEV_KEYS = (
    "ID_BUS", "ID_MODEL", "ID_PART_ENTRY_UUID", "ID_SCSI_SERIAL", "ID_SERIAL", "ID_SERIAL_SHORT", "ID_WWN",
    "ID_WWN_WITH_EXTENSION",
)  # fmt: skip
_LISTING_ATTEMPTS = 5
_OF_THREAD = threading.local()

Properties = Mapping[str, Mapping[str, str]]
"""udev's properties of each device, by the kernel's name."""


def _udev_properties() -> Properties:
    """Return what udev tells; nothing where no udevd runs, or libudev is missing."""
    # Looking for libudev starts programs, and without a database it would have nothing to add.
    if not os.path.isdir(_UDEV_DATABASE):
        return {}
    try:
        import pyudev  # noqa: PLC0415 - the import itself fails where libudev is not installed
    except ImportError:
        return {}
    # Making one searches for libudev, with programs of its own; it may be used by one thread alone.
    if not hasattr(_OF_THREAD, "context"):
        _OF_THREAD.context = pyudev.Context()
    for _ in range(_LISTING_ATTEMPTS):
        # One of them may vanish between being listed and being looked at.
        with suppress(pyudev.DeviceNotFoundError):
            return {
                str(device.sys_name).replace("/", "!"): {
                    key: device.properties[key] for key in _UDEV_KEYS if key in device.properties
                }
                for device in _OF_THREAD.context.list_devices(subsystem="block")
            }
    return {}


# Hardware names come from sysfs, or else from udev: an identity is the same whether or not udevd runs.

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
"""Buses in a disk's sysfs path, the one nearest to the medium first: a USB bridge is a SCSI host too."""

_USB_DEVICE = re.compile(r".*/[0-9]+-[0-9.]+(?=/)")
_VPD_HEAD_BYTES = 4
_UNKNOWN = frozenset({"", "(null)", "0000000000000000"})


class Hardware(NamedTuple):
    """Identity that a disk reports; each field is empty where it reports nothing."""

    model: str = ""
    serial: str = ""
    wwn: str = ""
    transport: str = ""


def read_hardware(directory: str, sys_path: str, udev: Mapping[str, str]) -> Hardware:
    """Return the hardware of a whole disk.

    directory is its real sysfs directory, sys_path the same path as the kernel has it (from "/devices").
    """
    # SCSI and NVMe call it model, MMC name; udev's copy has underscores for blanks.
    model = read_text_or(f"{directory}/device/model", "")
    if not model and "/mmc_host/" in directory:
        model = read_text_or(f"{directory}/device/name", "")
    page = b""
    with suppress(OSError), open(f"{directory}/device/vpd_pg80", "rb") as file:
        page = file.read()
    usb_device = _USB_DEVICE.match(directory)
    transport = next((name for name, pattern in _TRANSPORTS if pattern.search(sys_path)), "")
    return Hardware(
        model=model or udev.get("ID_MODEL", "").replace("_", " ").strip(),
        serial=_first_known(
            read_text_or(f"{directory}/serial", ""),
            read_text_or(f"{directory}/device/serial", ""),
            parse_vpd_serial(page),
            udev.get("ID_SCSI_SERIAL", ""),
            udev.get("ID_SERIAL_SHORT", ""),
            udev.get("ID_SERIAL", ""),
            # Of the USB device that it hangs on (Documentation/driver-api/usb).
            read_text_or(f"{usb_device[0]}/serial", "") if usb_device else "",
        ),
        # ID_WWN alone cuts a 128 bit NAA name in half, which all LUNs of one array share.
        wwn=_first_known(
            normal_wwn(read_text_or(f"{directory}/wwid", "")),
            normal_wwn(read_text_or(f"{directory}/device/wwid", "")),
            udev.get("ID_WWN_WITH_EXTENSION", ""),
            udev.get("ID_WWN", ""),
        ),
        transport=transport or udev.get("ID_BUS", ""),
    )


def parse_vpd_serial(page: bytes) -> str:
    """Return the serial number in a SCSI VPD page 80h (SPC-4, 7.8.15): a head of 4 bytes, its length in two."""
    length = int.from_bytes(page[2:_VPD_HEAD_BYTES], "big")
    return decode(page[_VPD_HEAD_BYTES : _VPD_HEAD_BYTES + length]).strip(" \0")


def normal_wwn(wwid: str) -> str:
    """Return a kernel wwid in udev's form: "naa.5000c500a1b2" becomes "0x5000c500a1b2", others stay."""
    words = " ".join(wwid.split())
    return f"0x{words[4:]}" if words.startswith("naa.") else words


def _first_known(*candidates: str) -> str:
    return next((text for text in candidates if text not in _UNKNOWN), "")


# One block device as its sysfs directory tells it (Documentation/ABI/stable/sysfs-block).

_LOOP_MAJOR = 7
_NO_DISK_MAJORS = frozenset({1, 2, 11})
"""Ram disks, floppies and CD-ROMs (Documentation/admin-guide/devices.txt)."""


def read_devices(sys_root: str = SYS_ROOT) -> Iterator[Device]:
    """Yield what sysfs and udev tell of every block device; one without a size that is no array is left out.

    So is one that is gone by then, and detached loop devices, of which there may be hundreds. Raises OSError where there is no sysfs.
    """
    names = os.listdir(f"{sys_root}/class/block")
    udev = _udev_properties() if sys_root == SYS_ROOT else {}
    disks: dict[str, Device] = {}
    for name in sorted(names):
        link = f"{sys_root}/class/block/{name}"
        if read_text_or(f"{link}/size", "0") == "0" and not os.path.isdir(f"{link}/md"):
            continue
        with suppress(DeviceMissing):
            yield read_device(name, sys_root, udev, disks)


def read_device(
    name: str,
    sys_root: str = SYS_ROOT,
    udev: Properties | None = None,
    disks: dict[str, Device] | None = None,
) -> Device:
    """Return what sysfs and udev tell of a device; a partition has its disk's hardware and queue.

    disks keeps whole disks by directory, so that each is read once for all its partitions. Loop backing, md state,
    mounts and swap are not in here. Raises DeviceMissing where it has gone, and for a hidden one without a device
    number (a path below an NVMe multipath head).
    """
    udev, disks = udev or {}, {} if disks is None else disks
    link = f"{sys_root}/class/block/{name}"
    try:
        directory = os.path.normpath(f"{os.path.dirname(link)}/{os.readlink(link)}")
    except OSError as error:
        raise DeviceMissing(device=name) from error
    is_partition = os.path.exists(f"{directory}/partition")
    whole = os.path.dirname(directory) if is_partition else directory
    if whole not in disks:
        disks[whole] = _whole_disk(whole, sys_root, udev)
    if not is_partition:
        return disks[whole]
    return replace(
        _with_own_facts(disks[whole], directory, udev),
        kind=DeviceKind.PARTITION,
        parent=disks[whole].name,
        partition_start_bytes=read_int_or(f"{directory}/start", 0) * SECTOR_BYTES,
        lower=(),
        dm_name="",
        dm_uuid="",
    )


def _with_own_facts(device: Device, directory: str, udev: Properties) -> Device:
    """Return the device with what a partition has of its own, as a disk has."""
    name = os.path.basename(directory)
    try:
        number = parse_number(read_text(f"{directory}/dev"))
    except (OSError, ValueError) as error:
        raise DeviceMissing(device=name) from error
    uevent = parse_uevent(read_text_or(f"{directory}/uevent", ""))
    partition_uuid = uevent.get("PARTUUID") or udev.get(name, {}).get("ID_PART_ENTRY_UUID", "")
    return replace(
        device,
        name=name,
        path="/dev/" + uevent.get("DEVNAME", name.replace("!", "/")),
        major=os.major(number),
        minor=os.minor(number),
        size_bytes=read_int_or(f"{directory}/size", 0) * SECTOR_BYTES,
        read_only=read_int_or(f"{directory}/ro", 0) == 1,
        partition_uuid=partition_uuid.lower(),
        holders=_entries(f"{directory}/holders"),
    )


def _whole_disk(directory: str, sys_root: str, udev: Properties) -> Device:
    own = _with_own_facts(Device("", "", DeviceKind.OTHER, 0, 0, 0), directory, udev)
    kind, queue = _kind(directory, own.major), f"{directory}/queue"
    hardware, properties = Hardware(), udev.get(own.name, {})
    # Sysfs has none of a loop device, of which there may be hundreds.
    if kind is not DeviceKind.LOOP or properties:
        hardware = read_hardware(directory, directory.removeprefix(sys_root), properties)
    schedulers, scheduler = parse_scheduler(read_text_or(f"{queue}/scheduler", ""))
    return replace(
        own,
        kind=kind,
        removable=read_int_or(f"{directory}/removable", 0) == 1,
        rotational={0: False, 1: True}.get(read_int_or(f"{queue}/rotational", -1)),
        **hardware._asdict(),
        diskseq=read_int_or(f"{directory}/diskseq", 0),
        logical_sector_bytes=read_int_or(f"{queue}/logical_block_size", SECTOR_BYTES),
        physical_sector_bytes=read_int_or(f"{queue}/physical_block_size", SECTOR_BYTES),
        optimal_io_bytes=read_int_or(f"{queue}/optimal_io_size", 0),
        minimum_io_bytes=read_int_or(f"{queue}/minimum_io_size", 0),
        read_ahead_bytes=read_int_or(f"{queue}/read_ahead_kb", 0) * KIB,
        scheduler=scheduler,
        schedulers=schedulers,
        write_cache=read_text_or(f"{queue}/write_cache", ""),
        lower=_entries(f"{directory}/slaves"),
        dm_name=read_text_or(f"{directory}/dm/name", ""),
        dm_uuid=read_text_or(f"{directory}/dm/uuid", ""),
    )


def parse_scheduler(text: str) -> tuple[tuple[str, ...], str]:
    """Return all I/O schedulers of queue/scheduler and the chosen one, which stands in brackets."""
    words = text.split()
    chosen = next((word[1:-1] for word in words if word.startswith("[") and word.endswith("]")), "")
    names = tuple(word.strip("[]") for word in words)
    return names, chosen or (names[0] if len(names) == 1 else "")


def parse_number(text: str) -> int:
    """Return the device number in a sysfs dev file, "8:16". Raises ValueError."""
    major, _, minor = text.partition(":")
    return os.makedev(int(major), int(minor))


def parse_uevent(text: str) -> dict[str, str]:
    """Return the KEY=VALUE lines of a uevent file."""
    pairs = (line.partition("=") for line in text.splitlines())
    return {key: value for key, separator, value in pairs if separator}


def _kind(directory: str, major: int) -> DeviceKind:
    if major == _LOOP_MAJOR:
        return DeviceKind.LOOP
    if os.path.isdir(f"{directory}/md"):
        return DeviceKind.MD
    if os.path.isdir(f"{directory}/dm"):
        return DeviceKind.DM
    is_hardware = major not in _NO_DISK_MAJORS and os.path.isdir(f"{directory}/device")
    return DeviceKind.DISK if is_hardware else DeviceKind.OTHER


def _entries(path: str) -> tuple[str, ...]:
    try:
        return tuple(sorted(os.listdir(path)))
    except OSError:
        return ()


def slot_of(disk_path: str, sys_root: str = SYS_ROOT, by_path: str = "/dev/disk/by-path") -> str:
    """Return where a disk is plugged in: its slot (drivers/misc/enclosure.c), else udev's name, else the kernel's address.

    Empty where none of them is known.
    """
    directory = f"{sys_root}/class/block/{os.path.basename(disk_path)}/device"
    with suppress(OSError):
        slots = [name.partition(":")[2] for name in os.listdir(directory) if name.startswith("enclosure_device:")]
        if slots:
            return f"slot {slots[0]}"
    with suppress(OSError):
        for name in sorted(os.listdir(by_path)):
            if os.path.realpath(f"{by_path}/{name}") == disk_path:
                return name
    address = os.path.basename(os.path.realpath(directory))
    return address if address != "device" else ""


# The files below loop devices, and whether such a file is a scratch file of ours.


def loop_backing(name: str, told: LoopStatus | None, sys_root: str = SYS_ROOT) -> LoopBacking | None:
    """Return the file below a loop device, or None where nothing is attached.

    told is the device's own answer; without it (without root, in a made tree) inode and scratch mark stay empty.
    """
    directory = f"{sys_root}/class/block/{name}/loop"
    try:
        with open(f"{directory}/backing_file", "rb") as file:
            # Exactly as the kernel has it, bytes that are no UTF-8 included: it must lead to the file.
            path = os.fsdecode(file.read().removesuffix(b"\n"))
    except OSError:
        return None
    if not path:
        return None
    backing = LoopBacking(
        path=path,
        file_device=0,
        inode=0,
        direct_io=read_int_or(f"{directory}/dio", 0) == 1,
        autoclear=read_int_or(f"{directory}/autoclear", 0) == 1,
        offset_bytes=read_int_or(f"{directory}/offset", 0),
        limit_bytes=read_int_or(f"{directory}/sizelimit", 0),
    )
    if told is None:
        return backing
    marker = proven_marker(path, told.device_number_of_file, told.inode)
    record = read_record(marker.scratch_id) if marker.scratch_id else NO_RECORD
    return replace(
        backing,
        file_device=told.device_number_of_file,
        inode=told.inode,
        device_number=told.backing_device_number,
        scratch_id=marker.scratch_id,
        purpose=marker.purpose,
        made_ns=marker.born_ns,
        is_in_place=marker.place in ("", place_of(path)),
        is_recorded=record != NO_RECORD,
        left=record.left,
        is_written=record != NO_RECORD and is_written(path, marker, record),
    )
