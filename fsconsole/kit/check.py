"""A machine held against a kit: what is the same, what differs, and what can't be told."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fsconsole.catalog.filesystem import Filesystem
from fsconsole.errors import Misused
from fsconsole.kit.build import Wanted, following, kit_name, require_plain
from fsconsole.kit.files import (
    FSTAB,
    MDADM_CONFIGS,
    fstab_entry,
    managed_files,
    mdadm_line,
    mount_point_pattern,
    unit_link,
    unit_name,
)
from fsconsole.kit.values import SCHEMA, Kit
from fsconsole.model.answers import KitCheckAnswer

SAME, DIFFERS, NOT_KNOWN = "same", "differs", "not known"
_ABSENT = "not there"
_MOUNT_OPTION = "mount option"


@dataclass(frozen=True, slots=True)
class BoxArray:
    """An array as it is: level, chunk, and the kit's device paths that are its working members."""

    uuid: str
    level: str
    chunk_bytes: int
    members: tuple[str, ...]
    others: tuple[str, ...]
    """Members that the kit doesn't have, by the kernel's names."""
    troubles: tuple[str, ...]
    """Degraded, resyncing, faulty members, in clauses."""
    bitmap: str = ""
    """"internal", "none", or where else it is; empty where the level has none."""


@dataclass(frozen=True, slots=True)
class Box:
    """A machine as far as a kit asks; None stands for what isn't there."""

    sizes: Mapping[str, int | None]
    """Bytes by the kit's device paths."""
    array: BoxArray | None
    uuid: str | None
    """UUID and type of the filesystem on the kit's device."""
    filesystem: str
    features: Mapping[str, str]
    features_why: str
    """Why they can't be read; empty where they were."""
    mounted_from: str
    """Path of what is mounted on the mount point, the kit's own where it is the same device; empty: nothing."""
    mount_features: Mapping[str, str]
    settings: Mapping[tuple[str, str], str | None]
    """Values by device and file."""
    files: Mapping[str, str | None] = field(default_factory=dict)
    """Texts by path."""
    sysctl: tuple[tuple[str, str], ...] = ()
    """Path and text of the files of sysctl that a boot reads after the kit's own, in that order."""


_SETTING = re.compile(r"(?:queue|md)/[a-z_]+|vm\.[a-z_]+")
_ARRAY_UUID = re.compile(r"[0-9a-f]{8}(?::[0-9a-f]{8}){3}")


def objection(kit: Kit) -> str:
    """Return why a kit that was read is none that was written, as a clause: what it names would be read by root."""
    if kit.schema != SCHEMA:
        return f"it is of schema {kit.schema}, and this program reads {SCHEMA}"
    if not kit.devices or (kit.array is not None and kit.array.path != f"/dev/md/{kit.name}"):
        return "it has no devices, or another array"
    try:
        require_plain(Wanted(kit.devices, kit.mount_point, kit.uuid, ""))
    except Misused as error:
        return str(error).rstrip(".")
    known = {kit.device, "", *(device.disk for device in kit.devices)}
    odd = [one.file for one in kit.settings if not _SETTING.fullmatch(one.file) or one.device not in known]
    is_uuid = kit.array is None or _ARRAY_UUID.fullmatch(kit.array.uuid)
    if odd or kit.name != kit_name(kit.mount_point) or not is_uuid:
        return f"it names what no kit does ({', '.join(odd) or kit.name})"
    return ""


def free_names(kit: Kit, filesystem: Filesystem) -> frozenset[str]:
    """Return the names of features and mount options that may be anything: they follow size, device or use."""
    return following(filesystem, kit.mount_words) - dict(kit.features).keys()


def check_kit(kit: Kit, box: Box, free: frozenset[str]) -> tuple[KitCheckAnswer, ...]:
    """Return every check in the order from the disks upwards; free are names that follow the device or come with use."""
    return (
        *_devices(kit, box),
        *_array(kit, box),
        *_filesystem(kit, box, free),
        *_mount(kit, box, free),
        *_around(kit, box),
    )


def remedies(kit: Kit, checks: Sequence[KitCheckAnswer]) -> Iterator[str]:
    """Yield what sets again what differs, in sentences: apply.sh leaves a living mount alone."""
    differing = [check for check in checks if check.verdict == DIFFERS]
    if any(not check.what.startswith(_MOUNT_OPTION) for check in differing):
        yield "`apply.sh --dry-run` shows what would be set again."
    if any(check.what.startswith(_MOUNT_OPTION) for check in differing):
        unit = f"systemctl restart {shlex.quote(unit_name(kit.mount_point))}"
        command = unit if kit.is_unit else f"umount {kit.mount_point} && mount {kit.mount_point}"
        yield f"`{command}` mounts it anew, with the kit's mount options."


def _told(what: str, wanted: str, found: str | None) -> KitCheckAnswer:
    return KitCheckAnswer(what, wanted, _ABSENT if found is None else found, SAME if found == wanted else DIFFERS)


def _devices(kit: Kit, box: Box) -> Iterator[KitCheckAnswer]:
    for device in kit.devices:
        size = box.sizes.get(device.path)
        yield _told(f"bytes of {device.path}", str(device.size_bytes), None if size is None else str(size))


def _array(kit: Kit, box: Box) -> Iterator[KitCheckAnswer]:
    if kit.array is None:
        return
    path, found = kit.array.path, box.array
    yield _told(f"UUID of {path}", kit.array.uuid, found.uuid if found else None)
    if found is None:
        return
    yield _told(f"level of {path}", kit.array.level, found.level)
    if kit.array.chunk_bytes:
        yield _told(f"chunk of {path}, bytes", str(kit.array.chunk_bytes), str(found.chunk_bytes))
    if kit.array.bitmap:
        yield _told(f"bitmap of {path}", kit.array.bitmap, found.bitmap or "none")
    for device in kit.devices:
        is_member = device.path in found.members
        yield _told(f"{device.path} in {path}", "a working member", "a working member" if is_member else "none")
    for other in found.others:
        yield _told(f"{other} in {path}", "none", "a member")
    for trouble in found.troubles:
        yield _told(f"state of {path}", "in step", trouble)


def _filesystem(kit: Kit, box: Box, free: frozenset[str]) -> Iterator[KitCheckAnswer]:
    yield _told(f"UUID of the filesystem on {kit.device}", kit.uuid, box.uuid)
    if box.uuid is None:
        return
    yield _told(f"filesystem on {kit.device}", kit.filesystem, box.filesystem)
    if box.features_why:
        yield KitCheckAnswer("features of the filesystem", "as measured", box.features_why, NOT_KNOWN)
        return
    yield from _compared("feature", dict(kit.features), box.features, free)


def _mount(kit: Kit, box: Box, free: frozenset[str]) -> Iterator[KitCheckAnswer]:
    yield _told(f"mounted on {kit.mount_point}", kit.device, box.mounted_from or None)
    if box.mounted_from == kit.device:
        yield from _compared(_MOUNT_OPTION, dict(kit.mount_features), box.mount_features, free)


def _compared(
    what: str, wanted: Mapping[str, str], found: Mapping[str, str], free: frozenset[str]
) -> Iterator[KitCheckAnswer]:
    """Yield all that was measured, and what is there beside it; of nothing measured nothing can be told."""
    if not wanted:
        yield KitCheckAnswer(f"{what}s", "not read back in the run", "", NOT_KNOWN)
        return
    for name in sorted((wanted.keys() | found.keys()) - free):
        if name in wanted or found[name]:
            yield _told(f"{what} {name}", wanted.get(name, _ABSENT), found.get(name, _ABSENT))


def _around(kit: Kit, box: Box) -> Iterator[KitCheckAnswer]:
    """Yield settings in effect, then the files by which they are in effect after a boot."""
    for one in kit.settings:
        what = f"{one.name} of {one.device}" if one.device else one.file
        yield _told(what, one.value, box.settings.get((one.device, one.file)))
    yield from _overriding(kit, box)
    for file in managed_files(kit):
        text = box.files.get(file.path)
        state = None if text is None else "as written" if text.strip() == file.content.strip() else "changed"
        yield _told(file.path, "as written", state)
    if link := unit_link(kit):
        yield _told(f"{link.rpartition('/')[2]} at boot", "enabled", None if box.files.get(link) is None else "enabled")
    entry = fstab_entry(kit)
    if entry is not None:
        yield _line(entry.path, entry.line, box.files.get(entry.path))
    others = "; ".join(_other_mounts(kit, box.files.get(FSTAB) or ""))
    yield _told(f"other lines in {FSTAB} for {kit.mount_point} or its UUID", "none", others or "none")
    if line := mdadm_line(kit):
        texts = [text for path in MDADM_CONFIGS if (text := box.files.get(path)) is not None]
        yield _line("mdadm.conf", line, "\n".join(texts) if texts else None)


def _overriding(kit: Kit, box: Box) -> Iterator[KitCheckAnswer]:
    """Yield for each setting of the machine what a later file of sysctl makes of it at boot."""
    for one in (one for one in kit.settings if not one.device):
        # The kernel clears a limit in bytes when that as a ratio is set, and the other way round.
        ends = ("_bytes", "_ratio") if one.file.endswith("_bytes") else ("_ratio", "_bytes")
        names = (one.file, one.file.removesuffix(ends[0]) + ends[1])
        said = [(key, value, path) for path, text in box.sysctl for key, value in _assignments(text) if key in names]
        is_same = not said or said[-1][:2] == (one.file, one.value)
        found = "not set" if is_same else "{} = {} in {}".format(*said[-1])
        yield _told(f"{one.file} in sysctl's later files", "not set", found)


def _assignments(text: str) -> Iterator[tuple[str, str]]:
    """Yield names and values of a file of sysctl (man 5 sysctl.d)."""
    for line in text.splitlines():
        key, is_set, value = line.strip().partition("=")
        if is_set and not key.startswith(("#", ";")):
            yield key.strip().removeprefix("-").replace("/", "."), value.strip()


def _other_mounts(kit: Kit, text: str) -> Iterator[str]:
    """Yield the lines of fstab beside the kit's own that name its mount point or its UUID."""
    names = {f"uuid={kit.uuid}", f"/dev/disk/by-uuid/{kit.uuid}"}
    is_own_due, place = not kit.is_unit, mount_point_pattern(kit.mount_point)
    for words in map(str.split, text.splitlines()):
        if len(words) < 2 or words[0].startswith("#"):
            continue
        if is_own_due and words == kit.fstab.split():
            is_own_due = False
        elif words[0].replace('"', "").lower() in names or re.fullmatch(place, words[1]):
            yield " ".join(words)


def _line(path: str, line: str, text: str | None) -> KitCheckAnswer:
    lines = [" ".join(each.split()) for each in (text or "").splitlines()]
    found = line if " ".join(line.split()) in lines else None
    return _told(f"line in {path}", line, found)
