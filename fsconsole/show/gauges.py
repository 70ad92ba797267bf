"""One sample as gauges on their true scales, the most telling first: however few find room, those are the right ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from fsconsole.model.sample import (
    BdiStats,
    CpuShares,
    DeviceRates,
    LoadProgress,
    NumberedCpu,
    Pressure,
    Role,
    Sample,
    Writeback,
)
from fsconsole.show.charts import GaugeValue, Mark, Part
from fsconsole.show.history import Snapshot
from fsconsole.text import pad_left, pad_right, printable, shorten_middle
from fsconsole.units import fixed, format_bytes, format_percent, format_rate, format_seconds, significant

# The gauges of one sample as lines of text in ASCII, which every console has.

_BAR_CELLS = 20
_DEVICES = 3
_STALE_S = 3.0
"""Six sampling periods; a blocked sampler shows old gauges, and they must not pass for new ones."""


def gauge_lines(sample: Sample | None, now_ns: int) -> list[str]:
    """Return one or two lines per gauge, as a run shows them; what the machine doesn't offer has none."""
    if sample is None:
        return ["gauges  none yet"]
    lines = [] if sample.load is None else [_load(sample.load)]
    lines += [_device(rates) for rates in sample.devices[:_DEVICES]]
    lines += [*writeback_lines(sample.writeback), cpu_line(sample.cpu)]
    age_s = (now_ns - sample.monotonic_ns) / 1e9
    return [*lines, f"gauges  {format_seconds(age_s)} old"] if age_s > _STALE_S else lines


def bar(share: float) -> str:
    """Return a share (0 to 1, more is full) as a bar."""
    filled = round(_BAR_CELLS * min(1.0, max(0.0, share)))
    return f"[{'#' * filled}{'-' * (_BAR_CELLS - filled)}]"


def device_label(rates: DeviceRates) -> str:
    """Return a device's name, with its part in the sample before it unless it was asked for."""
    label = rates.name if rates.role is Role.TARGET else f"{rates.role.value} {rates.name}"
    return printable(label)


def writeback_lines(writeback: Writeback) -> list[str]:
    """Return what is dirty, in a second line the limits where the kernel tells them."""
    figures = (
        f"{format_bytes(writeback.dirty_bytes)} + {format_bytes(writeback.writeback_bytes)} in writeback"
    )
    if not writeback.threshold_bytes:
        return [f"dirty   {figures}"]
    limits = f"        limit {format_bytes(writeback.threshold_bytes)}"
    if writeback.background_threshold_bytes is not None:
        limits += f", background from {format_bytes(writeback.background_threshold_bytes)}"
    return [f"dirty   {bar(writeback.pending_bytes / writeback.threshold_bytes)} {figures}", limits]


def cpu_line(cpu: CpuShares) -> str:
    """Return how busy all CPUs together were."""
    waiting = format_percent(cpu.iowait)
    return (
        f"CPU     {bar(cpu.busy / 100)} {format_percent(cpu.busy)} busy, {waiting} idle and waiting for I/O"
    )


def _load(load: LoadProgress) -> str:
    done = f"{format_bytes(load.bytes_done)} and {load.files_done} files done"
    return f"load    {format_rate(load.bytes_s)}, {done}, {load.threads_running} threads running"


def _device(rates: DeviceRates) -> str:
    write, read = format_rate(rates.write_bytes_s), format_rate(rates.read_bytes_s)
    busy = format_percent(rates.utilisation_percent)
    lead = "device  " if rates.role is Role.TARGET else "        "
    return f"{lead}{device_label(rates)}: write {write}, read {read}, busy {busy}"


# All gauges of one sample on a page that fits a terminal, in ASCII.

_LEAD = 8
"""Columns that the names of the gauges take."""
_GAP = "  "
_CPU_LINES = 2
_LABEL_CELLS = 20
_FIGURE_CELLS = 8
_HEADS = ("write", "read", "writes", "reads", "queue", "busy", "latency")
_UNITS = ("MB/s", "MB/s", "1/s", "1/s", "", "%", "ms")


@dataclass(frozen=True, slots=True)
class Page:
    """What stands on a page beside the sample: its title, and devices that are gone."""

    title: str
    gone: tuple[str, ...] = ()


def page_lines(sample: Sample, page: Page, width: int, height: int | None = None) -> list[str]:
    """Return the page, in lines of at most width cells, and no more than height; devices that find no room are counted."""
    head = [
        page.title,
        cpu_line(sample.cpu),
        *_cpu_kinds(sample.cpu),
        *_each_cpu(sample.per_cpu, width),
        *writeback_lines(sample.writeback),
        *_pressure(sample.pressure),
    ]
    foot = _bdi(sample.bdi)
    room = None if height is None else height - len(head) - len(foot)
    lines = [*head, *_devices(sample.devices, page.gone, room), *foot]
    return [shorten_middle(printable(line), width) for line in lines[:height]]


def _cpu_kinds(cpu: CpuShares) -> list[str]:
    kinds = [
        ("user", cpu.user), ("nice", cpu.nice), ("system", cpu.system), ("irq", cpu.irq), ("softirq", cpu.softirq),
    ]  # fmt: skip
    if cpu.steal is not None:
        kinds.append(("steal", cpu.steal))
    return [_line("", "  ".join(f"{name} {share:.1f}" for name, share in kinds) + " %")]


def _each_cpu(cpus: Sequence[NumberedCpu], width: int) -> list[str]:
    """Return each CPU's busy percentage by its number, as many as find room."""
    names = [f"cpu{cpu.number}" for cpu in cpus]
    name_cells = max(map(len, names), default=0)
    cells = [
        f"{name:<{name_cells}}{cpu.shares.busy:>4.0f}{_GAP}" for name, cpu in zip(names, cpus, strict=True)
    ]
    in_line = max(1, (width + len(_GAP) - _LEAD) // (name_cells + 4 + len(_GAP)))
    room = in_line * _CPU_LINES
    if len(cells) > room:
        cells = [*cells[: room - 1], f"+{len(cells) - room + 1}"]
    return [_line("", "".join(cells[at : at + in_line])) for at in range(0, len(cells), in_line)]


def _pressure(pressure: Pressure | None) -> list[str]:
    if pressure is None:
        return []
    figures = (
        ("I/O", pressure.io_some_percent, pressure.io_full_percent),
        ("memory", pressure.memory_some_percent, pressure.memory_full_percent),
        ("CPU", pressure.cpu_some_percent, None),
    )
    parts = [_stalls(*figure) for figure in figures if figure[1] is not None]
    return [_line("waiting", ", ".join(parts))] if parts else []


def _stalls(what: str, some: float | None, full: float | None) -> str:
    text = f"{what} {some:.1f} %"
    return text if full is None else f"{text} (all: {full:.1f} %)"


def _devices(devices: Sequence[DeviceRates], gone: Iterable[str], room: int | None) -> list[str]:
    rows = [f"{pad_right(printable(name), _LABEL_CELLS)} is gone" for name in gone]
    rows += [_gauge_page_device(rates, depth) for rates, depth in zip(devices, depths(devices), strict=True)]
    if not rows:
        return []
    table = [_row("device", _HEADS), _row("", _UNITS), *rows]
    if room is None or len(table) <= room:
        return table
    kept = max(0, room - 1)
    return [*table[:kept], f"and {len(table) - kept} more devices"] if room > 0 else []


def depths(devices: Sequence[DeviceRates]) -> list[int]:
    """Return how many levels each device lies below a target; one whose upper device isn't there lies at one."""
    found: dict[str, int] = {}
    for device in devices:
        found[device.name] = 0 if device.role is Role.TARGET else found.get(device.above, 0) + 1
    return [found[device.name] for device in devices]


def _gauge_page_device(rates: DeviceRates, depth: int) -> str:
    latency, queue = rates.latency_ms, rates.queue_depth
    figures = (
        significant(rates.write_bytes_s / 1e6),
        significant(rates.read_bytes_s / 1e6),
        f"{rates.write_iops:.0f}",
        f"{rates.read_iops:.0f}",
        f"{rates.in_flight}" if queue is None else f"{queue:.1f}",
        f"{rates.utilisation_percent:.1f}",
        "-" if latency is None else significant(latency),
    )
    return _row("  " * depth + device_label(rates), figures)


def _row(label: str, figures: Iterable[str]) -> str:
    fitted = pad_right(shorten_middle(label, _LABEL_CELLS), _LABEL_CELLS)
    return (fitted + "".join(pad_left(figure, _FIGURE_CELLS) for figure in figures)).rstrip()


def _bdi(bdi: BdiStats | None) -> list[str]:
    if bdi is None:
        return []
    limit = "" if bdi.dirty_thresh_bytes is None else f" of {format_bytes(bdi.dirty_thresh_bytes)}"
    now = [f"dirty {format_bytes(bdi.reclaimable_bytes)}{limit}"]
    now.append(f"in writeback {format_bytes(bdi.writeback_bytes)}")
    if bdi.bandwidth_bytes_s is not None:
        now.append(f"bandwidth {format_rate(bdi.bandwidth_bytes_s)}")
    sums = (("dirtied", bdi.dirtied_bytes), ("written", bdi.written_bytes))
    inodes = (("dirty", bdi.b_dirty), ("to write", bdi.b_io), ("more", bdi.b_more_io))
    so_far = [f"{name} {format_bytes(size)}" for name, size in sums if size is not None]
    counted = [f"{name} {count}" for name, count in inodes if count is not None]
    lines = [("bdi", now), ("", so_far), ("", [f"inodes: {', '.join(counted)}"] if counted else [])]
    return [_line(name, ", ".join(parts)) for name, parts in lines if parts]


def _line(name: str, text: str) -> str:
    return f"{name:<{_LEAD}}{text}".rstrip()


def gone_line(name: str) -> str:
    """Return what is said of a device that vanished while others are watched."""
    return f"note: {printable(name)} is gone; the others are still watched"


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
        _gauges_bdi(sample.bdi, limit[0]),
        _gauges_pressure("I/O wait", sample.pressure, "io"),
        _queue(targets),
        _latency(targets),
        _gauges_pressure("mem wait", sample.pressure, "memory"),
        _gauges_pressure("CPU wait", sample.pressure, "cpu"),
        *_inodes(sample.bdi),
        *_lower(sample, limit[0]),
        *_gauges_each_cpu(sample),
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


def _gauges_bdi(bdi: BdiStats | None, end_bytes_s: float) -> GaugeValue:
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


def _gauges_pressure(label: str, pressure: Pressure | None, of: str) -> GaugeValue:
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


def _gauges_each_cpu(sample: Sample) -> Iterator[GaugeValue]:
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
