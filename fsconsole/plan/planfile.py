"""A plan file as values, and the devices that a plan is applied to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from fsconsole.model.fio_job import load_of, read_fio_job
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import After, Age, Equalise, Keep, Order
from fsconsole.model.statistics import LOOKS
from fsconsole.model.verdicts import DEFAULT_SAME
from fsconsole.model.workload import Workload, WorkloadKind

MAX_CELLS = 10_000

SCHEMA = 1
DEFAULT_REPEATS = 5
AUTO_REPEATS = (LOOKS[-1], True)
"""PlanFile.repeats and is_auto where the plan says "auto"."""
DEFAULT_SEED = 1
"""Seed of a plan that names none: any number does, as long as it is recorded."""
DEFAULT_BLOCK_SIZE_BYTES = 65536
"""Bull's write size of 2008."""
DEFAULT_LOAD_TIME_S = 10.0
"""Of a load that a pilot sizes: below it a phase is called short."""
_CHECK_AND_DELETE = After()


class ScaleKind(str, Enum):
    """Ways of making sizes fit."""

    NONE = "none"
    FIT = "fit"
    FACTOR = "factor"


@dataclass(frozen=True, slots=True)
class Scale:
    """factor, above 0 and at most 1, is of FACTOR alone."""

    kind: ScaleKind = ScaleKind.NONE
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class ArrayAxis:
    """Arrays made of the targets: every value with every other; each field is one of ArraySpec, or several."""

    levels: tuple[str, ...]
    chunks_bytes: tuple[int, ...] = ()
    """Empty, here and below: as it comes."""
    members: tuple[int, ...] = ()
    stripe_cache_sizes: tuple[int, ...] = ()
    group_thread_counts: tuple[int, ...] = ()
    bitmaps: tuple[str, ...] = ()
    consistency_policies: tuple[str, ...] = ()
    assume_clean: bool = False


@dataclass(frozen=True, slots=True)
class Checklist:
    """Options of one filesystem with the values each shall take; they are multiplied out."""

    filesystem: str
    mkfs: tuple[tuple[str, tuple[str, ...]], ...] = ()
    mount: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exclude: tuple[tuple[tuple[str, str], ...], ...] = ()
    """Combinations (option, value) that are left out."""
    renamed: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    """Options that were named by an old name: (old, today's)."""


@dataclass(frozen=True, slots=True)
class VariantText:
    """One variant in the tools' own words."""

    filesystem: str
    mkfs: str = ""
    mount: str = ""
    tune: str = ""
    label: str = ""
    as_printed: str = ""


@dataclass(frozen=True, slots=True)
class PlanFile:
    """A whole plan file. path and source say where it came from, and don't count when two are compared."""

    title: str
    workloads: tuple[Workload, ...]
    checklists: tuple[Checklist, ...] = ()
    variants: tuple[VariantText, ...] = ()
    repeats: int = DEFAULT_REPEATS
    is_auto: bool = False
    """True if the run ends after the first look (model.statistics.LOOKS) at which all is decided."""
    same: float = DEFAULT_SAME
    primary: Metric | None = None
    baseline: str = ""
    """Label of a variant, or an axis with a value; empty: the first variant."""
    control: bool = False
    order: Order = Order.ROUNDS
    seed: int = DEFAULT_SEED
    scale: Scale = Scale()
    keep: Keep = Keep.THREADS
    published_memory_bytes: int = 0
    published_device_bytes: int = 0
    stripe_chunk_bytes: int = 0
    """Of a hardware RAID, as typed in; 0: mkfs finds stripes itself, or none."""
    stripe_data_disks: int = 0
    """Of the machine that the sizes were printed for; 0: not said."""
    equalise: Equalise = Equalise.DISCARD
    age: Age | None = None
    load_time_s: float = DEFAULT_LOAD_TIME_S
    raw: bool = False
    settings: tuple[tuple[str, tuple[str, ...]], ...] = ()
    arrays: tuple[ArrayAxis, ...] = ()
    after: After = _CHECK_AND_DELETE
    path: str = field(default="", compare=False)
    source: str = field(default="", compare=False)


FIT_SHARE = 0.60
"""Of the smallest target's usable size: no filesystem is measured while it is nearly full."""


def written_bytes(workloads: Sequence[Workload]) -> int:
    """Return the bytes that the workloads of one cell add to its filesystem."""
    total = 0
    for load in workloads:
        total += load_of(read_fio_job(load.job, "job")).space_bytes if load.job else 0
        if load.kind is WorkloadKind.COPY and load.source is not None:
            total += workloads[load.source].added_bytes
            continue
        # One that works on each file of its source once has as many as that has.
        is_once = not load.files and not load.limit_bytes and not load.duration_s
        files = workloads[load.source].files if is_once and load.source is not None else load.files
        total += (load if files == load.files else replace(load, files=files)).added_bytes
    return total


def unsized(load: Workload) -> Workload:
    """Return a load without what a pilot chooses for it."""
    changes: dict[str, Any] = {load.sizing.chooses.value: 0} if load.sizing is not None else {}
    return replace(load, **changes)


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
    keeps_blocks: bool = True
    """False for a scratch device whose file may get other blocks when BLKZEROOUT zeroes it (FALLOC_FL_ZERO_RANGE)."""
    can_discard: bool = True
    """False where queue/discard_max_bytes is 0 (Documentation/block/queue-sysfs.rst)."""
    disk: str = ""
    """The name in /sys/block of what reads ahead: the device, or the disk of a partition; empty: as the path says."""
    queues: tuple[QueueSpec, ...] = ()
    """The queues that have a scheduler: the disk's own, or those below an array; empty: the disk's own, not looked at."""
    has_stripe_cache: bool = True
    """False where the device is known to be no md array of level 4, 5 or 6 (Documentation/admin-guide/md.rst)."""
    memory_limit: str = "/sys/fs/cgroup/fsconsole-DEVICE/memory.max"
    """File of the limit of the load's memory cgroup; empty: this kernel has no memory controller (cgroup-v2.rst)."""
    is_rotating: bool = False
    is_flash: bool = False
    bytes_per_s: float = 0.0
    """Rate at which the last run on it wrote, or the file of a scratch device when it was made; 0: not known."""
    is_measured: bool = False
    """True if that is a run's rate."""
    notes: tuple[str, ...] = ()
    """Notes for the operator: its stripes, and misalignment."""
    is_directory: bool = False
    """True for a directory, where nothing is formatted; size_bytes is its filesystem's."""

    @property
    def sysfs_name(self) -> str:
        """The disk's name in /sys/block; for NO_DEVICE the word that stands for one."""
        return self.disk or self.path.removeprefix("/dev/").replace("/", "!")

    @property
    def scheduled(self) -> tuple[QueueSpec, ...]:
        """The queues that have a scheduler and a number of requests."""
        return self.queues or (QueueSpec(self.sysfs_name),)


def with_rate(target: TargetSpec, bytes_per_s: float) -> TargetSpec:
    """Return a target with the rate that a run on it measured; as it is for 0, where none did."""
    return replace(target, bytes_per_s=bytes_per_s, is_measured=True) if bytes_per_s else target


NO_DEVICE = TargetSpec("DEVICE", 0)
"""A placeholder where no device was named yet."""
