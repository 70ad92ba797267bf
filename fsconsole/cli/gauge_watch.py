"""The views of `fsconsole gauges`, and its sampler."""

from __future__ import annotations

import itertools
import queue
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO, TypeAlias

from fsconsole.cli.complaint import is_live, say, terminal_width
from fsconsole.devices.snapshot import device_number
from fsconsole.errors.runs import KernelLacks
from fsconsole.errors.targets import DeviceMissing, DeviceVanished
from fsconsole.model.contract import event_text
from fsconsole.model.sample import Sample
from fsconsole.show.gauges import page_lines
from fsconsole.system.files import read_int_or
from fsconsole.system.mounts import DEBUGFS
from fsconsole.telemetry.block import block_name
from fsconsole.telemetry.machine import device_bdi_path
from fsconsole.telemetry.sampler import Sampler
from fsconsole.text import printable

if TYPE_CHECKING:
    from rich.live import Live


_PAINT_S = 0.2
"""Five pages a second are as many as anybody reads, and as a slow line carries."""


@contextmanager
def gauge_view(title: str, *, as_json: bool, stream: TextIO | None = None) -> Iterator[GaugeView]:
    """Give the view that fits the stream (stdout): live on a terminal, plain pages elsewhere and on TERM=dumb."""
    stream = stream or sys.stdout
    if as_json:
        yield Printed(stream, lambda sample, _gone: event_text("sample", sample.wall_ns, sample))
    elif not is_live(stream):
        yield Printed(
            stream, lambda sample, gone: "\n".join(page_lines(sample, title, terminal_width(), gone=gone)) + "\n"
        )
    else:
        from rich.console import Console
        from rich.live import Live

        console = Console(file=stream, markup=False, highlight=False, emoji=False)
        # The last page stays on the screen.
        with Live(console=console, auto_refresh=False) as live:
            yield LivePages(live, title)


class Printed:
    """Prints each sample at once; notes on stderr, once for each time that it happens, which device is gone."""

    def __init__(self, stream: TextIO, words: Callable[[Sample, tuple[str, ...]], str]) -> None:
        self._stream = stream
        self._words = words
        self._told: tuple[str, ...] = ()

    def show(self, sample: Sample, gone: tuple[str, ...]) -> None:
        """Print the sample; gone are watched devices that it lacks. Raises OutputLost."""
        for name in gone:
            if name not in self._told:
                say(f"note: {printable(name)} is gone; the others are still watched")
        self._told = gone
        self._stream.write(self._words(sample, gone) + "\n")
        self._stream.flush()


class LivePages:
    """Paints the latest sample over the one before."""

    def __init__(self, live: Live, title: str) -> None:
        self._live = live
        self._title = title
        self._painted_s = 0.0

    def show(self, sample: Sample, gone: tuple[str, ...]) -> None:
        """Paint the sample, unless the last one has just been painted."""
        from rich.console import Group
        from rich.text import Text

        now_s = time.monotonic()
        if now_s - self._painted_s < _PAINT_S:
            return
        self._painted_s = now_s
        size = self._live.console.size
        # The cursor needs the last line.
        lines = page_lines(sample, self._title, size.width, size.height - 1, gone=gone)
        texts = [Text(line, no_wrap=True) for line in lines]
        texts[0].stylize("bold")
        self._live.update(Group(*texts), refresh=True)


GaugeView: TypeAlias = "Printed | LivePages"

_SILENCE_S = 10.0
_LOOK_FOR_BDI_S = 2.0
"""A btrfs that is mounted while its device is watched has a bdi of its own from then on."""


def watch(paths: Sequence[str], hz: float, count: int | None, view: GaugeView) -> None:
    """Show so many samples of devices, or where count is None samples without end.

    Raises DeviceMissing and NotABlockDevice for a path, DeviceVanished when no watched device is left,
    KernelLacks where nothing can be sampled, OutputLost.
    """
    names = tuple(dict.fromkeys(map(kernel_name, paths)))
    samples: queue.SimpleQueue[Sample] = queue.SimpleQueue()
    bdi_path, looked_s = None, 0.0

    def look_for_bdi() -> None:
        """Keep the sampler at the writeback of the first device that has one."""
        nonlocal bdi_path, looked_s
        if time.monotonic() - looked_s < _LOOK_FOR_BDI_S:
            return
        looked_s = time.monotonic()
        path = next(filter(None, (device_bdi_path(DEBUGFS, name) for name in names)), None)
        if path != bdi_path:
            bdi_path = path
            sampler.gauges.watch_bdi(path)

    def take(sample: Sample) -> None:
        samples.put(sample)
        look_for_bdi()

    sampler = Sampler(period_s=1 / hz, sink=take)
    for name in names:
        sampler.gauges.devices.watch(name)
    look_for_bdi()
    sampler.start()
    try:
        for _ in itertools.count() if count is None else range(count):
            sample = samples.get(timeout=_SILENCE_S)
            gone = sampler.gauges.devices.vanished()
            if names and len(gone) == len(names):
                raise DeviceVanished(device=", ".join(paths))
            view.show(sample, gone)
    except queue.Empty as error:
        reasons = ", ".join(reason for reason, _ in sampler.gauges.problems()) or "no sample came"
        remedy = "Where /proc/stat and /proc/meminfo can be read, there are gauges."
        raise KernelLacks(what="gauges", why=reasons, remedy=remedy) from error
    finally:
        sampler.stop()


def kernel_name(path: str) -> str:
    """Return the kernel's name of the block device that a path leads to, which is not opened.

    Raises DeviceMissing, also for a loop device without a file, and NotABlockDevice.
    """
    name = block_name(device_number(path))
    if not name or read_int_or(f"/sys/class/block/{name}/size", 0) == 0:
        raise DeviceMissing(device=path)
    return name
