"""Devices that a kit is for: their lasting names, and the proof that they are free and blank."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from fsconsole.catalog.loader import load_catalog
from fsconsole.devices.evidence import GateContext
from fsconsole.devices.gate import inspect_device, require
from fsconsole.devices.graph import number_of
from fsconsole.devices.hazards import NAMED
from fsconsole.devices.snapshot import take_snapshot
from fsconsole.errors.targets import NotBlank
from fsconsole.kit.build import BY_ID
from fsconsole.kit.values import KitDevice
from fsconsole.model.command import Executor
from fsconsole.model.device import Device

_PLAIN = re.compile(r"[A-Za-z0-9_+.:=@-]+")
_RANKS = ("wwn-", "nvme-eui.", "nvme-uuid.", "scsi-", "ata-", "nvme-", "virtio-", "usb-")
"""Kinds of names, those first that a disk keeps in another slot or box."""


def kit_devices(paths: Sequence[str], executor: Executor, runs_dir: str, *, is_forced: bool) -> tuple[KitDevice, ...]:
    """Return the devices by their lasting names; forced: those that aren't blank, too.

    Raises NotBlank, and what the gate raises of devices that are in use.
    """
    context = GateContext(executor, runs_dir, load_catalog().marks)
    found = []
    for path in paths:
        report = inspect_device(path, context)
        require(report)
        expected = [hazard.reason for hazard in report.hazards if hazard.check == NAMED]
        if not is_forced and (expected or not report.is_blank):
            raise NotBlank(report.device.path, "; ".join(expected) or f"holds {report.loss}")
        disk = take_snapshot().graph.disk(report.device)
        found.append(KitDevice(lasting_name(report.device), report.device.size_bytes, lasting_name(disk)))
    return tuple(found)


def lasting_name(device: Device, folder: str = BY_ID) -> str:
    """Return the best name below /dev/disk/by-id that leads to a device; its own path where it has none."""
    try:
        names = sorted(name for name in os.listdir(folder) if _PLAIN.fullmatch(name))
    except FileNotFoundError:
        return device.path
    own = [name for name in names if _leads_to(f"{folder}/{name}", device)]
    ranked = sorted(
        own, key=lambda name: next((n for n, kind in enumerate(_RANKS) if name.startswith(kind)), len(_RANKS))
    )
    return f"{folder}/{ranked[0]}" if ranked else device.path


def _leads_to(path: str, device: Device) -> bool:
    try:
        return os.stat(path).st_rdev == number_of(device)
    except OSError:
        return False
