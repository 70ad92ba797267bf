"""One run of the command `fsconsole`, watched from outside: its trace, its requests, its files' extents, its export."""

from __future__ import annotations

import bisect
import json
import os
import re
import signal
import subprocess
import threading
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.recompute import fiemap
from tests.recompute.tracing import FIEMAP, Event, Instance, of_machine, of_programs, started

MOUNTED = "root/run/fsconsole/mnt"
REPORTED = Path("/sys/module/page_reporting/parameters/reported_kib")
KERNEL_THREADS = Path("/proc/2/task/2/children")
Json = dict[str, Any]


@dataclass
class Seen:
    """What was seen of a cell while its engine stood still in the extents' step."""

    ns: int
    extents: dict[str, dict[str, float]] = field(default_factory=dict)
    free_bytes: int = 0
    used_inodes: int = 0


class Watcher:
    """Stops the engine at its first FIEMAP of a cell's tree, looks at the tree itself, and lets the engine go on.

    The steps there have no time: nothing that is measured is disturbed.
    """

    def __init__(self, root: Path) -> None:
        self._trace = Instance(root, "fiemap", {"syscalls/sys_enter_ioctl": ((), f"cmd == {FIEMAP}")}, 64, follow=False)
        self._trace.write("buffer_percent", "0")
        self._trace.write("options/event-fork", "1")
        self.seen: list[Seen] = []
        self._pipe = os.open(self._trace.place / "trace_pipe", os.O_RDONLY | os.O_NONBLOCK)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    @property
    def trace(self) -> Instance:
        return self._trace

    def _follow(self) -> None:
        while not self._over.wait(0.001):
            with suppress(BlockingIOError):
                found = re.search(rb"-(\d+) +\[", os.read(self._pipe, 65536))
                if found:
                    self._look(int(found[1]))

    def _look(self, thread: int) -> None:
        with suppress(FileNotFoundError, ProcessLookupError, BlockingIOError):
            status = Path(f"/proc/{thread}/status").read_text()
            engine = int(re.search(r"^Tgid:\s+(\d+)", status, re.MULTILINE)[1])  # type: ignore[index]
            tree = Path(f"/proc/{engine}/{MOUNTED}/tree")
            if not tree.is_dir():
                return
            os.kill(engine, signal.SIGSTOP)
            try:
                self.seen.append(self._seen(tree))
            finally:
                os.kill(engine, signal.SIGCONT)
            while tree.is_dir() and not self._over.wait(0.02):
                pass
            while os.read(self._pipe, 1 << 20):
                pass

    @staticmethod
    def _seen(tree: Path) -> Seen:
        # A reader that leaves no time of access behind: nothing more to write at the unmount.
        room = os.statvfs(tree)
        seen = Seen(
            time.monotonic_ns(), free_bytes=room.f_bfree * room.f_frsize, used_inodes=room.f_files - room.f_ffree
        )
        for directory in sorted(tree.iterdir()):
            seen.extents[directory.name] = fiemap.figures_of(directory)
        return seen

    def close(self) -> None:
        self._over.set()
        self._thread.join()
        os.close(self._pipe)
        self._trace.stop()


class Gauge:
    """Dirty + Writeback and the CPUs' ticks fifty times a second, from /proc/meminfo and /proc/stat (man 5 proc)."""

    def __init__(self, device: str) -> None:
        file = Path(f"/sys/block/{Path(device).name}/loop/backing_file").read_text().strip()
        number = os.stat(file).st_dev
        self._device, self._below = device, f"/sys/dev/block/{os.major(number)}:{os.minor(number)}"
        self.times_ns: list[int] = []
        self._dirty: list[int] = []
        self._ticks: list[list[int]] = []
        self._reported: list[int] = []
        self._moved: list[list[int]] = []
        self.kernel_threads: set[int] = set()
        """All that there were: those of a mounted filesystem (jbd2, btrfs-transaction) come and go with its mount."""
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        while not self._over.wait(0.02):
            words = re.findall(r"^(?:Dirty|Writeback):\s+(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
            self._dirty.append(1024 * sum(map(int, words)))
            self._ticks.append([int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]])
            self._reported.append(1024 * int(REPORTED.read_text()) if REPORTED.exists() else 0)
            self._moved.append([*counters(self._device).values(), *counters(self._below).values()])
            # Children of kthreadd, process 2 (CONFIG_PROC_CHILDREN, man 5 proc_tid_children).
            self.kernel_threads.update(map(int, KERNEL_THREADS.read_text().split() if KERNEL_THREADS.exists() else ()))
            self.times_ns.append(time.monotonic_ns())

    def dirty(self, begin_ns: int, end_ns: int) -> tuple[int, int]:
        """Return the least and the most, from the sample before to the sample after."""
        first, last = bisect.bisect(self.times_ns, begin_ns), bisect.bisect(self.times_ns, end_ns)
        seen = self._dirty[max(0, first - 1) : last + 1]
        return min(seen), max(seen)

    def reported(self, ns: int) -> int:
        """Return the bytes of free memory that were reported to the hypervisor from the boot on."""
        return self._reported[min(bisect.bisect(self.times_ns, ns), len(self.times_ns) - 1)]

    def foreign(self, begin_ns: int, end_ns: int) -> float:
        """Return what the disk below moved and the device didn't, less 16 KiB of the file's own journal for each write."""
        _, writes, _, read, written, _, _, _, below_read, below_written = self._change(self._moved, begin_ns, end_ns)
        return max(0.0, below_read - read) + max(0.0, below_written - written - 16384 * writes)

    def busy(self, begin_ns: int, end_ns: int) -> tuple[float, float, float]:
        """Return the CPU seconds that were used, those of interrupts, and those that were there: all but stolen ones."""
        change = self._change(self._ticks, begin_ns, end_ns)
        user, nice, system, idle, waiting, irq, softirq, stolen = (ticks / os.sysconf("SC_CLK_TCK") for ticks in change)
        # Busy is what is not idle: the other columns are sampled at ticks.
        by_clock_s = (end_ns - begin_ns) / 1e9 * (os.cpu_count() or 1) - idle - waiting - stolen
        busy_s = max(user + nice + system + irq + softirq, by_clock_s)
        return busy_s, irq + softirq, busy_s + idle + waiting

    def _change(self, samples: list[list[int]], begin_ns: int, end_ns: int) -> list[float]:
        return [
            after - before for before, after in zip(*(self._at(samples, ns) for ns in (begin_ns, end_ns)), strict=True)
        ]

    def _at(self, samples: list[list[int]], ns: int) -> list[float]:
        after = min(max(1, bisect.bisect(self.times_ns, ns)), len(self.times_ns) - 1)
        begin, end = self.times_ns[after - 1 : after + 1]
        share = (ns - begin) / (end - begin)
        return [low + share * (high - low) for low, high in zip(*samples[after - 1 : after + 1], strict=True)]

    def close(self) -> None:
        self._over.set()
        self._thread.join()


@dataclass
class Watched:
    """A run's export, and everything that was seen of it."""

    export: Json
    programs: list[Event]
    machine: list[Event]
    seen: list[Seen]
    gauge: Gauge
    counted: dict[str, int]
    """Difference of the device's counters in /sys/block/NAME/stat from before the run to after it."""
    folder: Path


_COUNTERS = {"reads": 0, "read_sectors": 2, "writes": 4, "write_sectors": 6, "flushes": 15}
"""Documentation/block/stat.rst, from 0."""


def counters(device: str) -> dict[str, int]:
    """Return the counters of a device, by its node or its directory in /sys."""
    folder = device if device.startswith("/sys/") else f"/sys/block/{Path(device).name}"
    words = Path(f"{folder}/stat").read_text().split()
    counted = {name: int(words[at]) for name, at in _COUNTERS.items()}
    return counted | {f"{name}_bytes": 512 * counted.pop(f"{name}_sectors") for name in ("read", "write")}


def watched_run(root: Path, program: str, plan: Path, device: str, runs: Path) -> Watched:
    """Carry out a plan on a scratch device. Raises RuntimeError where the command fails."""
    with ExitStack() as stack:
        programs, machine = of_programs(root), of_machine(root, device)
        stack.callback(programs.stop)
        stack.callback(machine.stop)
        watcher, gauge = Watcher(root), Gauge(device)
        stack.callback(watcher.close)
        stack.callback(gauge.close)
        before = counters(device)
        machine.write("tracing_on", "1")
        argv = [program, "run", str(plan), "--device", device, "--runs", str(runs), "--json"]
        run = started(argv, (programs, watcher.trace), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        _, said = run.communicate()
        # Whoever looks at all devices may read this one at any time.
        machine.write("tracing_on", "0")
        after = counters(device)
        if run.returncode:
            raise RuntimeError(f"exit {run.returncode}: {said}")
    export = json.loads(
        subprocess.check_output([program, "results", "--runs", str(runs), "--format", "json"], text=True)
    )
    return Watched(
        export,
        programs.events(),
        machine.events(),
        watcher.seen,
        gauge,
        {name: after[name] - before[name] for name in after},
        runs / export["run"]["run_id"],
    )
