"""Relations between block devices: partitions, what a device lies on, and which devices share its bytes."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping

from fsconsole.devices.evidence import Relation, Relative
from fsconsole.model.device import Device, DeviceKind

_HARDWARE = (DeviceKind.DISK, DeviceKind.OTHER)


def number_of(device: Device) -> int:
    """Return makedev(major, minor), the only name by which devices are compared."""
    return os.makedev(device.major, device.minor)


class DeviceGraph:
    """All devices of the machine at one instant, with the edges between them.

    loops_over maps the number of a loop device to the number of the block device that it stands on;
    loops over plain files have no entry: such a loop is a disk of its own.
    """

    def __init__(self, devices: tuple[Device, ...], loops_over: Mapping[int, int]) -> None:
        self.devices = devices
        self.by_number = {number_of(device): device for device in devices}
        self.by_name = {device.name: device for device in devices}
        self.loops_over = loops_over
        self._partitions: dict[str, list[Device]] = defaultdict(list)
        self._same_label: dict[str, list[Device]] = defaultdict(list)
        for device in devices:
            if device.parent:
                self._partitions[device.parent].append(device)
            if device.kind in _HARDWARE:
                for label in {device.wwn, device.serial} - {""}:
                    self._same_label[label].append(device)

    def partitions(self, device: Device) -> tuple[Device, ...]:
        """Return the partitions of a whole disk, in the order of the listing."""
        return tuple(self._partitions.get(device.name, ()))

    def disk(self, device: Device) -> Device:
        """Return the whole disk of a partition, and any other device itself."""
        return self.by_name.get(device.parent, device)

    def under(self, device: Device) -> Device | None:
        """Return the block device that a loop stands on; None for a loop over a file and for no loop."""
        return self.by_number.get(self.loops_over.get(number_of(device), 0))

    def lower(self, device: Device) -> tuple[Device, ...]:
        """Return what md or dm made the device of."""
        return tuple(self.by_name[name] for name in device.lower if name in self.by_name)

    def twins(self, device: Device) -> Iterator[Device]:
        """Yield the other hardware disks that are the same disk by another path."""
        if device.kind in _HARDWARE:
            labelled = (
                other for label in (device.wwn, device.serial) for other in self._same_label.get(label, ())
            )
            yield from (other for other in labelled if other != device and same_disk(device, other))

    def gaps(self, device: Device) -> tuple[str, ...]:
        """Return what the device lies on and is not in the listing: names, or numbers of devices under loops."""
        missing: list[str] = []
        for layer in self.down(device):
            missing += [name for name in (layer.parent, *layer.lower) if name and name not in self.by_name]
            under = self.loops_over.get(number_of(layer), 0)
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
    for layer in _layers(device, graph):
        note(layer, Relation.UNDER)
        for partition in graph.partitions(layer):
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


def _layers(device: Device, graph: DeviceGraph) -> tuple[Device, ...]:
    """Return the device, and for a loop over a device that one too, and so on down."""
    layers = [device]
    while True:
        layer = graph.under(layers[-1])
        # A listing taken while loops are made anew could show a circle.
        if layer is None or layer in layers:
            return tuple(layers)
        layers.append(layer)


def same_disk(one: Device, other: Device) -> bool:
    """Return whether two nodes name one medium: by WWN where both have one, else by serial number.

    NVMe namespaces share their controller's serial and differ in WWN, so the WWN decides alone.
    """
    if one.wwn and other.wwn:
        return one.wwn == other.wwn
    return one.serial != "" and one.serial == other.serial
