"""What sampling costs: `python -m tests.bench.sampler_cost` (as root, for the writeback of a mounted filesystem).

The sampler runs as in an engine: the disk below / as its device, debugfs, the counters of 16 writers, every sample
into a real journal. Its thread's own clock (CLOCK_THREAD_CPUTIME_ID) is read at each sample; the process's clock
adds the journal's thread. Elapsed time is the monotonic clock between the first sample and the last.

A large box is made of files: /proc/stat of 64 CPUs and a /sys with an array of 12 disks. What a kernel takes to make
such files is not in that figure, what it takes to read and store them is.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from fsconsole.journal.store import create_run
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.sample import Sample
from fsconsole.system.memfd import CounterPage
from fsconsole.system.mounts import DEBUGFS
from fsconsole.telemetry.block import block_name
from fsconsole.telemetry.machine import device_bdi_path
from fsconsole.telemetry.sampler import Sampler, Sources
from tests.unit.results import build
from tests.unit.telemetry.made_sys import MadeSys

ALLOWED_PERCENT = 0.5
"""Of one CPU, at 2 Hz."""
WRITERS = 16
CPUS, MEMBERS = 64, 12
"""Of the large box."""


@dataclass(slots=True)
class Cost:
    """CPU seconds of the sampler's thread and of the process, and the clock, at each sample."""

    journal: JournalWriter
    thread_s: list[float] = field(default_factory=list)
    process_s: list[float] = field(default_factory=list)
    clock_s: list[float] = field(default_factory=list)
    last: Sample | None = None

    def take(self, sample: Sample) -> None:
        self.journal.sample(sample)
        self.thread_s.append(time.thread_time())
        self.process_s.append(time.process_time())
        self.clock_s.append(time.monotonic())
        self.last = sample

    def percent(self, used_s: list[float]) -> float:
        return 100 * (used_s[-1] - used_s[0]) / (self.clock_s[-1] - self.clock_s[0])


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return 0 where the limit holds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0)
    seconds = parser.parse_args(arguments).seconds
    with tempfile.TemporaryDirectory() as directory:
        large = large_box(Path(directory))
        at_2_hz = [report(2.0, measure(2.0, seconds)), report(2.0, measure(2.0, seconds, large))]
        report(10.0, measure(10.0, seconds))
    return int(max(at_2_hz) > ALLOWED_PERCENT)


def report(hz: float, cost: Cost) -> float:
    """Print a cost, and return that of the sampler's thread in per cent of one CPU."""
    thread, process = cost.percent(cost.thread_s), cost.percent(cost.process_s)
    each_us = 1e6 * (cost.thread_s[-1] - cost.thread_s[0]) / (len(cost.thread_s) - 1)
    print(
        f"{hz:g} Hz: {thread:.3f} % of one CPU in the sampler's thread ({each_us:.0f} us a sample), "
        f"{process:.3f} % with the journal's, {len(cost.thread_s)} samples; {sources(cost.last)}"
    )
    return thread


def large_box(directory: Path) -> Sources:
    """Make files as a large box has them."""
    sys_files = MadeSys(directory / "sys")
    members = tuple(f"sd{chr(97 + number)}" for number in range(MEMBERS))
    for name in members:
        sys_files.add(name)
    sys_files.add("md127", members=members)
    times = " 1084113 22391 310257 98341207 611204 12087 40118 0 0 0\n"
    stat = directory / "stat"
    stat.write_text("cpu " + times + "".join(f"cpu{number}{times}" for number in range(CPUS)))
    return Sources(stat=str(stat), sys=str(directory / "sys"))


def sources(sample: Sample | None) -> str:
    if sample is None:
        return "no sample"
    lacking = [name for name in ("bdi", "pressure", "load") if getattr(sample, name) is None]
    names = " ".join(device.name for device in sample.devices)
    return f"{len(sample.per_cpu)} CPUs, devices {names}; lacking: {', '.join(lacking) or 'nothing'}"


def measure(hz: float, seconds: float, made: Sources | None = None) -> Cost:
    with sampling(hz, made) as cost:
        time.sleep(seconds)
    return cost


@contextmanager
def sampling(hz: float, made: Sources | None = None) -> Iterator[Cost]:
    with ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        journal = JournalWriter(create_run(directory, build.request([build.cell(0)])))
        stack.callback(journal.close, finished=True)
        cost = Cost(journal)
        page = stack.enter_context(CounterPage.create(WRITERS))
        sampler = Sampler(period_s=1 / hz, sink=cost.take, sources=made)
        stack.callback(sampler.gauges.watch_load, None)
        stack.callback(sampler.stop)
        disk = block_name(os.stat(directory).st_dev)
        sampler.gauges.devices.watch("md127" if made else disk)
        sampler.gauges.watch_bdi(device_bdi_path(DEBUGFS, disk))
        sampler.gauges.watch_load(page)
        sampler.set_place(0, "workload")
        sampler.start()
        yield cost


if __name__ == "__main__":
    sys.exit(main())
