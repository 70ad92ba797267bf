"""Cells in their order, with the steps of each: nothing in here has happened yet."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from fsconsole.model.step import CLOSED_BY, Step, Write
from fsconsole.model.variant import Variant
from fsconsole.model.workload import Workload


class Order(str, Enum):
    """In which order the cells run (measurement: drift must favour no variant)."""

    SHUFFLED = "shuffled"
    INTERLEAVED = "interleaved"
    AS_LISTED = "as-listed"


class Equalise(str, Enum):
    """What every target goes through before each cell, so that no variant inherits a fresher device."""

    DISCARD = "discard"
    ZERO = "zero"
    PRECONDITION = "precondition"
    NONE = "none"


class DeleteWith(str, Enum):
    """How the tree is removed at the end of a cell."""

    RM = "rm"
    BUILT_IN = "built-in"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Setting:
    """Device and kernel settings of a cell as (name, value) pairs; empty: as the machine has them."""

    values: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """An md array to be made of the targets, with md's own knobs (man 8 mdadm, Documentation/admin-guide/md.rst)."""

    level: str
    """linear, raid0, raid1, raid4, raid5, raid6 or raid10."""
    chunk_bytes: int = 0
    """0: as mdadm chooses."""
    members: int = 0
    """How many of the targets, the first ones; 0: all."""
    stripe_cache_size: int = 0
    """Pages per member that raid4, raid5 and raid6 keep; 0: as it is."""
    group_thread_count: int = -1
    """Threads that raid4, raid5 and raid6 handle stripes with, 0 is the one of the array itself; -1: as it is."""
    bitmap: str = ""
    """The write-intent bitmap: "none" or "internal"; empty: as mdadm chooses."""
    consistency_policy: str = ""
    """One of "resync", "bitmap" and "ppl"; empty: as mdadm chooses."""
    assume_clean: bool = False
    """Whether the first resync is left out: redundant blocks are not what they should be, and figures say so."""


@dataclass(frozen=True, slots=True)
class After:
    """What happens to the filesystem after its workloads."""

    check: bool = True
    crash: bool = False
    delete: DeleteWith = DeleteWith.RM


@dataclass(frozen=True, slots=True)
class Cell:
    """One filesystem's life: (target or array, setting, variant, repeat) with its workloads in order."""

    index: int
    """Position in the plan's order, from 0."""
    target: str
    """Path of the device, or of the array that is made of the members."""
    array: ArraySpec | None
    setting: Setting
    variant: Variant
    repeat: int
    """From 1."""
    workloads: tuple[Workload, ...]
    after: After
    equalise: Equalise
    uuid: str
    """The filesystem's UUID that this run assigns: the gate's proof that a signature is ours."""
    steps: tuple[Step, ...]
    members: tuple[str, ...] = ()
    """Paths of the devices that the array is made of, in their order; empty where there is no array."""
    unavailable: str = ""
    """Why this cell can't run here, in words; empty where it can."""

    @property
    def devices(self) -> tuple[str, ...]:
        """Paths of all devices that the cell wipes: the members of its array, or its target."""
        return self.members or (self.target,)

    @property
    def writes(self) -> tuple[Write, ...]:
        """Every setting that the cell writes, its workloads' own ones too."""
        return tuple(write for step in self.steps for write in step.writes)

    def is_closed_by_next(self, number: int) -> bool:
        """Return whether the step after that one brings to the device what that one has done."""
        kinds = [step.kind for step in self.steps[number : number + 2]]
        return len(kinds) > 1 and CLOSED_BY.get(kinds[0]) is kinds[1]


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a plan will cost: bytes written to targets, seconds, and the rates assumed for them."""

    bytes_to_write: int
    elapsed_s: float
    assumed_bytes_per_s: float


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan file applied to devices: every cell with the exact commands that will be executed."""

    title: str
    source: str
    """The plan file's text, kept with the run."""
    seed: int
    order: Order
    repeats: int
    targets: tuple[str, ...]
    cells: tuple[Cell, ...]
    estimate: Estimate
    notes: tuple[str, ...] = ()
    """What the plan left out or could not do, and why, in sentences: dropped combinations, duplicates."""
