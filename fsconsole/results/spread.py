"""Spread of a run: the distance between the rounds of each of its rows."""

from __future__ import annotations

import math

from fsconsole.model.state import RunState
from fsconsole.model.statistics import deviation
from fsconsole.model.verdicts import LEAST_ROUNDS
from fsconsole.results.blocks import BlockKind, blocks_of
from fsconsole.results.figures import median_of
from fsconsole.results.grid import build_grid


def spread_of(state: RunState) -> float | None:
    """Return the median over all rows of loads of the standard deviation of their primary figures, as a share.

    None where no row has LEAST_ROUNDS of them.
    """
    found = []
    for block in blocks_of(state, build_grid(state)):
        for row in block.rows if block.kind is BlockKind.LOAD else ():
            values = [cell.value(block.metric) for cell in row.row.cells if cell.counts]
            logs = [math.log(value) for value in values if value is not None and 0 < value < math.inf]
            found += [deviation(logs)] if len(logs) >= LEAST_ROUNDS else []
    return median_of(tuple(found)) if found else None
