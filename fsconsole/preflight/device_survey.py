"""The devices with their signatures and states, as far as the operator may look."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass, replace

from fsconsole.devices.ask import silent_among
from fsconsole.devices.claims import lock_paths
from fsconsole.devices.content import probe_signatures
from fsconsole.devices.discover import TreeRow, discover, find_device, tree_rows
from fsconsole.devices.evidence import GateContext
from fsconsole.devices.gate import inspect_device
from fsconsole.devices.state import Claim, DeviceState, device_state
from fsconsole.devices.uses import read_graph
from fsconsole.errors import FsconsoleError
from fsconsole.model.device import Device, Hazard
from fsconsole.plan.arrays import stripes_of
from fsconsole.system.locks import is_locked
from fsconsole.system.run import RealExecutor

GATE_LIMIT = 32
"""Unclaimed devices that one listing shows to the gate, which looks at all processes for each of them."""

_NOT_ROOT = "without root nothing was opened: sudo shows signatures too, and what is free"


@dataclass(frozen=True, slots=True)
class SurveyRow:
    """A line of the tree with the device's state and what the gate has against wiping it."""

    row: TreeRow
    state: DeviceState
    hazards: tuple[Hazard, ...] = ()
    stripes: tuple[str, ...] = ()
    """What to know of its stripes before it is formatted, in sentences."""


@dataclass(frozen=True, slots=True)
class Survey:
    """All lines, and what the operator should know of how they were taken."""

    rows: tuple[SurveyRow, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Look:
    """What looking at one device gave; hazards None: the gate wasn't asked."""

    device: Device
    hazards: tuple[Hazard, ...] | None = None


def take(paths: tuple[str, ...], runs_dir: str) -> Survey:
    """Look at all devices and return those at paths, or all without any.

    Raises DeviceMissing and NotABlockDevice for a path, OSError, KernelUnreadable.
    """
    devices = discover()
    wanted = {find_device(path, devices).name for path in paths} or {device.name for device in devices}
    chosen = [device for device in devices if device.name in wanted]
    looks, notes = ({}, (_NOT_ROOT,)) if os.geteuid() else _look_at(chosen, devices, runs_dir)
    seen = tuple(looks[device.name].device if device.name in looks else device for device in devices)
    rows = tuple(_row(row, seen, looks) for row in tree_rows(seen) if row.device.name in wanted)
    return Survey(rows, notes)


def as_json(survey: Survey) -> str:
    """Return a JSON list with an object for each device: all fields of model.device.Device, state, hazards, stripes."""
    return json.dumps([_object(row) for row in survey.rows], indent=1)


def stripes_told(survey: Survey) -> tuple[str, ...]:
    """Return what there is to know of all devices' stripes, each sentence once."""
    return tuple(dict.fromkeys(sentence for row in survey.rows for sentence in row.stripes))


def _object(row: SurveyRow) -> dict[str, object]:
    device = row.row.device
    return {
        **asdict(device),
        "is_scratch": device.is_scratch,
        "state": {"claim": row.state.claim, "text": row.state.text},
        "hazards": [asdict(hazard) for hazard in row.hazards],
        "stripes": list(row.stripes),
    }


def _row(row: TreeRow, devices: tuple[Device, ...], looks: dict[str, _Look]) -> SurveyRow:
    hazards = looks[row.device.name].hazards if row.device.name in looks else None
    state = device_state(row.device, devices, hazards)
    return SurveyRow(row, state, hazards or (), stripes_of(row.device, devices).sentences)


def _look_at(
    chosen: list[Device], devices: tuple[Device, ...], runs_dir: str
) -> tuple[dict[str, _Look], tuple[str, ...]]:
    unclaimed = [device for device in chosen if device_state(device, devices).claim is not Claim.IN_USE]
    for_the_gate = {device.name for device in unclaimed[:GATE_LIMIT]}
    looks: dict[str, _Look] = {}
    notes: list[str] = []
    # Who reads from a device that doesn't answer waits for ever. What a run measures is not read from meanwhile.
    measured = _under_a_run(chosen, devices)
    asked = [device for device in chosen if device.size_bytes and device.name not in measured]
    silent = silent_among({device.path: device.size_bytes for device in asked}, RealExecutor())
    for device in chosen:
        if device.path in silent:
            looks[device.name] = _Look(device, (silent[device.path],))
            notes.append(f"{device.path} does not answer, and was not looked at")
            continue
        if device.name in measured - for_the_gate:
            looks[device.name] = _Look(device)
            continue
        try:
            looks[device.name] = _look(device, runs_dir, ask_the_gate=device.name in for_the_gate)
        except FsconsoleError as error:
            notes.append(f"{device.path} could not be looked at: {error}")
    if len(unclaimed) > GATE_LIMIT:
        notes.append(f"only {GATE_LIMIT} unclaimed devices were proved; name others: `fsconsole devices DEV`")
    return looks, tuple(notes)


def _under_a_run(chosen: list[Device], devices: tuple[Device, ...]) -> frozenset[str]:
    """Return the names of the devices that are locked, as a run locks its own."""
    found = set()
    # What can't be opened is for the gate to say.
    with suppress(OSError):
        graph = read_graph(devices)
        for device in chosen:
            with suppress(OSError):
                found |= {device.name} if any(map(is_locked, lock_paths(device, graph))) else set()
    return frozenset(found)


def _look(device: Device, runs_dir: str, *, ask_the_gate: bool) -> _Look:
    executor = RealExecutor()
    if not ask_the_gate:
        found = probe_signatures(executor, device.path) if device.size_bytes else ()
        return _Look(replace(device, signatures=found))
    # The listing reads no content: that is for the plan, where consent is given.
    report = inspect_device(device.path, GateContext(executor, runs_dir, content_is_ours=True))
    return _Look(replace(device, signatures=report.signatures), report.hazards)
