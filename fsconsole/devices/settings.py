"""Settings of devices and of the whole machine: what is in force, what a run takes, and how it is given back.

Files and their meaning: Documentation/block/queue-sysfs.rst, admin-guide/sysctl/vm.rst, admin-guide/md.rst.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from fsconsole.devices.graph import DeviceGraph, number_of
from fsconsole.devices.memory_group import GROUP_FILE, NO_GROUP, read_limit, write_limit
from fsconsole.devices.snapshot import find_device, take_snapshot
from fsconsole.devices.sysfs import parse_number, parse_scheduler
from fsconsole.errors.runs import SettingsLocked
from fsconsole.errors.targets import DeviceMissing, NotABlockDevice
from fsconsole.model.device import Device, DeviceKind
from fsconsole.model.state import HeldSetting
from fsconsole.system.files import opened, read_int_or, read_text, read_text_or
from fsconsole.system.locks import FileLock
from fsconsole.text import error_reason
from fsconsole.units import format_bytes

MACHINE_LOCK = "/run/fsconsole-settings.lock"
"""Held by the run that varies settings of the whole machine; not below /run/fsconsole, which each engine has to itself."""

_VM = "/proc/sys/vm/"
_TWINS = {"dirty_bytes": "dirty_ratio", "dirty_background_bytes": "dirty_background_ratio"}
"""One limit in two files: the kernel sets one to 0 when the other is written (mm/page-writeback.c)."""
_LIMITS = _TWINS | {percent: in_bytes for in_bytes, percent in _TWINS.items()}
_DISK = re.compile(r"/sys/block/([A-Za-z0-9!_-][A-Za-z0-9!._-]*)/(?:queue|md)/")
_PLACES = re.compile(
    _DISK.pattern + r"(?:read_ahead_kb|scheduler|nr_requests|stripe_cache_size|group_thread_cnt|iosched/[a-z_]+)"
    r"|/proc/sys/vm/dirty_(?:background_)?(?:bytes|ratio)"
)
_BYTES = re.compile(r"[0-9]{1,20}")
_VALUES = re.compile(r"[0-9]{1,20}|[a-z][a-z0-9_-]{0,30}")


@dataclass(frozen=True, slots=True)
class InForce:
    """A value with the file that holds it; of two files for one limit, the one that is not 0."""

    path: str
    value: str


@dataclass(frozen=True, slots=True)
class DiskNumbers:
    """Who a disk is within one boot; all 0 for what belongs to the whole machine."""

    device_number: int = 0
    diskseq: int = 0


class Kernel:
    """The kernel's own files of settings; a test gives it another root. Methods raise OSError."""

    def __init__(self, root: str = "") -> None:
        self._root = root

    def value(self, path: str) -> str:
        """Return a setting as it is written: of a list of schedulers the chosen one; "none" of a cgroup that isn't there."""
        if GROUP_FILE.fullmatch(path):
            return read_limit(self._root + path)
        text = read_text(self._root + path)
        return parse_scheduler(text)[1] if path.endswith("/scheduler") else text

    def write(self, path: str, value: str) -> None:
        """Write a setting. Raises ValueError for a path that is no setting, or a value that no setting has."""
        if not is_setting(path, value):
            raise ValueError(f"{path} is no setting, or {value!r} no value of one")
        if GROUP_FILE.fullmatch(path):
            write_limit(self._root + path, value)
            return
        with opened(self._root + path, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW) as descriptor:
            # A kernel file takes a value in one write, and its refusal is the write's error.
            os.write(descriptor, value.encode())

    def in_force(self, path: str) -> InForce:
        """Return what holds now for the setting in path, and in which file that stands."""
        value = self.value(path)
        name = path.removeprefix(_VM)
        if value == "0" and name in _LIMITS:
            twin = _VM + _LIMITS[name]
            twin_value = self.value(twin)
            if twin_value != "0":
                return InForce(twin, twin_value)
        return InForce(path, value)

    def disk(self, path: str) -> DiskNumbers:
        """Return whose setting a path is."""
        found = _DISK.match(path)
        if found is None:
            return DiskNumbers()
        directory = f"{self._root}/sys/block/{found[1]}"
        return DiskNumbers(parse_number(read_text(f"{directory}/dev")), read_int_or(f"{directory}/diskseq", 0))

    def reset_by(self, path: str) -> Iterator[InForce]:
        """Yield what the kernel sets anew when the setting in path is written: a scheduler brings its own numbers."""
        if not path.endswith("/queue/scheduler"):
            return
        queue = os.path.dirname(path)
        tunables = f"{self._root}{queue}/iosched"
        names = sorted(os.listdir(tunables)) if os.path.isdir(tunables) else []
        for place in (f"{queue}/nr_requests", *(f"{queue}/iosched/{name}" for name in names)):
            value = read_text_or(self._root + place, "")
            if is_setting(place, value):
                yield InForce(place, value)


def is_setting(path: str, value: str) -> bool:
    """Return whether a run may write value to path: a journal from elsewhere must not name any other file."""
    if GROUP_FILE.fullmatch(path):
        return value == NO_GROUP or _BYTES.fullmatch(value) is not None
    return _PLACES.fullmatch(path) is not None and _VALUES.fullmatch(value) is not None


def disk_node(path: str) -> str:
    """Return the device node of the disk whose setting a path is; empty for the whole machine's."""
    found = _DISK.match(path)
    return "/dev/" + found[1].replace("!", "/") if found else ""


def give_back(held: HeldSetting, kernel: Kernel) -> str:
    """Write back what was in force before, where the setting is still the run's; return why not, else nothing.

    A setting that is as it was is left alone, and so is one that somebody else has changed since.
    """
    taken = held.taken
    old = InForce(taken.old_path, taken.old)
    # Not even read: what a journal from elsewhere names may be any file.
    if not (is_setting(taken.path, taken.old) and is_setting(old.path, old.value)):
        return f"{taken.path} is no setting, or {taken.old} no value of one"
    try:
        if kernel.in_force(taken.path) == old:
            return ""
        now = kernel.value(taken.path)
        if taken.new and now not in (taken.new, held.seen):
            return f"{taken.path} is {now} now, which this run did not set; before the run it was {taken.old}"
        kernel.write(old.path, old.value)
        now = kernel.value(old.path)
    except OSError as error:
        return f"{old.path} can't be set to {old.value} again: {error_reason(error)}"
    return "" if now == old.value else f"{old.path} was set to {old.value} again, and is {now}"


def lock_machine_settings() -> FileLock:
    """Take the lock on the settings of the whole machine. Raises SettingsLocked, OSError."""
    try:
        return FileLock.acquire(MACHINE_LOCK)
    except BlockingIOError as error:
        raise SettingsLocked from error


# Whose queue serves a device, and what holds for it and for the machine as a run begins.

_QUEUES_LIMITS = {
    "dirty_limit": "/proc/sys/vm/dirty_bytes",
    "dirty_background_limit": "/proc/sys/vm/dirty_background_bytes",
}


def queues_of(device: Device, graph: DeviceGraph) -> tuple[Device, ...]:
    """Return the disks whose schedulers serve a device: its own, or those below an array or a volume."""
    disk = graph.disk(device)
    lower = graph.lower(disk) if disk.kind in (DeviceKind.MD, DeviceKind.DM) else ()
    found = {number_of(queue): queue for below in lower for queue in queues_of(below, graph)}
    return tuple(found.values()) or (disk,)


def facts_in_force(paths: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return what holds for these devices and the machine, as (name, value) pairs; a device that is gone has none.

    "read_ahead_bytes /dev/sda", "scheduler /dev/sda" (of the disks below an array, each name once), "dirty_limit",
    "dirty_background_limit" (in words: "20 %", "64.0 MiB"). Raises OSError.
    """
    graph = take_snapshot().graph
    facts = []
    for path in paths:
        with suppress(DeviceMissing, NotABlockDevice):
            device = find_device(path, graph.devices)
            schedulers = dict.fromkeys(queue.scheduler for queue in queues_of(device, graph))
            facts.append((f"read_ahead_bytes {path}", str(device.read_ahead_bytes)))
            facts.append((f"scheduler {path}", ", ".join(filter(None, schedulers))))
    for name, path in _QUEUES_LIMITS.items():
        limit = Kernel().in_force(path)
        is_bytes = limit.path.endswith("_bytes") and limit.value.isdigit()
        facts.append((name, format_bytes(int(limit.value)) if is_bytes else f"{limit.value} %"))
    return tuple(facts)
