"""Leaves to a soak what takes long: its files are not even collected, since a skipped test is one whose machine is missing."""

from __future__ import annotations

from tests.lab.soak import SOAK

_SOAK = (
    "hotplug",
    "newer",
    "faults/test_every_pair.py",
    "runs/test_mixed.py",
    "whatif/test_soak.py",
)
collect_ignore = [] if SOAK else list(_SOAK)
