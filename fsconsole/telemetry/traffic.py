"""I/O of devices between two readings of their counters, and the part of it that other programs caused."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace

from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.model.sample import Role
from fsconsole.system.files import read_text, read_text_or
from fsconsole.telemetry.block import (
    SYS,
    DeviceCounters,
    disk_name,
    is_on_btrfs,
    lower_devices,
    names_in,
    parse_stat,
    watched_tree,
)
from fsconsole.telemetry.rates import LONG_WIDTH, Restarted, Unreadable, counter_delta
from fsconsole.text import KIB, SECTOR_BYTES

Counted = Mapping[str, DeviceCounters]
"""By the kernel's name of a device; one that is gone, or whose I/O is not counted (queue/iostats), is absent."""


def read_counted(names: Iterable[str], sys: str = SYS) -> Counted:
    """Return the counters of devices now."""
    found = {}
    for name in names:
        folder = f"{sys}/class/block/{name}"
        if read_text_or(f"{sys}/class/block/{disk_name(name, sys)}/queue/iostats", "1") != "0":
            with suppress(OSError, Unreadable):
                found[name] = parse_stat(read_text(f"{folder}/stat"))
    return found


@dataclass(frozen=True, slots=True)
class Traffic:
    """A device's I/O between two readings; None where the kernel doesn't count it."""

    reads: int
    read_bytes: int
    writes: int
    written_bytes: int
    discarded_bytes: int | None
    flushes: int | None

    @property
    def moved_bytes(self) -> int:
        """Bytes read and written."""
        return self.read_bytes + self.written_bytes


def traffic(before: Counted, after: Counted, name: str) -> Traffic | None:
    """Return a device's I/O; None where it was not counted at both readings, or is another device now."""
    if name not in before or name not in after:
        return None
    first, last = before[name], after[name]

    def optional(earlier: int | None, later: int | None, factor: int = 1) -> int | None:
        return None if earlier is None or later is None else counter_delta(earlier, later, LONG_WIDTH) * factor

    try:
        return Traffic(
            counter_delta(first.reads, last.reads, LONG_WIDTH),
            counter_delta(first.sectors_read, last.sectors_read, LONG_WIDTH) * SECTOR_BYTES,
            counter_delta(first.writes, last.writes, LONG_WIDTH),
            counter_delta(first.sectors_written, last.sectors_written, LONG_WIDTH) * SECTOR_BYTES,
            optional(first.sectors_discarded, last.sectors_discarded, SECTOR_BYTES),
            optional(first.flushes, last.flushes),
        )
    except Restarted:
        return None


def added(parts: Sequence[Traffic]) -> Traffic:
    """Return the I/O of several devices together."""

    def total(counts: Iterable[int | None]) -> int | None:
        known = tuple(counts)
        return None if None in known else sum(filter(None, known))

    return Traffic(
        sum(one.reads for one in parts),
        sum(one.read_bytes for one in parts),
        sum(one.writes for one in parts),
        sum(one.written_bytes for one in parts),
        total(one.discarded_bytes for one in parts),
        total(one.flushes for one in parts),
    )


def linear_members(name: str, sys: str = SYS) -> tuple[str, ...]:
    """Return the members of a linear array, whose I/O is all theirs; none for any other device.

    Since Linux 5.14 the kernel counts none of it on the array itself (drivers/md/md-linear.c).
    """
    folder = f"{sys}/class/block/{name}"
    is_linear = read_text_or(f"{folder}/md/level", "") == "linear"
    return tuple(sorted(names_in(f"{folder}/slaves"))) if is_linear else ()


def device_measurements(moved: Traffic, written_bytes: int = 0) -> tuple[Measurement, ...]:
    """Return a step's figures; written_bytes is what a load handed to the kernel, 0 for steps that are no load."""
    figures = [
        Measurement(Metric.DEVICE_READ, moved.read_bytes),
        Measurement(Metric.DEVICE_WRITTEN, moved.written_bytes),
        Measurement(Metric.DEVICE_READS, moved.reads),
        Measurement(Metric.DEVICE_WRITES, moved.writes),
    ]
    if moved.discarded_bytes is not None:
        figures.append(Measurement(Metric.DEVICE_DISCARDED, moved.discarded_bytes))
    if moved.flushes is not None:
        figures.append(Measurement(Metric.DEVICE_FLUSHES, moved.flushes))
    if written_bytes:
        figures.append(Measurement(Metric.WRITE_AMPLIFICATION, moved.written_bytes / written_bytes))
    return tuple(figures)


@dataclass(frozen=True, slots=True)
class SharedDisk:
    """A device that others can use during a cell; foreign I/O is its I/O minus that of the cell's own devices on it."""

    name: str
    own: tuple[str, ...] = ()
    is_below: bool = False
    """True: it holds the file of one of the run's loop devices, and the filesystem around that file adds I/O of its own.
    False: the run's devices are partitions of it, or none is on it; all remaining I/O is foreign."""


def shared_disks(targets: Iterable[str], sys: str = SYS) -> tuple[SharedDisk, ...]:
    """Return the disks on which foreign I/O can be measured; targets are kernel names of the target or its members.

    A disk with the target's partition; another volume on a volume group's disk; the disk below a loop device with
    direct I/O (without, its writes may come later than the loop device's). Not measured: md's I/O on its members, and
    btrfs below a loop device (with synced files it wrote 6 times the bytes, and read half of them).
    """
    tree = {device.name for target in targets for device in watched_tree(target, sys)}
    partitions, files = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    volumes = set[str]()
    for name in tree:
        disk = disk_name(name, sys)
        if disk != name:
            partitions[disk].add(name)
        is_direct = read_text_or(f"{sys}/class/block/{name}/loop/dio", "") == "1"
        for lower in lower_devices(name, sys):
            if lower.role is Role.BELOW and is_direct and not is_on_btrfs(name, sys):
                files[lower.name].add(name)
            if lower.role is Role.MEMBER:
                holders = names_in(f"{sys}/class/block/{lower.name}/holders") - tree
                # One that lies on several disks may be busy on another.
                volumes |= {holder for holder in holders if len(names_in(f"{sys}/class/block/{holder}/slaves")) == 1}
    return (
        *(SharedDisk(disk, tuple(sorted(own))) for disk, own in sorted(partitions.items())),
        *(SharedDisk(volume) for volume in sorted(volumes)),
        *(SharedDisk(disk, tuple(sorted(own)), is_below=True) for disk, own in sorted(files.items())),
    )


_BELOW_PER_WRITE = 16 * KIB
"""Bytes that ext4 and xfs write beside one write to a file: mostly journal. Measured: 4.2 and 0.1 KiB with 3000 synced files of
8 KiB, 1.9 and 0 with random writes of 4 KiB, into blocks that had been zeroed with ZERO_RANGE."""


@dataclass(frozen=True, slots=True)
class ForeignIo:
    """I/O of others on one disk."""

    disk: str
    read_bytes: int
    written_bytes: int
    requests: int
    """0 below a loop device, whose requests the kernel splits and merges: only bytes can be compared."""
    own_bytes: int
    own_requests: int

    @property
    def moved_bytes(self) -> int:
        """Bytes read and written."""
        return self.read_bytes + self.written_bytes


def foreign_io(before: Counted, after: Counted, disks: Iterable[SharedDisk]) -> tuple[ForeignIo, ...]:
    """Return the foreign I/O on each disk whose counters are complete."""
    found = []
    for disk in disks:
        own = [traffic(before, after, name) for name in disk.own]
        whole = traffic(before, after, disk.name)
        counted = [one for one in own if one is not None]
        if whole is None or len(counted) < len(own):
            continue
        requests = sum(one.reads + one.writes for one in counted)
        written = whole.written_bytes - sum(one.written_bytes for one in counted)
        if disk.is_below:
            written -= _BELOW_PER_WRITE * sum(one.writes for one in counted)
        found.append(
            ForeignIo(
                disk.name,
                max(0, whole.read_bytes - sum(one.read_bytes for one in counted)),
                max(0, written),
                0 if disk.is_below else max(0, whole.reads + whole.writes - requests),
                sum(one.moved_bytes for one in counted),
                requests,
            )
        )
    return tuple(found)


class TrafficWindow:
    """I/O of a target, and foreign I/O on its disks, since this object was created; target is a kernel name."""

    def __init__(self, target: str, sys: str = SYS) -> None:
        self._target, self._disk, self._sys = target, disk_name(target, sys), sys
        self._shared, self._members = shared_disks((target,), sys), linear_members(target, sys)
        own = (name for disk in self._shared for name in (disk.name, *disk.own))
        self._names = tuple(dict.fromkeys((target, self._disk, *self._members, *own)))
        self._before = self._after = read_counted(self._names, sys)

    def close(self) -> None:
        """Read the counters for the last time: the window ends here."""
        self._after = read_counted(self._names, self._sys)

    def bytes_read_so_far(self) -> int | None:
        """Return what the target has read until now; None where it is not counted. The window stays open."""
        found = self._moved_until(read_counted((self._target, *self._members), self._sys))
        return None if found is None else found.read_bytes

    def following(self) -> TrafficWindow:
        """Return a window that starts where this one was closed."""
        window = copy(self)
        window._before = self._after
        return window

    def of_target(self) -> Traffic | None:
        """Return the target's I/O, with the flushes of its disk; None where it is not counted.

        A flush empties the whole disk's cache, and is counted for that (block/blk-flush.c).
        """
        found = self._moved_until(self._after)
        disk = traffic(self._before, self._after, self._disk)
        # Devices without requests of their own (md, dm) pass flushes on and count none.
        is_counted = disk is not None and os.path.isdir(f"{self._sys}/class/block/{self._disk}/mq")
        return found and replace(found, flushes=disk.flushes if disk is not None and is_counted else None)

    def _moved_until(self, after: Counted) -> Traffic | None:
        """Return the target's I/O; of a linear array whose kernel counts none of it that of its members."""
        found = traffic(self._before, after, self._target)
        if found is None or found.reads or found.writes or not self._members:
            return found
        members = [traffic(self._before, after, name) for name in self._members]
        counted = [one for one in members if one is not None]
        return added(counted) if len(counted) == len(members) else None

    def foreign(self) -> tuple[ForeignIo, ...]:
        """Return the foreign I/O on each disk where it can be measured."""
        return foreign_io(self._before, self._after, self._shared)
