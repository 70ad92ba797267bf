"""The room that an empty filesystem offers, and what it keeps to itself."""

from __future__ import annotations

import os
from dataclasses import dataclass

from fsconsole.model.measurement import Measurement, Metric
from fsconsole.system.blockdev import device_size_bytes


@dataclass(frozen=True, slots=True)
class Space:
    """Room in bytes, of a device and of the filesystem on it."""

    device_bytes: int
    free_bytes: int
    """f_bfree of statfs: what root can write; blocks reserved for root are free, not overhead (man 3 statvfs)."""


def space_measurements(mount_point: str, device: str) -> tuple[Measurement, ...]:
    """Return USABLE and OVERHEAD of a filesystem that was just made and mounted. Raises OSError."""
    fd = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size_bytes = device_size_bytes(fd)
    finally:
        os.close(fd)
    room = os.statvfs(mount_point)
    return measurements(Space(size_bytes, room.f_bfree * room.f_frsize))


def measurements(space: Space) -> tuple[Measurement, ...]:
    """Return USABLE in bytes, and OVERHEAD as the share of the device that is not free, in per cent."""
    kept_bytes = space.device_bytes - space.free_bytes
    return (
        Measurement(Metric.USABLE, float(space.free_bytes)),
        Measurement(Metric.OVERHEAD, 100 * kept_bytes / space.device_bytes),
    )
