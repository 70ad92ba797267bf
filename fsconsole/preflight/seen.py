"""A code for what was shown of a plan and its devices, to which a start can be bound.

Consent is given for a device and all that is on it, and a scratch device needs none. This code holds for every device
alike, and for the plan's cells with their exact commands: whoever starts what he saw gets that, or nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace

from fsconsole.devices.consent import short_code, shown_on
from fsconsole.devices.gate import GateReport
from fsconsole.errors import NotAsShown
from fsconsole.model.plan import Plan

BETWEEN = "."
"""Stands between the codes where they are told as one."""

_ARRAY_UUID = re.compile(r"(?<='--uuid=)[0-9a-f-]{36}(?=')")


def seen_codes(
    plan: Plan, reports: Sequence[GateReport], marks: Sequence[tuple[str, ...]]
) -> tuple[str, ...]:
    """Return the code of a plan, then that of each device; marks are their write_marks(), read before the reports."""
    targets = zip(reports, marks, strict=True)
    return (_plan_code(plan), *(_target_code(report, of_device) for report, of_device in targets))


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
    # The UUIDs of filesystems and arrays are new for every run, and are all that may differ.
    cells = (_ARRAY_UUID.sub("UUID", repr(cell).replace(cell.uuid, "UUID")) for cell in plan.cells)
    return short_code("\n".join((repr(replace(plan, cells=())), *cells)))


def _target_code(report: GateReport, marks: tuple[str, ...]) -> str:
    return short_code(json.dumps([shown_on(report), marks], sort_keys=True))
