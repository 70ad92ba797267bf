"""A code for what was shown of a plan and its devices, to which a start can be bound.

Consent is given for a device and all that is on it, and a scratch device needs none. This code holds for every device
alike, and for the plan's cells with their exact commands: whoever starts what he saw gets that, or nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from fsconsole.devices.consent import short_code, shown_on
from fsconsole.devices.gate import GateReport
from fsconsole.errors import NotAsShown
from fsconsole.model.device import Device
from fsconsole.model.plan import Plan
from fsconsole.system.text import read_text

BETWEEN = "."
"""Stands between the codes where they are told as one."""
_SECTORS_WRITTEN, _SECTORS_DISCARDED = 6, 13
"""Places in /sys/class/block/NAME/stat, from 0 (Documentation/block/stat.rst); the second is there since Linux 4.18."""


def sectors_changed(device: Device) -> tuple[str, ...]:
    """Return how much was written to and discarded on a device since it is there; nothing where that can't be read.

    A sample of blocks misses a write elsewhere; this count does not, whichever process it came from.
    """
    try:
        words = read_text(f"/sys/class/block/{device.name}/stat").split()
    except OSError:
        return ()
    return tuple(words[place] for place in (_SECTORS_WRITTEN, _SECTORS_DISCARDED) if place < len(words))


def seen_codes(
    plan: Plan, reports: Sequence[GateReport], changed: Sequence[tuple[str, ...]]
) -> tuple[str, ...]:
    """Return the code of a plan, and then that of each device; changed are their sectors, read before the reports."""
    targets = zip(reports, changed, strict=True)
    return (_plan_code(plan), *(_target_code(report, sectors) for report, sectors in targets))


def check_seen(code: str, now: Sequence[str], reports: Sequence[GateReport]) -> None:
    """Let a start pass whose plan and devices have the codes that they had when code was given. Raises NotAsShown."""
    seen = code.strip().upper().split(BETWEEN)
    if len(seen) != len(now):
        raise NotAsShown("the choice of devices")
    names = ("the plan", *(report.device.path for report in reports))
    changed = [name for name, before, after in zip(names, seen, now, strict=True) if before != after]
    if changed:
        raise NotAsShown(", ".join(changed))


def _plan_code(plan: Plan) -> str:
    # The UUIDs of the filesystems are new for every run, and are all that may differ.
    cells = (repr(cell).replace(cell.uuid, "UUID") for cell in plan.cells)
    return short_code("\n".join((repr(replace(plan, cells=())), *cells)))


def _target_code(report: GateReport, sectors: tuple[str, ...]) -> str:
    return short_code(json.dumps([shown_on(report), sectors], sort_keys=True))
