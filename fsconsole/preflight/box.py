"""A machine read for a kit: disks, array, filesystem, mount, settings and files, as they are now. It changes nothing."""

from __future__ import annotations

import os
import uuid as uuids
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from fsconsole.catalog.filesystem import Filesystem
from fsconsole.catalog.words import filled
from fsconsole.devices.content import probe_all
from fsconsole.devices.md import kernel_name, member_uuid, sync_state
from fsconsole.devices.settings import Kernel
from fsconsole.devices.snapshot import discover, find_device
from fsconsole.errors.runs import ToolMissing
from fsconsole.errors.targets import DeviceMissing, NotABlockDevice
from fsconsole.inspect.features import parse_mkfs_features, read_mount_options
from fsconsole.kit.check import Box, BoxArray
from fsconsole.kit.files import FSTAB, MDADM_CONFIGS, managed_files, unit_link
from fsconsole.kit.values import Kit, KitSetting
from fsconsole.model.command import Command, Executor
from fsconsole.model.device import Device, Usage
from fsconsole.system.files import read_text_or
from fsconsole.system.mounts import mounted_at
from fsconsole.text import counted

_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class _There:
    """What the kit's devices and its array are on this machine; those that aren't there are missing."""

    devices: dict[str, Device]
    holds: Device | None
    """The one with the filesystem."""


def read_box(kit: Kit, filesystem: Filesystem, executor: Executor) -> Box:
    """Return a machine as a kit asks for it. Raises OSError, ToolMissing, ToolFailed, DeviceSilent."""
    known = discover()
    there = _There(dict(_found((one.path for one in kit.devices), known)), None)
    there = _There(there.devices, _holder(kit, there.devices, known))
    uuid, kind = _signature(there.holds, executor)
    features, why = _features(filesystem, there.holds, executor) if uuid == kit.uuid else ({}, "")
    mounted = _mounted_from(kit, there.holds)
    options = read_mount_options(there.holds.path, kit.mount_point) if there.holds and mounted == kit.device else ()
    return Box(
        sizes={one.path: there.devices[one.path].size_bytes for one in kit.devices if one.path in there.devices},
        array=_array(kit, there),
        uuid=uuid,
        filesystem=kind,
        features=features,
        features_why=why,
        mounted_from=mounted,
        mount_features={one.name: one.value for one in options},
        settings={(one.device, one.file): _value(one, there.holds, kit) for one in kit.settings},
        files=_files(kit),
        sysctl=later_sysctl(kit),
    )


def _found(paths: Iterable[str], known: tuple[Device, ...]) -> Iterable[tuple[str, Device]]:
    for path in paths:
        with suppress(DeviceMissing, NotABlockDevice):
            yield path, find_device(path, known)


def _holder(kit: Kit, devices: dict[str, Device], known: tuple[Device, ...]) -> Device | None:
    """Return the device with the filesystem: of an array the one that its members belong to, by whatever name."""
    if kit.array is None:
        return devices.get(kit.device)
    wanted = str(uuids.UUID(kit.array.uuid.replace(":", "")))
    for array in (one for one in known if one.md is not None and one.md.active):
        for name in array.lower:
            member = next((one for one in known if one.name == name), None)
            if member is not None and member_uuid(member.path) == wanted:
                return array
    return None


def _array(kit: Kit, there: _There) -> BoxArray | None:
    if kit.array is None or there.holds is None or there.holds.md is None:
        return None
    md = there.holds.md
    state = sync_state(there.holds.name) if md.level not in ("raid0", "linear") else None
    faulty = set(state.faulty) if state is not None else set()
    working = {member.name for member in md.members if member.name not in faulty and "F" not in member.flags}
    names = {path: device.name for path, device in there.devices.items()}
    troubles = [f"{counted(md.degraded, 'member')} missing"] if md.degraded else []
    troubles += [f"{name} is faulty" for name in sorted(faulty)]
    troubles += [md.action.lower()] if md.action else []
    return BoxArray(
        uuid=kit.array.uuid,
        level=md.level,
        chunk_bytes=md.chunk_bytes,
        members=tuple(path for path, name in names.items() if name in working),
        others=tuple(sorted(working - set(names.values()))),
        troubles=tuple(troubles),
        bitmap="none" if not md.bitmap else "in a file" if "file:" in md.bitmap else "internal",
    )


def _signature(device: Device | None, executor: Executor) -> tuple[str | None, str]:
    """Return UUID and type of the filesystem on a device; None where there is none."""
    if device is None:
        return None, ""
    found = probe_all(executor, [device.path])[device.path]
    if not isinstance(found, tuple):
        raise found
    return next(((one.uuid, one.type) for one in found if one.usage is Usage.FILESYSTEM), (None, ""))


def _features(filesystem: Filesystem, device: Device | None, executor: Executor) -> tuple[dict[str, str], str]:
    """Return the features that the filesystem's own tool prints, or why it prints none, as a clause."""
    if device is None:
        return {}, ""
    argv = filled(filesystem.commands.features, device=device.path)
    try:
        done = executor.run(Command(argv, timeout_s=_TIMEOUT_S))
    except ToolMissing:
        return {}, f"{argv[0]} is not installed"
    found = {one.name: one.value for one in parse_mkfs_features(filesystem.name, done.out)}
    if done.exit_code or not found:
        return {}, f"{argv[0]} says nothing of it (exit code {done.exit_code})"
    return found, ""


def _mounted_from(kit: Kit, device: Device | None) -> str:
    """Return what is mounted on the kit's mount point: the kit's own path where it is its device."""
    entry = mounted_at(kit.mount_point)
    if entry is None:
        return ""
    if device is None:
        return entry.source
    number = os.makedev(device.major, device.minor)
    if entry.device_number == number:
        return kit.device
    # btrfs mounts have a number of no device.
    try:
        is_same = os.stat(entry.source).st_rdev == number
    except OSError:
        is_same = False
    return kit.device if is_same else entry.source


def _value(setting: KitSetting, holds: Device | None, kit: Kit) -> str | None:
    """Return a setting in effect; None where its device, or its file, isn't there."""
    path = f"/proc/sys/{setting.file.replace('.', '/')}"
    try:
        if setting.device:
            is_array = kit.array is not None and setting.device == kit.device
            name = holds.name if is_array and holds is not None else kernel_name(setting.device)
            path = f"/sys/class/block/{name}/{setting.file}"
        return Kernel().value(path)
    except OSError:
        return None


def _files(kit: Kit) -> dict[str, str | None]:
    paths = [FSTAB, *MDADM_CONFIGS, *(file.path for file in managed_files(kit))]
    paths += [link] if (link := unit_link(kit)) else []
    return {path: _text(path) for path in paths}


_SYSCTL_FOLDERS = ("/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d")
"""Of two files of one name that in the first folder counts (man 5 sysctl.d)."""


def later_sysctl(kit: Kit, root: str = "") -> tuple[tuple[str, str], ...]:
    """Return path and text of the files of sysctl that a boot reads after the kit's own, in that order."""
    own = [os.path.basename(file.path) for file in managed_files(kit) if file.path.startswith(_SYSCTL_FOLDERS[0])]
    if not own:
        return ()
    found: dict[str, str] = {}
    for folder in _SYSCTL_FOLDERS:
        with suppress(OSError):
            for name in os.listdir(root + folder):
                found.setdefault(name, f"{folder}/{name}")
    later = [found[name] for name in sorted(found) if name > own[0] and name.endswith(".conf")]
    # procps reads it last (man 8 sysctl, --system).
    texts = ((path, read_text_or(root + path, "")) for path in (*later, "/etc/sysctl.conf"))
    return tuple((path, text) for path, text in texts if text)


def _text(path: str) -> str | None:
    return read_text_or(path, "") if os.path.exists(path) else None
