"""A block device's own counters, from /sys/class/block/NAME/stat (Documentation/block/stat.rst)."""

from __future__ import annotations

from dataclasses import dataclass

from fsconsole.model.sample import DeviceRates
from fsconsole.telemetry.rates import Unreadable, counter_delta
from fsconsole.units import SECTOR_BYTES

_LEAST_FIELDS = 11
"""Discards made it 15 (4.18), flushes 17 (5.5); before 2.6.25 a partition had 4, too few for these rates."""


@dataclass(frozen=True, slots=True)
class DeviceCounters:
    """The first eleven fields, in order. Sectors are of 512 bytes, whatever the device's own."""

    reads: int
    reads_merged: int
    sectors_read: int
    reading_ms: int
    writes: int
    writes_merged: int
    sectors_written: int
    writing_ms: int
    in_flight: int
    busy_ms: int
    weighted_ms: int


def parse_stat(text: str) -> DeviceCounters:
    """Return the counters in a stat file. Raises Unreadable."""
    words = text.split()
    if len(words) < _LEAST_FIELDS:
        raise Unreadable(f"a stat file with {len(words)} fields")
    return DeviceCounters(*(int(word) for word in words[:_LEAST_FIELDS]))


def parse_inflight(text: str) -> int:
    """Return the requests in flight, reads and writes together (Documentation/ABI/stable/sysfs-block). Raises Unreadable."""
    words = text.split()
    if len(words) != len(("reads", "writes")):
        raise Unreadable(f"an inflight file with {len(words)} fields")
    return int(words[0]) + int(words[1])


def device_rates(
    name: str, before: DeviceCounters, after: DeviceCounters, interval_s: float, in_flight: int
) -> DeviceRates:
    """Return a device's rates over the measured interval. Raises Restarted where it is another device by now."""
    reads = counter_delta(before.reads, after.reads)
    writes = counter_delta(before.writes, after.writes)
    waited_ms = counter_delta(before.reading_ms, after.reading_ms)
    waited_ms += counter_delta(before.writing_ms, after.writing_ms)
    busy_s = counter_delta(before.busy_ms, after.busy_ms) / 1000
    return DeviceRates(
        name=name,
        read_bytes_s=counter_delta(before.sectors_read, after.sectors_read) * SECTOR_BYTES / interval_s,
        write_bytes_s=counter_delta(before.sectors_written, after.sectors_written)
        * SECTOR_BYTES
        / interval_s,
        read_iops=reads / interval_s,
        write_iops=writes / interval_s,
        in_flight=in_flight,
        # The kernel counts busy time in ticks: over a short interval it may come out above the interval.
        utilisation_percent=min(100.0, 100 * busy_s / interval_s),
        latency_ms=waited_ms / (reads + writes) if reads + writes else None,
    )
