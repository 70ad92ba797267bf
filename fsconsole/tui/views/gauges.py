"""One sample as gauges on their true scales, the most telling first: however few find room, those are the right ones."""

from __future__ import annotations

from collections.abc import Iterator

from fsconsole.model.sample import BdiStats, CpuShares, DeviceRates, Pressure, Role, Sample, Writeback
from fsconsole.report.cells import shorten_middle
from fsconsole.tui.views.snapshot import Snapshot
from fsconsole.tui.widgets.values import GaugeValue, Mark, Part
from fsconsole.units import fixed, format_bytes, format_percent, format_rate, significant

LABEL_CELLS = 9
TEXT_CELLS = 34
"""What the widest of the texts below takes, so that all bars are equally long."""
_OVER_LIMIT = 1.05
"""So much of the scale of dirty memory lies above the limit, which is drawn as a mark on it."""
_QUEUE = 32.0
_LATENCY_MS = 10.0
"""Least ends of scales that have no end of their own."""


def gauges(snapshot: Snapshot) -> tuple[GaugeValue, ...]:
    """Return all gauges of the latest sample; what this machine doesn't offer has no value, which is not zero."""
    sample = snapshot.sample
    if sample is None:
        return ()
    targets = sample.targets
    limit = write_limit(snapshot)
    return (
        _rate("write", sum(d.write_bytes_s for d in targets) if targets else None, limit),
        _rate("read", sum(d.read_bytes_s for d in targets) if targets else None, read_limit(snapshot)),
        _dirty(sample.writeback),
        _cpu(sample.cpu),
        _busy(targets),
        _bdi(sample.bdi, limit[0]),
        _pressure("I/O wait", sample.pressure, "io"),
        _queue(targets),
        _latency(targets),
        _pressure("mem wait", sample.pressure, "memory"),
        _pressure("CPU wait", sample.pressure, "cpu"),
        *_inodes(sample.bdi),
        *_lower(sample, limit[0]),
        *_each_cpu(sample),
    )


def write_limit(snapshot: Snapshot) -> tuple[float, str]:
    """Return the end of the scale for writes in bytes/s, and what it is, in words."""
    return _limit(snapshot.known.raw_write_bytes_s, snapshot.history.best_write_bytes_s)


def read_limit(snapshot: Snapshot) -> tuple[float, str]:
    """Return the same for reads; without a raw row the best of both, or the few reads of a write would fill the bar."""
    best = max(snapshot.history.best_read_bytes_s, snapshot.history.best_write_bytes_s)
    return _limit(snapshot.known.raw_read_bytes_s, best)


def _limit(raw_bytes_s: float, best_bytes_s: float) -> tuple[float, str]:
    return (
        (raw_bytes_s, "raw")
        if raw_bytes_s >= best_bytes_s and raw_bytes_s
        else (best_bytes_s, "the best so far")
    )


def _rate(label: str, bytes_s: float | None, limit: tuple[float, str]) -> GaugeValue:
    if bytes_s is None:
        return GaugeValue(label, None, 1.0, "no device")
    end, what = limit
    of = f" of {significant(end / 1e6)}, {what}" if end else ""
    return GaugeValue(
        label, bytes_s, max(end, 1.0), f"{_rate_in_words(bytes_s)}{of}", parts=(Part(bytes_s, label),)
    )


def _rate_in_words(bytes_s: float) -> str:
    # No longer than that of a fast disk: the gauges' ends stand in line.
    return f"{fixed(bytes_s / 1e6, 2)} MB/s" if 0 < bytes_s < 1e6 else format_rate(bytes_s)


def _dirty(writeback: Writeback) -> GaugeValue:
    limit, background = writeback.threshold_bytes, writeback.background_threshold_bytes
    named = ((background, "bg"), (limit, "limit"))
    return GaugeValue(
        label="dirty",
        value=float(writeback.pending_bytes),
        maximum=limit * _OVER_LIMIT if limit else max(2.0 * writeback.pending_bytes, 1.0),
        text=f"{format_bytes(writeback.dirty_bytes)} + {format_bytes(writeback.writeback_bytes)} writeback",
        marks=tuple(Mark(float(value), name) for value, name in named if value),
        parts=(
            Part(float(writeback.dirty_bytes), "dirty"),
            Part(float(writeback.writeback_bytes), "writeback"),
        ),
    )


def _cpu(cpu: CpuShares) -> GaugeValue:
    kinds = ("user", "nice", "system", "irq", "softirq", "iowait")
    shown = (cpu.user + cpu.nice, cpu.system + cpu.irq + cpu.softirq, cpu.iowait)
    user, system, iowait = (f"{share:.0f}" for share in shown)
    return GaugeValue(
        label="CPU",
        value=cpu.busy,
        maximum=100.0,
        text=f"user {user}, system {system}, iowait {iowait} %",
        parts=tuple(Part(float(getattr(cpu, kind)), kind) for kind in kinds),
    )


def _busy(targets: tuple[DeviceRates, ...]) -> GaugeValue:
    """Return how busy the busiest target was, with what stood in line there and how long it took."""
    if not targets:
        return GaugeValue("busy", None, 100.0, "no device")
    busiest = max(targets, key=lambda device: device.utilisation_percent)
    queue = _depth(busiest)
    latency = "" if busiest.latency_ms is None else f", {significant(busiest.latency_ms)} ms"
    text = f"{busiest.utilisation_percent:.0f} %, queue {queue:.1f}{latency}"
    share = min(busiest.utilisation_percent, 100.0)
    return GaugeValue("busy", share, 100.0, text, parts=(Part(share, "value"),))


def _queue(targets: tuple[DeviceRates, ...]) -> GaugeValue:
    if not targets:
        return GaugeValue("queue", None, _QUEUE, "no device")
    depth = sum(map(_depth, targets))
    requests = sum(device.write_iops + device.read_iops for device in targets)
    text = f"{depth:.1f} in line, {requests:.0f} requests/s"
    return GaugeValue("queue", depth, max(_QUEUE, _end_of_scale(depth)), text, parts=(Part(depth, "queue"),))


def _latency(targets: tuple[DeviceRates, ...]) -> GaugeValue:
    known = [device.latency_ms for device in targets if device.latency_ms is not None]
    if not known:
        return GaugeValue("latency", None, _LATENCY_MS, "no request was completed")
    worst = max(known)
    end = max(_LATENCY_MS, _end_of_scale(worst))
    return GaugeValue(
        "latency", worst, end, f"{significant(worst)} ms a request", parts=(Part(worst, "value"),)
    )


def _bdi(bdi: BdiStats | None, end_bytes_s: float) -> GaugeValue:
    if bdi is None:
        return GaugeValue("bdi", None, 1.0, "nothing mounted")
    bandwidth = bdi.bandwidth_bytes_s
    lists = [f"{count}" for count in (bdi.b_dirty, bdi.b_io, bdi.b_more_io) if count is not None]
    inodes = f", inodes {'/'.join(lists)}" if lists else ""
    if bandwidth is None:
        return GaugeValue("bdi", None, 1.0, inodes.lstrip(", "))
    text = f"{format_rate(bandwidth)} bandwidth{inodes}"
    return GaugeValue(
        "bdi",
        float(bandwidth),
        max(end_bytes_s, float(bandwidth)),
        text,
        parts=(Part(float(bandwidth), "writeback"),),
    )


def _inodes(bdi: BdiStats | None) -> tuple[GaugeValue, ...]:
    """Return the kernel's lists of inodes, where there is room for them as a gauge of their own."""
    if bdi is None or bdi.b_dirty is None:
        return (GaugeValue("inodes", None, 1.0, "nothing mounted"),)
    parts = (
        ("dirty", bdi.b_dirty, "dirty"),
        ("io", bdi.b_io or 0, "writeback"),
        ("more", bdi.b_more_io or 0, "waiting"),
    )
    total = float(sum(count for _, count, _ in parts))
    text = ", ".join(f"b_{name if name != 'more' else 'more_io'} {count}" for name, count, _ in parts)
    return (
        GaugeValue(
            "inodes", total, max(10.0, _end_of_scale(total)), text,
            parts=tuple(Part(float(count), kind) for _, count, kind in parts),
        ),
    )  # fmt: skip


def _pressure(label: str, pressure: Pressure | None, of: str) -> GaugeValue:
    some: float | None = getattr(pressure, f"{of}_some_percent") if pressure is not None else None
    full: float | None = getattr(pressure, f"{of}_full_percent", None) if pressure is not None else None
    if some is None:
        return GaugeValue(label, None, 100.0, "no pressure figures")
    if full is None:
        return GaugeValue(label, some, 100.0, f"some {format_percent(some)}", parts=(Part(some, "waiting"),))
    text = f"some {format_percent(some)}, all {format_percent(full)}"
    return GaugeValue(
        label, some, 100.0, text, parts=(Part(full, "bad"), Part(max(0.0, some - full), "waiting"))
    )


def _lower(sample: Sample, end_bytes_s: float) -> Iterator[GaugeValue]:
    """Yield what each device moves that a target stands on."""
    for device in sample.devices:
        if device.role is not Role.TARGET:
            moved = device.write_bytes_s + device.read_bytes_s
            text = f"{format_rate(moved)}, {device.utilisation_percent:.0f} % busy"
            parts = (Part(device.write_bytes_s, "write"), Part(device.read_bytes_s, "read"))
            yield GaugeValue(
                shorten_middle(device.name, LABEL_CELLS),
                moved,
                max(end_bytes_s, moved, 1.0),
                text,
                parts=parts,
            )


def _each_cpu(sample: Sample) -> Iterator[GaugeValue]:
    for cpu in sample.per_cpu:
        share = cpu.shares.busy
        yield GaugeValue(
            f"CPU {cpu.number}", share, 100.0, f"{share:.0f} % busy", parts=_cpu(cpu.shares).parts
        )


def _depth(device: DeviceRates) -> float:
    return float(device.in_flight) if device.queue_depth is None else device.queue_depth


def _end_of_scale(value: float) -> float:
    """Return a round end above a value that has none of its own, so that the scale seldom moves: 1, 2, 5, 10, ..."""
    end = 1.0
    while True:
        for step in (1.0, 2.0, 5.0):
            if value <= end * step:
                return end * step
        end *= 10.0
