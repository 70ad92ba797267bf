"""Figures: those that a run measures, and tables that others have published, shown beside a run's own."""

from __future__ import annotations

from fsconsole.model.metrics import Metric, Unit
from fsconsole.model.wire import Wire


class Measurement(Wire, frozen=True):
    """One figure in its base unit; the metric's definition says what it means."""

    metric: Metric
    value: float

    @property
    def unit(self) -> Unit:
        """The base unit of value."""
        return self.metric.unit


class PublishedFigure(Wire, frozen=True):
    """A published figure that no metric means, in its own column: name, unit and value as printed."""

    column: str
    unit: str
    value: float


class PublishedRow(Wire, frozen=True):
    """One line of a published table."""

    table: str
    """Name of the publication's table; empty where it has one."""
    as_printed: str
    """Filesystem and options in the publication's own words: "ext4 -I 256 data=writeback"."""
    figures: tuple[Measurement, ...]
    """In base units; what was not printed is absent."""
    note: str = ""
    others: tuple[PublishedFigure, ...] = ()
    """Figures under columns of the publication's own."""

    def other(self, column: str) -> float | None:
        """Return the figure of one of its own columns, or None where none was printed."""
        return next((figure.value for figure in self.others if figure.column == column), None)

    def value(self, metric: Metric) -> float | None:
        """Return the published figure, or None where none was printed."""
        return next((figure.value for figure in self.figures if figure.metric is metric), None)


class Publication(Wire, frozen=True):
    """A published comparison; date is as exact as it is known: "2008-05"."""

    name: str
    title: str
    source: str
    date: str
    machine: str
    workload: str
    rows: tuple[PublishedRow, ...]

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics that at least one row has, in the order of Metric."""
        present = {figure.metric for row in self.rows for figure in row.figures}
        return tuple(metric for metric in Metric if metric in present)

    @property
    def own_columns(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of each column that no metric means, in the order of print."""
        return tuple(dict.fromkeys((figure.column, figure.unit) for row in self.rows for figure in row.others))
