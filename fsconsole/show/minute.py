"""The last minute of the gauges as rings: the highest figure of each second, in the slot of that second."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter

from fsconsole.model.sample import DeviceRates, Sample
from fsconsole.show.charts import RING_SLOTS, Ring

WRITTEN, READ = attrgetter("write_bytes_s"), attrgetter("read_bytes_s")


def sum_of(sample: Sample, figure: Callable[[DeviceRates], float]) -> float | None:
    """Return a figure added up over the targets; None without a target."""
    targets = sample.targets
    return sum(map(figure, targets)) if targets else None


def _busiest(sample: Sample) -> float | None:
    return max((min(device.utilisation_percent, 100.0) for device in sample.targets), default=None)


FIGURES: Mapping[str, Callable[[Sample], float | None]] = {
    "CPU": lambda sample: sample.cpu.busy,
    "busy": _busiest,
    "I/O wait": lambda sample: None if sample.pressure is None else sample.pressure.io_some_percent,
    "temp": lambda sample: None if sample.temperature is None else sample.temperature.highest_c,
    "write": lambda sample: sum_of(sample, WRITTEN),
    "read": lambda sample: sum_of(sample, READ),
    "mem wait": lambda sample: None if sample.pressure is None else sample.pressure.memory_some_percent,
    "CPU wait": lambda sample: None if sample.pressure is None else sample.pressure.cpu_some_percent,
}
"""Gauges that have a ring, by their labels."""

Figures = tuple[float | None, ...]
_NONE: Figures = (None,) * len(FIGURES)


def highest(first: Figures, second: Figures) -> Figures:
    """Return the higher of each two figures; None where both are."""
    both = zip(first, second, strict=True)
    return tuple(max((one for one in pair if one is not None), default=None) for pair in both)


class Minute:
    """Collects samples in their order, each once: a view that is painted twice a second must not look at all of them again."""

    def __init__(self) -> None:
        self._seconds: dict[int, Figures] = {}
        self._newest = 0

    def add(self, sample: Sample) -> None:
        """Add a sample. After a reboot the clock starts at 0 again, and older samples are dropped."""
        second = sample.monotonic_ns // 10**9
        figures = tuple(figure(sample) for figure in FIGURES.values())
        if second == self._newest:
            figures = highest(self._seconds.get(second, _NONE), figures)
        else:
            oldest = second - RING_SLOTS
            self._seconds = {at: known for at, known in self._seconds.items() if oldest < at < second}
        self._seconds[second], self._newest = figures, second

    def rings(self) -> dict[str, Ring]:
        """Return the rings by the labels of their gauges; a gauge that was never available has none."""
        slots = [_NONE] * RING_SLOTS
        for second, figures in self._seconds.items():
            slots[second % RING_SLOTS] = figures
        at = self._newest % RING_SLOTS
        columns = zip(FIGURES, zip(*slots, strict=True), strict=True)
        return {label: Ring(column, at) for label, column in columns if any(one is not None for one in column)}
