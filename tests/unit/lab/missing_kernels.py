"""For pytest -p: a machine whose apt offers neither user-mode Linux nor backports."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.lab import groups
from tests.lab.cache import KERNEL

for _name, _boot in groups.BOOTS.items():
    if _boot.kernel != KERNEL:
        groups.BOOTS[_name] = replace(_boot, kernel=Path("/nowhere", _boot.kernel.name))
