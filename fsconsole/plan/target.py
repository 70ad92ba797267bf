"""What a plan needs to know of a device."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QueueSpec:
    """A disk's request queue by the disk's name in /sys/block; schedulers empty: not known."""

    disk: str
    schedulers: tuple[str, ...] = ()


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
    disk: str = ""
    """The name in /sys/block of what reads ahead: the device, or the disk of a partition; empty: as the path says."""
    queues: tuple[QueueSpec, ...] = ()
    """The queues that have a scheduler: the disk's own, or those below an array; empty: the disk's own, not looked at."""
    has_stripe_cache: bool = True
    """False where the device is known to be no md array of level 4, 5 or 6 (Documentation/admin-guide/md.rst)."""
    notes: tuple[str, ...] = ()
    """What is to be known of it before it is formatted: its stripes, and what is wrong with where it begins."""

    @property
    def sysfs_name(self) -> str:
        """The disk's name in /sys/block; for NO_DEVICE the word that stands for one."""
        return self.disk or self.path.removeprefix("/dev/").replace("/", "!")

    @property
    def scheduled(self) -> tuple[QueueSpec, ...]:
        """The queues that have a scheduler and a number of requests."""
        return self.queues or (QueueSpec(self.sysfs_name),)


NO_DEVICE = TargetSpec("DEVICE", 0)
"""Stands where no device was named yet."""
