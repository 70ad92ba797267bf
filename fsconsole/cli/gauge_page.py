"""All gauges of one sample on a page that fits a terminal, in ASCII."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fsconsole.cli.gauges import cpu_line, device_label, writeback_lines
from fsconsole.model.sample import BdiStats, CpuShares, DeviceRates, NumberedCpu, Pressure, Role, Sample
from fsconsole.plaintext import printable
from fsconsole.report.cells import pad_left, pad_right, shorten_middle
from fsconsole.units import format_bytes, format_rate, significant

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
    rows += [_device(rates, depth) for rates, depth in zip(devices, depths(devices), strict=True)]
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


def _device(rates: DeviceRates, depth: int) -> str:
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
