"""What to know of a device's stripes before it is formatted, in sentences; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fsconsole.model.device import Device, DeviceKind
from fsconsole.plan.geometry import BLOCK_BYTES, Geometry, geometry_of
from fsconsole.units import GIB, format_bytes_exact

_LEFT_ALONE = {
    (True, False): "mkfs sees that itself",
    # Below, mkfs.xfs takes no stripes unless they are named: "small data volume".
    (True, True): "mkfs.ext4 sees that itself, mkfs.xfs only from 1 GiB on",
    (False, False): "the kernel tells mkfs otherwise, so name it",
    (False, True): "the kernel tells mkfs otherwise, so name it",
}
"""What mkfs does when it is told nothing: by whether the kernel tells the same, and whether the device is small."""


@dataclass(frozen=True, slots=True)
class Stripes:
    """Advice for one device; texts are empty where there is nothing to say."""

    path: str
    shape: str = ""
    words: str = ""
    """What mkfs is to be told, and whether it finds that out by itself."""
    cautions: tuple[str, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """All of it, for whoever has no labels."""
        return (*((f"{self.path} holds {self.shape}: {self.words}",) if self.shape else ()), *self.cautions)


def stripes_of(device: Device, devices: Iterable[Device]) -> Stripes:
    """Return what there is to say of a device; devices are all of the machine, of which it may be made."""
    by_name = {each.name: each for each in devices}
    layers = tuple(_down(device, by_name))
    shape = _geometry_below(device, by_name)
    cautions = tuple(dict.fromkeys(text for layer in layers for text in _off(layer, by_name)))
    if shape is None:
        return Stripes(device.path, cautions=cautions)
    chunk = format_bytes_exact(shape.chunk_bytes)
    data = f"{shape.data_disks} data disks" if shape.data_disks > 1 else "1 data disk"
    whole = format_bytes_exact(shape.stripe_bytes)
    return Stripes(device.path, f"{chunk} on each of {data}, {whole} in all", _words(shape, device), cautions)


def _words(shape: Geometry, device: Device) -> str:
    told = (shape.chunk_bytes, shape.stripe_bytes) == (device.minimum_io_bytes, device.optimal_io_bytes)
    return f"ext4 {shape.ext4_words}; xfs {shape.xfs_words}; {_LEFT_ALONE[told, device.size_bytes < GIB]}"


def _geometry_below(device: Device, by_name: dict[str, Device]) -> Geometry | None:
    """Return the geometry of the one array that a device lies on in whole; of several none holds for it."""
    if device.md is not None:
        return geometry_of(device.md)
    below = (device.parent,) if device.parent else device.lower
    if len(below) != 1 or below[0] not in by_name:
        return None
    return _geometry_below(by_name[below[0]], by_name)


def _down(device: Device, by_name: dict[str, Device]) -> Iterator[Device]:
    yield device
    for name in (device.parent, *device.lower):
        if name in by_name:
            yield from _down(by_name[name], by_name)


def _off(device: Device, by_name: dict[str, Device]) -> Iterator[str]:
    """Yield what is wrong with where a partition begins."""
    if device.kind is not DeviceKind.PARTITION or device.parent not in by_name:
        return
    disk, start = by_name[device.parent], device.partition_start_bytes
    shape = geometry_of(disk.md) if disk.md is not None else None
    sector = max(BLOCK_BYTES, disk.physical_sector_bytes)
    begins = f"{device.path} begins at byte {start}"
    if start % sector:
        yield f"{begins}, no multiple of {sector}: each block lies on two sectors"
    elif shape is not None and start % shape.chunk_bytes:
        yield f"{begins}, inside a chunk of {disk.path}: blocks that belong together lie on two disks"
    elif shape is not None and shape.has_parity and start % shape.stripe_bytes:
        yield f"{begins}, inside a stripe of {disk.path}: what fills one is written to two, and read before"
