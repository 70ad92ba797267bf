"""Orders devices as a tree: disk, its partitions, the arrays and volumes made of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fsconsole.model.device import Device, DeviceKind

_KIND_ORDER = (
    DeviceKind.DISK,
    DeviceKind.MD,
    DeviceKind.DM,
    DeviceKind.PARTITION,
    DeviceKind.LOOP,
    DeviceKind.OTHER,
)
_PARTS = re.compile(r"([0-9]+)|([^0-9]+)")
_LETTERED = re.compile(r"(sd|vd|hd|xvd)[a-z]+")
"""Drivers that count their disks in letters: a longer name is a later disk."""

NaturalKey = tuple[tuple[int, str, int, str], ...]


@dataclass(frozen=True, slots=True)
class TreeRow:
    """One line of the tree.

    last_of has a flag for each level from the root's children down to this row: True where that ancestor
    (or the row itself, at the end) is the last of its siblings; empty for a root.
    """

    device: Device
    last_of: tuple[bool, ...] = ()
    also_under: tuple[str, ...] = ()
    """Names of its other parents: a device with several (an array) stands under the first only."""


def tree_rows(devices: tuple[Device, ...]) -> tuple[TreeRow, ...]:
    """Return every device once, parents before children, siblings in natural order."""
    parents = _parents(devices)
    children: dict[str, list[Device]] = {}
    for device in sorted(devices, key=_sibling_key):
        children.setdefault(next(iter(parents[device.name]), ""), []).append(device)
    rows: dict[str, TreeRow] = {}
    for root in children.get("", []):
        for row in _branch(root, (), children, parents):
            rows[row.device.name] = row
    # A ring of parents, which the kernel would not allow, must not hide a device.
    stranded = (TreeRow(device) for device in devices if device.name not in rows)
    return (*rows.values(), *stranded)


def natural_key(name: str) -> NaturalKey:
    """Return a sort key in which sda2 is before sda10, and sdz before sdaa."""
    parts = _PARTS.findall(name)
    return tuple((int(digits), "", 0, "") if digits else _letters_key(letters) for digits, letters in parts)


def _letters_key(letters: str) -> tuple[int, str, int, str]:
    driver = _LETTERED.fullmatch(letters)
    return (0, driver[1] if driver else letters, len(letters), letters)


def _sibling_key(device: Device) -> tuple[int, NaturalKey]:
    return _KIND_ORDER.index(device.kind), natural_key(device.name)


def _parents(devices: tuple[Device, ...]) -> dict[str, tuple[str, ...]]:
    by_path = {device.path: device.name for device in devices}
    names = frozenset(by_path.values())
    return {device.name: _parents_of(device, names, by_path) for device in devices}


def _parents_of(device: Device, names: frozenset[str], by_path: Mapping[str, str]) -> tuple[str, ...]:
    below = by_path.get(device.loop.path, "") if device.loop is not None else ""
    candidates = (device.parent, *sorted(device.lower, key=natural_key), below)
    return tuple(name for name in candidates if name in names and name != device.name)


def _branch(
    device: Device,
    last_of: tuple[bool, ...],
    children: Mapping[str, list[Device]],
    parents: Mapping[str, tuple[str, ...]],
) -> Iterator[TreeRow]:
    yield TreeRow(device, last_of, parents[device.name][1:])
    below = children.get(device.name, [])
    for child in below:
        yield from _branch(child, (*last_of, child is below[-1]), children, parents)
