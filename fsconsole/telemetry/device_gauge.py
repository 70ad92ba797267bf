"""The gauge of one block device, which may vanish, come back, or be another one by the same name."""

from __future__ import annotations

import errno
import os
import time
from contextlib import ExitStack
from dataclasses import dataclass

from fsconsole.model.sample import DeviceRates
from fsconsole.system.text import KeptFile
from fsconsole.telemetry.blockstat import DeviceCounters, Watched, device_rates, parse_inflight, parse_stat
from fsconsole.telemetry.rates import Restarted, Unreadable


@dataclass(frozen=True, slots=True)
class _Files:
    """The kernel's files of a device; those that a kernel lacks are None."""

    stat: KeptFile
    inflight: KeptFile | None
    size: KeptFile
    diskseq: KeptFile | None
    """Grows with each new content of a name, since 5.15 (Documentation/ABI/stable/sysfs-block)."""
    iostats: KeptFile | None
    """0 where nothing of a disk is counted (Documentation/block/queue-sysfs.rst)."""


@dataclass(frozen=True, slots=True)
class _Reading:
    monotonic_ns: int
    diskseq: bytes
    counters: DeviceCounters


class DeviceGauge:
    """A block device's rates since the reading before; directory is /sys/class/block.

    Nothing is opened before the first reading. A device that is gone is looked for again at each.
    """

    def __init__(self, device: Watched, directory: str) -> None:
        self.device = device
        self.is_gone = False
        self._folder = os.path.join(directory, device.name)
        self._open = ExitStack()
        self._files: _Files | None = None
        self._before: _Reading | None = None

    def read(self) -> DeviceRates | None:
        """Return its rates; None the first time. Raises OSError (it is gone), Unreadable, Restarted."""
        try:
            now, in_flight = self._read()
        except OSError:
            self.is_gone = True
            self.close()
            raise
        self.is_gone = False
        before, self._before = self._before, now
        if before is None:
            return None
        if before.diskseq != now.diskseq:
            raise Restarted(f"{self.device.name} is another device than before")
        interval_s = (now.monotonic_ns - before.monotonic_ns) / 1e9
        return device_rates(self.device, before.counters, now.counters, interval_s, in_flight)

    def close(self) -> None:
        """Give the files back."""
        self._open.close()
        self._files = self._before = None

    def _read(self) -> tuple[_Reading, int]:
        files = self._files or self._opened()
        now_ns, counters = time.monotonic_ns(), parse_stat(_text(files.stat))
        diskseq = b"" if files.diskseq is None else files.diskseq.read()
        is_known = self._before is not None and diskseq and diskseq == self._before.diskseq
        if not is_known and files.size.read().strip() == b"0":
            # A loop device without a file, or a stopped array, keeps its name, its folder and its counters.
            raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))
        if self._before is None or counters == self._before.counters:
            _require_counted(files.iostats)
        in_flight = counters.in_flight if files.inflight is None else parse_inflight(_text(files.inflight))
        return _Reading(now_ns, diskseq, counters), in_flight

    def _opened(self) -> _Files:
        folder = os.path.realpath(self._folder)
        is_partition = os.path.exists(f"{folder}/partition")
        disk = os.path.dirname(folder) if is_partition else folder
        with ExitStack() as undo:
            files = _Files(
                stat=undo.enter_context(KeptFile(f"{folder}/stat")),
                inflight=_kept(f"{folder}/inflight", undo),
                size=undo.enter_context(KeptFile(f"{folder}/size")),
                diskseq=_kept(f"{disk}/diskseq", undo),
                iostats=_kept(f"{disk}/queue/iostats", undo),
            )
            self._open = undo.pop_all()
        self._files = files
        return files


def _require_counted(iostats: KeptFile | None) -> None:
    """Raise Unreadable where counters stand still because nobody keeps them: that is no idle disk."""
    if iostats is not None and iostats.read().strip() == b"0":
        raise Unreadable("its I/O is not counted: queue/iostats is 0")


def _kept(path: str, stack: ExitStack) -> KeptFile | None:
    return stack.enter_context(KeptFile(path)) if os.path.exists(path) else None


def _text(file: KeptFile) -> str:
    return file.read().decode("ascii", errors="replace")
