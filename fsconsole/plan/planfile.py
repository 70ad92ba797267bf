"""What a plan file says, as values: read by reader.py, written by writer.py, carried out by nobody yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from fsconsole.model.plan import After, Equalise, Order
from fsconsole.model.workload import DataKind, Directories, End, WorkloadKind

SCHEMA = 1
AUTO_REPEATS = 0
"""PlanFile.repeats where the plan says "auto"."""
DEFAULT_SEED = 1
"""Where a plan names no seed: any number does, as long as it is recorded."""
DEFAULT_BLOCK_SIZE_BYTES = 65536
"""Bull's write size of 2008."""
_ONE_DIRECTORY = Directories()
_CHECK_AND_DELETE = After()


class ScaleKind(str, Enum):
    """How sizes are made to fit."""

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
class WorkloadPlan:
    """A workload as the plan names it; threads are an axis."""

    name: str
    kind: WorkloadKind
    threads: tuple[int, ...]
    file_size_bytes: int
    block_size_bytes: int = DEFAULT_BLOCK_SIZE_BYTES
    files: int = 0
    """In all; 0: as many as the kind has by itself (README, "Workloads")."""
    directories: Directories = _ONE_DIRECTORY
    data: DataKind = DataKind.RANDOM
    cold: bool = False
    of: str = ""
    """Name of the create whose files it works on; empty: the nearest before it."""
    file_size_max_bytes: int = 0
    """The upper end, where file_size is a range."""
    zero_share: float = 0.0
    """Of COMPRESSIBLE data."""
    direct: bool = False
    fsync_every: int = 0
    limit_bytes: int = 0
    duration_s: float = 0.0
    end: End = End.BETWEEN_OPERATIONS
    weights: tuple[tuple[WorkloadKind, int], ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    """Settings for this workload alone (with = {...})."""


@dataclass(frozen=True, slots=True)
class PlanFile:
    """A whole plan file. path and source say where it came from, and don't count when two are compared."""

    title: str
    workloads: tuple[WorkloadPlan, ...]
    checklists: tuple[Checklist, ...] = ()
    variants: tuple[VariantText, ...] = ()
    repeats: int = 1
    order: Order = Order.SHUFFLED
    seed: int = DEFAULT_SEED
    scale: Scale = Scale()
    equalise: Equalise = Equalise.DISCARD
    raw: bool = False
    settings: tuple[tuple[str, tuple[str, ...]], ...] = ()
    arrays: tuple[ArrayAxis, ...] = ()
    after: After = _CHECK_AND_DELETE
    path: str = field(default="", compare=False)
    source: str = field(default="", compare=False)
