"""One sample as gauges on their true scales, drawn as bars by the console and as ASCII text by the command line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import compress

from fsconsole.model.sample import (
    BdiStats,
    CpuShares,
    DeviceRates,
    NumberedCpu,
    Pressure,
    Role,
    Sample,
    Temperature,
    Writeback,
)
from fsconsole.show.charts import GaugeValue, Part, Ring, Threshold, round_above
from fsconsole.show.history import RunSnapshot
from fsconsole.show.minute import READ, WRITTEN, sum_of
from fsconsole.text import pad_left, pad_right, printable, shorten_middle, wrap
from fsconsole.units import (
    brief_bytes,
    fixed,
    format_bytes,
    format_elapsed,
    format_percent,
    format_rate,
    significant,
)

LABEL_CELLS = 9
TEXT_CELLS = 34
"""Width of the widest gauge text, so that all bars are equally long."""
STALE_S = 2.0
"""Four sampling periods. A blocked sampler leaves old gauges on the screen: their age is shown."""
_OVER_LIMIT = 1.05
"""The scale of dirty memory ends above the limit, which is a mark on it."""
_QUEUE = 32.0
_LATENCY_MS = 10.0
_HOTTEST_C = 100.0
"""Least ends of the scales that have no natural end."""


def gauges(snapshot: RunSnapshot) -> tuple[GaugeValue, ...]:
    """Return all gauges of the latest sample, most useful first; a missing source has value None, not zero."""
    sample = snapshot.sample
    if sample is None:
        return ()
    targets = sample.targets
    write, read = write_limit(snapshot), read_limit(snapshot)
    busy, queue, latency = _of_targets(targets)
    first = (
        _dirty(sample.writeback, losses=True),
        _cpu(sample.cpu),
        busy,
        _pressure("I/O wait", sample.pressure, "io"),
        *_temperature(sample.temperature),
        _rate("write", sum_of(sample, WRITTEN), write),
        _rate("read", sum_of(sample, READ), read),
        _bdi(sample.bdi, write[0]),
        queue,
        latency,
        _pressure("mem wait", sample.pressure, "memory"),
        _pressure("CPU wait", sample.pressure, "cpu"),
        _inodes(sample.bdi),
        *(_lower(device, write[0]) for device in sample.devices if device.role is not Role.TARGET),
    )
    return (
        *(_with_history(gauge, snapshot.history.minute) for gauge in first),
        *(
            replace(_cpu(cpu.shares), label=f"CPU {cpu.number}", text=f"{cpu.shares.busy:.0f} % busy")
            for cpu in sample.per_cpu
        ),
    )


def _with_history(gauge: GaugeValue, minute: Mapping[str, Ring]) -> GaugeValue:
    ring = None if gauge.value is None else minute.get(gauge.label)
    return gauge if ring is None else replace(gauge, history=ring)


def write_limit(snapshot: RunSnapshot) -> tuple[float, str]:
    """Return the end of the scale for writes in bytes/s, and where it comes from: "raw" or "peak"."""
    return _limit(snapshot.known.raw_write_bytes_s, snapshot.history.best_write_bytes_s)


def read_limit(snapshot: RunSnapshot) -> tuple[float, str]:
    """Return the same for reads; without a raw row the peak of both, else the few reads of a write fill the bar."""
    best = max(snapshot.history.best_read_bytes_s, snapshot.history.best_write_bytes_s)
    return _limit(snapshot.known.raw_read_bytes_s, best)


def age_words(sample: Sample | None, now_ns: int, *, alive: bool = True) -> str:
    """Return the age of the gauges where they are stale, else nothing; now_ns is CLOCK_MONOTONIC."""
    if sample is None:
        return "no gauges yet"
    if not alive:
        return "gauges as last read"
    age_s = (now_ns - sample.monotonic_ns) / 1e9
    return f"gauges {format_elapsed(age_s)} old" if age_s > STALE_S else ""


def _limit(raw_bytes_s: float, best_bytes_s: float) -> tuple[float, str]:
    is_raw = raw_bytes_s and raw_bytes_s >= best_bytes_s
    return (raw_bytes_s, "raw") if is_raw else (best_bytes_s, "peak")


def _gauge(label: str, value: float, maximum: float, text: str, *parts: Part | str) -> GaugeValue:
    """Return a gauge; a part that is a word has the whole value."""
    made = tuple(Part(value, part) if isinstance(part, str) else part for part in parts)
    return GaugeValue(label, value, maximum, text, parts=made)


def _ended(gauge: GaugeValue, end: str) -> GaugeValue:
    """Return a gauge with the end of its scale in words."""
    return replace(gauge, end=end)


def _missing(label: str, why: str) -> GaugeValue:
    return GaugeValue(label, None, 1.0, why)


def _rate(label: str, bytes_s: float | None, limit: tuple[float, str]) -> GaugeValue:
    if bytes_s is None:
        return _missing(label, "no device")
    most, what = limit
    # No longer than that of a fast disk: the gauges' ends stand in line.
    words = f"{fixed(bytes_s / 1e6, 2)} MB/s" if 0 < bytes_s < 1e6 else format_rate(bytes_s)
    of = f" of {what} {significant(most / 1e6)}" if most else ""
    # A bar that is full would say that no more is possible, which a peak so far doesn't.
    end = most if what == "raw" else round_above(max(most, bytes_s))
    return _ended(_gauge(label, bytes_s, max(end, 1.0), words + of, label), format_rate(end) if end else "")


def _dirty(writeback: Writeback, *, losses: bool = False) -> GaugeValue:
    """Return dirty memory of the machine against its limits; losses: worded as what a power failure loses."""
    limit, background = writeback.threshold_bytes, writeback.background_threshold_bytes
    named = ((background, "bg"), (limit, f"limit {brief_bytes(limit)}" if limit else ""))
    text = f"{format_bytes(writeback.dirty_bytes)} + {format_bytes(writeback.writeback_bytes)} writeback"
    return GaugeValue(
        label="dirty RAM" if losses else "dirty",
        value=float(writeback.pending_bytes),
        maximum=limit * _OVER_LIMIT if limit else max(2.0 * writeback.pending_bytes, 1.0),
        text=f"lost if power fails now: {brief_bytes(writeback.pending_bytes)}" if losses else text,
        marks=tuple(Threshold(float(value), name) for value, name in named if value),
        parts=(
            Part(float(writeback.dirty_bytes), "dirty"),
            Part(float(writeback.writeback_bytes), "writeback"),
        ),
    )


def _cpu(cpu: CpuShares) -> GaugeValue:
    kinds = ("user", "nice", "system", "irq", "softirq", "iowait")
    user, system = cpu.user + cpu.nice, cpu.system + cpu.irq + cpu.softirq
    text = f"user {user:.0f}, system {system:.0f}, iowait {cpu.iowait:.0f} %"
    return _gauge("CPU", cpu.busy, 100.0, text, *(Part(float(getattr(cpu, kind)), kind) for kind in kinds))


def _of_targets(targets: Sequence[DeviceRates]) -> tuple[GaugeValue, GaugeValue, GaugeValue]:
    """Return the busiest target's utilisation, queue depth and latency, the queues of all, and the longest latency."""
    known = [device.latency_ms for device in targets if device.latency_ms is not None]
    latency = _missing("latency", "no requests completed")
    if known:
        end = max(_LATENCY_MS, round_above(max(known)))
        latency = _gauge("latency", max(known), end, f"{significant(max(known))} ms a request", "value")
        latency = _ended(latency, f"{significant(end)} ms")
    if not targets:
        return _missing("busy", "no device"), _missing("queue", "no device"), latency
    busiest = max(targets, key=lambda device: device.utilisation_percent)
    lasts = "" if busiest.latency_ms is None else f", {significant(busiest.latency_ms)} ms"
    text = f"{busiest.utilisation_percent:.0f} %, queue {_depth(busiest):.1f}{lasts}"
    busy = _gauge("busy", min(busiest.utilisation_percent, 100.0), 100.0, text, "value")
    depth = sum(map(_depth, targets))
    requests = sum(device.write_iops + device.read_iops for device in targets)
    text = f"{depth:.1f} queued, {requests:.0f} requests/s"
    end = max(_QUEUE, round_above(depth))
    return busy, _ended(_gauge("queue", depth, end, text, "queue"), f"{end:.0f}"), latency


_WRITEBACK = "writeback"
"""Label of the kernel's estimate of the device's speed (debugfs bdi/MAJ:MIN/stats)."""


def _bdi(bdi: BdiStats | None, end_bytes_s: float) -> GaugeValue:
    if bdi is None:
        return _missing(_WRITEBACK, "not mounted")
    lists = [f"{count}" for count in (bdi.b_dirty, bdi.b_io, bdi.b_more_io) if count is not None]
    inodes = [f"inodes {'/'.join(lists)}"] if lists else []
    if bdi.bandwidth_bytes_s is None:
        return _missing(_WRITEBACK, "".join(inodes))
    bandwidth = float(bdi.bandwidth_bytes_s)
    text = ", ".join([f"{format_rate(bandwidth)} bandwidth", *inodes])
    end = round_above(max(end_bytes_s, bandwidth))
    return _ended(_gauge(_WRITEBACK, bandwidth, max(end, 1.0), text, "writeback"), format_rate(end) if end else "")


def _inodes(bdi: BdiStats | None) -> GaugeValue:
    if bdi is None or bdi.b_dirty is None:
        return _missing("inodes", "not mounted")
    lists = (
        ("b_dirty", bdi.b_dirty, "dirty"),
        ("b_io", bdi.b_io or 0, "writeback"),
        ("b_more_io", bdi.b_more_io or 0, "waiting"),
    )
    total = float(sum(count for _, count, _ in lists))
    text = ", ".join(f"{name} {count}" for name, count, _ in lists)
    parts = (Part(float(count), kind) for _, count, kind in lists)
    end = max(10.0, round_above(total))
    return _ended(_gauge("inodes", total, end, text, *parts), f"{end:.0f}")


def _temperature(temperature: Temperature | None) -> tuple[GaugeValue, ...]:
    """Return the temperature; nothing where no sensor tells it, as in virtual machines."""
    if temperature is None or temperature.highest_c is None:
        return ()
    known = (("disk", temperature.disk_c), ("machine", temperature.machine_c))
    text = ", ".join(f"{name} {value:.0f} C" for name, value in known if value is not None)
    gauge = _gauge("temp", max(0.0, temperature.highest_c), _HOTTEST_C, text, "value")
    return (_ended(gauge, f"{_HOTTEST_C:.0f} C"),)


def _pressure(label: str, pressure: Pressure | None, of: str) -> GaugeValue:
    some: float | None = getattr(pressure, f"{of}_some_percent", None)
    full: float | None = getattr(pressure, f"{of}_full_percent", None)
    if some is None:
        return _missing(label, "no pressure figures")
    if full is None:
        return _gauge(label, some, 100.0, f"some {format_percent(some)}", "waiting")
    text = f"some {format_percent(some)}, all {format_percent(full)}"
    return _gauge(label, some, 100.0, text, Part(full, "bad"), Part(max(0.0, some - full), "waiting"))


def _lower(device: DeviceRates, end_bytes_s: float) -> GaugeValue:
    moved = device.write_bytes_s + device.read_bytes_s
    text = f"{format_rate(moved)}, {device.utilisation_percent:.0f} % busy"
    parts = (Part(device.write_bytes_s, "write"), Part(device.read_bytes_s, "read"))
    label = shorten_middle(device.name, LABEL_CELLS)
    end = round_above(max(end_bytes_s, moved))
    return _ended(_gauge(label, moved, max(end, 1.0), text, *parts), format_rate(end) if end else "")


def _depth(device: DeviceRates) -> float:
    return float(device.in_flight) if device.queue_depth is None else device.queue_depth


# The same as ASCII text, for the live view of a run and for `fsconsole gauges`.

LEAD = 8
"""Columns of the labels."""
_BAR_CELLS = 20
_GAP = "  "
_UNIT = re.compile(r"(?<=\d) (?=%|[KMGT]?i?B\b)")
_CPU_LINES = 2
_DEVICES = 3
_NAME_CELLS = 20
_FIGURE_CELLS = 8
_HEADS = ("write", "read", "writes", "reads", "queue", "busy", "latency")
_UNITS = ("MB/s", "MB/s", "1/s", "1/s", "", "%", "ms")
_LEFT_OUT = ("reads", "writes", "latency", "queue", "busy", "read", "write")
"""Columns that a narrow terminal lacks, the first ones first."""


def gauge_lines(sample: Sample | None, now_ns: int, width: int = 80) -> list[str]:
    """Return the gauges of a running workload; sources that the machine lacks are left out."""
    age = age_words(sample, now_ns)
    if sample is None:
        return [age]
    load = [] if sample.load is None else [text_line("load", format_rate(sample.load.bytes_s))]
    shown = _device_rows(sample.devices[:_DEVICES], width)
    devices = shown if len(shown) > 2 else []
    return [*load, *devices, *_writeback(sample.writeback), _cpu_line(sample.cpu), *filter(None, [age])]


def page_lines(
    sample: Sample, title: str, width: int, height: int | None = None, *, gone: Sequence[str] = ()
) -> list[str]:
    """Return the page of `fsconsole gauges` in width columns and at most height lines; devices that don't fit are counted.

    gone: names of devices that have vanished.
    """
    kinds = ("user", "nice", "system", "irq", "softirq", "steal")
    shares = [(kind, getattr(sample.cpu, kind)) for kind in kinds]
    waiting = {"I/O": "io", "memory": "memory", "CPU": "cpu"}
    pressures = [_pressure(label, sample.pressure, name) for label, name in waiting.items()]
    waits = "; ".join(f"{gauge.label} {gauge.text}" for gauge in pressures if gauge.value is not None)
    head = _wrapped(
        width,
        _cpu_line(sample.cpu),
        text_line("", _GAP.join(f"{kind} {share:.1f}" for kind, share in shares if share is not None) + " %"),
        *_each_cpu(sample.per_cpu, width),
        *_writeback(sample.writeback),
        *([text_line("waiting", waits)] if waits else []),
    )
    foot = _wrapped(width, *_bdi_lines(sample.bdi))
    room = None if height is None else height - 1 - len(head) - len(foot)
    lines = [title, *head, *_device_table(sample.devices, gone, room, width), *foot]
    return [shorten_middle(printable(line), width) for line in lines[:height]]


def _wrapped(width: int, *lines: str) -> list[str]:
    """Return labelled lines, broken between words where they are wider, but not between a number and its unit."""
    room = max(2, width - LEAD)
    broken = ((line[:LEAD], wrap(_UNIT.sub("\N{NO-BREAK SPACE}", line[LEAD:]), room)) for line in lines)
    return [
        (" " * LEAD if number else lead) + part.replace("\N{NO-BREAK SPACE}", " ")
        for lead, parts in broken
        for number, part in enumerate(parts)
    ]


def text_line(label: str, text: str) -> str:
    """Return a labelled line."""
    return f"{label:<{LEAD}}{text}".rstrip()


def bar(share: float) -> str:
    """Return a share (0 to 1) as a bar of ASCII."""
    filled = round(_BAR_CELLS * min(1.0, max(0.0, share)))
    return f"[{'#' * filled}{'-' * (_BAR_CELLS - filled)}]"


def depths(devices: Sequence[DeviceRates]) -> list[int]:
    """Return each device's level below its target; 1 where the device above it is missing from the sample."""
    found: dict[str, int] = {}
    for device in devices:
        found[device.name] = 0 if device.role is Role.TARGET else found.get(device.above, 0) + 1
    return [found[device.name] for device in devices]


def _writeback(writeback: Writeback) -> list[str]:
    gauge, limit = _dirty(writeback), writeback.threshold_bytes
    background = writeback.background_threshold_bytes
    if not limit:
        return [text_line("dirty", gauge.text)]
    limits = f"limit {format_bytes(limit)}"
    if background is not None:
        limits += f", background {format_bytes(background)}"
    return [
        text_line("dirty", f"{bar(writeback.pending_bytes / limit)} {gauge.text}"),
        text_line("", limits),
    ]


def _cpu_line(cpu: CpuShares) -> str:
    return text_line("CPU", f"{bar(cpu.busy / 100)} {format_percent(cpu.busy)} busy, {_cpu(cpu).text}")


def _each_cpu(cpus: Sequence[NumberedCpu], width: int) -> list[str]:
    names = [f"cpu{cpu.number}" for cpu in cpus]
    name_cells = max(map(len, names), default=0)
    cells = [f"{name:<{name_cells}}{cpu.shares.busy:>4.0f}{_GAP}" for name, cpu in zip(names, cpus, strict=True)]
    in_line = max(1, (width + len(_GAP) - LEAD) // (name_cells + 4 + len(_GAP)))
    room = in_line * _CPU_LINES
    if len(cells) > room:
        cells = [*cells[: room - 1], f"+{len(cells) - room + 1}"]
    return [text_line("", "".join(cells[at : at + in_line])) for at in range(0, len(cells), in_line)]


def _device_rows(devices: Sequence[DeviceRates], width: int) -> list[str]:
    most = max(0, width - _NAME_CELLS) // _FIGURE_CELLS
    kept = [head not in _LEFT_OUT[: max(0, len(_HEADS) - most)] for head in _HEADS]
    rows = [("device", _HEADS), ("", _UNITS)]
    for rates, depth in zip(devices, depths(devices), strict=True):
        role = "" if rates.role is Role.TARGET else f"{rates.role.value} "
        figures = (
            significant(rates.write_bytes_s / 1e6),
            significant(rates.read_bytes_s / 1e6),
            f"{rates.write_iops:.0f}",
            f"{rates.read_iops:.0f}",
            f"{rates.in_flight}" if rates.queue_depth is None else f"{rates.queue_depth:.1f}",
            f"{rates.utilisation_percent:.1f}",
            "-" if rates.latency_ms is None else significant(rates.latency_ms),
        )
        rows.append((_GAP * depth + role + printable(rates.name), figures))
    return [
        pad_right(shorten_middle(name, _NAME_CELLS), _NAME_CELLS)
        + "".join(pad_left(figure, _FIGURE_CELLS) for figure in compress(figures, kept)).rstrip()
        for name, figures in rows
    ]


def _device_table(devices: Sequence[DeviceRates], gone: Iterable[str], room: int | None, width: int) -> list[str]:
    heads, units, *rows = _device_rows(devices, width)
    rows = [f"{pad_right(printable(name), _NAME_CELLS)} is gone" for name in gone] + rows
    if not rows:
        return []
    table = [heads, units, *rows]
    if room is None or len(table) <= room:
        return table
    kept = max(0, room - 1)
    return [*table[:kept], f"and {len(table) - kept} more devices"] if room > 0 else []


def _bdi_lines(bdi: BdiStats | None) -> list[str]:
    if bdi is None:
        return []
    limit = "" if bdi.dirty_thresh_bytes is None else f" of {format_bytes(bdi.dirty_thresh_bytes)}"
    now = [f"dirty {format_bytes(bdi.reclaimable_bytes)}{limit}", f"in writeback {format_bytes(bdi.writeback_bytes)}"]
    rate = [] if bdi.bandwidth_bytes_s is None else [f"bandwidth {format_rate(bdi.bandwidth_bytes_s)}"]
    sums = (("dirtied", bdi.dirtied_bytes), ("written", bdi.written_bytes))
    so_far = [f"{name} {format_bytes(size)}" for name, size in sums if size is not None]
    inodes = [] if bdi.b_dirty is None else [f"inodes: {_inodes(bdi).text}"]
    first, *others = [", ".join(parts) for parts in (rate + so_far, now, inodes) if parts]
    return [f"writeback of this device: {first}", *(text_line("", other) for other in others)]
