"""Free page reporting: a guest's kernel reports free memory, the hypervisor takes it back (mm/page_reporting.c).

The next use of such memory faults in the hypervisor: measured 1.7 to 3.6 CPU s per GiB, 0.2 to 0.5 without it.
"""

from __future__ import annotations

import os
from contextlib import suppress

from fsconsole.system.files import read_text_or
from fsconsole.system.kmsg import KernelLog
from fsconsole.text import KIB

_VIRTIO = "/sys/bus/virtio/devices"
_BALLOON = "0x0005"
_REPORTING_BIT = 5
"""VIRTIO_BALLOON_F_REPORTING (include/uapi/linux/virtio_balloon.h); features lists the bits from 0."""
_COUNTER = "/sys/module/page_reporting/parameters/reported_kib"
"""Of some hypervisors' kernels; mainline has page_reporting_order alone, and no count in /proc/vmstat either."""
_LOGGED = "Free page reporting enabled"


def is_reporting(root: str = "", *, log: str = "/dev/kmsg") -> bool:
    """Return whether free page reporting is in force, by the balloon's features or by the kernel's log (Hyper-V)."""
    with suppress(FileNotFoundError):
        for name in os.listdir(root + _VIRTIO):
            device = os.path.join(root + _VIRTIO, name)
            features = read_text_or(f"{device}/features", "").strip()
            is_balloon = read_text_or(f"{device}/device", "").strip() == _BALLOON and os.path.exists(f"{device}/driver")
            if is_balloon and features[_REPORTING_BIT : _REPORTING_BIT + 1] == "1":
                return True
    with KernelLog(log, is_whole=True) as said:
        return any(_LOGGED in line for line in said.lines())


def reported_bytes(root: str = "") -> int | None:
    """Return the free memory reported since boot, in bytes; None if this kernel doesn't count it."""
    text = read_text_or(root + _COUNTER, "").strip()
    return int(text) * KIB if text.isascii() and text.isdigit() else None


class ReportedMemory:
    """Memory reported since the previous call; the first call counts from boot."""

    def __init__(self, root: str = "") -> None:
        self._root = root
        self._before = 0

    def since_last(self) -> int | None:
        """Return the bytes; None where this kernel doesn't count them."""
        now = reported_bytes(self._root)
        if now is None:
            return None
        before, self._before = self._before, now
        return now - before
