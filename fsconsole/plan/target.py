"""What a plan needs to know of a device."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TargetSpec:
    """A device by its path; size_bytes 0 means not known, for a plan that is only looked at."""

    path: str
    size_bytes: int
    is_scratch: bool = False
    backing_file: str = ""
    """The file below a scratch device."""
    can_discard: bool = True
    """False where queue/discard_max_bytes is 0 (Documentation/block/queue-sysfs.rst)."""


NO_DEVICE = TargetSpec("DEVICE", 0)
"""Stands where no device was named yet."""
