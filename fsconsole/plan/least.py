"""The smallest scratch device on which a plan can run, by the refusals of its own cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from fsconsole.catalog.filesystem import Catalog, Known
from fsconsole.errors import FsconsoleError
from fsconsole.model.plan import Cell
from fsconsole.plan.expand import build_plan
from fsconsole.plan.inodes import SHIPPED, Mke2fsConf
from fsconsole.plan.planfile import NO_DEVICE, PlanFile, TargetSpec
from fsconsole.text import MIB, TIB

_SMALLEST, _LARGEST = 64 * MIB, 4 * TIB
_MOST_CELLS = 200
"""Of one round: a larger plan would be worked out for seconds."""


def least_bytes(  # noqa: PLR0913 (each is a fact of its own)
    plan_file: PlanFile,
    catalog: Catalog,
    *,
    kernel: str,
    known: Known,
    memory_bytes: int,
    mke2fs: Mke2fsConf = SHIPPED,
) -> int:
    """Return the size, in whole MiB, from which on no cell is refused that a larger device would take.

    0 where no device of any size is enough, or the plan is too large to be worked out often.
    """

    def cells_on(size_bytes: int) -> Sequence[Cell]:
        """Return the cells of one round on a scratch device of this size."""
        target = TargetSpec(NO_DEVICE.path, size_bytes, is_scratch=True)
        once = replace(plan_file, repeats=1, is_auto=False)
        return build_plan(
            once,
            [target],
            catalog,
            run_id="draft",
            kernel=kernel,
            known=known,
            memory_bytes=memory_bytes,
            mke2fs=mke2fs,
        ).cells

    def able(size_bytes: int) -> int:
        return sum(not cell.unavailable for cell in cells_on(size_bytes))

    try:
        if len(cells_on(_LARGEST)) > _MOST_CELLS:
            return 0
        counts = {size: able(size) for size in _doubled()}
        most = max(counts.values())
        enough = next(size for size, count in counts.items() if count == most)
        too_small = enough // 2 if enough > _SMALLEST else 0
        while enough - too_small > MIB:
            middle = (enough + too_small) // 2 // MIB * MIB
            too_small, enough = (too_small, middle) if able(middle) == most else (middle, enough)
    except FsconsoleError:
        # What is wrong with the plan is said where it is made.
        return 0
    return enough if most else 0


def _doubled() -> Iterator[int]:
    size = _SMALLEST
    while size <= _LARGEST:
        yield size
        size *= 2
