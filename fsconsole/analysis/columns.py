"""Which figures the grid shows, by which names they are asked for, and how they are sorted."""

from __future__ import annotations

import difflib

from fsconsole.errors import UnknownColumn
from fsconsole.model.measurement import DEFINITIONS, Metric, Unit

DEFAULT_COLUMNS = (
    Metric.WRITE,
    Metric.DURABLE,
    Metric.CPU,
    Metric.EXTENTS_MEAN,
    Metric.MKFS,
    Metric.CHECK,
    Metric.DELETE,
)
"""What fits 80 columns beside the variant and its warnings."""

DEFAULT_SORT = Metric.DURABLE
COLUMNS_WITH_RAW = (
    Metric.WRITE,
    Metric.DURABLE,
    Metric.OF_RAW_1,
    Metric.OF_RAW_N,
    Metric.CPU,
    Metric.EXTENTS_MEAN,
    Metric.CHECK,
    Metric.DELETE,
)
"""The same where the plan has a raw row; mkfs gives way to both shares."""

_MORE_IS_FIRST = frozenset({Unit.BYTES_PER_S, Unit.PER_SECOND})
_NEAREST_SHOWN = 6


def with_read(columns: tuple[Metric, ...]) -> tuple[Metric, ...]:
    """Return columns with that of reads behind the durable one; mkfs, or else check and delete, give way."""
    left_out = {Metric.MKFS} if Metric.MKFS in columns else {Metric.CHECK, Metric.DELETE}
    place = columns.index(Metric.DURABLE) + 1
    return tuple(m for m in (*columns[:place], Metric.READ, *columns[place:]) if m not in left_out)


def highest_first(metric: Metric) -> bool:
    """Return True for rates, which are sorted from the highest; all else is sorted from the lowest."""
    return DEFINITIONS[metric].unit in _MORE_IS_FIRST


def column_named(name: str) -> Metric:
    """Return the metric of a column's head ("extents/file") or stored name ("extents_mean").

    Case, spaces, dashes and underscores don't matter. Raises UnknownColumn with the nearest names.
    """
    metric = _NAMES.get(_plain(name))
    if metric is None:
        raise UnknownColumn(name=name, nearest=_nearest(name))
    return metric


def columns_named(names: str) -> tuple[Metric, ...]:
    """Return the metrics of a list of names with commas between, each once. Raises UnknownColumn."""
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    if not wanted:
        raise UnknownColumn(name=names, nearest=_nearest(""))
    return tuple(dict.fromkeys(column_named(name) for name in wanted))


def _plain(name: str) -> str:
    return name.strip().casefold().replace("_", " ").replace("-", " ")


_NAMES = {_plain(d.metric.value): d.metric for d in DEFINITIONS.values()} | {
    _plain(d.column): d.metric for d in DEFINITIONS.values()
}


def _nearest(name: str) -> str:
    """Return column heads, those most like name first."""
    close = difflib.get_close_matches(_plain(name)[:100], _NAMES, n=_NEAREST_SHOWN, cutoff=0.4)
    metrics = dict.fromkeys([_NAMES[match] for match in close] or DEFAULT_COLUMNS)
    return ", ".join(DEFINITIONS[metric].column for metric in metrics)
