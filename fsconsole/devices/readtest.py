"""A short buffered read from the beginning of a device, as `hdparm -t` does it: what the disk and its read-ahead give."""

from __future__ import annotations

import mmap
import os
import time
from dataclasses import dataclass

from fsconsole.errors import DeviceUnreadable, NotRoot
from fsconsole.model.device import Device
from fsconsole.system.blockdev import device_size_bytes, flush_buffers
from fsconsole.units import MIB, format_bytes

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
