"""Tells who stays on a device from who passes by: udev, and the tools that it starts, look at whatever was written."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from fsconsole.system.processes import OpenDescriptor

_Seen = TypeVar("_Seen")

PASSING_BY_S = 0.5
UDEV_PROBE_S = 10.0
"""How long udev's workers may have a device open: a slow disk, or a busy machine, makes a probe last seconds."""
_PAUSE_S = 0.05

_UDEV_WORKERS = frozenset({"(udev-worker)", "(systemd-udevd)", "systemd-udevd", "udevd"})
"""Their names since systemd 252, before, and with eudev; what they start (mdadm, pvscan) has a name of its own."""


def lasting(look: Callable[[], _Seen]) -> _Seen:
    """Return what look() sees: at once where that is nothing, else what is still there at the end of the wait."""
    deadline = time.monotonic() + PASSING_BY_S
    while True:
        seen = look()
        if not seen or time.monotonic() >= deadline:
            return seen
        time.sleep(_PAUSE_S)


def lasting_holders(look: Callable[[], tuple[OpenDescriptor, ...]]) -> tuple[OpenDescriptor, ...]:
    """Return the processes that stay: each was there at every look for as long as its kind may pass by.

    Others may come and go meanwhile; where that has no end, who is there at the end of the longest wait counts.
    """
    first_seen_s: dict[int, float] = {}
    begun_s = time.monotonic()
    while True:
        seen, now_s = look(), time.monotonic()
        first_seen_s = {holder.pid: first_seen_s.get(holder.pid, now_s) for holder in seen}
        staying = tuple(h for h in seen if now_s - first_seen_s[h.pid] >= patience_s(h))
        if staying or not seen:
            return staying
        if now_s - begun_s >= UDEV_PROBE_S:
            return seen
        time.sleep(_PAUSE_S)


def patience_s(holder: OpenDescriptor) -> float:
    """Return how long a process may have a device open and still be passing by."""
    return UDEV_PROBE_S if holder.command in _UDEV_WORKERS else PASSING_BY_S
