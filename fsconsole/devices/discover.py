"""All block devices of the machine, put together from sysfs, udev, mdstat, loop devices and mount tables."""

from __future__ import annotations

import os
import re
import stat
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from fsconsole.devices.marker import proven_marker
from fsconsole.devices.md import parse_mdstat
from fsconsole.devices.uses import Tables, mounts_by_number, read_tables, swap_numbers
from fsconsole.errors.targets import DeviceMissing, NotABlockDevice
from fsconsole.model.device import Device, DeviceKind, LoopBacking, MdArray
from fsconsole.system.block import status
from fsconsole.system.files import read_int_or, read_text_or
from fsconsole.text import KIB, SECTOR_BYTES, decode

# Which block devices there are, and what udev's database adds about each.

SYS_ROOT = "/sys"

_UDEV_KEYS = (
    "ID_BUS",
    "ID_MODEL",
    "ID_PART_ENTRY_UUID",
    "ID_SERIAL",
    "ID_SERIAL_SHORT",
    "ID_WWN",
    "ID_WWN_WITH_EXTENSION",
)
_LISTING_ATTEMPTS = 5
_OF_THREAD = threading.local()


def block_devices(sys_root: str = SYS_ROOT) -> dict[str, Mapping[str, str]]:
    """Return the kernel's names of all block devices, each with udev's properties of it.

    The properties are empty where no udevd runs, where libudev is missing, and for a made sysfs tree.
    Raises OSError where there is no sysfs.
    """
    names = os.listdir(f"{sys_root}/class/block")
    found: dict[str, Mapping[str, str]] = {name: {} for name in sorted(names)}
    if sys_root == SYS_ROOT:
        found.update(_udev_listing())
    return found


def _udev_listing() -> dict[str, Mapping[str, str]]:
    try:
        import pyudev  # noqa: PLC0415 - the import itself fails where libudev is not installed
    except ImportError:
        return {}
    # Making one searches for libudev, with programs of its own; it may be used by one thread alone.
    if not hasattr(_OF_THREAD, "context"):
        _OF_THREAD.context = pyudev.Context()
    for _ in range(_LISTING_ATTEMPTS):
        try:
            return {
                str(device.sys_name).replace("/", "!"): _chosen(device.properties)
                for device in _OF_THREAD.context.list_devices(subsystem="block")
            }
        except pyudev.DeviceNotFoundError:
            # One of them vanished between being listed and being looked at.
            continue
    return {}


def _chosen(properties: Mapping[str, str]) -> Mapping[str, str]:
    return {key: properties[key] for key in _UDEV_KEYS if key in properties}


# Who makes a disk, its serial number and WWN, and how it is attached: from sysfs, or else from udev.
#
# Sysfs comes first, so that an identity is the same whether or not udevd runs.

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


# One block device as its sysfs directory tells it (Documentation/ABI/stable/sysfs-block).

_LOOP_MAJOR = 7
_NO_DISK_MAJORS = frozenset({1, 2, 11})
"""Ram disks, floppies and CD-ROMs (Documentation/admin-guide/devices.txt)."""
_DEVICE_NUMBER = re.compile(r"([0-9]+):([0-9]+)")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a device stands in sysfs: its own directory and that of its whole disk, the same for a disk."""

    own: str
    disk: str

    @property
    def is_partition(self) -> bool:
        return self.own != self.disk


def read_device(
    name: str, sys_root: str = SYS_ROOT, udev: Mapping[str, Mapping[str, str]] | None = None
) -> Device:
    """Return what sysfs and udev tell of a device; a partition has its disk's hardware and queue.

    udev maps names of devices to udev's properties of them, as block_devices() returns them.
    Loop backing, md state, mounts and swap are not in here. Raises DeviceMissing where it has gone, and for
    a hidden one without a device number (a path below an NVMe multipath head).
    """
    place = _place(name, sys_root)
    number = _DEVICE_NUMBER.fullmatch(read_text_or(f"{place.own}/dev", ""))
    if number is None:
        raise DeviceMissing(device=name)
    major, minor = int(number[1]), int(number[2])
    uevent = parse_uevent(read_text_or(f"{place.own}/uevent", ""))
    disk_name = os.path.basename(place.disk)
    properties = udev or {}
    hardware = read_hardware(place.disk, _kernel_path(place.disk, sys_root), properties.get(disk_name, {}))
    queue = f"{place.disk}/queue"
    schedulers, scheduler = parse_scheduler(read_text_or(f"{queue}/scheduler", ""))
    return Device(
        name=name,
        path="/dev/" + uevent.get("DEVNAME", name.replace("!", "/")),
        kind=_kind(place, major),
        major=major,
        minor=minor,
        size_bytes=read_int_or(f"{place.own}/size", 0) * SECTOR_BYTES,
        read_only=read_int_or(f"{place.own}/ro", 0) == 1,
        removable=read_int_or(f"{place.disk}/removable", 0) == 1,
        rotational=_flag(f"{queue}/rotational"),
        model=hardware.model,
        serial=hardware.serial,
        wwn=hardware.wwn,
        transport=hardware.transport,
        diskseq=read_int_or(f"{place.disk}/diskseq", 0),
        logical_sector_bytes=read_int_or(f"{queue}/logical_block_size", SECTOR_BYTES),
        physical_sector_bytes=read_int_or(f"{queue}/physical_block_size", SECTOR_BYTES),
        optimal_io_bytes=read_int_or(f"{queue}/optimal_io_size", 0),
        minimum_io_bytes=read_int_or(f"{queue}/minimum_io_size", 0),
        read_ahead_bytes=read_int_or(f"{queue}/read_ahead_kb", 0) * KIB,
        scheduler=scheduler,
        schedulers=schedulers,
        write_cache=read_text_or(f"{queue}/write_cache", ""),
        parent=disk_name if place.is_partition else "",
        partition_start_bytes=read_int_or(f"{place.own}/start", 0) * SECTOR_BYTES
        if place.is_partition
        else 0,
        partition_uuid=_partition_uuid(uevent, properties.get(name, {})),
        holders=_entries(f"{place.own}/holders"),
        lower=_entries(f"{place.own}/slaves"),
        dm_name=read_text_or(f"{place.own}/dm/name", ""),
        dm_uuid=read_text_or(f"{place.own}/dm/uuid", ""),
    )


def parse_scheduler(text: str) -> tuple[tuple[str, ...], str]:
    """Return all I/O schedulers of queue/scheduler and the chosen one, which stands in brackets."""
    words = text.split()
    chosen = next((word[1:-1] for word in words if word.startswith("[") and word.endswith("]")), "")
    names = tuple(word.strip("[]") for word in words)
    return names, chosen or (names[0] if len(names) == 1 else "")


def parse_uevent(text: str) -> dict[str, str]:
    """Return the KEY=VALUE lines of a uevent file."""
    pairs = (line.partition("=") for line in text.splitlines())
    return {key: value for key, separator, value in pairs if separator}


def _place(name: str, sys_root: str) -> _Place:
    own = os.path.realpath(f"{sys_root}/class/block/{name}")
    is_partition = os.path.exists(f"{own}/partition")
    return _Place(own, os.path.dirname(own) if is_partition else own)


def _kernel_path(directory: str, sys_root: str) -> str:
    return "/" + os.path.relpath(directory, os.path.realpath(sys_root))


def _kind(place: _Place, major: int) -> DeviceKind:
    if place.is_partition:
        return DeviceKind.PARTITION
    if os.path.isdir(f"{place.own}/md"):
        return DeviceKind.MD
    if os.path.isdir(f"{place.own}/dm"):
        return DeviceKind.DM
    if major == _LOOP_MAJOR:
        return DeviceKind.LOOP
    is_hardware = os.path.isdir(f"{place.own}/device") and major not in _NO_DISK_MAJORS
    return DeviceKind.DISK if is_hardware else DeviceKind.OTHER


def _partition_uuid(uevent: Mapping[str, str], udev: Mapping[str, str]) -> str:
    return (uevent.get("PARTUUID") or udev.get("ID_PART_ENTRY_UUID", "")).lower()


def _flag(path: str) -> bool | None:
    value = read_int_or(path, -1)
    return None if value < 0 else value == 1


def _entries(path: str) -> tuple[str, ...]:
    try:
        return tuple(sorted(os.listdir(path)))
    except OSError:
        return ()


# What loop devices stand on, and whether that is a scratch file of ours.


def loop_backing(name: str, sys_root: str = SYS_ROOT) -> LoopBacking | None:
    """Return what the loop device of that name stands on, or None where nothing is attached.

    File device and inode, and with them the scratch mark, are asked from the device itself; where that is
    not allowed (without root) or the tree is a made one they are 0 and empty.
    """
    directory = f"{sys_root}/class/block/{name}/loop"
    path = _backing_path(f"{directory}/backing_file")
    if not path:
        return None
    told = LoopBacking(
        path=path,
        file_device=0,
        inode=0,
        direct_io=read_int_or(f"{directory}/dio", 0) == 1,
        autoclear=read_int_or(f"{directory}/autoclear", 0) == 1,
        offset_bytes=read_int_or(f"{directory}/offset", 0),
    )
    return _proven(told, f"/dev/{name}") if sys_root == SYS_ROOT else told


def attached_loops() -> tuple[tuple[str, LoopBacking], ...]:
    """Return the device path and the backing of every attached loop device of this machine."""
    names = sorted(name for name in os.listdir(f"{SYS_ROOT}/class/block") if _is_whole_loop(name))
    found = ((f"/dev/{name}", loop_backing(name)) for name in names)
    return tuple((path, backing) for path, backing in found if backing is not None)


def _is_whole_loop(name: str) -> bool:
    return name.startswith("loop") and name[4:].isdigit()


def _proven(told: LoopBacking, device_path: str) -> LoopBacking:
    try:
        asked = status(device_path)
    except OSError:
        return told
    marker = proven_marker(told.path, asked.device_number_of_file, asked.inode)
    return replace(
        told,
        file_device=asked.device_number_of_file,
        inode=asked.inode,
        direct_io=asked.direct_io,
        autoclear=asked.autoclear,
        offset_bytes=asked.offset_bytes,
        scratch_id=marker.scratch_id,
    )


def _backing_path(attribute: str) -> str:
    """Return a path exactly as the kernel has it, bytes that are no UTF-8 included: it must lead to the file."""
    try:
        with open(attribute, "rb") as file:
            return os.fsdecode(file.read().removesuffix(b"\n"))
    except OSError:
        return ""


# Devices in the order of a tree: disk, its partitions, the arrays and volumes made of them. Pure.

_KIND_ORDER = (
    DeviceKind.DISK,
    DeviceKind.MD,
    DeviceKind.DM,
    DeviceKind.PARTITION,
    DeviceKind.LOOP,
    DeviceKind.OTHER,
)
_PARTS = re.compile(r"([0-9]+)|([^0-9]+)")
_LETTERED = re.compile(r"(sd|vd|hd|xvd)[a-z]+")
"""Drivers that count their disks in letters: a longer name is a later disk."""

NaturalKey = tuple[tuple[int, str, int, str], ...]


@dataclass(frozen=True, slots=True)
class TreeRow:
    """One line of the tree.

    last_of has a flag for each level from the root's children down to this row: True where that ancestor
    (or the row itself, at the end) is the last of its siblings; empty for a root.
    """

    device: Device
    last_of: tuple[bool, ...] = ()
    also_under: tuple[str, ...] = ()
    """Names of its other parents: a device with several (an array) stands under the first only."""


def tree_rows(devices: tuple[Device, ...]) -> tuple[TreeRow, ...]:
    """Return every device once, parents before children, siblings in natural order."""
    parents = _parents(devices)
    children: dict[str, list[Device]] = {}
    for device in sorted(devices, key=_sibling_key):
        children.setdefault(next(iter(parents[device.name]), ""), []).append(device)
    rows: dict[str, TreeRow] = {}
    for root in children.get("", []):
        for row in _branch(root, (), children, parents):
            rows[row.device.name] = row
    # A ring of parents, which the kernel would not allow, must not hide a device.
    stranded = (TreeRow(device) for device in devices if device.name not in rows)
    return (*rows.values(), *stranded)


def guide(row: TreeRow, *, ascii_only: bool = False) -> str:
    """Return the lines that lead to a row's name, three columns for each level; all of them are in CP437."""
    bar, tee, corner = ("|  ", "|- ", "`- ") if ascii_only else ("│  ", "├─ ", "└─ ")
    if not row.last_of:
        return ""
    above = "".join("   " if last else bar for last in row.last_of[:-1])
    return above + (corner if row.last_of[-1] else tee)


def natural_key(name: str) -> NaturalKey:
    """Return a sort key in which sda2 is before sda10, and sdz before sdaa."""
    parts = _PARTS.findall(name)
    return tuple((int(digits), "", 0, "") if digits else _letters_key(letters) for digits, letters in parts)


def _letters_key(letters: str) -> tuple[int, str, int, str]:
    driver = _LETTERED.fullmatch(letters)
    return (0, driver[1] if driver else letters, len(letters), letters)


def _sibling_key(device: Device) -> tuple[int, NaturalKey]:
    return _KIND_ORDER.index(device.kind), natural_key(device.name)


def _parents(devices: tuple[Device, ...]) -> dict[str, tuple[str, ...]]:
    by_path = {device.path: device.name for device in devices}
    names = frozenset(by_path.values())
    return {device.name: _parents_of(device, names, by_path) for device in devices}


def _parents_of(device: Device, names: frozenset[str], by_path: Mapping[str, str]) -> tuple[str, ...]:
    below = by_path.get(device.loop.path, "") if device.loop is not None else ""
    candidates = (device.parent, *sorted(device.lower, key=natural_key), below)
    return tuple(name for name in candidates if name in names and name != device.name)


def _branch(
    device: Device,
    last_of: tuple[bool, ...],
    children: Mapping[str, list[Device]],
    parents: Mapping[str, tuple[str, ...]],
) -> Iterator[TreeRow]:
    yield TreeRow(device, last_of, parents[device.name][1:])
    below = children.get(device.name, [])
    for child in below:
        yield from _branch(child, (*last_of, child is below[-1]), children, parents)


PROC_ROOT = "/proc"

_FILE_TYPES = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISREG, "a plain file"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
)


def discover(sys_root: str = SYS_ROOT, proc_root: str = PROC_ROOT) -> tuple[Device, ...]:
    """Return every block device that has a size, and inactive md arrays, in natural order of their names.

    Nothing is opened but loop devices, to ask what they stand on. Signatures are not probed. Raises OSError
    where there is no sysfs, and KernelUnreadable where mdstat is not understood.
    """
    udev = block_devices(sys_root)
    arrays = {array.name: array for array in parse_mdstat(read_text_or(f"{proc_root}/mdstat", ""))}
    found = [_with_layers(device, arrays, sys_root) for device in _present(udev, sys_root)]
    listed = tuple(device for device in found if device.size_bytes > 0 or device.md is not None)
    in_order = tuple(sorted(listed, key=lambda device: natural_key(device.name)))
    return _with_uses(in_order, read_tables(sys_root, proc_root))


def find_device(path: str, devices: tuple[Device, ...] | None = None) -> Device:
    """Return the device that a path leads to, through symbolic links and by its number, never by its name.

    Raises DeviceMissing (also where the node's number has no device behind it) and NotABlockDevice.
    """
    number = device_number(path)
    for device in discover() if devices is None else devices:
        if os.makedev(device.major, device.minor) == number:
            return device
    raise DeviceMissing(device=path)


def device_number(path: str) -> int:
    """Return the number (makedev) of the block device that a path leads to. Raises DeviceMissing, NotABlockDevice."""
    try:
        found = os.stat(path)
    except (OSError, ValueError) as error:
        raise DeviceMissing(device=path) from error
    if not stat.S_ISBLK(found.st_mode):
        raise NotABlockDevice(device=path, what=_file_type(found.st_mode))
    return found.st_rdev


def _present(udev: Mapping[str, Mapping[str, str]], sys_root: str) -> list[Device]:
    devices = []
    for name in udev:
        try:
            devices.append(read_device(name, sys_root, udev))
        except DeviceMissing:
            continue
    return devices


def _with_layers(device: Device, arrays: Mapping[str, MdArray], sys_root: str) -> Device:
    if device.kind is DeviceKind.LOOP:
        return replace(device, loop=loop_backing(device.name, sys_root))
    if device.kind is DeviceKind.MD:
        return replace(device, md=arrays.get(device.name))
    return device


def _with_uses(devices: tuple[Device, ...], tables: Tables) -> tuple[Device, ...]:
    mounts, swaps = mounts_by_number(tables, devices), swap_numbers(tables)
    numbered = ((os.makedev(device.major, device.minor), device) for device in devices)
    return tuple(
        replace(device, mounts=mounts.get(number, ()), swap=number in swaps) for number, device in numbered
    )


def _file_type(mode: int) -> str:
    return next((what for is_type, what in _FILE_TYPES if is_type(mode)), "something else")
