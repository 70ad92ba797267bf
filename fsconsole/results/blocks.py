"""Blocks of the grid: one per workload, one for the filesystem's life, one for raw rows; each with its own columns, order and verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from fsconsole.model.metrics import Metric
from fsconsole.model.verdicts import Compared
from fsconsole.model.workload import Workload
from fsconsole.results.grid import GridRow


class BlockKind(str, Enum):
    """What the figures of a block belong to."""

    LOAD = "load"
    LIFE = "life"
    RAW = "raw"


@dataclass(frozen=True, slots=True)
class GridChoice:
    """How a grid is asked for; empty fields: as the plan and the metrics have it."""

    sort_by: str = ""
    """Column or axis."""
    is_reversed: bool = False
    baseline: str = ""
    """Label of a variant ("xfs"), or an axis with a value ("read_ahead=128KiB")."""
    all_pairs: bool = False
    with_redone: bool = False


@dataclass(frozen=True, slots=True)
class BlockRow:
    """One row of a block."""

    row: GridRow
    name: str
    """Short: what all rows share is said once in Block.common."""
    axes: tuple[str, ...]
    """Its values of the block's axes."""
    is_baseline: bool = False
    is_control: bool = False
    compared: Compared | None = None
    """None for baselines, rows without one, and as long as there are no verdicts."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two rows of a block compared with each other, of all pairs."""

    row: str
    other: str
    compared: Compared


@dataclass(frozen=True, slots=True)
class Block:
    """Rows of one load, of the life or raw, in order, with their comparison in one primary metric."""

    kind: BlockKind
    name: str
    """Of the load; "filesystem" or "raw device"."""
    load: Workload | None
    metric: Metric
    """Primary one: what is compared, and sorted by unless chosen otherwise."""
    columns: tuple[Metric, ...]
    axes: tuple[str, ...]
    rows: tuple[BlockRow, ...]
    baseline: str = ""
    """In words: "xfs", "read_ahead=128KiB"; empty where nothing is compared."""
    family: int = 0
    """Comparisons that the intervals hold for together."""
    same: float = 0.10
    """Share within which a difference is the same."""
    common: tuple[str, ...] = ()
    """What all rows of a filesystem share: "xfs: -m reflink=0; logbsize=256k"."""
    notes: tuple[str, ...] = ()
    """Why there are no verdicts (yet), that the baseline was chosen after the run, ..., in sentences."""
    pairs: tuple[Pair, ...] = ()
    """Of --all-pairs, else empty."""
