"""The gauges of all watched devices: targets, and below each what it stands on, without any of them twice."""

from __future__ import annotations

import time

from fsconsole.telemetry.blockstat import Watched
from fsconsole.telemetry.device_gauge import DeviceGauge
from fsconsole.telemetry.layers import watched_tree

_LOOK_AGAIN_S = 10.0
"""A member that is added to an array while it is watched appears after this long."""


class DeviceRack:
    """Device gauges in the order of a sample; not safe for use by several threads at once."""

    def __init__(self, sys: str) -> None:
        self._sys = sys
        self._targets: list[str] = []
        self._gauges: dict[str, DeviceGauge] = {}
        self._looked_s = 0.0

    def watch(self, name: str) -> None:
        """Add a target by its kernel name; one that is watched already begins anew."""
        former = self._gauges.get(name)
        if former is not None:
            former.close()
        if name not in self._targets:
            self._targets.append(name)
        self._arrange()

    def unwatch(self, name: str) -> None:
        """Take a target away that will be gone; what it stood on stays where that is a target itself."""
        if name in self._targets:
            self._targets.remove(name)
            self._arrange()

    def gauges(self) -> tuple[DeviceGauge, ...]:
        """Return all gauges, a target's members right behind it."""
        # What stands below a device that is gone goes with it, and comes back with it.
        if self.vanished() or time.monotonic() - self._looked_s > _LOOK_AGAIN_S:
            self._arrange()
        return tuple(self._gauges.values())

    def vanished(self) -> tuple[str, ...]:
        """Return the targets that were gone at the last reading."""
        return tuple(name for name in self._targets if name in self._gauges and self._gauges[name].is_gone)

    def close(self) -> None:
        """Give all files back and forget the targets."""
        for gauge in self._gauges.values():
            gauge.close()
        self._gauges.clear()
        self._targets.clear()

    def _arrange(self) -> None:
        """Look at the layers as they are now; gauges that stay keep what they read before."""
        self._looked_s = time.monotonic()
        former, self._gauges = self._gauges, {}
        for device in arranged([watched_tree(name, self._sys) for name in self._targets]):
            gauge = former.pop(device.name, None) or DeviceGauge(device, f"{self._sys}/class/block")
            gauge.device = device
            self._gauges[device.name] = gauge
        for gauge in former.values():
            gauge.close()


def arranged(trees: list[tuple[Watched, ...]]) -> tuple[Watched, ...]:
    """Return the devices of all trees, each once: a target that another one stands on is that one's member."""
    lower = {device.name for tree in trees for device in tree[1:]}
    found: dict[str, Watched] = {}
    for tree in trees:
        if tree[0].name not in lower:
            for device in tree:
                found.setdefault(device.name, device)
    return tuple(found.values())
