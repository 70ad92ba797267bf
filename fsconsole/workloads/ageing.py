"""The process that ages a new filesystem inside the cage: fills it with files of mixed sizes and removes half, in cycles.

Started as ``python -I -m fsconsole.workloads.ageing``, confined to its tree. Standard input carries the job, standard
output one JSON object: DONE with its counts, or REFUSED with a reason. Names, sizes and order come from the seed
alone, so every filesystem gets the same.
"""

from __future__ import annotations

import math
import os
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fsconsole.model.wire import Mismatch, Wire, decode_whole, encode
from fsconsole.system.block import syncfs
from fsconsole.text import KIB, MIB
from fsconsole.workloads.job import Stage
from fsconsole.workloads.tree import DIRECTORY_FLAGS

SMALLEST_BYTES, LARGEST_BYTES = 4 * KIB, 64 * MIB
_LARGEST_SHARE = 64
"""The largest file takes a sixty-fourth of what is filled, so that small devices get many files too."""
_FILES_A_DIRECTORY = 1000
_BUFFER_BYTES, _CALL_BYTES = 16 * MIB, MIB
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class AgeJob(Wire, frozen=True):
    """Job of ageing below tree, an absolute path on the filesystem with the st_dev given."""

    tree: str
    device: int
    seed: int
    cycles: int
    full_bytes: int
    """Of all files when a cycle has filled it."""


class AgeReport(Wire, frozen=True, omit_defaults=True):
    """Result of ageing; files and bytes are those that are left."""

    event: Stage
    why: str = ""
    files: int = 0
    left_bytes: int = 0
    written_bytes: int = 0


@dataclass(frozen=True, slots=True)
class AgeingAct:
    """One thing to do: write a file of that size, or remove it; a number of -1 is a sync."""

    number: int
    size_bytes: int
    is_removal: bool = False


SYNC = AgeingAct(-1, 0)


def acts_of(seed: int, cycles: int, full_bytes: int) -> Iterator[AgeingAct]:
    """Yield what is done, in order. Sizes are spread evenly over the powers of two; removed files are drawn evenly."""
    # Only random(), whose sequence no version of Python changes.
    draw = random.Random(f"{seed} ageing").random  # noqa: S311 (sizes, not secrets)
    largest = min(LARGEST_BYTES, max(SMALLEST_BYTES, full_bytes // _LARGEST_SHARE))
    powers = math.log2(largest / SMALLEST_BYTES)
    there: list[AgeingAct] = []
    held = number = 0
    for _ in range(cycles):
        while held < full_bytes:
            size = min(int(SMALLEST_BYTES * 2 ** (draw() * powers)), full_bytes - held)
            there.append(AgeingAct(number, size))
            yield there[-1]
            held += size
            number += 1
        # A file that is removed before its blocks are allocated leaves no hole.
        yield SYNC
        while held > full_bytes // 2:
            place = int(draw() * len(there))
            there[place], there[-1] = there[-1], there[place]
            gone = there.pop()
            yield AgeingAct(gone.number, gone.size_bytes, is_removal=True)
            held -= gone.size_bytes
        yield SYNC


def carry_out(job: AgeJob, tree_fd: int, *, sync: Callable[[int], None] = syncfs) -> AgeReport:
    """Do a job's acts below an open directory. Raises OSError."""
    data = memoryview(random.Random(job.seed).randbytes(_BUFFER_BYTES))  # noqa: S311 (content, not a secret)
    files = left = written = 0
    for act in acts_of(job.seed, job.cycles, job.full_bytes):
        if act is SYNC:
            sync(tree_fd)
            continue
        directory, name = f"d{act.number // _FILES_A_DIRECTORY:06d}", f"f{act.number:08d}"
        path = f"{directory}/{name}"
        if act.is_removal:
            os.unlink(path, dir_fd=tree_fd)
            files, left = files - 1, left - act.size_bytes
            continue
        if act.number % _FILES_A_DIRECTORY == 0:
            os.mkdir(directory, 0o755, dir_fd=tree_fd)
        _write(path, tree_fd, data, act)
        files, left, written = files + 1, left + act.size_bytes, written + act.size_bytes
    return AgeReport(Stage.DONE, "", files, left, written)


def _write(path: str, tree_fd: int, data: memoryview, act: AgeingAct) -> None:
    fd = os.open(path, _NEW, 0o644, dir_fd=tree_fd)
    try:
        at, rest = act.number * 4093 % (_BUFFER_BYTES - _CALL_BYTES), act.size_bytes
        while rest:
            rest -= os.write(fd, data[at : at + min(rest, _CALL_BYTES)])
    finally:
        os.close(fd)


def _opened(job: AgeJob) -> int:
    tree_fd = os.open(job.tree, DIRECTORY_FLAGS)
    if os.fstat(tree_fd).st_dev != job.device:
        raise OSError(f"{job.tree} is not on the filesystem that was mounted for it")
    return tree_fd


def main() -> int:
    """Do one job; exit code 0 unless it failed."""
    try:
        job = decode_whole(AgeJob, sys.stdin.readline())
        report = carry_out(job, _opened(job))
    except (Mismatch, OSError) as error:
        report = AgeReport(Stage.REFUSED, str(error))
    sys.stdout.write(encode(report) + "\n")
    sys.stdout.flush()
    return int(report.event is not Stage.DONE)


if __name__ == "__main__":
    sys.exit(main())
