"""Rates of block devices and their lower devices, from /sys/class/block/NAME/stat (Documentation/block/stat.rst)."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

from fsconsole.model.sample import DeviceRates, Role
from fsconsole.system.files import KeptFile, read_text_or
from fsconsole.system.mounts import read_mounts
from fsconsole.telemetry.rates import (
    INT_WIDTH,
    LONG_WIDTH,
    Restarted,
    Unreadable,
    counter_delta,
    is_number,
    share_percent,
)
from fsconsole.text import SECTOR_BYTES

_LEAST_FIELDS = 11
"""Before 2.6.25 a partition had 4, too few for these rates."""
_SECTORS_DISCARDED, _FLUSHES = 13, 15
"""Since 4.18 and 5.5."""
_UNDERFLOW = 2**31
"""Requests in flight above this: a counter below zero, which blk-mq showed for a while (4.x)."""


@dataclass(frozen=True, slots=True)
class DeviceCounters:
    """The first eleven fields, in order, and two later ones; sectors are of 512 bytes, whatever the device's own."""

    reads: int
    reads_merged: int
    sectors_read: int
    reading_ms: int
    writes: int
    writes_merged: int
    sectors_written: int
    writing_ms: int
    in_flight: int
    busy_ms: int
    weighted_ms: int
    sectors_discarded: int | None = None
    flushes: int | None = None
    """Of whole disks; None where the kernel doesn't count."""


@dataclass(frozen=True, slots=True)
class Watched:
    """A sampled device and its role: I/O of an array or loop device counts on its lower devices again."""

    name: str
    role: Role = Role.TARGET
    above: str = ""


def parse_stat(text: str) -> DeviceCounters:
    """Return the counters in a stat file. Raises Unreadable."""
    words = text.split()
    if len(words) < _LEAST_FIELDS or not all(map(is_number, words)):
        raise Unreadable(f"a stat file that begins with {len(words)} fields")
    later = [int(words[field]) if field < len(words) else None for field in (_SECTORS_DISCARDED, _FLUSHES)]
    return DeviceCounters(*map(int, words[:_LEAST_FIELDS]), *later)


def parse_inflight(text: str) -> int:
    """Return the requests in flight, reads and writes together (Documentation/ABI/stable/sysfs-block). Raises Unreadable."""
    words = text.split()
    if len(words) != len(("reads", "writes")) or not all(map(is_number, words)):
        raise Unreadable(f"an inflight file with {len(words)} fields")
    return sum(map(_in_flight, map(int, words)))


def device_rates(
    device: Watched,
    before: DeviceCounters,
    after: DeviceCounters,
    interval_s: float,
    in_flight: int,
) -> DeviceRates:
    """Return a device's rates over the measured interval. Raises Restarted if it is another device now."""

    def count(first: int, last: int) -> int:
        return counter_delta(first, last, LONG_WIDTH)

    def seconds(first_ms: int, last_ms: int) -> float:
        return counter_delta(first_ms, last_ms, INT_WIDTH) / 1000

    reads, writes = count(before.reads, after.reads), count(before.writes, after.writes)
    sectors_read = count(before.sectors_read, after.sectors_read)
    sectors_written = count(before.sectors_written, after.sectors_written)
    waited_s = seconds(before.reading_ms, after.reading_ms) + seconds(before.writing_ms, after.writing_ms)
    return DeviceRates(
        name=device.name,
        read_bytes_s=sectors_read * SECTOR_BYTES / interval_s,
        write_bytes_s=sectors_written * SECTOR_BYTES / interval_s,
        read_iops=reads / interval_s,
        write_iops=writes / interval_s,
        in_flight=_in_flight(in_flight),
        utilisation_percent=share_percent(seconds(before.busy_ms, after.busy_ms), interval_s),
        latency_ms=1000 * waited_s / (reads + writes) if reads + writes else None,
        queue_depth=seconds(before.weighted_ms, after.weighted_ms) / interval_s,
        role=device.role,
        above=device.above,
    )


def _in_flight(requests: int) -> int:
    return 0 if requests >= _UNDERFLOW else requests


@dataclass(frozen=True, slots=True)
class _Reading:
    monotonic_ns: int
    diskseq: bytes
    counters: DeviceCounters


class DeviceGauge:
    """A block device's rates since the previous reading; directory is /sys/class/block.

    Opens its files at the first reading; a device that is gone is looked for again at each.
    """

    def __init__(self, device: Watched, directory: str) -> None:
        self.device = device
        self.is_gone = False
        self._folder = os.path.join(directory, device.name)
        self._open = ExitStack()
        self._files: dict[str, KeptFile] = {}
        """By name, those that the kernel has."""
        self._before: _Reading | None = None

    def read(self) -> DeviceRates | None:
        """Return its rates; None the first time. Raises OSError (gone), Unreadable, Restarted."""
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
        """Close the files."""
        self._open.close()
        self._files, self._before = {}, None

    def _read(self) -> tuple[_Reading, int]:
        files = self._files or self._opened()
        now_ns, counters = time.monotonic_ns(), parse_stat(files["stat"].text())
        diskseq = files["diskseq"].read() if "diskseq" in files else b""
        is_known = self._before is not None and diskseq and diskseq == self._before.diskseq
        if not is_known and files["size"].read().strip() == b"0":
            # A detached loop device or a stopped array keeps its name, its directory and its counters.
            raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))
        is_unchanged = self._before is None or counters == self._before.counters
        # Unchanged counters are no idle disk if statistics are disabled (Documentation/block/queue-sysfs.rst).
        if is_unchanged and "iostats" in files and files["iostats"].read().strip() == b"0":
            raise Unreadable("I/O statistics are disabled: queue/iostats is 0")
        in_flight = parse_inflight(files["inflight"].text()) if "inflight" in files else counters.in_flight
        return _Reading(now_ns, diskseq, counters), in_flight

    def _opened(self) -> dict[str, KeptFile]:
        folder = os.path.realpath(self._folder)
        disk = os.path.dirname(folder) if os.path.exists(f"{folder}/partition") else folder
        optional = {
            "inflight": f"{folder}/inflight",
            # Increases with each new device of a name, since 5.15 (Documentation/ABI/stable/sysfs-block).
            "diskseq": f"{disk}/diskseq",
            "iostats": f"{disk}/queue/iostats",
        }
        paths = {name: path for name, path in optional.items() if os.path.exists(path)}
        paths |= {"stat": f"{folder}/stat", "size": f"{folder}/size"}
        with ExitStack() as undo:
            self._files = {name: undo.enter_context(KeptFile(path)) for name, path in paths.items()}
            self._open = undo.pop_all()
        return self._files


SYS = "/sys"


def watched_tree(name: str, sys: str = SYS) -> tuple[Watched, ...]:
    """Return a target and its lower devices, each once, right below its first upper device."""
    found: dict[str, Watched] = {}
    waiting = [Watched(name)]
    while waiting:
        device = waiting.pop(0)
        if device.name not in found:
            found[device.name] = device
            waiting[:0] = lower_devices(device.name, sys)
    return tuple(found.values())


def lower_devices(name: str, sys: str = SYS) -> Iterator[Watched]:
    """Yield the members of an array or a dm device, or the disk below a loop device."""
    folder = f"{sys}/class/block/{name}"
    yield from (Watched(member, Role.MEMBER, name) for member in sorted(names_in(f"{folder}/slaves")))
    backing_file = read_text_or(f"{folder}/loop/backing_file", "")
    below = _disk_of_file(backing_file, sys) if backing_file else ""
    if below:
        yield Watched(below, Role.BELOW, name)


def _disk_of_file(path: str, sys: str) -> str:
    """Return the whole disk of a file or device; empty if unknown."""
    try:
        seen = os.stat(path)
    except (OSError, ValueError):
        return ""
    number = seen.st_rdev or seen.st_dev
    if os.major(number):
        return disk_name(block_name(number, sys), sys)
    # A filesystem with an anonymous device number: the mount table names the device of a btrfs.
    holders = [entry for entry in read_mounts() if is_below(path, entry.mount_point)]
    nearest = max(holders, key=lambda entry: len(entry.mount_point), default=None)
    if nearest is None or nearest.filesystem != "btrfs":
        return ""
    return disk_name(os.path.basename(os.path.realpath(nearest.source)), sys)


def is_on_btrfs(name: str, sys: str = SYS) -> bool:
    """Return whether a loop device's file is on a filesystem with an anonymous device number, here: btrfs."""
    try:
        return os.major(os.stat(read_text_or(f"{sys}/class/block/{name}/loop/backing_file", "")).st_dev) == 0
    except OSError:
        return False


def is_below(path: str, folder: str) -> bool:
    """Return whether a path is in a directory or below it."""
    return folder in {"/", path} or path.startswith(folder + "/")


def block_name(number: int, sys: str = SYS) -> str:
    """Return the kernel's name of the block device of a number; empty where there is none."""
    link = f"{sys}/dev/block/{os.major(number)}:{os.minor(number)}"
    return os.path.basename(os.path.realpath(link)) if os.path.exists(link) else ""


def disk_name(name: str, sys: str = SYS) -> str:
    """Return the whole disk of a partition, and any other device's own name; empty where there is none."""
    folder = os.path.realpath(f"{sys}/class/block/{name}")
    if not name or not os.path.isdir(folder):
        return ""
    return os.path.basename(os.path.dirname(folder)) if os.path.exists(f"{folder}/partition") else name


_ENDED = (0, 2, 4, 6, 11, 13, 15)
"""Reads, sectors read, writes, sectors written, discards, sectors discarded, flushes (Documentation/block/stat.rst).
The time fields advance while a request only waits."""


def ended_io(names: tuple[str, ...], sys: str = SYS) -> tuple[tuple[str, ...], ...]:
    """Return counters of completed I/O of block devices; unchanged counters mean that no I/O completed.

    Shared lower devices are left out, since others' I/O would look like progress: the disk below a loop device's file,
    and the disk of a volume group with other volumes on it. A device that is gone has no counters.
    """
    trees = [watched for name in names for watched in watched_tree(name, sys)]
    asked = {one.name for one in trees if one.role is Role.TARGET}
    members = {one.name for one in trees if one.role is Role.MEMBER} - asked
    # A lower device of a shared one is shared as well.
    while shared := {name for name in members if not names_in(f"{sys}/class/block/{name}/holders") <= asked | members}:
        members -= shared
    ours = [one.name for one in trees if one.name in asked | members]
    stats = [read_text_or(f"{sys}/class/block/{name}/stat", "").split() for name in ours]
    return tuple(tuple(words[number] for number in _ENDED if number < len(words)) for words in stats)


def names_in(folder: str) -> set[str]:
    """Return md and dm devices below a device (slaves) or on it (holders: Documentation/ABI/testing/sysfs-block)."""
    try:
        return set(os.listdir(folder))
    except OSError:
        return set()
