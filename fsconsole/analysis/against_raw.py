"""Durable figures set against the raw row of the same run: same device, settings and workload, no filesystem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fsconsole.analysis.figures import CellFigures
from fsconsole.analysis.names import RowKey
from fsconsole.analysis.statistics import median_of
from fsconsole.model.measurement import Measurement, Metric

Grouped = dict[RowKey, list[CellFigures]]


def with_raw_shares(grouped: Mapping[RowKey, list[CellFigures]]) -> Grouped:
    """Return the cells of each row with their shares of the raw row's medians, in per cent; without one, as they are."""
    raw = {_place(key): cells for key, cells in grouped.items() if key.variant.is_raw}
    return {
        key: cells if key.variant.is_raw else _shares(cells, _references(key, raw.get(_place(key), [])))
        for key, cells in grouped.items()
    }


def _place(key: RowKey) -> tuple[object, ...]:
    """Return what a row shares with its raw row: all but the variant, and of its own workload threads and settings."""
    own = key.workloads[key.workload or 0].settings if key.workloads else ()
    return (key.target, key.array, key.setting, key.workloads, _threads(key), own)


def _threads(key: RowKey) -> int:
    return key.workloads[key.workload or 0].threads if key.workloads else 1


def _references(key: RowKey, raw: list[CellFigures]) -> tuple[tuple[Metric, float], ...]:
    """Return a median in bytes/s for each share that can be told."""
    # One thread is one stream: a raw row measures it once.
    many = Metric.RAW_WRITE_1 if _threads(key) == 1 else Metric.RAW_WRITE_N
    found = []
    for share, metric in ((Metric.OF_RAW_1, Metric.RAW_WRITE_1), (Metric.OF_RAW_N, many)):
        values = tuple(value for cell in raw if (value := cell.value(metric)))
        if values:
            found.append((share, median_of(values)))
    return tuple(found)


def _shares(cells: list[CellFigures], references: tuple[tuple[Metric, float], ...]) -> list[CellFigures]:
    return [_with_shares(cell, references) for cell in cells]


def _with_shares(cell: CellFigures, references: tuple[tuple[Metric, float], ...]) -> CellFigures:
    durable = cell.value(Metric.DURABLE)
    if durable is None:
        return cell
    shares = tuple(Measurement(share, 100 * durable / reference) for share, reference in references)
    return replace(cell, measurements=(*cell.measurements, *shares))
