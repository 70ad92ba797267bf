"""Whose queue serves a device, and what holds for it and for the machine as a run begins."""

from __future__ import annotations

from collections.abc import Iterable

from fsconsole.devices.discovery import discover, find_device
from fsconsole.devices.relatives import DeviceGraph, number_of
from fsconsole.devices.settings import Kernel
from fsconsole.devices.uses import read_graph
from fsconsole.errors import DeviceMissing, NotABlockDevice
from fsconsole.model.device import Device, DeviceKind
from fsconsole.units import format_bytes

_LIMITS = {
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
    devices = discover()
    graph = read_graph(devices)
    facts = [fact for path in paths for fact in _device_facts(path, devices, graph)]
    return (*facts, *((name, _limit_in_words(path)) for name, path in _LIMITS.items()))


def _device_facts(path: str, devices: tuple[Device, ...], graph: DeviceGraph) -> tuple[tuple[str, str], ...]:
    try:
        device = find_device(path, devices)
    except (DeviceMissing, NotABlockDevice):
        return ()
    schedulers = dict.fromkeys(queue.scheduler for queue in queues_of(device, graph) if queue.scheduler)
    return (
        (f"read_ahead_bytes {path}", str(device.read_ahead_bytes)),
        (f"scheduler {path}", ", ".join(schedulers)),
    )


def _limit_in_words(path: str) -> str:
    limit = Kernel().in_force(path)
    is_bytes = limit.path.endswith("_bytes") and limit.value.isdigit()
    return format_bytes(int(limit.value)) if is_bytes else f"{limit.value} %"
