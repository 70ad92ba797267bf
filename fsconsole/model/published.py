"""Figures that somebody else has published: shown beside a run's own, never among them."""

from __future__ import annotations

from dataclasses import dataclass

from fsconsole.model.measurement import Measurement, Metric


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One line of a published table."""

    table: str
    """Which of the publication's tables; empty where it has one."""
    as_printed: str
    """Filesystem and options in the publication's own words: "ext4 -I 256 data=writeback"."""
    figures: tuple[Measurement, ...]
    """In base units; what was not printed is absent."""
    note: str = ""

    def value(self, metric: Metric) -> float | None:
        """Return the published figure, or None where none was printed."""
        return next((figure.value for figure in self.figures if figure.metric is metric), None)


@dataclass(frozen=True, slots=True)
class Publication:
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
