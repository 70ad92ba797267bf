"""Warnings on arrays that lack members: their figures are not those that they have when whole."""

from __future__ import annotations

import os
from collections.abc import Iterable

from fsconsole.devices.uses import read_arrays
from fsconsole.engine.work import CellWork
from fsconsole.model.device import MdArray
from fsconsole.model.observation import WarningKind
from fsconsole.telemetry.layers import watched_tree

HINT = "Give it its members, let it recover (/proc/mdstat), and run the plan again: a whole array is another one."


def degraded_below(target: str) -> tuple[MdArray, ...]:
    """Return the arrays that lack members, of the target and of all that it stands on. Raises KernelUnreadable."""
    names = {device.name for device in watched_tree(os.path.basename(os.path.realpath(target)))}
    return tuple(array for array in read_arrays() if array.degraded and array.name in names)


def degraded_words(array: MdArray) -> str:
    """Return what is wrong with such an array."""
    return f"the array /dev/{array.name} lacks {array.degraded} of its {len(array.slots)} members"


def about_end(work: CellWork, known: Iterable[str]) -> None:
    """Warn of what a cell's arrays lack at its end; known is what the whole run is warned of anyway."""
    for array in degraded_below(work.cell.target):
        words = degraded_words(array)
        if words not in known:
            work.warn(WarningKind.NOT_COMPARABLE, f"{words} when the cell ended", HINT)
