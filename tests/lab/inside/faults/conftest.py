"""Every pair of fault, step and filesystem is a soak's matter."""

from __future__ import annotations

from tests.lab.soak import SOAK

collect_ignore = [] if SOAK else ["test_every_pair.py"]
