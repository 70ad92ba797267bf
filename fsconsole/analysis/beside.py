"""Published figures laid beside a run's own rows: found by the words that the publication printed."""

from __future__ import annotations

from fsconsole.analysis.grid import Grid, Row
from fsconsole.model.measurement import Metric
from fsconsole.model.published import PublishedRow

_OWN_FIRST = (Metric.WRITE, Metric.DURABLE, Metric.CPU)


def columns_beside(grid: Grid) -> tuple[Metric, ...]:
    """Return what to show unasked: what was published, with the run's own figures that explain it."""
    published = grid.publication.metrics if grid.publication is not None else ()
    return tuple(dict.fromkeys((*_OWN_FIRST, *published)))


def published_for(grid: Grid, row: Row) -> tuple[PublishedRow, ...]:
    """Return the published rows that a row of the grid means, in the publication's order."""
    return tuple(known for known in published_rows(grid) if known.as_printed in row.printed)


def published_alone(grid: Grid) -> tuple[PublishedRow, ...]:
    """Return the published rows that belong to no row of the grid."""
    printed = {words for row in grid.rows for words in row.printed}
    return tuple(row for row in published_rows(grid) if row.as_printed not in printed)


def published_rows(grid: Grid) -> tuple[PublishedRow, ...]:
    """Return every row of what is laid beside a grid; empty where nothing is."""
    return grid.publication.rows if grid.publication is not None else ()
