"""A short buffered read from the beginning of a device, as `hdparm -t` does it: what the disk and its read-ahead give."""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from fsconsole.errors import FsconsoleError
from fsconsole.errors.runs import NotRoot
from fsconsole.errors.targets import DeviceSilent, DeviceUnreadable
from fsconsole.model.command import Command, Executor
from fsconsole.model.device import Device, Hazard, Verdict
from fsconsole.system.block import device_size_bytes, flush_buffers
from fsconsole.system.processes import waits_of
from fsconsole.text import MIB
from fsconsole.units import format_bytes, format_guess

# Whether a device answers at all: tried by a child that can be given up, since nothing else may wait for it.

ANSWER_LIMIT_S = 60.0
"""A disk that has to spin up takes half of that; a device that is suspended, or whose path is gone, takes for ever."""
GLANCE_LIMIT_S = 20.0
"""The same for a listing, which is looked at again anyhow: few disks take longer to spin up."""
_PROGRAM = "dd"
_BLOCK_BYTES = 4096
_AT_ONCE = 16


def require_answer(path: str, size_bytes: int, executor: Executor, limit_s: float | None = None) -> None:
    """Let a device pass that gives its first block and its last, or an error: what it is made of may hang in part.

    size_bytes 0: only the first is asked for. Raises DeviceSilent, ToolMissing, ToolFailed.
    """
    limit_s = ANSWER_LIMIT_S if limit_s is None else limit_s
    _ask(path, size_bytes, _Asking(executor, limit_s, waits_of(_PROGRAM)))


def silent_among(sizes: Mapping[str, int], executor: Executor) -> dict[str, Hazard]:
    """Return which of some devices, by path with their bytes, don't answer within GLANCE_LIMIT_S, as hazards.

    They are asked at the same time: one controller that is dead takes all its disks with it.
    """
    asking = _Asking(executor, GLANCE_LIMIT_S, waits_of(_PROGRAM))
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        said = threads.map(lambda path: _silence(path, sizes[path], asking), sizes)
        return {path: hazard for path, hazard in zip(sizes, said, strict=True) if hazard is not None}


@dataclass(frozen=True, slots=True)
class _Asking:
    executor: Executor
    limit_s: float
    waits_s: Mapping[tuple[str, ...], float]
    """Who of earlier looks still waits for its answer, and for how long."""


def _ask(path: str, size_bytes: int, asking: _Asking) -> None:
    for block in sorted({0, max(size_bytes // _BLOCK_BYTES - 1, 0)}):
        # The page cache would answer in its place: a mounted ext4 keeps its first block there.
        if _gives(path, block, ("iflag=direct",), asking) != 0:
            _gives(path, block, (), asking)


def _gives(path: str, block: int, words: tuple[str, ...], asking: _Asking) -> int:
    place = (f"if={path}", "of=/dev/null", f"bs={_BLOCK_BYTES}", "count=1", f"skip={block}", "status=none")
    argv = (_PROGRAM, *place, *words)
    if asking.waits_s.get(argv, 0.0) >= asking.limit_s:
        # One more would wait for this very answer too, for ever.
        raise DeviceSilent(path, format_guess(asking.limit_s))
    result = asking.executor.run(Command(argv, timeout_s=asking.limit_s))
    if result.timed_out:
        raise DeviceSilent(path, format_guess(asking.limit_s))
    return result.exit_code


def _silence(path: str, size_bytes: int, asking: _Asking) -> Hazard | None:
    try:
        _ask(path, size_bytes, asking)
    except DeviceSilent as error:
        return Hazard("silent", Verdict.REFUSED, path, "does not answer", error.hint)
    except FsconsoleError:
        # It could not be asked; whoever looks at it next is told the same, of this one device.
        return None
    return None


BLOCK_BYTES = 2 * MIB
"""What hdparm reads at once (hdparm.c, TIMING_BUF_MB)."""
DEFAULT_S = 3.0


@dataclass(frozen=True, slots=True)
class ReadTest:
    """What was read in which time; passes counts how often the reading began anew at the device's beginning."""

    read_bytes: int
    elapsed_s: float
    passes: int

    @property
    def bytes_per_s(self) -> float:
        """Throughput; 0 for a device without a byte."""
        return self.read_bytes / self.elapsed_s if self.elapsed_s > 0 else 0.0


def read_test(device: Device, wanted_s: float = DEFAULT_S) -> ReadTest:
    """Read for so many seconds through the page cache, which is emptied of the device first and before each pass.

    The device is opened for reading only and may be in use; what is dirty on it is written out, as hdparm has
    it. Emptying the cache is not timed. Raises NotRoot, DeviceUnreadable.
    """
    try:
        descriptor = os.open(device.path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise _unreadable(device, 0, error) from error
    try:
        return _passes(device, descriptor, wanted_s)
    finally:
        os.close(descriptor)


def _passes(device: Device, descriptor: int, wanted_s: float) -> ReadTest:
    total = ReadTest(0, 0.0, 0)
    try:
        size_bytes = device_size_bytes(descriptor)
    except OSError as error:
        raise _unreadable(device, 0, error) from error
    with mmap.mmap(-1, BLOCK_BYTES) as buffer:
        while size_bytes and total.elapsed_s < wanted_s:
            read_bytes, elapsed_s = _one_pass(device, descriptor, buffer, wanted_s - total.elapsed_s)
            total = ReadTest(total.read_bytes + read_bytes, total.elapsed_s + elapsed_s, total.passes + 1)
    return total


def _one_pass(device: Device, descriptor: int, buffer: mmap.mmap, wanted_s: float) -> tuple[int, float]:
    """Read from the beginning until the time is over, or to the end; return bytes and seconds."""
    place = 0
    try:
        flush_buffers(descriptor)
        begin_s = time.monotonic()
        while time.monotonic() - begin_s < wanted_s:
            count = os.preadv(descriptor, [buffer], place)
            if count == 0:
                break
            place += count
    except OSError as error:
        raise _unreadable(device, place, error) from error
    return place, time.monotonic() - begin_s


def _unreadable(device: Device, place: int, error: OSError) -> DeviceUnreadable | NotRoot:
    # Root may be refused too, by a container's device rules: that is the system's word, not a lack of rights.
    if isinstance(error, PermissionError) and os.geteuid() != 0:
        return NotRoot(f"Reading {device.path}")
    return DeviceUnreadable(device.path, format_bytes(place), error.strerror or str(error))
