"""Asks devices for an answer within a time limit, and reads one for its throughput, as `hdparm -t`."""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from fsconsole.devices import ask_child
from fsconsole.devices.uses import block_number
from fsconsole.errors import FsconsoleError
from fsconsole.errors.runs import NotRoot, ToolFailed
from fsconsole.errors.targets import DeviceSilent, DeviceUnreadable
from fsconsole.model.command import Command, Executor
from fsconsole.model.device import Device, Hazard, Verdict
from fsconsole.system.block import device_size_bytes, flush_buffers
from fsconsole.system.files import opened
from fsconsole.system.isolation import python_argv
from fsconsole.system.processes import stuck_tasks
from fsconsole.text import MIB, error_reason
from fsconsole.units import format_bytes, format_guess

# Asks devices for an answer, in a child that can be given up: nothing else may wait for a device.

ANSWER_LIMIT_S = 60.0
"""A disk that has to spin up takes half of that; a device that is suspended, or whose path is gone, takes for ever."""
GLANCE_LIMIT_S = 20.0
"""The same for a listing, which is looked at again anyhow: few disks take longer to spin up."""
CHILD = ask_child.__file__
_START_S = 1.0
"""Seconds for the child beside the limit; answers given by then count even if the child must be killed."""
_A_CHILD = 256
"""Devices that one child asks, each in a thread."""
_CHILDREN = 4


def require_answer(path: str, size_bytes: int, executor: Executor) -> None:
    """Raise unless a device returns its first block and its last, or an error: parts of it may hang.

    size_bytes 0: only the first is asked for. Raises DeviceSilent, ToolMissing, ToolFailed.
    """
    if path not in _answering({path: size_bytes}, executor, ANSWER_LIMIT_S):
        raise DeviceSilent(path, format_guess(ANSWER_LIMIT_S))


def silent_among(sizes: Mapping[str, int], executor: Executor) -> dict[str, Hazard]:
    """Return which of some devices, by path with their bytes, don't answer within GLANCE_LIMIT_S, as hazards.

    They are asked at the same time: one controller that is dead takes all its disks with it. Devices that could not
    be asked are left out: whoever looks at one next is told the same, of that device.
    """
    paths = list(sizes)
    groups = [paths[first : first + _A_CHILD] for first in range(0, len(paths), _A_CHILD)]

    def silent_in(group: list[str]) -> Iterable[str]:
        try:
            return set(group) - _answering({path: sizes[path] for path in group}, executor, GLANCE_LIMIT_S)
        except FsconsoleError:
            return ()

    with ThreadPoolExecutor(_CHILDREN) as threads:
        silent = {path for found in threads.map(silent_in, groups) for path in found}
    waited = format_guess(GLANCE_LIMIT_S)
    return {
        path: Hazard("silent", Verdict.REFUSED, path, "does not answer", DeviceSilent(path, waited).hint)
        for path in paths
        if path in silent
    }


def _answering(sizes: Mapping[str, int], executor: Executor, limit_s: float) -> frozenset[str]:
    """Return the devices that answer within the limit. Raises ToolMissing, ToolFailed."""
    stuck_s = stuck_tasks(ask_child.NAME)
    # One more look at what an earlier one still waits for would wait for ever too.
    asked = [path for path in sizes if stuck_s.get(ask_child.task_name(block_number(path)), 0.0) < limit_s]
    if not asked:
        return frozenset()
    words = (word for path in asked for word in (path, str(sizes[path])))
    command = Command(python_argv("-S", CHILD, str(limit_s), *words), timeout_s=limit_s + _START_S)
    result = executor.run(command)
    if result.exit_code != 0 and not result.timed_out:
        raise ToolFailed(" ".join(result.argv), result.exit_code, result.err.strip() or "no output")
    return frozenset(asked[int(place)] for place in result.out.split())


BLOCK_BYTES = 2 * MIB
"""Bytes of each of hdparm's reads (hdparm.c, TIMING_BUF_MB)."""


@dataclass(frozen=True, slots=True)
class ReadTest:
    """Bytes read and seconds taken; passes counts restarts at the device's beginning."""

    read_bytes: int
    elapsed_s: float
    passes: int

    @property
    def bytes_per_s(self) -> float:
        """Throughput; 0 for a device without a byte."""
        return self.read_bytes / self.elapsed_s if self.elapsed_s > 0 else 0.0


def read_test(device: Device, wanted_s: float) -> ReadTest:
    """Read for so many seconds through the page cache, which is emptied of the device first and before each pass.

    The device is opened for reading only and may be in use; what is dirty on it is written out, as hdparm has
    it. Emptying the cache is not timed. Raises NotRoot, DeviceUnreadable.
    """
    total, place = ReadTest(0, 0.0, 0), 0
    try:
        with opened(device.path) as descriptor, mmap.mmap(-1, BLOCK_BYTES) as buffer:
            while device_size_bytes(descriptor) and total.elapsed_s < wanted_s:
                flush_buffers(descriptor)
                begin_s, place = time.monotonic(), 0
                while time.monotonic() - begin_s < wanted_s - total.elapsed_s:
                    if not (count := os.preadv(descriptor, [buffer], place)):
                        break
                    place += count
                elapsed_s = total.elapsed_s + time.monotonic() - begin_s
                total = ReadTest(total.read_bytes + place, elapsed_s, total.passes + 1)
    except OSError as error:
        # Root may be refused too, by a container's device rules: that is the system's word, not a lack of rights.
        if isinstance(error, PermissionError) and os.geteuid() != 0:
            raise NotRoot(f"Reading {device.path}") from error
        why = error_reason(error)
        raise DeviceUnreadable(device.path, format_bytes(place), why) from error
    return total
