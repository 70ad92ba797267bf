"""Files of the crash test: blocks stamped with file, offset and generation, and their comparison after the recovery."""

from __future__ import annotations

import os
import struct
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from hashlib import shake_128
from zlib import crc32

from fsconsole.model.load import SlotWord, ThreadCounters, slot_word
from fsconsole.model.workload import Directories, Workload
from fsconsole.system.files import opened
from fsconsole.workloads.ops import FILE_MODE, NEW_FILE, READ_FLAGS, STOP, Means
from fsconsole.workloads.tree import namer

BLOCK_BYTES = 4096
ORIGIN_BYTES = 16
_WHERE = struct.Struct(f"={ORIGIN_BYTES}s2QI")
"""The load's random origin, the file's number, the offset in it, the generation."""
_CHECKSUM = struct.Struct("=I")
_BODY = _WHERE.size + _CHECKSUM.size


class Wrong(str, Enum):
    """Defect of a file, or of its first wrong block."""

    MISSING = "missing"
    CUT = "cut"
    ZEROS = "zeros"
    OLD = "old content"
    TORN = "torn block"
    FOREIGN = "foreign content"
    UNREADABLE = "unreadable"


def stamped(origin: bytes, number: int, offset: int, generation: int) -> bytes:
    """Return a stamped block; its body is incompressible and derived from the whole stamp."""
    where = _WHERE.pack(origin, number, offset, generation)
    body = shake_128(where).digest(BLOCK_BYTES - _BODY)
    return where + _CHECKSUM.pack(crc32(body, crc32(where))) + body


def generation_of(block: bytes, origin: bytes, number: int, offset: int) -> int | Wrong:
    """Return the generation of a whole block of this file and offset, else what is wrong with it."""
    if not any(block):
        return Wrong.ZEROS
    if len(block) < BLOCK_BYTES:
        return Wrong.CUT
    *address, generation = _WHERE.unpack_from(block)
    if address != [origin, number, offset]:
        return Wrong.FOREIGN
    (checksum,) = _CHECKSUM.unpack_from(block, _WHERE.size)
    return generation if crc32(block[_BODY:], crc32(block[: _WHERE.size])) == checksum else Wrong.TORN


@dataclass(frozen=True, slots=True)
class StampedWrite:
    """A file written whole: new (generation 1), or over its first content (2)."""

    number: int
    generation: int
    is_synced: bool


_REWRITES_EVERY = 8


def acts_of(workload: Workload, thread: int) -> Iterator[StampedWrite]:
    """Yield a writer's acts in order. The order is fixed, so that a count of syncs identifies the synced files.

    Every other file is synced; after every eighth the first of these, synced before, is overwritten and synced again.
    """
    numbers = range(thread, workload.files, workload.threads)
    for place, number in enumerate(numbers):
        yield StampedWrite(number, 1, is_synced=place % 2 == 0)
        if place % _REWRITES_EVERY == _REWRITES_EVERY - 1:
            yield StampedWrite(numbers[place - _REWRITES_EVERY + 1], 2, is_synced=True)


def syncs_of(workload: Workload) -> int:
    """Return how many syncs a load has, over all its writers."""
    return sum(act.is_synced for thread in range(workload.threads) for act in acts_of(workload, thread))


def write_acts(means: Means, origin: bytes, directory_fd: int) -> bool:
    """Do all of a writer's acts in its open directory; False if a stop ended them. Raises OSError.

    A sync counts (SlotWord.OPERATIONS) when the fsync of the file has returned, and, of a new one, that of its directory,
    without which its name may be lost (man 2 fsync).
    """
    words, workload, name_of = means.words, means.workload, namer(Directories(), threads=1)
    files_word = slot_word(means.thread, SlotWord.FILES_DONE)
    for act in acts_of(workload, means.thread):
        if words[STOP]:
            return False
        is_new = act.generation == 1
        with opened(name_of(act.number), NEW_FILE if is_new else os.O_WRONLY, FILE_MODE, dir_fd=directory_fd) as fd:
            for offset in range(0, workload.file_size_bytes, BLOCK_BYTES):
                words[means.bytes_word] += os.write(fd, stamped(origin, act.number, offset, act.generation))
            if act.is_synced:
                os.fsync(fd)
                if is_new:
                    os.fsync(directory_fd)
                words[means.operations_word] += 1
        words[files_word] += 1
    return True


@dataclass(frozen=True, slots=True)
class Struck:
    """A load that was shut down: the origin of its blocks, and its writers' counters.

    Only syncs counted right before the shutdown are proof. Later ones are not: a shutdown unpins the inodes
    of xfs, and an fsync that waits returns without an error and without a written log (measured: one file in 8 strikes;
    fs/xfs/xfs_file.c, xfs_fsync_flush_log); below dm-flakey all later ones succeed. After a power cut nobody is told so.
    """

    origin: bytes
    directory: str
    workload: Workload
    before: tuple[ThreadCounters, ...]
    ends: tuple[ThreadCounters, ...]
    """At the end of the writers: bounds what they may have started."""


@dataclass(frozen=True, slots=True)
class Found:
    """Counts of files after a recovery, and each lost synced file with its defect."""

    synced: int = 0
    lost: tuple[tuple[str, Wrong], ...] = ()
    unsynced: int = 0
    whole: int = 0
    part: int = 0
    """Unsynced ones that are there with other content than was written."""

    def __add__(self, other: Found) -> Found:
        """Return the counts of both."""
        return Found(
            self.synced + other.synced,
            self.lost + other.lost,
            self.unsynced + other.unsynced,
            self.whole + other.whole,
            self.part + other.part,
        )

    @property
    def words(self) -> str:
        """The counts as text."""
        by_kind = Counter(why.value for _, why in self.lost)
        first = f", the first: {self.lost[0][0]}" if self.lost else ""
        kinds = ", ".join(f"{count} {kind}" for kind, count in by_kind.most_common())
        lost = f"{len(self.lost)} lost ({kinds}{first})" if self.lost else "none lost"
        part = f", {self.part} in part" if self.part else ""
        return f"of {self.synced} synced files {lost}; of {self.unsynced} unsynced files {self.whole} survived{part}"


def find(struck: Struck, tree_fd: int, stop: Callable[[], bool]) -> Found:
    """Compare all files of a load with what its writers did; stop is polled before each file, and ends it early."""
    found, load = Found(), struck.workload
    name_of = namer(load.directories, threads=load.threads)
    for thread, (before, end) in enumerate(zip(struck.before, struck.ends, strict=True)):
        acts = list(acts_of(load, thread))
        # The act after the last whole one may have begun.
        newest = {act.number: act.generation for act in acts[: end.files_done + 1]}
        synced = [act for act in acts if act.is_synced][: before.operations]
        sure = {act.number: act.generation for act in synced}
        written = {act.number for act in acts[: before.files_done] if not act.is_synced}
        for number, generation in newest.items():
            if stop():
                return found
            if number not in sure and number not in written:
                continue
            name = f"{struck.directory}/{name_of(number)}"
            wrong = _compared(struck, tree_fd, name, number, range(sure.get(number, 1), generation + 1))
            if number not in sure:
                is_in_part = wrong not in (None, Wrong.MISSING)
                found += Found(unsynced=1, whole=wrong is None, part=is_in_part)
            # Of an overwrite that was under way a block may be half old, half new.
            elif wrong is None or (wrong is Wrong.TORN and sure[number] < generation):
                found += Found(synced=1)
            else:
                found += Found(synced=1, lost=((name, wrong),))
    return found


def _compared(struck: Struck, tree_fd: int, name: str, number: int, generations: Sequence[int]) -> Wrong | None:
    """Return the first defect of a file whose blocks may be of these generations; None if it has none."""
    size = struck.workload.file_size_bytes
    try:
        with opened(name, READ_FLAGS, dir_fd=tree_fd) as fd:
            data = os.read(fd, size + 1)
    except FileNotFoundError:
        return Wrong.MISSING
    except OSError:
        return Wrong.UNREADABLE
    for offset in range(0, size, BLOCK_BYTES):
        seen = generation_of(data[offset : offset + BLOCK_BYTES], struck.origin, number, offset)
        if isinstance(seen, Wrong):
            return Wrong.CUT if offset >= len(data) else seen
        if seen not in generations:
            return Wrong.OLD if seen < generations[0] else Wrong.FOREIGN
    return None if len(data) == size else Wrong.CUT
