"""A block device's own counters, from /sys/class/block/NAME/stat (Documentation/block/stat.rst)."""

from __future__ import annotations

from dataclasses import dataclass

from fsconsole.model.sample import DeviceRates, Role
from fsconsole.telemetry.rates import (
    INT_WIDTH,
    LONG_WIDTH,
    Unreadable,
    counter_delta,
    is_number,
    share_percent,
)
from fsconsole.units import SECTOR_BYTES

_LEAST_FIELDS = 11
"""Discards made it 15 (4.18), flushes 17 (5.5); before 2.6.25 a partition had 4, too few for these rates."""
_UNDERFLOW = 2**31
"""Requests in flight above this: a counter below zero, which blk-mq showed for a while (4.x)."""


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


@dataclass(frozen=True, slots=True)
class Watched:
    """A device with its part in the sample."""

    name: str
    role: Role = Role.TARGET
    above: str = ""


def parse_stat(text: str) -> DeviceCounters:
    """Return the counters in a stat file. Raises Unreadable."""
    words = text.split()[:_LEAST_FIELDS]
    if len(words) < _LEAST_FIELDS or not all(map(is_number, words)):
        raise Unreadable(f"a stat file that begins with {len(words)} fields")
    return DeviceCounters(*map(int, words))


def parse_inflight(text: str) -> int:
    """Return the requests in flight, reads and writes together (Documentation/ABI/stable/sysfs-block). Raises Unreadable."""
    words = text.split()
    if len(words) != len(("reads", "writes")) or not all(map(is_number, words)):
        raise Unreadable(f"an inflight file with {len(words)} fields")
    return sum(map(_in_flight, map(int, words)))


def device_rates(
    device: Watched,
    before: DeviceCounters,
    after: DeviceCounters,
    interval_s: float,
    in_flight: int,
) -> DeviceRates:
    """Return a device's rates over the measured interval. Raises Restarted where it is another device by now."""

    def count(first: int, last: int) -> int:
        return counter_delta(first, last, LONG_WIDTH)

    def seconds(first_ms: int, last_ms: int) -> float:
        return counter_delta(first_ms, last_ms, INT_WIDTH) / 1000

    reads, writes = count(before.reads, after.reads), count(before.writes, after.writes)
    sectors_read = count(before.sectors_read, after.sectors_read)
    sectors_written = count(before.sectors_written, after.sectors_written)
    waited_s = seconds(before.reading_ms, after.reading_ms) + seconds(before.writing_ms, after.writing_ms)
    return DeviceRates(
        name=device.name,
        read_bytes_s=sectors_read * SECTOR_BYTES / interval_s,
        write_bytes_s=sectors_written * SECTOR_BYTES / interval_s,
        read_iops=reads / interval_s,
        write_iops=writes / interval_s,
        in_flight=_in_flight(in_flight),
        utilisation_percent=share_percent(seconds(before.busy_ms, after.busy_ms), interval_s),
        latency_ms=1000 * waited_s / (reads + writes) if reads + writes else None,
        queue_depth=seconds(before.weighted_ms, after.weighted_ms) / interval_s,
        role=device.role,
        above=device.above,
    )


def _in_flight(requests: int) -> int:
    return 0 if requests >= _UNDERFLOW else requests
