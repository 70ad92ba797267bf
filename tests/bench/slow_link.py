"""What the console sends in the Run screen: `python -m tests.bench.slow_link`.

A recorded run that was killed in a cell is taken up: its lock is held, and twice a second a made sample, in which every
figure moves, goes through the real writer. The console follows it on a pty of 80x24; bytes are counted from 5 s after its
Run screen was painted for the first time. It exits with 1 where --slow-link sends more than allowed.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_state
from fsconsole.journal.writer import JournalWriter
from fsconsole.system.locks import FileLock
from tests.bench.growing import begin_again
from tests.bench.made_samples import made_samples
from tests.tui.on_a_pty import COLUMNS, ESCAPES, LINES, read_for, read_until, terminal
from tests.tui.recorded import recorded

ALLOWED_BYTES_S = 2048
PERIOD_S = 0.5
SETTLING_S = 5.0
PAINTED = b"dirty"
"""A gauge's label: the Run screen stands."""


@dataclass(frozen=True, slots=True)
class Sent:
    """What came out of the console within some seconds."""

    raw: bytes
    elapsed_s: float

    @property
    def bytes_s(self) -> float:
        return len(self.raw) / self.elapsed_s

    @property
    def escape_share(self) -> float:
        return sum(map(len, ESCAPES.findall(self.raw))) / max(len(self.raw), 1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure both, print, and return 0 where the slow link is spared."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--term", default="xterm-256color")
    parser.add_argument("--kept", help="a file for what --slow-link sent")
    wanted = parser.parse_args(arguments)
    print(f"{COLUMNS}x{LINES}, TERM={wanted.term}, {wanted.seconds:.0f} s, a sample each {PERIOD_S} s")
    slow = measured(wanted.seconds, wanted.term, "--slow-link")
    print(f"--slow-link  {words(slow)} (allowed {ALLOWED_BYTES_S})", flush=True)
    if wanted.kept:
        Path(wanted.kept).write_bytes(slow.raw)
    print(f"without      {words(measured(wanted.seconds, wanted.term))}")
    return int(slow.bytes_s > ALLOWED_BYTES_S)


def words(sent: Sent) -> str:
    return f"{sent.bytes_s:8.0f} bytes/s, of which {sent.escape_share:.0%} escape sequences"


def measured(seconds: float, term: str, *options: str) -> Sent:
    """Return what the console sends while it follows a run."""
    with (
        tempfile.TemporaryDirectory() as directory,
        growing(recorded("killed", Path(directory))),
        terminal({"TERM": term, "LANG": "C.UTF-8"}, "--runs", directory, *options) as fd,
    ):
        read_until(fd, b"1 Devices")
        os.write(fd, b"3")
        read_until(fd, PAINTED)
        read_for(fd, SETTLING_S)
        begin_s = time.monotonic()
        raw = read_for(fd, seconds)
        return Sent(raw, time.monotonic() - begin_s)


@contextmanager
def growing(folder: RunFolder) -> Iterator[None]:
    """Hold a run's lock, and append samples to its last cell."""
    state = read_state(folder)
    last = state.last_sample
    assert last is not None
    stopped = threading.Event()

    def append() -> None:
        for sample in made_samples(10**6, cpus=2, members=1):
            now = {"monotonic_ns": time.monotonic_ns(), "wall_ns": time.time_ns()}
            writer.sample(replace(sample, cell=last.cell, step=last.step, **now))
            if stopped.wait(PERIOD_S):
                return

    with FileLock.acquire(folder.lock):
        writer = JournalWriter(folder)
        begin_again(writer, state)
        thread = threading.Thread(target=append)
        thread.start()
        try:
            yield
        finally:
            stopped.set()
            thread.join()
            writer.close(finished=False)


if __name__ == "__main__":
    sys.exit(main())
