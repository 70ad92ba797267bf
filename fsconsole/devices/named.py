"""Finds the configuration files that name a device: by path, by tag, or by a link of udev's, which need not exist."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from fsconsole.devices.content import read_ends
from fsconsole.devices.evidence import Evidence
from fsconsole.devices.graph import DeviceGraph, number_of
from fsconsole.devices.partitions import PartitionEntry, read_table
from fsconsole.devices.state import volume_name
from fsconsole.devices.sysfs import SYS_ROOT, parse_uevent
from fsconsole.devices.uses import block_number
from fsconsole.errors.runs import ToolFailed
from fsconsole.model.command import Executor
from fsconsole.model.device import Device
from fsconsole.system.files import read_text, read_text_or
from fsconsole.system.mounts import unescape

_UNITS = tuple(
    f"{folder}/{unit}"
    for folder in (
        "/etc/systemd/system", "/etc/systemd/system.control", "/run/systemd/system", "/run/systemd/transient",
        "/run/systemd/generator*", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
    )
    for unit in ("*.mount", "*.swap", "*.mount.d/*.conf", "*.swap.d/*.conf", "systemd-cryptsetup@*.service")
)  # fmt: skip
"""Unit files (man 5 systemd.unit); systemd's generators write those for entries of fstab and crypttab, and for partition types."""
NAMED_IN = (
    "/etc/fstab", "/etc/crypttab", "/etc/veritytab", "/etc/integritytab", "/proc/cmdline", "/etc/kernel/cmdline",
    "/etc/cmdline.d/*.conf", *_UNITS, "/etc/initramfs-tools/conf.d/resume", "/etc/kdump.conf", "/etc/auto.*",
    "/etc/libvirt/qemu/*.xml", "/etc/pve/qemu-server/*.conf", "/etc/drbd.d/*.res", "/etc/target/saveconfig.json",
    "/etc/nvmet/config.json", "/etc/vdoconf.yml",
)  # fmt: skip
"""Files that name devices which may be mounted, resumed from, exported or given to a virtual machine later."""


class Name(NamedTuple):
    """One name of a device, as a file has it or as the device has it; two that are equal mean one device.

    kind is a tag of fstab(5) in lower case, a folder of /dev/disk without "by-", "node" for a path, "number", or
    "partnroff" for a PARTUUID with the distance from its partition.
    """

    kind: str
    value: str


Mentions = Mapping[str, frozenset[Name]]
"""The names in each file, by its path."""


def read_mentions(files: Iterable[str] = NAMED_IN) -> Mentions:
    """Return the names of devices in each file that the patterns match. Raises OSError for a file that can't be read."""
    mentions = {}
    for path in (path for pattern in files for path in sorted(glob.glob(pattern))):
        # Removed since, or a directory such as /etc/auto.master.d.
        with suppress(FileNotFoundError, IsADirectoryError):
            mentions[path] = find_names(read_text(path))
    return mentions


def named_in(evidence: Evidence, mentions: Mentions, graph: DeviceGraph, executor: Executor) -> tuple[str, ...]:
    """Return the files that name a device or a partition in it.

    Raises OSError if the disk's partition table can't be read, ToolMissing.
    """
    mentioned = frozenset[Name]().union(*mentions.values())
    disk = graph.disk(evidence.device)
    entries = _kernel_entries(graph.partitions(disk))
    if entries and any(name.kind in _OF_TABLES for name in mentioned):
        entries += _table_entries(disk, executor)
    names = {name for name in _device_names(evidence, disk, entries) if name.value}
    numbers = {number_of(device) for device in (evidence.device, *evidence.partitions)}
    parts = {entry.number for entry in entries if _is_inside(entry, evidence.device)}

    def is_meant(name: Name) -> bool:
        if name.value.startswith("/dev/") and name.kind == "node" and block_number(name.value) in numbers:
            return True
        return name in names or _is_hardware_link(name, disk, evidence.device, parts)

    meant = {name for name in mentioned if is_meant(name)}
    return tuple(path for path, names_there in mentions.items() if names_there & meant)


# Names in a text: those of fstab(5), crypttab(5), systemd.mount(5), the kernel's command line, and paths below /dev.

_START = re.compile(
    r"""(?i)(?<![a-z0-9_])(?:(?P<tag>uuid|label|partuuid|partlabel|id)|(?:luks|md)\.name)="""
    r"""|(?P<unit>dev-)(?=\S+\.(?:device|swap)\b)|(?=/dev/)|(?<![^\s"'=:,])(?=/)|(?:root|resume)=(?P<number>(?=[0-9a-f]))"""
)
"""Where a name begins: a tag, a unit named for a device, a path (of a file, too, which a loop device may have), or a device number. The UUID in dracut's luks.name has no tag."""
_END = re.compile(r"""[\s"'<>,;:=)\]}]|\.device|\.swap|$""")
"""Where a name may end. Any of these may also be part of a name: a text to each of them is tried."""
_MAX_NAME_CHARACTERS = 1024
"""A label has at most 255 bytes (reiser4, btrfs), each of which may be written as ``\\x2f``."""
_MAX_ENDS = 24
"""Blanks and the like in one name: more make a JSON file in one line slow to read."""
_ESCAPE = re.compile(rb"\\(?:x([0-9a-fA-F]{2})|([0-3][0-7]{2}))")
_DISK_LINK = re.compile(r"/dev/disk/by-([a-z]+)/(.+)", re.DOTALL)
_PART_OFFSET = re.compile(r"(.+)/partnroff=([+-]?[0-9]+)")
_COMMENTS = ("#", ";")


def find_names(text: str) -> frozenset[Name]:
    """Return the names of devices in the text of a configuration file; of one whose end is unclear, each possible one."""
    lines = (line for line in text.splitlines() if not line.lstrip().startswith(_COMMENTS))
    return frozenset(name for line in lines for name in _names_in(line))


def _names_in(line: str) -> Iterator[Name]:
    for start in _START.finditer(line):
        rest = line[start.end() : start.end() + _MAX_NAME_CHARACTERS].lstrip("\"'")
        for word in {rest[: end.start()] for end in islice(_END.finditer(rest), _MAX_ENDS)} - {""}:
            if start["unit"]:
                yield from _of_path(_decoded("/dev/" + word.replace("-", "/")))
            elif start["number"] is not None:
                yield from _of_number(word)
            elif start.end() > start.start():
                yield _of_tag((start["tag"] or "uuid").lower(), word)
            else:
                yield from _of_path(word)


def _of_tag(tag: str, word: str) -> Name:
    value = plain(word)
    if tag == "uuid":
        return Name(tag, _plain_uuid(value))
    # Documentation/admin-guide/kernel-parameters.rst: a partition at a distance from one that is named.
    if tag == "partuuid" and (offset := _PART_OFFSET.fullmatch(value)):
        return Name("partnroff", f"{offset[1]}{int(offset[2]):+d}")
    # "root-luks" and "root-verity" belong to "root".
    return Name(tag, value.partition("-")[0] if tag == "designator" else value)


def _of_path(word: str) -> Iterator[Name]:
    for path in dict.fromkeys((word, unescape(word), _decoded(word))):
        yield Name("node", os.path.normpath(path))
        if link := _DISK_LINK.fullmatch(os.path.normpath(path)):
            yield _of_tag(link[1], link[2])


def _of_number(word: str) -> Iterator[Name]:
    """Yield the device of root=8:17 or root=811 (Documentation/admin-guide/kernel-parameters.rst)."""
    major, colon, minor = word.partition(":")
    with suppress(ValueError, OverflowError):
        # 12 bits of major number lie between the bits of the minor one (include/linux/kdev_t.h, new_decode_dev).
        bits = int(word, 16) if not colon else 0
        number = (
            os.makedev(int(major), int(minor))
            if colon
            else os.makedev(bits >> 8 & 0xFFF, bits & 0xFF | bits >> 12 & 0xFFF00)
        )
        yield Name("number", str(number))


def plain(text: str) -> str:
    r"""Return a name in the form in which names are compared: no escapes (``\040``, ``\x20``, ``%%``), quotes or upper case.

    An escape may be escaped in turn, by udev and then by fstab or a unit's name.
    """
    before = ""
    while text != before:
        before, text = text, _decoded(text.replace("%%", "%"))
    return text.strip(" \t\n\0\"'").casefold()


def _decoded(text: str) -> str:
    """Return a text with its escapes undone once."""
    raw = _ESCAPE.sub(_unescaped, text.encode("utf-8", "surrogateescape"))
    return raw.decode("utf-8", "surrogateescape")


def _unescaped(escape: re.Match[bytes]) -> bytes:
    return bytes([int(escape[1], 16) if escape[1] else int(escape[2], 8)])


def _plain_uuid(uuid: str) -> str:
    """Return a UUID without the separators of its writer: libblkid's dashes, mdadm's colons; dracut puts luks- before it."""
    return re.sub("[-:]", "", plain(uuid).removeprefix("luks-"))


# Names of a device, by its values: superblocks, the partition table, sysfs.

_OF_TABLES = frozenset({"partuuid", "partlabel", "partnroff", "designator"})
_DESIGNATORS = {
    "c12a7328-f81f-11d2-ba4b-00a0c93ec93b": "esp",
    "bc13c2ff-59e6-4262-a352-b275fd6f7172": "xbootldr",
    "0657fd6d-a4ab-43c4-84e5-0933c84b4f4f": "swap",
    "933ac7e1-2eb4-4f13-b844-0e14e2aef915": "home",
    "3b8f8425-20e0-4f3b-907f-1a25a76f98e8": "srv",
    "4d21b016-b534-45c2-a9fb-5c16e091fd2d": "var",
    "7ec6f557-3bc5-4aca-b293-16ef5df639d1": "tmp",
    "0fc63daf-8483-4772-8e79-3d69d8477de4": "linux-generic",
}
"""Partition types with one designator (Discoverable Partitions Specification)."""
_BY_ARCHITECTURE = ("root", "usr")
"""Designators with a type for each architecture: any type that is not in that table may be one."""
_TRAILING_NUMBER = re.compile(r"[0-9]+$")


def _kernel_entries(partitions: Iterable[Device], sys_root: str = SYS_ROOT) -> tuple[PartitionEntry, ...]:
    """Return what the kernel has of partitions: of a label that is not ASCII it has "!" (block/partitions/efi.c)."""

    def entry(device: Device) -> PartitionEntry:
        uevent = parse_uevent(read_text_or(f"{sys_root}/dev/block/{device.major}:{device.minor}/uevent", ""))
        number = _TRAILING_NUMBER.search(device.name)
        return PartitionEntry(
            number=int(number[0]) if number else 0,
            start_bytes=device.partition_start_bytes,
            size_bytes=device.size_bytes,
            uuid=device.partition_uuid,
            label=uevent.get("PARTNAME", ""),
        )

    return tuple(map(entry, partitions))


def _table_entries(disk: Device, executor: Executor) -> tuple[PartitionEntry, ...]:
    """Return what the table on a disk says; nothing if there is none, as when the kernel was given partitions by ioctl."""
    try:
        return read_table(disk.path, executor)
    except ToolFailed:
        # A table that can't be read is no missing one.
        read_ends(disk.path, disk.size_bytes)
        return ()


def _is_inside(entry: PartitionEntry, device: Device) -> bool:
    """Return whether a partition of the device's disk shares bytes with the device."""
    first, end = device.partition_start_bytes, device.partition_start_bytes + device.size_bytes
    is_overlapping = entry.start_bytes < end and first < entry.start_bytes + entry.size_bytes
    return is_overlapping or not device.parent


def _device_names(evidence: Evidence, disk: Device, entries: Collection[PartitionEntry]) -> Iterator[Name]:
    """Yield the names that a device, and what lies in it, must have: equal ones mean it."""
    for signature in (one.signature for one in evidence.signatures):
        if signature.uuid:
            yield Name("uuid", _plain_uuid(signature.uuid))
            yield Name("id", f"lvm-pv-uuid-{plain(signature.uuid)}")
        if signature.label:
            yield Name("label", plain(signature.label))
    for entry in (entry for entry in entries if _is_inside(entry, evidence.device)):
        yield Name("partuuid", plain(entry.uuid))
        yield Name("partlabel", plain(entry.label))
        yield Name("diskseq", f"{disk.diskseq}-part{entry.number}")
        if entry.type:
            designator = _DESIGNATORS.get(entry.type.lower())
            yield from (Name("designator", name) for name in ((designator,) if designator else _BY_ARCHITECTURE))
        for other in entries:
            if other.uuid:
                yield Name("partnroff", f"{plain(other.uuid)}{entry.number - other.number:+d}")
    if disk == evidence.device:
        yield Name("diskseq", str(disk.diskseq))
    for device in (evidence.device, *evidence.partitions):
        yield Name("number", str(number_of(device)))
        yield Name("partuuid", device.partition_uuid)
        yield Name("node", device.path)
        if device.dm_name:
            yield Name("node", f"/dev/mapper/{device.dm_name}")
            yield Name("node", f"/dev/{volume_name(device.dm_name)}")
        if device.loop is not None:
            yield Name("node", device.loop.path)


# Names that udev makes of a disk's hardware, with the partition's number after them.

_PART = re.compile(r"(.*?)(?:-part([0-9]+))?", re.DOTALL)
_PCI_ADDRESS = re.compile(r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_ATA_PORT = re.compile(r"(.*/(ata[0-9]+))/")
_ADDRESSES = tuple(
    (re.compile(in_link), re.compile(in_sysfs))
    for in_link, in_sysfs in (
        (r"scsi-[0-9]+:([0-9]+:[0-9]+:[0-9]+)", r"/[0-9]+:([0-9]+:[0-9]+:[0-9]+)/"),
        (r"lun-([0-9]+)$", r"/[0-9]+:[0-9]+:[0-9]+:([0-9]+)/"),
        (r"usb(?:v[0-9])?-0:([0-9.]+):", r"/[0-9]+-([0-9.]+)/[0-9]+-[0-9.]+:"),
        (r"nvme-([0-9]+)$", r"nvme[0-9]+(?:c[0-9]+)?n([0-9]+)$"),
    )
)
"""Addresses behind one controller as udev (src/udev/udev-builtin-path_id.c) and as sysfs writes them."""


def _is_hardware_link(name: Name, disk: Device, device: Device, parts: Collection[int]) -> bool:
    """Return whether a name of by-id or by-path means a device; parts are the numbers of the partitions in it."""
    match = _PART.fullmatch(name.value)
    if match is None or name.kind not in ("id", "path") or (device.parent and int(match[2] or 0) not in parts):
        return False
    if name.kind == "id":
        return _has_hardware_id(match[1], disk)
    # Where udev has made the link, it has decided.
    return not block_number(f"/dev/disk/by-path/{name.value}") and _may_be_plugged_in_at(match[1], disk)


def _has_hardware_id(link: str, disk: Device) -> bool:
    """Return whether a name below by-id has the serial number or the WWN of a disk: "ata-MODEL_SERIAL", "scsi-3WWN"."""
    ids = {disk.wwn, disk.serial, disk.dm_uuid, disk.dm_name, disk.wwn and f"3{disk.wwn.removeprefix('0x')}"} - {""}
    return any(_to_link(value) in _to_link(link) for value in ids)


def _to_link(text: str) -> str:
    """Return a text as udev writes it in a link: _ in place of all but letters and digits; here at both ends, too."""
    return "_" + re.sub("[^a-z0-9]+", "_", text.casefold()).strip("_") + "_"


def _may_be_plugged_in_at(link: str, disk: Device, sys_root: str = SYS_ROOT) -> bool:
    """Return whether a name below by-path may be a disk's: nothing in it is another address than the disk has in sysfs."""
    directory = os.path.realpath(f"{sys_root}/dev/block/{disk.major}:{disk.minor}")
    controllers = _PCI_ADDRESS.findall(directory)[-1:] or [
        part for part in directory.split("/")[:-2] if any(map(str.isdigit, part))
    ]
    if not any(controller in link for controller in controllers):
        return False
    pairs = [(in_link.search(link), in_sysfs.search(directory)) for in_link, in_sysfs in _ADDRESSES]
    if any(there and here and there[1] != here[1] for there, here in pairs):
        return False
    port, on_controller = re.search("-ata-([0-9]+)", link), _ATA_PORT.match(directory)
    if port is None or on_controller is None:
        return True
    return read_text_or(f"{on_controller[1]}/ata_port/{on_controller[2]}/port_no", port[1]) == port[1]
