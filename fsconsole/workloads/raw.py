"""Sequential O_DIRECT streams straight on a block device: the reference that filesystems are measured against.

python -I -m fsconsole.workloads.raw write|read DEVICE --streams N --bytes PER_STREAM --block BYTES

Each stream has a region of the device to itself. A write takes the device exclusively (O_EXCL, man 2 open): nobody
else may have it mounted, and no other may claim it meanwhile. It ends with fsync of the device, which sends one flush.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from fsconsole.errors.runs import GeneratorFailed
from fsconsole.model.wire import Mismatch, Wire, decode, encode
from fsconsole.system.block import device_size_bytes
from fsconsole.workloads.content import PAGE_BYTES, filled


class StreamReport(Wire, frozen=True):
    """Result of all streams of one program; instants are CLOCK_MONOTONIC nanoseconds."""

    streams: int
    moved_bytes: int
    first_started_ns: int
    first_ended_ns: int
    last_ended_ns: int
    flushed_ns: int
    """After the device's flush; last_ended_ns if nothing was written."""

    @property
    def bytes_per_s(self) -> float:
        """Throughput from the first stream's start to the end of the flush; 0 where no time passed."""
        elapsed_ns = self.flushed_ns - self.first_started_ns
        return self.moved_bytes / (elapsed_ns / 1e9) if elapsed_ns > 0 else 0.0


def from_line(text: str) -> StreamReport:
    """Return the report in a program's output. Raises GeneratorFailed for anything else."""
    try:
        return decode(StreamReport, text)
    except Mismatch as error:
        raise GeneratorFailed("the raw streams gave no figures") from error


POOL_BYTES = 16 * 2**20
_STACK_BYTES = 256 * 1024
_POOL_STEP_BYTES = 2531 * PAGE_BYTES
"""An odd number of pages, near POOL_BYTES / golden ratio: neighbouring writes take pieces that lie far apart."""


@dataclass(frozen=True, slots=True)
class StreamJob:
    """What to do; bytes_each in whole blocks."""

    writes: bool
    device: str
    streams: int
    bytes_each: int
    block_bytes: int


def main(arguments: Sequence[str]) -> int:
    """Run the streams and print their report; returns 1 with a sentence on stderr where one failed."""
    parser = argparse.ArgumentParser(prog="rawstream", description="Sequential direct streams on a block device.")
    parser.add_argument("act", choices=("write", "read"))
    parser.add_argument("device")
    for name in ("--streams", "--bytes", "--block"):
        parser.add_argument(name, type=int, required=True)
    words = parser.parse_args(arguments)
    if min(words.streams, words.bytes, words.block) < 1:
        parser.error("streams, bytes and block are at least 1")
    job = StreamJob(words.act == "write", words.device, words.streams, words.bytes, words.block)
    try:
        report = run_streams(job)
    except (OSError, ValueError, RuntimeError) as error:
        said = error.strerror if isinstance(error, OSError) else ""
        sys.stderr.write(f"{job.device}: {said or error}\n")
        return 1
    sys.stdout.write(encode(report) + "\n")
    return 0


def run_streams(job: StreamJob) -> StreamReport:
    """Move all bytes and return when they are on the device. Raises OSError, ValueError for a job that doesn't fit."""
    mode = os.O_RDWR | os.O_EXCL if job.writes else os.O_RDONLY
    device = os.open(job.device, mode | os.O_DIRECT | os.O_CLOEXEC)
    try:
        starts = region_starts(device_size_bytes(device), job)
        threading.stack_size(_STACK_BYTES)
        # What is read goes there too, since nobody looks at it.
        barrier, pool = (
            threading.Barrier(job.streams),
            filled(os.urandom(POOL_BYTES), POOL_BYTES, job.block_bytes),
        )
        move, size = os.pwritev if job.writes else os.preadv, job.block_bytes

        def move_all(stream: int, start: int) -> tuple[int, int]:
            """Wait until all streams are there, move one's region from start on; return when it began and ended."""
            barrier.wait()
            started_ns = time.monotonic_ns()
            for block in range(job.bytes_each // size):
                offset, place = (stream + block) * _POOL_STEP_BYTES % POOL_BYTES, start + block * size
                if move(device, [pool[offset : offset + size]], place) != size:
                    raise OSError(errno.EIO, f"a direct call stopped short, {place} bytes from the beginning")
            return started_ns, time.monotonic_ns()

        with ThreadPoolExecutor(max_workers=job.streams) as threads:
            try:
                times_ns = list(threads.map(move_all, range(job.streams), starts))
            except RuntimeError:
                # A thread could not be started: the others must not wait for it.
                barrier.abort()
                raise
        last_ended_ns = max(ended_ns for _, ended_ns in times_ns)
        if job.writes:
            os.fsync(device)
        return StreamReport(
            streams=job.streams,
            moved_bytes=job.streams * job.bytes_each,
            first_started_ns=min(started_ns for started_ns, _ in times_ns),
            first_ended_ns=min(ended_ns for _, ended_ns in times_ns),
            last_ended_ns=last_ended_ns,
            flushed_ns=time.monotonic_ns() if job.writes else last_ended_ns,
        )
    finally:
        os.close(device)


def region_starts(device_bytes: int, job: StreamJob) -> tuple[int, ...]:
    """Return where each stream begins: the device in equal parts of whole blocks. Raises ValueError."""
    if job.block_bytes % PAGE_BYTES or job.bytes_each % job.block_bytes:
        raise ValueError(f"blocks are multiples of {PAGE_BYTES} bytes, and a stream has whole blocks")
    region_bytes = device_bytes // job.streams // job.block_bytes * job.block_bytes
    if job.bytes_each > region_bytes:
        raise ValueError(f"a part of the device has {region_bytes} bytes, a stream would need {job.bytes_each}")
    return tuple(number * region_bytes for number in range(job.streams))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
