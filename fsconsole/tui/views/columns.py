"""The choice of columns: which there are, by groups, and in which order they are shown. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from fsconsole.analysis.grid import Grid
from fsconsole.model.measurement import DEFINITIONS, Metric, Unit
from fsconsole.tui.widgets.table_layout import Column, TableRow, TableValue

_FIRST_OF_GROUP = {
    "write and read": (
        Metric.WRITE, Metric.DURABLE, Metric.READ, Metric.FILES_PER_S, Metric.WRITTEN, Metric.WRITE_TIME,
        Metric.DRAIN, Metric.READ_BYTES, Metric.READ_TIME, Metric.FIRST_DONE, Metric.LAST_DONE,
        Metric.STALLS, Metric.PEAK_DIRTY,
    ),
    "latency": (
        Metric.LATENCY_MEAN, Metric.LATENCY_P50, Metric.LATENCY_P95, Metric.LATENCY_P99, Metric.LATENCY_MAX,
        Metric.OVER_2_S, Metric.OVER_10_S,
    ),
    "CPU": (Metric.CPU, Metric.CPU_GENERATOR, Metric.CPU_PER_GIB, Metric.OBSERVER),
    "against raw": (
        Metric.OF_RAW_1, Metric.OF_RAW_N, Metric.RAW_WRITE_1, Metric.RAW_WRITE_N, Metric.RAW_READ_1,
        Metric.RAW_READ_N, Metric.READTEST,
    ),
    "extents": (
        Metric.EXTENTS_MEAN, Metric.EXTENTS_MEDIAN, Metric.EXTENTS_MAX, Metric.EXTENT_SIZE_MEDIAN,
        Metric.FILES_MAPPED, Metric.FILES_COMPRESSED, Metric.NON_CONTIGUOUS,
    ),
    "array": (Metric.ARRAY_SYNC,),
    "filesystem": (
        Metric.MKFS, Metric.MKFS_USER, Metric.MKFS_SYSTEM, Metric.MOUNT, Metric.UNMOUNT, Metric.USABLE,
        Metric.OVERHEAD,
    ),
    "check": (Metric.CHECK, Metric.CHECK_USER, Metric.CHECK_SYSTEM, Metric.CHECK_RSS),
    "delete": (Metric.DELETE, Metric.DELETE_USER, Metric.DELETE_SYSTEM, Metric.DELETE_DURABLE),
}  # fmt: skip


def grouped() -> tuple[tuple[str, Metric], ...]:
    """Return every metric with its group, group by group; one that belongs to none comes last."""
    known = tuple((group, metric) for group, metrics in _FIRST_OF_GROUP.items() for metric in metrics)
    listed = {metric for _, metric in known}
    return (*known, *(("other", metric) for metric in Metric if metric not in listed))


def toggled(chosen: tuple[Metric, ...], metric: Metric) -> tuple[Metric, ...]:
    """Return a choice without a column, or with it at its end; the last one stays."""
    if metric not in chosen:
        return (*chosen, metric)
    left = tuple(other for other in chosen if other is not metric)
    return left or chosen


def moved(chosen: tuple[Metric, ...], metric: Metric, by: int) -> tuple[Metric, ...]:
    """Return a choice with a column so many places further to the right; one that isn't chosen moves nothing."""
    if metric not in chosen:
        return chosen
    others = [other for other in chosen if other is not metric]
    place = max(0, min(chosen.index(metric) + by, len(others)))
    return (*others[:place], metric, *others[place:])


def choice_table(grid: Grid, chosen: tuple[Metric, ...]) -> TableValue:
    """Return the list to tick: each column with its group, unit, and place among those that are shown."""
    columns = (Column("unit", is_right=False), Column("place"), Column("group", is_right=False))
    return TableValue("column", columns, tuple(_rows(grid, chosen)))


def _rows(grid: Grid, chosen: tuple[Metric, ...]) -> Iterator[TableRow]:
    present = {metric for row in grid.rows for metric, _ in row.figures}
    for group, metric in grouped():
        definition = DEFINITIONS[metric]
        is_chosen = metric in chosen
        place = str(chosen.index(metric) + 1) if is_chosen else ""
        name = f"[{'x' if is_chosen else ' '}] {definition.column}"
        cells = (_unit(definition.unit), place, group if metric in present else f"{group}, no figures here")
        yield TableRow(metric.value, name, cells, tone="strong" if is_chosen else "")


def _unit(unit: Unit) -> str:
    return {Unit.BYTES_PER_S: "MB/s", Unit.COUNT: "", Unit.BYTES: "bytes"}.get(unit, unit.value)
