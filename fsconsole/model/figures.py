"""Figures: those that a run measures, and tables that others have published, shown beside a run's own."""

from __future__ import annotations

from fsconsole.model.metrics import Metric, Unit
from fsconsole.model.plan import Keep
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
    stands: tuple[Keep, ...] = ()
    """With any of these kept, a scaled run leaves it comparable; empty: with none."""


class PublishedRatio(Wire, frozen=True):
    """A published figure as a share of that of another row of its table, where a rate or a time would mean nothing."""

    column: str
    ratio: float
    to: str
    """The other row's words, as printed."""
    metric: Metric | None = None


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
    load: str = ""
    """The load of the study's plan that it is of, by name; empty: of any that has such figures."""
    threads: int = 0
    """The number of threads that it is of, beside a scaled run what became of that; 0: of any."""
    ratios: tuple[PublishedRatio, ...] = ()
    """Beside a run of other sizes, in place of figures."""
    base: tuple[Measurement, ...] = ()
    """Figures of the row that the study compares this one with, where that isn't one of its own table."""
    base_name: str = ""
    """Full name of the base row."""
    settings: tuple[tuple[str, str], ...] = ()
    """Settings that it was measured with, as far as the study prints them, by their names in a plan."""

    @property
    def name(self) -> str:
        """Its words, after the load's name."""
        return ", ".join(filter(None, (self.load, self.as_printed)))

    @property
    def full_name(self) -> str:
        """Its name, with its table where it has one."""
        return f"{self.name} ({self.table})" if self.table else self.name

    def ratio(self, metric: Metric) -> float | None:
        """Return its ratio of a metric; None where a figure stands, or nothing."""
        return next((one.ratio for one in self.ratios if one.metric is metric), None)

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
    scaled: str = ""
    """Beside a run of other sizes, in a sentence: what its rows are then; empty: as printed."""
    device_bytes: int = 0
    """Of the device that its figures hang on; 0: they hang on the loads alone."""
    copies_own_files: bool = False
    """True if it copied directories of its own machine, which no run has."""

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics that at least one row has, in the order of Metric."""
        present = {figure.metric for row in self.rows for figure in row.figures}
        present |= {one.metric for row in self.rows for one in row.ratios if one.metric is not None}
        return tuple(metric for metric in Metric if metric in present)

    @property
    def own_columns(self) -> tuple[tuple[str, str], ...]:
        """Name and unit of each column that no metric means, in the order of print; of ratios the unit is "x"."""
        ratios = [(one.column, "x") for row in self.rows for one in row.ratios if one.metric is None]
        return tuple(dict.fromkeys([*((one.column, one.unit) for row in self.rows for one in row.others), *ratios]))
