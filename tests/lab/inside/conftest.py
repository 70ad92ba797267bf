"""Leaves to a soak what takes long: its files are not even collected, since a skipped test is one whose machine is missing."""

from __future__ import annotations

from tests.lab.soak import SOAK

_SOAK = (
    "newer",
    "faults/test_every_pair.py",
    "hotplug/test_console.py",
    "hotplug/test_exchanged.py",
    "hotplug/test_hang_asleep.py",
    "hotplug/test_pulled.py",
    "hotplug/test_silent.py",
    "whatif/test_soak.py",
)
collect_ignore = [] if SOAK else list(_SOAK)
