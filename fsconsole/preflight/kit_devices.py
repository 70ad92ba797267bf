"""Devices that a kit is for: their lasting names, and the proof that they are free and blank."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from fsconsole.catalog.loader import load_catalog
from fsconsole.devices.content import BLOCK_BYTES, ENDS_MIB, sample_offsets
from fsconsole.devices.evidence import GateContext
from fsconsole.devices.gate import require_blank, require_free
from fsconsole.devices.graph import number_of
from fsconsole.devices.named import NAMED_IN
from fsconsole.devices.snapshot import take_snapshot
from fsconsole.kit.build import BY_ID
from fsconsole.kit.script import GateFacts
from fsconsole.kit.values import KitDevice
from fsconsole.model.command import Executor
from fsconsole.model.device import Device
from fsconsole.preflight.prepare import inspect_devices
from fsconsole.text import MIB

_PLAIN = re.compile(r"[A-Za-z0-9_+.:=@-]+")
_RANKS = ("wwn-", "nvme-eui.", "nvme-uuid.", "scsi-", "ata-", "nvme-", "virtio-", "usb-")
"""Kinds of names, those first that a disk keeps in another slot or box."""


def kit_devices(paths: Sequence[str], executor: Executor, runs_dir: str, *, is_forced: bool) -> tuple[KitDevice, ...]:
    """Return the devices by their lasting names; forced: those that aren't blank, too.

    Raises what require_free() and require_blank() of the wipe gate raise.
    """
    reports = inspect_devices(paths, GateContext(executor, runs_dir, load_catalog().marks))
    for report in reports:
        (require_free if is_forced else require_blank)(report)
    graph = take_snapshot().graph
    return tuple(
        KitDevice(lasting_name(device), device.size_bytes, lasting_name(graph.disk(device)))
        for device in (report.device for report in reports)
    )


def gate_facts() -> GateFacts:
    """Return where the wipe gate looks, for an apply.sh that has to look by itself."""
    return GateFacts(sample_offsets, BLOCK_BYTES, ENDS_MIB * MIB, NAMED_IN)


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
