"""For pytest -p: what a machine has whose mirror offers no backports."""

from __future__ import annotations

from pathlib import Path

from tests.lab import groups

groups.KERNELS["newer"] = Path("/nowhere/newer-kernel")
