"""Watching devices: a sampler of its own, whose samples go to a view."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from fsconsole.cli.gauge_views import GaugeView
from fsconsole.devices.discovery import device_number
from fsconsole.errors import DeviceMissing, DeviceVanished, KernelLacks
from fsconsole.model.sample import Sample
from fsconsole.plaintext import printable
from fsconsole.system.namespace import DEBUGFS
from fsconsole.system.text import read_int_or
from fsconsole.telemetry.layers import block_name
from fsconsole.telemetry.places import device_bdi_path
from fsconsole.telemetry.sampler import Sampler

_SILENCE_S = 10.0
_LOOK_FOR_BDI_S = 2.0
"""A btrfs that is mounted while its device is watched has a bdi of its own from then on."""

Samples = queue.SimpleQueue[Sample]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be watched, how often, and for how many samples (None: without end)."""

    paths: tuple[str, ...]
    hz: float
    count: int | None = None

    @property
    def title(self) -> str:
        """What stands above a page."""
        watched = ", ".join(self.paths) or "this machine"
        return printable(f"gauges of {watched}, {self.hz:g} per second")


def watch(wanted: Wanted, view: GaugeView) -> None:
    """Show samples until there are as many as wanted.

    Raises DeviceMissing and NotABlockDevice for a path, DeviceVanished when no watched device is left,
    KernelLacks where nothing can be sampled, BrokenPipeError.
    """
    names = tuple(dict.fromkeys(kernel_name(path) for path in wanted.paths))
    samples: Samples = queue.SimpleQueue()
    with _sampling(wanted, names, samples) as sampler:
        shown = 0
        while wanted.count is None or shown < wanted.count:
            sample = _next(samples, sampler)
            gone = sampler.vanished()
            if names and len(gone) == len(names):
                raise DeviceVanished(device=", ".join(wanted.paths))
            view.show(sample, gone)
            shown += 1


def kernel_name(path: str) -> str:
    """Return the kernel's name of the block device that a path leads to, which is not opened.

    Raises DeviceMissing, also for a loop device without a file, and NotABlockDevice.
    """
    name = block_name(device_number(path))
    if not name or read_int_or(f"/sys/class/block/{name}/size", 0) == 0:
        raise DeviceMissing(device=path)
    return name


@contextmanager
def _sampling(wanted: Wanted, names: tuple[str, ...], samples: Samples) -> Iterator[Sampler]:
    bdi = _BdiWatch(names)

    def take(sample: Sample) -> None:
        samples.put(sample)
        bdi.look(sampler)

    sampler = Sampler(period_s=1 / wanted.hz, sink=take)
    for name in names:
        sampler.watch_device(name)
    bdi.look(sampler)
    sampler.start()
    try:
        yield sampler
    finally:
        sampler.stop()


class _BdiWatch:
    """Keeps a sampler at the writeback of the first device that has one."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self._path: str | None = None
        self._looked_s = 0.0

    def look(self, sampler: Sampler) -> None:
        """Look, every now and then, where that writeback is told."""
        now_s = time.monotonic()
        if now_s - self._looked_s < _LOOK_FOR_BDI_S:
            return
        self._looked_s = now_s
        paths = (device_bdi_path(DEBUGFS, name) for name in self._names)
        path = next((path for path in paths if path), None)
        if path != self._path:
            self._path = path
            sampler.watch_bdi(path)


def _next(samples: Samples, sampler: Sampler) -> Sample:
    try:
        return samples.get(timeout=_SILENCE_S)
    except queue.Empty as error:
        reasons = ", ".join(reason for reason, _ in sampler.problems()) or "it is silent"
        remedy = "Where /proc/stat and /proc/meminfo can be read, there are gauges."
        raise KernelLacks(what="gauges", why=reasons, remedy=remedy) from error
