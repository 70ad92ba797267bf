"""An array in words, the same wherever a cell is named: "raid5 64KiB, 4 members, assume-clean"."""

from __future__ import annotations

from collections.abc import Sequence

from fsconsole.model.plan import ArraySpec, Cell
from fsconsole.units import format_bytes_exact


def array_words(spec: ArraySpec, members: int) -> str:
    """Return all that is known of an array; members is their number, 0 where it isn't known."""
    return ", ".join(filter(None, array_aspects(spec, members)))


def cell_array_words(cell: Cell) -> str:
    """Return the array of a cell in words; empty where it has none."""
    return array_words(cell.array, len(cell.members)) if cell.array is not None else ""


def array_aspects(spec: ArraySpec | None, members: int) -> tuple[str, ...]:
    """Return level and chunk, what stands in no name unless it tells arrays apart, and whether it was never synced.

    Each is empty where nothing is to be said of it; of no array nothing is.
    """
    if spec is None:
        return ("",) * 7
    number = spec.members or members
    threads = spec.group_thread_count
    chunk = f" {format_bytes_exact(spec.chunk_bytes)}" if spec.chunk_bytes else ""
    return (
        f"{spec.level}{chunk}",
        f"{number} members" if number else "",
        f"stripe cache {spec.stripe_cache_size}" if spec.stripe_cache_size else "",
        f"{threads} stripe thread{'' if threads == 1 else 's'}" if threads >= 0 else "",
        f"bitmap {spec.bitmap}" if spec.bitmap else "",
        f"policy {spec.consistency_policy}" if spec.consistency_policy else "",
        ASSUME_CLEAN if spec.assume_clean else "",
    )


ASSUME_CLEAN = "assume-clean"
"""Stands with every figure of an array that was never synced."""


def arrays_in_words(cells: Sequence[Cell]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return each array of a plan's cells once, in words, with the paths of its members."""
    told = ((cell_array_words(cell), cell.members) for cell in cells if cell.array is not None)
    return tuple(dict.fromkeys(told))
