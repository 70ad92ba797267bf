"""The gauges of one sample as lines of text in ASCII, which every console has."""

from __future__ import annotations

from fsconsole.model.sample import CpuShares, DeviceRates, LoadProgress, Role, Sample, Writeback
from fsconsole.plaintext import printable
from fsconsole.units import format_bytes, format_percent, format_rate, format_seconds

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
