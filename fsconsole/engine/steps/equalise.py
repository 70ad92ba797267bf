"""Equalise step: brings the device to the same state before every cell, right after the gate."""

from __future__ import annotations

import errno
import mmap
import os
import random
import time

from fsconsole.devices.snapshot import find_device
from fsconsole.engine.work import CellWork, Interrupted, StepFailed, StepResult
from fsconsole.model.events import WarningKind
from fsconsole.model.plan import Equalise, Step
from fsconsole.system.block import device_size_bytes, extents
from fsconsole.system.files import opened
from fsconsole.text import error_reason
from fsconsole.units import format_elapsed, significant

_READ_BYTES = 4096
_WINDOW_S, _LIMIT_S = 3.0, 60.0
_SLOWER = 1.5


def equalise(work: CellWork, step: Step) -> StepResult:
    """Discard, zero or fill the device; on flash wait until it has settled after a discard."""
    path = step.device or work.cell.target
    (argv,) = step.commands
    file = next(target.backing_file for target in work.run.request.targets if target.path == path)
    settles = work.cell.equalise is Equalise.DISCARD and find_device(path).is_flash
    before, before_s = runs_of(file) if file else (), read_p99_s(work, path) if settles else 0.0
    work.wipe(argv, (step.device,) if step.device else ())
    if file and (not before or runs_of(file) != before):
        work.warn(
            WarningKind.NOT_COMPARABLE,
            f"the file below {path} got other blocks since the last cell, or is in memory (tmpfs)",
            "Keep scratch files on ext4 (--dir), where each cell starts with the same blocks.",
        )
    if settles:
        settle(work, path, before_s)
        work.warn(
            WarningKind.FRESH_FLASH,
            f"all of {path} was discarded before the cell: flash is then as fast as new",
            'Set equalise = "precondition" for figures of a used disk: it fills the disk twice before each cell.',
        )
    return StepResult(verdict=work.cell.equalise.value)


def runs_of(path: str) -> tuple[tuple[int, int], ...]:
    """Return a file's physical extents as (offset, length), merged, in file order; empty if its filesystem has no FIEMAP."""
    runs: list[tuple[int, int]] = []
    end_of_file = 0
    with opened(path) as fd:
        os.fsync(fd)
        try:
            for logical, physical, length, _flags in extents(fd):
                # Written and unwritten extents beside each other are one run.
                if runs and logical == end_of_file and sum(runs[-1]) == physical:
                    runs[-1] = (runs[-1][0], runs[-1][1] + length)
                else:
                    runs.append((physical, length))
                end_of_file = logical + length
        except OSError as error:
            if error.errno not in {errno.EOPNOTSUPP, errno.ENOTTY}:
                raise
    return tuple(runs)


def settle(work: CellWork, path: str, before_s: float) -> None:
    """Wait until a discarded device reads nearly as fast as before: its garbage collection slows it."""
    begun_s = time.monotonic()
    while (now_s := read_p99_s(work, path)) > _SLOWER * before_s:
        waited_s = time.monotonic() - begun_s
        if waited_s >= _LIMIT_S:
            work.warn(
                WarningKind.NOT_COMPARABLE,
                f"{path} is slow after its discard: 99 % of reads take up to {significant(now_s * 1000)} ms after"
                f" {format_elapsed(waited_s)}, {significant(before_s * 1000)} ms before it",
                'Leave it idle for some minutes, or use equalise = "precondition".',
            )
            return


def read_p99_s(work: CellWork, path: str) -> float:
    """Return the p99 of random direct reads of 4 KiB over the next three seconds, in seconds."""
    times = []
    try:
        with opened(path, os.O_RDONLY | os.O_DIRECT) as device:
            blocks = device_size_bytes(device) // _READ_BYTES
            buffer, until_s = mmap.mmap(-1, _READ_BYTES), time.monotonic() + _WINDOW_S
            while (begun_s := time.monotonic()) < until_s:
                if work.run.requests.interrupting:
                    raise Interrupted
                place = random.randrange(blocks) * _READ_BYTES  # noqa: S311 (a place, not a secret)
                os.preadv(device, [buffer], place)
                times.append(time.monotonic() - begun_s)
    except OSError as error:
        raise StepFailed(f"{path} can't be read: {error_reason(error)}") from error
    return sorted(times)[len(times) * 99 // 100]
