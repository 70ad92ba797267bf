"""Signs that heat slowed the machine: throttle counters of CPUs, temperatures above their limits."""

from __future__ import annotations

import glob
import os
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fsconsole.model.sample import Temperature
from fsconsole.system.files import read_int_or, read_text_or
from fsconsole.telemetry.block import SYS, disk_name

_THROTTLES = ("core_throttle_count", "package_throttle_count")
_SLOWING = frozenset({"passive", "hot", "critical"})
"""Trip points at which the kernel slows a device or warns; "active" ones start a fan
(Documentation/driver-api/thermal/sysfs-api.rst)."""
_HWMON = ("device/hwmon*", "device/hwmon/hwmon*", "device/nvme*/hwmon*")
"""Of NVMe, of SCSI (drivetemp), and of NVMe with several paths."""
_LIMITS = ("max", "crit")


def read_throttles(sys: str = SYS) -> dict[str, int]:
    """Return how often each CPU was throttled for heat since boot, by its name (drivers/thermal/intel/therm_throt.c).

    Empty on CPUs and in virtual machines that don't count it.
    """
    folders = sorted(glob.glob(f"{sys}/devices/system/cpu/cpu[0-9]*/thermal_throttle"))
    return {
        os.path.basename(os.path.dirname(folder)): sum(read_int_or(f"{folder}/{name}", 0) for name in _THROTTLES)
        for folder in folders
    }


@dataclass(frozen=True, slots=True)
class Heat:
    """A sensor at or above a limit, in degrees Celsius."""

    sensor: str
    now_c: float
    limit_c: float

    def __str__(self) -> str:
        return f"{self.sensor} at {self.now_c:.0f} C, limit {self.limit_c:.0f} C"


def too_hot(devices: Iterable[str], sys: str = SYS) -> tuple[Heat, ...]:
    """Return the machine's thermal zones, and the sensors of these devices' disks, that are at or above a limit.

    The kernel gives thousandths of a degree (Documentation/hwmon/sysfs-interface.rst); a limit of 0 or below is none.
    """
    limits = dict[str, tuple[str, list[str]]]()
    for zone in _zones(sys):
        kinds = sorted(glob.glob(f"{zone}/trip_point_[0-9]*_type"))
        trips = [kind.removesuffix("type") + "temp" for kind in kinds if read_text_or(kind, "") in _SLOWING]
        limits[f"{zone}/temp"] = (read_text_or(f"{zone}/type", os.path.basename(zone)), trips)
    for disk, sensor in _disk_sensors(devices, sys):
        start = sensor.removesuffix("input")
        label = read_text_or(f"{start}label", "")
        limits[sensor] = (f"{disk} {label}".strip(), [start + limit for limit in _LIMITS])
    found = []
    for sensor, (name, paths) in limits.items():
        now = read_int_or(sensor, 0)
        crossed = [limit for path in paths if 0 < (limit := read_int_or(path, 0)) <= now]
        if crossed:
            found.append(Heat(name, now / 1000, min(crossed) / 1000))
    return tuple(found)


def _zones(sys: str) -> list[str]:
    return sorted(glob.glob(f"{sys}/class/thermal/thermal_zone[0-9]*"))


def _disk_sensors(devices: Iterable[str], sys: str) -> Iterator[tuple[str, str]]:
    """Yield each sensor of these devices' disks, with the disk's name."""
    for disk in dict.fromkeys(disk_name(name, sys) for name in devices):
        for place in _HWMON:
            for sensor in sorted(glob.glob(f"{sys}/class/block/{disk}/{place}/temp[0-9]*_input")):
                yield disk, sensor


_READ_AGAIN_S = 10.0
"""Reading a disk's sensor sends it a command (drivers/hwmon/drivetemp.c, drivers/nvme/host/hwmon.c)."""


class HeatGauge:
    """The hottest sensors of the targets' disks and of the machine; read anew each ten seconds."""

    def __init__(self, sys: str = SYS) -> None:
        self._sys = sys
        self._read_s = 0.0
        self._devices: tuple[str, ...] = ()
        self._found: Temperature | None = None

    def read(self, devices: tuple[str, ...]) -> Temperature | None:
        """Return the temperatures, at most ten seconds old; None where no sensor tells any."""
        now_s = time.monotonic()
        if not self._read_s or devices != self._devices or now_s - self._read_s >= _READ_AGAIN_S:
            self._read_s, self._devices = now_s, devices
            disk = _hottest_c(sensor for _, sensor in _disk_sensors(devices, self._sys))
            machine = _hottest_c(f"{zone}/temp" for zone in _zones(self._sys))
            self._found = None if disk is None and machine is None else Temperature(disk, machine)
        return self._found


def _hottest_c(sensors: Iterable[str]) -> float | None:
    known = (text for sensor in sensors if _WHOLE.fullmatch(text := read_text_or(sensor, "").strip()))
    return max((int(text) / 1000 for text in known), default=None)


_WHOLE = re.compile(r"-?[0-9]{1,9}")
