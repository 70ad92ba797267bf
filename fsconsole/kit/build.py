"""A kit out of what was measured and the devices that it is for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from fsconsole import __version__
from fsconsole.catalog.filesystem import Filesystem
from fsconsole.errors import Misused
from fsconsole.errors.runs import NothingToApply
from fsconsole.kit.derive import Derived, derive
from fsconsole.kit.lines import Destination, apply_lines
from fsconsole.kit.values import SCHEMA, Kit, KitArray, KitDevice, KitSetting
from fsconsole.model.plan import ArraySpec, Cell, array_words
from fsconsole.plan.arrays import PARITY, REDUNDANT, array_objections, least_members, usable_bytes
from fsconsole.plan.keys import MEMORY
from fsconsole.plan.planfile import QueueSpec, TargetSpec
from fsconsole.plan.settings import writes_of
from fsconsole.plan.steps import array_command
from fsconsole.text import GIB, KIB, printable

BY_ID = "/dev/disk/by-id"
COMMAND = "fsconsole apply-kit"
_MOUNT_POINT = re.compile(r"(?:/[A-Za-z0-9_+@][A-Za-z0-9._+@-]*)+")
_DEVICE = re.compile(r"/dev/(?:[A-Za-z0-9_+.:=@-]+/)*[A-Za-z0-9_+.:=@-]+")
"""Names that mean the same to a shell, to fstab, to udev's patterns and to Ansible's templates."""
_VALUE = re.compile(r"[A-Za-z0-9_-]+")
"""Of a setting: a rule of udev or a shell would take more apart."""
_LONGEST_NAME = 32
"""Of an array (man 8 mdadm, --name)."""
_SYSTEM = ("/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/root", "/run", "/sbin", "/sys", "/usr")
_STRIPED = ("raid0", "raid10", *PARITY)
_DEFAULT_CHUNK_BYTES = 512 * KIB
"""mdadm's own (man 8 mdadm, --chunk), said so that another version makes the same."""
_BITMAP_FROM_BYTES = 100 * GIB
"""Of a member: from there mdadm makes a bitmap by itself (Create.c)."""
_MEASURED_ONLY = frozenset({"nosuid", "nodev", "init_itable", "noinit_itable"})
"""Mount options of every measurement, and those that a kit leaves out."""
_ANY = "any"
"""Stands for a disk whose settings are asked for."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A row of a run: its first cell, its name, what was read back, and the sizes of its devices."""

    run: str
    row: str
    cell: Cell
    mkfs: dict[str, str]
    mount: dict[str, str]
    sizes_bytes: tuple[int, ...]
    risks: tuple[str, ...] = ()
    """Of the row, in clauses."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Devices, mount point and UUIDs of a kit: one of the filesystem, one of the array."""

    devices: tuple[KitDevice, ...]
    mount_point: str
    uuid: str
    array_uuid: str
    is_unit: bool = False


def build_kit(filesystem: Filesystem, measured: Measured, wanted: Wanted) -> Kit:
    """Return the kit. Raises Misused, OptionRefused, NothingToApply."""
    require_plain(wanted)
    cell, sizes = measured.cell, [device.size_bytes for device in wanted.devices]
    _require_number(cell, len(wanted.devices))
    name = kit_name(wanted.mount_point)
    old = _size(cell.array, measured.sizes_bytes)
    new = _size(cell.array, sizes)
    derived = derive(filesystem, cell.variant, measured.mkfs, old, new)
    array = _array(cell.array, wanted, name) if cell.array is not None else None
    device = array.path if array is not None else wanted.devices[0].path
    to = Destination(device, wanted.uuid, wanted.mount_point)
    lines = apply_lines(filesystem, derived.variant, to, pinned=derived.pinned)
    follows = following(filesystem, lines.mount_words)
    return Kit(
        schema=SCHEMA,
        version=__version__,
        run=measured.run,
        row=measured.row,
        filesystem=filesystem.name,
        name=name,
        uuid=wanted.uuid,
        mount_point=wanted.mount_point,
        is_unit=wanted.is_unit,
        devices=wanted.devices,
        array=array,
        make=lines.make,
        mount_words=lines.mount_words,
        fstab=lines.fstab,
        settings=_plain_settings(_settings(cell, wanted, device)),
        features=derived.expected,
        mount_features=tuple(sorted((key, of) for key, of in measured.mount.items() if key not in follows)),
        differing=tuple(_sentences(measured, wanted, derived, lines.stripped)),
    )


def following(filesystem: Filesystem, mount_words: Sequence[str]) -> frozenset[str]:
    """Return the names of features and mount options that follow size, device or use, but for those that the row set."""
    rules = filesystem.kit
    said = {word.partition("=")[0] for word in mount_words}
    return frozenset({*rules.by_size, *rules.by_device, *rules.by_use, *_MEASURED_ONLY} - said)


def require_plain(wanted: Wanted) -> None:
    """Raise Misused for a mount point or a device's name that some reader of the kit would take apart."""
    point = wanted.mount_point
    if not _MOUNT_POINT.fullmatch(point) or any(part in (".", "..") for part in point.split("/")):
        raise _misused(f"--at takes an absolute path of letters, digits and ._+@-, not '{printable(point)}'.")
    if point in _SYSTEM or point.startswith(tuple(f"{place}/" for place in _SYSTEM)):
        raise _misused(f"--at takes no place of the system itself, such as {point}.")
    for path in [*(device.path for device in wanted.devices), *(device.disk for device in wanted.devices)]:
        if not _DEVICE.fullmatch(path) or any(part in (".", "..") for part in path.split("/")):
            raise _misused(f"A kit takes devices below /dev whose names are plain, not '{printable(path)}'.")
    if len({device.path for device in wanted.devices}) < len(wanted.devices):
        raise _misused("A device is named twice.")


def kit_name(mount_point: str) -> str:
    """Return the name of a kit's files and array: "srv-data" for /srv/data."""
    return re.sub(r"[^A-Za-z0-9_]+", "-", mount_point.strip("/"))[-_LONGEST_NAME:].strip("-")


def _misused(what: str) -> Misused:
    return Misused(what=what, nearest="", command=COMMAND)


def _require_number(cell: Cell, count: int) -> None:
    if cell.array is None and count != 1:
        raise _misused(f"The row is of one device, and {count} were named: choose a row with an array, or name one.")
    least = least_members(cell.array.level) if cell.array is not None else 1
    if count < least:
        raise _misused(f"The row's array needs at least {least} devices, and {count} was named.")
    if cell.array is not None and (reasons := array_objections(replace(cell.array, members=count))):
        raise _misused(f"The row's array can't be made: {reasons[0]}.")


def _size(spec: ArraySpec | None, sizes: Sequence[int]) -> int:
    if spec is None:
        return sizes[0] if sizes else 0
    return usable_bytes(spec, sizes)


# Arrays.


def _for_use(spec: ArraySpec, sizes: Sequence[int]) -> ArraySpec:
    """Return an array in sync, with chunk and bitmap said."""
    chunk = spec.chunk_bytes or (_DEFAULT_CHUNK_BYTES if spec.level in _STRIPED else 0)
    bitmap = spec.bitmap
    if not bitmap and spec.level in REDUNDANT and spec.consistency_policy not in ("resync", "ppl"):
        has_one = min(sizes) > _BITMAP_FROM_BYTES or spec.consistency_policy == "bitmap"
        bitmap = "internal" if has_one else "none"
    return replace(spec, chunk_bytes=chunk, bitmap=bitmap, assume_clean=False, members=0)


def _array(spec: ArraySpec, wanted: Wanted, name: str) -> KitArray:
    for_use = _for_use(spec, [device.size_bytes for device in wanted.devices])
    path, plain = f"/dev/md/{name}", wanted.array_uuid.replace("-", "")
    uuid = ":".join(plain[at : at + 8] for at in range(0, 32, 8))
    members = [device.path for device in wanted.devices]
    create = array_command(for_use, members, uuid, path, (f"--name={name}",))
    return KitArray(path, uuid, spec.level, for_use.chunk_bytes, create, for_use.bitmap)


# Settings.


def _plain_settings(settings: Iterable[KitSetting]) -> tuple[KitSetting, ...]:
    """Return settings as they are. Raises NothingToApply for a value that an imported run has made up."""
    found = tuple(settings)
    for one in found:
        if not _VALUE.fullmatch(one.value):
            raise NothingToApply(why=f"its setting {one.name} has the odd value '{printable(one.value)}'")
    return found


def _settings(cell: Cell, wanted: Wanted, device: str) -> Iterator[KitSetting]:
    """Yield the cell's settings: read-ahead of what holds the filesystem, the queues of all disks below."""
    values = {name: value for name, value in cell.setting.values if name != MEMORY}
    spec, is_array = cell.array, cell.array is not None
    disks = dict.fromkeys(one.disk for one in wanted.devices)
    for write in writes_of(values, TargetSpec(_ANY, 0, disk=_ANY, queues=(QueueSpec(_ANY),))):
        file = write.path.removeprefix(f"/sys/block/{_ANY}/")
        if write.path.startswith("/proc/sys/"):
            yield KitSetting(write.name, "", write.path.removeprefix("/proc/sys/").replace("/", "."), write.value)
        elif file.startswith("md/") or (is_array and file.endswith("read_ahead_kb")):
            yield KitSetting(write.name, device, file, write.value)
        else:
            yield from (KitSetting(write.name, disk, file, write.value) for disk in disks)
    if spec is not None and spec.stripe_cache_size:
        yield KitSetting("stripe_cache_size", device, "md/stripe_cache_size", str(spec.stripe_cache_size))
    if spec is not None and spec.group_thread_count >= 0:
        yield KitSetting("group_thread_count", device, "md/group_thread_cnt", str(spec.group_thread_count))


# What is not as it was measured.


def _sentences(measured: Measured, wanted: Wanted, derived: Derived, stripped: Sequence[str]) -> Iterator[str]:
    cell = measured.cell
    yield from (f"UNSAFE: {risk}." for risk in measured.risks)
    yield from derived.differing
    if derived.pinned:
        yield f"Pinned as measured, whatever mkfs would choose here: {', '.join(derived.pinned)}."
    if stripped:
        yield f"Left out, since only a measurement needs it: {', '.join(stripped)}."
    for device in wanted.devices:
        if not device.path.startswith(f"{BY_ID}/"):
            yield f"{device.path} has no name in {BY_ID}: it is known by this name and its size alone."
    yield "Measured with nosuid,nodev, which the kit doesn't set; nofail is added."
    if cell.array is not None:
        yield from _of_array(cell.array, len(cell.members), wanted)
    for name, value in cell.setting.values:
        if name == MEMORY:
            yield f"The load's memory limit of {value} was part of the measurement, and is left out."
    for load in cell.workloads:
        if load.settings:
            words = ", ".join(f"{name} = {value}" for name, value in load.settings)
            yield f"Settings of the load {printable(load.name)} alone are left out: {words}."
    if not cell.setting.values:
        yield "The plan varied no setting: read-ahead, scheduler and dirty limits stay as this machine has them."


def _of_array(spec: ArraySpec, members: int, wanted: Wanted) -> Iterator[str]:
    count = len(wanted.devices)
    if spec.assume_clean:
        yield "Measured on an array that was assumed clean; this one is synced first, and slower until that is done."
    if count != members:
        yield f"Measured on {array_words(spec, members)}; this array has {count}: other stripes, other figures."
    for_use = _for_use(spec, [device.size_bytes for device in wanted.devices])
    if for_use.bitmap != spec.bitmap:
        what = "a bitmap" if for_use.bitmap == "internal" else "no bitmap"
        yield f"The plan left the bitmap to mdadm; this array has {what}, as mdadm chooses for members of this size."
