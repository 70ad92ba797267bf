"""Surveys all devices for the listing: signatures, hazards and states, as far as the operator may look."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache

from fsconsole.catalog.loader import load_catalog
from fsconsole.devices.ask import silent_among
from fsconsole.devices.claims import lock_paths
from fsconsole.devices.content import probe_all
from fsconsole.devices.evidence import RUN_FOLDER, GateContext, SystemPlace
from fsconsole.devices.gather import gather
from fsconsole.devices.graph import DeviceGraph, number_of, tree_rows
from fsconsole.devices.hazards import HOLDS_SYSTEM, find_hazards
from fsconsole.devices.snapshot import MachineSnapshot, find_device, system_places, take_snapshot
from fsconsole.devices.state import Claim, DeviceState, ListedDevice, device_state
from fsconsole.errors import FsconsoleError
from fsconsole.model.device import Device, Hazard, Signature
from fsconsole.plan.arrays import stripes_of
from fsconsole.preflight.prepare import target_spec
from fsconsole.system.locks import is_locked
from fsconsole.system.run import RealExecutor

_NOT_ROOT = "without root nothing was opened: sudo shows signatures too, and what is free"


@dataclass(frozen=True, slots=True)
class DeviceSurvey:
    """Devices in the order of their tree, and what the operator should know of how they were looked at."""

    devices: tuple[ListedDevice, ...]
    notes: tuple[str, ...] = ()


_Look = tuple[tuple[Signature, ...], tuple[Hazard, ...] | None]
"""Signatures and hazards of a device; None where it was not shown to the gate."""


def take(paths: tuple[str, ...], runs_dir: str) -> DeviceSurvey:
    """Look at all devices and return those at paths, or all without any.

    Raises DeviceMissing and NotABlockDevice for a path, OSError, KernelUnreadable.
    """
    snapshot = take_snapshot()
    wanted = {find_device(path, snapshot.devices).name for path in paths}
    chosen = [device for device in snapshot.devices if not paths or device.name in wanted]
    notes = [_NOT_ROOT] if os.geteuid() else []
    looks = {} if os.geteuid() else _look_at(chosen, snapshot, runs_dir, notes)
    nothing: _Look = ((), None)
    seen = tuple(replace(device, signatures=looks.get(device.name, nothing)[0]) for device in snapshot.devices)
    graph, names, listed = DeviceGraph(seen), {device.name for device in chosen}, []
    places = _places(snapshot, runs_dir)
    for device in (row.device for row in tree_rows(seen) if row.device.name in names):
        _, hazards = looks.get(device.name, nothing)
        stripes = stripes_of(device, graph.down(device)).sentences
        state = _with_system(device_state(device, graph, hazards), device, places)
        # As a plan takes it: the console counts a draft with these, as `fsconsole plan` and Confirm do.
        spec = target_spec(device, graph)
        listed.append(
            ListedDevice.of(
                device,
                state,
                hazards or (),
                stripes,
                can_discard=spec.can_discard,
                keeps_blocks=spec.keeps_blocks,
                written_bytes_per_s=spec.bytes_per_s,
                shares_with=" and ".join(_shared_places(device, graph, places)),
            )
        )
    return DeviceSurvey(tuple(listed), tuple(notes))


def _places(snapshot: MachineSnapshot, runs_dir: str) -> tuple[SystemPlace, ...]:
    """Return where the running system and its runs lie; nothing if that can't be determined."""
    try:
        return system_places(snapshot, runs_dir)[0]
    except (OSError, LookupError):
        return ()


def _with_system(state: DeviceState, device: Device, places: Sequence[SystemPlace]) -> DeviceState:
    """Return the state of a device, with words if the running system is on it."""
    is_system = any(place.place != RUN_FOLDER and number_of(device) in place.numbers for place in places)
    return replace(state, text=f"{state.text}; {HOLDS_SYSTEM}") if is_system else state


def _shared_places(device: Device, graph: DeviceGraph, places: Sequence[SystemPlace]) -> Iterator[str]:
    """Yield the places that are on one of the device's disks."""
    numbers = frozenset(number_of(layer) for layer in graph.down(device))
    return iter(dict.fromkeys(place.place for place in places if place.numbers & numbers))


def _look_at(chosen: Sequence[Device], snapshot: MachineSnapshot, runs_dir: str, notes: list[str]) -> dict[str, _Look]:
    """Return what looking at devices gave, by their names; what could not be done goes to notes."""
    executor = RealExecutor()
    # Who reads from a device that doesn't answer waits for ever. What a run measures is not read from meanwhile.
    measured = _under_a_run(chosen, snapshot.graph)
    asked = {device.path: device.size_bytes for device in chosen if device.size_bytes and device.name not in measured}
    silent = silent_among(asked, executor)
    if any(device.removable for device in chosen):
        # Only when a drive is opened, as above, does the kernel look whether another medium is in it.
        snapshot = take_snapshot()
        chosen = [device for device in snapshot.devices if device.name in {before.name for before in chosen}]
    looks: dict[str, _Look] = {d.name: ((), (silent[d.path],)) for d in chosen if d.path in silent}
    notes += [f"{d.path} does not answer, and was not looked at" for d in chosen if d.path in silent]
    answering = [device for device in chosen if device.name not in looks]
    in_use = {d.name for d in answering if device_state(d, snapshot.graph).claim is Claim.IN_USE}
    for_the_gate = [(device, device.path) for device in answering if device.name not in in_use]
    for evidence in gather(for_the_gate, snapshot, GateContext(executor, runs_dir, load_catalog().marks)):
        own = (found.signature for found in evidence.signatures if found.device == evidence.device)
        looks[evidence.device.name] = (tuple(own), find_hazards(evidence))
    probed = [d for d in answering if d.name in in_use and d.name not in measured and d.size_bytes]
    probes = probe_all(executor, [device.path for device in probed])
    for device in probed:
        found = probes[device.path]
        if isinstance(found, FsconsoleError):
            notes.append(f"{device.path} could not be looked at: {found}")
        else:
            looks[device.name] = (found, None)
    return looks


def _under_a_run(chosen: Sequence[Device], graph: DeviceGraph) -> frozenset[str]:
    """Return the names of the devices that are locked, as a run locks its own."""

    @cache
    def is_held(path: str) -> bool:
        # What can't be opened is for the gate to say.
        with suppress(OSError):
            return is_locked(path)
        return False

    return frozenset(device.name for device in chosen if any(map(is_held, lock_paths(device, graph))))
