"""Surveys all devices for the listing: signatures, hazards and states, as far as the operator may look."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from fsconsole.devices.ask import silent_among
from fsconsole.devices.claims import lock_paths
from fsconsole.devices.content import probe_all
from fsconsole.devices.evidence import GateContext
from fsconsole.devices.gate import gather
from fsconsole.devices.graph import DeviceGraph
from fsconsole.devices.hazards import find_hazards
from fsconsole.devices.snapshot import MachineSnapshot, find_device, take_snapshot
from fsconsole.devices.state import Claim, DeviceState, ListedDevice, Neighbours, device_state
from fsconsole.devices.tree import TreeRow, tree_rows
from fsconsole.errors import FsconsoleError
from fsconsole.model.device import Device, Hazard, Signature
from fsconsole.model.wire import encode
from fsconsole.plan.arrays import stripes_of
from fsconsole.system.locks import is_locked
from fsconsole.system.run import RealExecutor

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
class DeviceSurvey:
    """All lines, and what the operator should know of how they were taken."""

    rows: tuple[SurveyRow, ...]
    notes: tuple[str, ...] = ()


def take(paths: tuple[str, ...], runs_dir: str) -> DeviceSurvey:
    """Look at all devices and return those at paths, or all without any.

    Raises DeviceMissing and NotABlockDevice for a path, OSError, KernelUnreadable.
    """
    snapshot = take_snapshot()
    wanted = {find_device(path, snapshot.devices).name for path in paths}
    chosen = [device for device in snapshot.devices if not paths or device.name in wanted]
    looks = _Looks({}, {}, (_NOT_ROOT,)) if os.geteuid() else _look_at(chosen, snapshot, runs_dir)
    found = looks.signatures
    seen = tuple(replace(device, signatures=found.get(device.name, ())) for device in snapshot.devices)
    graph, near, names = (
        DeviceGraph(seen, snapshot.graph.loops_over),
        Neighbours(seen),
        {d.name for d in chosen},
    )
    rows = []
    for row in tree_rows(seen):
        if row.device.name in names:
            hazards = looks.hazards.get(row.device.name)
            stripes = stripes_of(row.device, graph.down(row.device)).sentences
            rows.append(SurveyRow(row, device_state(row.device, near, hazards), hazards or (), stripes))
    return DeviceSurvey(tuple(rows), looks.notes)


def as_json(survey: DeviceSurvey) -> str:
    """Return a JSON list with a ListedDevice for each device."""
    rows = survey.rows
    return encode(
        tuple(ListedDevice.of(row.row.device, row.state, row.hazards, row.stripes) for row in rows), indent=1
    )


def stripes_told(survey: DeviceSurvey) -> tuple[str, ...]:
    """Return what there is to know of all devices' stripes, each sentence once."""
    return tuple(dict.fromkeys(sentence for row in survey.rows for sentence in row.stripes))


@dataclass(frozen=True, slots=True)
class _Looks:
    """What looking at devices gave, by their names; a device without hazards was not shown to the gate."""

    signatures: Mapping[str, tuple[Signature, ...]]
    hazards: Mapping[str, tuple[Hazard, ...]]
    notes: tuple[str, ...] = ()


def _look_at(chosen: Sequence[Device], snapshot: MachineSnapshot, runs_dir: str) -> _Looks:
    executor, near = RealExecutor(), Neighbours(snapshot.devices)
    # Who reads from a device that doesn't answer waits for ever. What a run measures is not read from meanwhile.
    measured = _under_a_run(chosen, snapshot.graph)
    asked = {
        device.path: device.size_bytes
        for device in chosen
        if device.size_bytes and device.name not in measured
    }
    silent = silent_among(asked, executor)
    if any(device.removable for device in chosen):
        # Only when a drive is opened, as above, does the kernel look whether another medium is in it.
        snapshot = take_snapshot()
        chosen = [device for device in snapshot.devices if device.name in {before.name for before in chosen}]
    hazards: dict[str, tuple[Hazard, ...]] = {
        device.name: (silent[device.path],) for device in chosen if device.path in silent
    }
    notes = [
        f"{device.path} does not answer, and was not looked at" for device in chosen if device.name in hazards
    ]
    signatures: dict[str, tuple[Signature, ...]] = {}
    answering = [device for device in chosen if device.name not in hazards]
    in_use = {device.name for device in answering if device_state(device, near).claim is Claim.IN_USE}
    for_the_gate = [(device, device.path) for device in answering if device.name not in in_use]
    for evidence in gather(for_the_gate, snapshot, GateContext(executor, runs_dir)):
        own = (found.signature for found in evidence.signatures if found.device == evidence.device)
        signatures[evidence.device.name] = tuple(own)
        hazards[evidence.device.name] = find_hazards(evidence)
    probed = [d for d in answering if d.name in in_use and d.name not in measured and d.size_bytes]
    probes = probe_all(executor, [device.path for device in probed])
    for device in probed:
        found = probes[device.path]
        if isinstance(found, FsconsoleError):
            notes.append(f"{device.path} could not be looked at: {found}")
        else:
            signatures[device.name] = found
    return _Looks(signatures, hazards, tuple(notes))


def _under_a_run(chosen: Sequence[Device], graph: DeviceGraph) -> frozenset[str]:
    """Return the names of the devices that are locked, as a run locks its own."""
    locked: dict[str, bool] = {}

    def is_held(path: str) -> bool:
        if path not in locked:
            # What can't be opened is for the gate to say.
            locked[path] = False
            with suppress(OSError):
                locked[path] = is_locked(path)
        return locked[path]

    return frozenset(device.name for device in chosen if any(map(is_held, lock_paths(device, graph))))
