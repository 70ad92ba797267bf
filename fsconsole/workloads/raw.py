"""Sequential O_DIRECT stream on a block device at a given queue depth: the reference for filesystems.

python -I -m fsconsole.workloads.raw write|read DEVICE --depth CALLS --bytes BYTES --block BYTES --seconds S

The calls are those of CALLS processes, each of which takes the next block of the device from one shared counter. A
write begins at the device's beginning; once it has BYTES it goes on until S seconds are over or the device is full. A
read goes over the first BYTES, again and again for as long, so that it meets only what was written.

A write takes the device exclusively (O_EXCL, man 2 open): nobody else may have it mounted, and no other may claim it
meanwhile. It ends with fsync of the device, which sends one flush.
"""

from __future__ import annotations

import argparse
import errno
import fcntl
import mmap
import os
import signal
import struct
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from fsconsole.errors.runs import GeneratorFailed
from fsconsole.model.wire import Mismatch, Wire, decode, encode
from fsconsole.model.workload import Workload, WorkloadKind
from fsconsole.system.block import device_size_bytes
from fsconsole.text import error_reason
from fsconsole.workloads.content import PAGE_BYTES, Pieces, anonymous_memory, content_of


class StreamReport(Wire, frozen=True):
    """Result of all processes of one program; instants are CLOCK_MONOTONIC nanoseconds."""

    depth: int
    moved_bytes: int
    first_started_ns: int
    first_ended_ns: int
    last_ended_ns: int
    flushed_ns: int
    """After the device's flush; last_ended_ns if nothing was written."""

    @property
    def bytes_per_s(self) -> float:
        """Throughput from the first call to the end of the flush; 0 where no time passed."""
        elapsed_ns = self.flushed_ns - self.first_started_ns
        return self.moved_bytes / (elapsed_ns / 1e9) if elapsed_ns > 0 else 0.0


def from_line(text: str) -> StreamReport:
    """Return the report in a program's output. Raises GeneratorFailed for anything else."""
    try:
        return decode(StreamReport, text)
    except Mismatch as error:
        raise GeneratorFailed("the raw stream gave no figures") from error


_MOST_DEPTH = 1024
_RESULT = struct.Struct("qqqq")
"""A process's result: start and end, bytes moved, errno or 0."""


@dataclass(frozen=True, slots=True)
class StreamJob:
    """Direction, queue depth and limits: the stream ends after both least_bytes and least_s."""

    writes: bool
    device: str
    depth: int
    least_bytes: int
    block_bytes: int
    least_s: float = 0.0


def main(arguments: Sequence[str]) -> int:
    """Run the stream and print its report; returns 1 with a sentence on stderr where it failed."""
    parser = argparse.ArgumentParser(prog="rawstream", description="A sequential direct stream on a block device.")
    parser.add_argument("act", choices=("write", "read"))
    parser.add_argument("device")
    for name in ("--depth", "--bytes", "--block"):
        parser.add_argument(name, type=int, required=True)
    parser.add_argument("--seconds", type=float, default=0.0)
    words = parser.parse_args(arguments)
    if min(words.depth, words.bytes, words.block) < 1 or words.depth > _MOST_DEPTH:
        parser.error(f"bytes, block and depth are at least 1, depth at most {_MOST_DEPTH}")
    job = StreamJob(words.act == "write", words.device, words.depth, words.bytes, words.block, words.seconds)
    try:
        report = run_stream(job)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{job.device}: {error_reason(error)}\n")
        return 1
    sys.stdout.write(encode(report) + "\n")
    return 0


def run_stream(job: StreamJob) -> StreamReport:
    """Move all bytes and return when they are on the device. Raises OSError, ValueError for a job that doesn't fit."""
    mode = os.O_RDWR | os.O_EXCL if job.writes else os.O_RDONLY
    device = os.open(job.device, mode | os.O_DIRECT | os.O_CLOEXEC)
    try:
        bounds = Bounds.of(job, device_size_bytes(device))
        with _processes(job, bounds, device) as results:
            ended = [_RESULT.unpack(os.read(result, _RESULT.size) or _KILLED) for result in results]
        for failed in (number for *_, number in ended if number):
            raise OSError(failed, os.strerror(failed))
        last_ended_ns = max(ended_ns for _, ended_ns, _, _ in ended)
        if job.writes:
            os.fsync(device)
        return StreamReport(
            depth=job.depth,
            moved_bytes=sum(moved_bytes for _, _, moved_bytes, _ in ended),
            first_started_ns=min(started_ns for started_ns, *_ in ended),
            first_ended_ns=min(ended_ns for _, ended_ns, _, _ in ended),
            last_ended_ns=last_ended_ns,
            flushed_ns=time.monotonic_ns() if job.writes else last_ended_ns,
        )
    finally:
        os.close(device)


_KILLED = _RESULT.pack(0, 0, 0, errno.EINTR)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits in bytes of whole blocks: least and most to move, and the span after which the stream starts over."""

    least: int
    most: int
    turn: int

    @classmethod
    def of(cls, job: StreamJob, device_bytes: int) -> Bounds:
        """Return the bounds of a job on a device of that size. Raises ValueError for one without room for a block."""
        block = job.block_bytes
        if block % PAGE_BYTES:
            raise ValueError(f"blocks are multiples of {PAGE_BYTES} bytes")
        most = device_bytes // block * block
        if not most:
            raise ValueError(f"the device has {device_bytes} bytes, a block has {block}")
        least = min(most, -(-job.least_bytes // block) * block)
        return cls(least, most, most if job.writes else least)


class Places:
    """Blocks that forked processes take in turn, under a lock that ends with whoever holds it (man 2 fcntl, F_SETLKW).

    lseek(SEEK_CUR) on one open file was tried as counter: of 8 processes at once it lost 4 of 1,000 (Linux 6.18).
    """

    def __init__(self, bounds: Bounds, block_bytes: int) -> None:
        self.lock = os.memfd_create("places")
        os.ftruncate(self.lock, mmap.PAGESIZE)
        self._next = memoryview(mmap.mmap(self.lock, mmap.PAGESIZE)).cast("q")
        self._bounds, self._block_bytes = bounds, block_bytes

    def take(self, until_ns: int) -> int | None:
        """Return the offset of the next block; None when both limits are reached."""
        fcntl.lockf(self.lock, fcntl.LOCK_EX)
        place = self._next[0]
        self._next[0] = place + self._block_bytes
        fcntl.lockf(self.lock, fcntl.LOCK_UN)
        if place >= self._bounds.most or (place >= self._bounds.least and time.monotonic_ns() >= until_ns):
            return None
        return place % self._bounds.turn

    def end(self) -> None:
        """End the stream: no more blocks."""
        self._next[0] = self._bounds.most


@contextmanager
def _processes(job: StreamJob, bounds: Bounds, device: int) -> Iterator[list[int]]:
    """Start the processes behind a barrier and yield the pipes with their results."""
    # The same as files are filled with: no page is written twice.
    kind = WorkloadKind.CREATE if job.writes else WorkloadKind.READ
    content = content_of(Workload("raw", kind, job.depth, job.depth, 0, job.block_bytes, direct=True))
    places = Places(bounds, job.block_bytes)
    begin, begun = os.pipe()
    held = os.fdopen(begun, "wb")
    parent, pids, results = os.getpid(), list[int](), list[int]()
    try:
        for number in range(job.depth):
            result, told = os.pipe()
            results.append(result)
            pid = os.fork()
            if pid == 0:
                try:
                    os.close(begun)
                    memory = Pieces(memoryview(anonymous_memory(job.block_bytes)), 0, 0, 0, None)
                    pieces = content.pieces(number) if job.writes else memory
                    os.write(told, b"r")
                    os.read(begin, 1)  # returns once nobody holds the other end
                    os.write(told, _move(job, device, places, pieces, parent))
                finally:
                    os._exit(0)
            pids.append(pid)
            os.close(told)
        for result in results:
            os.read(result, 1)
        held.close()
        yield results
    except BaseException:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        raise
    finally:
        for pid in pids:
            os.waitpid(pid, 0)
        held.close()
        for fd in (places.lock, begin, *results):
            os.close(fd)


def _move(job: StreamJob, device: int, places: Places, pieces: Pieces, parent: int) -> bytes:
    """Move blocks until the stream ends, and return this process's result."""
    size, move = job.block_bytes, os.pwritev if job.writes else os.preadv
    moved_bytes, failed, start = 0, 0, pieces.first
    started_ns = time.monotonic_ns()
    until_ns = started_ns + int(job.least_s * 1e9)
    # A killed parent takes no results, and what would go on would write on a device that nobody holds any more.
    while not failed and os.getppid() == parent and (place := places.take(until_ns)) is not None:
        if pieces.stamp is not None:
            pieces.stamp(start, size)
        try:
            moved = move(device, [pieces.memory[start : start + size]], place)
        except OSError as error:
            moved, failed = 0, error.errno or errno.EIO
        failed = failed or (errno.EIO if moved < size else 0)
        start = (start + pieces.stride) & pieces.mask
        moved_bytes += moved
    if failed:
        places.end()
    return _RESULT.pack(started_ns, time.monotonic_ns(), moved_bytes, failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
