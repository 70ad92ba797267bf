"""Relations between block devices: partitions, what a device lies on, which devices share its bytes; their tree."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fsconsole.devices.evidence import Relation, Relative
from fsconsole.model.device import Device, DeviceKind

_HARDWARE = (DeviceKind.DISK, DeviceKind.OTHER)


def number_of(device: Device) -> int:
    """Return makedev(major, minor), the only name by which devices are compared."""
    return os.makedev(device.major, device.minor)


class DeviceGraph:
    """All devices of the machine at one instant, with the edges between them; a loop over a file is a disk of its own."""

    def __init__(self, devices: Iterable[Device]) -> None:
        self.devices = tuple(devices)
        self.by_number = {number_of(device): device for device in self.devices}
        self.by_name = {device.name: device for device in self.devices}
        self._partitions: dict[str, list[Device]] = defaultdict(list)
        self._loops: dict[str, list[Device]] = defaultdict(list)
        self._same_label: dict[str, list[Device]] = defaultdict(list)
        for device in self.devices:
            if device.parent:
                self._partitions[device.parent].append(device)
            if device.loop is not None:
                self._loops[device.loop.path].append(device)
            if device.kind in _HARDWARE:
                for label in {device.wwn, device.serial} - {""}:
                    self._same_label[label].append(device)

    def partitions(self, device: Device) -> tuple[Device, ...]:
        """Return the partitions of a whole disk, in the order of the listing."""
        return tuple(self._partitions.get(device.name, ()))

    def inside(self, device: Device) -> tuple[Device, ...]:
        """Return the partitions of a whole disk; of a partition those that overlap it.

        BSD slices lie within a DOS partition, and Sun labels have one for the whole disk (block/partitions).
        """
        first, end = device.partition_start_bytes, device.partition_start_bytes + device.size_bytes
        return tuple(
            other
            for other in self.partitions(self.disk(device))
            if not device.parent
            or (
                other.name != device.name
                and other.partition_start_bytes < end
                and first < other.partition_start_bytes + other.size_bytes
            )
        )

    def loops_over(self, device: Device) -> tuple[Device, ...]:
        """Return the loop devices that were attached to the device by its path."""
        return tuple(self._loops.get(device.path, ()))

    def disk(self, device: Device) -> Device:
        """Return the whole disk of a partition, and any other device itself."""
        return self.by_name.get(device.parent, device)

    def under(self, device: Device) -> Device | None:
        """Return the block device that a loop stands on; None for a loop over a file and for no loop."""
        return self.by_number.get(device.loop.device_number) if device.loop is not None else None

    def lower(self, device: Device) -> tuple[Device, ...]:
        """Return what md or dm made the device of."""
        return tuple(self.by_name[name] for name in device.lower if name in self.by_name)

    def twins(self, device: Device) -> Iterator[Device]:
        """Yield the other hardware disks that are the same disk by another path."""
        if device.kind in _HARDWARE:
            labelled = (other for label in (device.wwn, device.serial) for other in self._same_label.get(label, ()))
            yield from (other for other in labelled if other != device and same_disk(device, other))

    def lookalikes(self, device: Device) -> tuple[Device, ...]:
        """Return the other disks of the same model and size as a device's own disk."""
        disk = self.disk(device)
        return tuple(
            other
            for other in self.devices
            if other.kind is DeviceKind.DISK
            and other.name != disk.name
            and disk.model
            and (other.model, other.size_bytes) == (disk.model, disk.size_bytes)
        )

    def serial_end(self, device: Device) -> str:
        """Return the last four characters of a disk's serial number; empty where one that looks the same ends so too."""
        end = self.disk(device).serial[-4:]
        return "" if any(other.serial[-4:] == end for other in self.lookalikes(device)) else end

    def gaps(self, device: Device) -> tuple[str, ...]:
        """Return what the device lies on and is not in the listing: names, or numbers of devices under loops."""
        missing: list[str] = []
        for layer in self.down(device):
            missing += [name for name in (layer.parent, *layer.lower) if name and name not in self.by_name]
            under = layer.loop.device_number if layer.loop is not None else 0
            if under and under not in self.by_number:
                missing.append(f"{os.major(under)}:{os.minor(under)}")
        return tuple(missing)

    def down(self, device: Device) -> tuple[Device, ...]:
        """Return the device and all that it lies on: its disk, members, the device under a loop; down to disks."""
        found = {number_of(device): device}
        pending = [device]
        while pending:
            for next_one in self._next_down(pending.pop()):
                if number_of(next_one) not in found:
                    found[number_of(next_one)] = next_one
                    pending.append(next_one)
        return tuple(found.values())

    def stands_on_files(self, device: Device) -> bool:
        """Return whether all that the device lies on ends at loops over plain files: at none of the machine's disks."""
        bottoms = [layer for layer in self.down(device) if set(self._next_down(layer)) <= {layer}]
        return all(bottom.kind is DeviceKind.LOOP for bottom in bottoms)

    def _next_down(self, device: Device) -> Iterator[Device]:
        yield self.disk(device)
        yield from self.lower(device)
        under = self.under(device)
        if under is not None:
            yield under


def relatives(device: Device, graph: DeviceGraph) -> tuple[Relative, ...]:
    """Return every device that shares bytes with this one, itself first, each in its closest role."""
    found: dict[int, Relative] = {}

    def note(other: Device, role: Relation) -> None:
        found.setdefault(number_of(other), Relative(number_of(other), other.path, role))

    note(device, Relation.SELF)
    layers: list[Device] = []
    layer: Device | None = device
    # A listing taken while loops are attached could show a circle.
    while layer is not None and layer not in layers:
        layers.append(layer)
        layer = graph.under(layer)
    for layer in layers:
        note(layer, Relation.UNDER)
        for partition in graph.inside(layer):
            note(partition, Relation.INSIDE)
        note(graph.disk(layer), Relation.DISK)
    for lower in graph.down(device):
        note(lower, Relation.BELOW)
    family = tuple(graph.by_number[number] for number in found)
    for twin in (twin for member in family for twin in graph.twins(member) if twin not in family):
        note(twin, Relation.TWIN)
        for partition in graph.partitions(twin):
            note(partition, Relation.TWIN)
    return tuple(found.values())


def same_disk(one: Device, other: Device) -> bool:
    """Return whether two nodes may name one medium: of one size, by WWN where both have one, else by serial number.

    NVMe namespaces share their controller's serial and differ in WWN, so the WWN decides alone. Cheap docks and sticks
    give all their disks one number: what is on them decides (gather.gather).
    """
    if one.size_bytes != other.size_bytes:
        return False
    if one.wwn and other.wwn:
        return one.wwn == other.wwn
    return one.serial != "" and one.serial == other.serial


# The tree: disk, its partitions, the arrays and volumes made of them.

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
    by_path = {device.path: device.name for device in devices}
    names = frozenset(by_path.values())
    parents: dict[str, tuple[str, ...]] = {}
    children: dict[str, list[Device]] = defaultdict(list)
    for device in sorted(devices, key=lambda d: (_KIND_ORDER.index(d.kind), natural_key(d.name))):
        below = by_path.get(device.loop.path, "") if device.loop is not None else ""
        candidates = (device.parent, *sorted(device.lower, key=natural_key), below)
        own = tuple(name for name in candidates if name in names and name != device.name)
        parents[device.name] = own
        children[next(iter(own), "")].append(device)

    def branch(device: Device, last_of: tuple[bool, ...]) -> Iterator[TreeRow]:
        yield TreeRow(device, last_of, parents[device.name][1:])
        for child in children[device.name]:
            yield from branch(child, (*last_of, child is children[device.name][-1]))

    rows = {row.device.name: row for root in children[""] for row in branch(root, ())}
    # A ring of parents, which the kernel would not allow, must not hide a device.
    return (*rows.values(), *(TreeRow(device) for device in devices if device.name not in rows))


def natural_key(name: str) -> tuple[tuple[int, str, int, str], ...]:
    """Return a sort key in which sda2 is before sda10, and sdz before sdaa."""
    key = []
    for digits, letters in _PARTS.findall(name):
        driver = _LETTERED.fullmatch(letters)
        text = (0, driver[1] if driver else letters, len(letters), letters)
        key.append((int(digits), "", 0, "") if digits else text)
    return tuple(key)
