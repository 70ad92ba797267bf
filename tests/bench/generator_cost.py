"""What it costs the generator to time every write: its loop against the same loop without a clock, in turn.

    python -m tests.bench.generator_cost

Two places are written to: /dev/null, where the loop is all there is, in calls of 4 KiB; and a file in memory
(memfd), in calls of 64 KiB, which is what a write costs at least. Figures are CPU time of the thread.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

from fsconsole.model.load import HeaderWord, SlotWord, slot_word, timed_in
from fsconsole.model.timed import Timed
from fsconsole.model.workload import Workload, WorkloadKind
from fsconsole.system.memfd import CounterPage
from fsconsole.text import KIB, MIB
from fsconsole.workloads.content import content_of
from fsconsole.workloads.ops import Means, Writer

PAIRS = 9


@dataclass(frozen=True)
class Case:
    """Where to write how much, in calls of what size."""

    name: str
    open_target: Callable[[], int]
    size_bytes: int
    block_bytes: int


CASES = (
    Case("/dev/null, 4 KiB", lambda: os.open("/dev/null", os.O_WRONLY), 800 * MIB, 4 * KIB),
    Case("file in memory, 64 KiB", lambda: os.memfd_create("bench"), 256 * MIB, 64 * KIB),
)


def untimed(fd: int, means: Means, left: int) -> None:
    """Do what the generator's loop does, but for the clock, the latency and the fsync."""
    words, pieces, block = means.words, means.pieces, means.workload.block_size_bytes
    bytes_word, operations_word = slot_word(0, SlotWord.BYTES), slot_word(0, SlotWord.OPERATIONS)
    pool, mask, stride, stamp = pieces.memory, pieces.mask, pieces.stride, pieces.stamp
    stop_word, write = int(HeaderWord.STOP), os.write
    assert stamp is not None
    bytes_done, operations = words[bytes_word], words[operations_word]
    wanted = block if left >= block else left
    piece_start = start = pieces.first
    stamp(start, wanted)
    while left and not words[stop_word]:
        written = write(fd, pool[piece_start : piece_start + wanted])
        left -= written
        bytes_done += written
        words[bytes_word] = bytes_done
        if written != wanted:
            piece_start += written
            wanted -= written
            continue
        operations += 1
        words[operations_word] = operations
        piece_start = start = (start + stride) & mask
        wanted = block if left >= block else left
        stamp(start, wanted)


def measure(case: Case) -> tuple[list[float], list[float]]:
    """Return CPU nanoseconds per call with and without latencies, one of each for every pair."""
    load = Workload("bench", WorkloadKind.CREATE, 1, 1, case.size_bytes, case.block_bytes)
    calls = case.size_bytes // case.block_bytes
    with CounterPage.create(1, len(timed_in(load))) as page:
        content = content_of(load)
        means = Means(load, 0, page.words, content.pieces(0), memoryview(b""))

        def timed(fd: int) -> None:
            Writer(means, means.stopwatch(Timed.WRITE)).fill(fd, case.size_bytes)

        def plain(fd: int) -> None:
            untimed(fd, means, case.size_bytes)

        runs: tuple[list[float], list[float]] = ([], [])
        for number in range(PAIRS + 1):
            for figures, run in zip(runs, (timed, plain), strict=True):
                elapsed_ns = _thread_ns(case, run)
                # The first pair warms up memory and caches.
                if number:
                    figures.append(elapsed_ns / calls)
    return runs


def _thread_ns(case: Case, run: Callable[[int], None]) -> int:
    fd = case.open_target()
    try:
        begin = time.thread_time_ns()
        run(fd)
        return time.thread_time_ns() - begin
    finally:
        os.close(fd)


def main() -> None:
    for case in CASES:
        timed, plain = measure(case)
        ratio = statistics.median(one / other for one, other in zip(timed, plain, strict=True))
        print(
            f"{case.name}: {statistics.median(timed):.0f} ns a call with latencies,"
            f" {statistics.median(plain):.0f} without; ratio {ratio:.3f} (median of {PAIRS} pairs)"
        )


if __name__ == "__main__":
    main()
