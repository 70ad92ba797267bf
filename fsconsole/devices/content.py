"""Reads what is on a device: signatures, and sampled blocks, since no signature is not empty."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import mmap
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated

import msgspec

from fsconsole.errors import FsconsoleError
from fsconsole.errors.runs import ToolFailed
from fsconsole.errors.targets import DeviceSilent
from fsconsole.model.command import Command, Executor
from fsconsole.model.device import ContentSample, Signature, Usage
from fsconsole.model.wire import from_plain
from fsconsole.system.files import opened
from fsconsole.text import MIB, TIB, decode
from fsconsole.units import format_guess

BLOCK_BYTES = 4096
SPREAD_BLOCKS = 64
ENDS_MIB = 16
"""Partition tables, labels and superblocks lie here, and most writes by hand start here."""
_COPIES_MIB = (32, 64, 128, 256 * 1024)
"""Offsets at which ext (with blocks of 2 and 4 KiB) and btrfs keep the next copies of a superblock that may have been wiped."""
_XFS_GROUPS = (2, 4, 8, 16, 32)
"""Numbers of allocation groups that mkfs.xfs chooses (xfsprogs, libxfs/topology.c). Each group begins with a superblock."""
_XFS_LARGEST_GROUP_BYTES = TIB - BLOCK_BYTES
"""A group has at most 2^28 - 1 blocks (XFS_AG_MAX_BLOCKS)."""
_OF_THREAD = threading.local()
_END_BYTES = 2**20
_ZEROS = bytes(_END_BYTES)
"""Offsets of signatures: within the first and the last MiB, but for copies (ZFS labels, md 0.90 and 1.0, GPT)."""


def sample_offsets(size_bytes: int) -> tuple[int, ...]:
    """Return the byte offsets of the sampled blocks of BLOCK_BYTES, ascending.

    64 blocks are spread evenly; one lies in each MiB of the first and last 16 MiB, and one at each place where ext,
    btrfs and xfs keep the next copies of a superblock.
    A device of at most 64 blocks is sampled whole. The last block ends with the device; its offset is a multiple of
    the logical sector, the others are multiples of 4 KiB.
    """
    last = max(size_bytes - BLOCK_BYTES, 0)
    if size_bytes <= SPREAD_BLOCKS * BLOCK_BYTES:
        return (*range(0, last, BLOCK_BYTES), last)
    steps = SPREAD_BLOCKS - 1
    spread = (last * step // steps // BLOCK_BYTES * BLOCK_BYTES for step in range(steps))
    copies = (at for at in (*(at * MIB for at in _COPIES_MIB), *_xfs_copies(size_bytes)) if at < last)
    start = range(0, min(ENDS_MIB * MIB, last), MIB)
    end = (at // BLOCK_BYTES * BLOCK_BYTES for at in range(max(size_bytes - ENDS_MIB * MIB, 0), last, MIB))
    return tuple(sorted({*spread, *copies, *start, *end, last}))


def _xfs_copies(size_bytes: int) -> Iterator[int]:
    """Yield where xfs may keep the first copies of its superblock: at the start of its groups, rounded up to a block."""
    if size_bytes <= 2 * ENDS_MIB * MIB:
        return
    blocks = size_bytes // BLOCK_BYTES
    yield from (-(-blocks // groups) * BLOCK_BYTES for groups in _XFS_GROUPS)
    # Four groups are the rule, and the last two copies may be all that is left.
    yield from (-(-blocks // 4) * BLOCK_BYTES * group for group in (2, 3))
    yield _XFS_LARGEST_GROUP_BYTES


def sample_content(path: str, size_bytes: int) -> ContentSample:
    """Read the sampled blocks and the first and last MiB, past the page cache where the device allows.

    Raises OSError, also where a block can't be read whole.
    """
    digest, read, nonzero = hashlib.sha256(), 0, 0
    # Formats keep metadata anywhere in the first and last MiB, also after a signature was wiped.
    ends = (0, max(size_bytes - _END_BYTES, 0))
    parts = [(sample_offsets(size_bytes), BLOCK_BYTES), (ends, _END_BYTES)]
    for offsets, length in ((offsets, min(length, size_bytes)) for offsets, length in parts):
        for block in _read_past_cache(path, offsets, length):
            digest.update(block)
            read, nonzero = read + 1, nonzero + (block != _ZEROS[:length])
    return ContentSample(read, nonzero, digest.hexdigest())


def read_start(path: str, size_bytes: int, length: int) -> bytes:
    """Return the first bytes of a device past the page cache; a smaller one's are filled up with zeros. Raises OSError."""
    # Past the cache only whole sectors can be read.
    read = min(-(-length // BLOCK_BYTES) * BLOCK_BYTES, size_bytes)
    return b"".join(map(bytes, _read_past_cache(path, [0], read))).ljust(length, b"\0")[:length]


def read_ends(path: str, size_bytes: int) -> None:
    """Read both ends past the page cache, where signatures lie: what a probe can't read, it takes for none.

    Raises OSError.
    """
    length = min(_END_BYTES, size_bytes)
    for _ in _read_past_cache(path, sorted({0, size_bytes - length}), length):
        pass


def _read_past_cache(path: str, offsets: Iterable[int], length: int) -> Iterator[memoryview]:
    """Yield length bytes from each offset; each is good until the next one is asked for. Raises OSError.

    Clean cached pages are dropped, which the probe would be given in the device's place. BLKFLSBUF would drop more, but
    it used to empty a RAM disk (drivers/block/brd.c).
    """
    # New memory for each device would cost as much as the reading.
    if not hasattr(_OF_THREAD, "room"):
        _OF_THREAD.room = mmap.mmap(-1, _END_BYTES)
    with memoryview(_OF_THREAD.room) as room, opened(path) as fd:
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        try:
            fcntl.fcntl(fd, fcntl.F_SETFL, os.O_DIRECT)
            os.preadv(fd, [room[:BLOCK_BYTES]], 0)
        except OSError as error:
            # A device with larger sectors refuses that.
            if error.errno != errno.EINVAL:
                raise
            fcntl.fcntl(fd, fcntl.F_SETFL, 0)
        for offset in offsets:
            done = 0
            while done < length:
                # A read that meets a bad block in the middle is short; the next one is the error.
                got = os.preadv(fd, [room[done:length]], offset + done)
                if not got:
                    told = f"only {done} of {length} bytes could be read at {offset}"
                    raise OSError(errno.EIO, f"{os.strerror(errno.EIO)}: {told}")
                done += got
            yield room[:length]


# Signatures, by a fresh low-level probe.

_PROBE = ("wipefs", "--no-act", "--json", "--output", "DEVICE,OFFSET,TYPE,USAGE,UUID,LABEL,LENGTH")
_TIMEOUT_S = 60.0
_USAGES = {usage.value: usage for usage in Usage}
_AT_ONCE = 8
"""Probes side by side, and most devices for which each is a child of its own."""


class _WipefsLine(msgspec.Struct):
    """A line of wipefs; newer versions print offsets as numbers."""

    type: Annotated[str, msgspec.Meta(min_length=1)]
    offset: str | int
    device: str | None = None
    usage: str | None = None
    uuid: str | None = None
    label: str | None = None


class _Answer(msgspec.Struct):
    signatures: tuple[_WipefsLine, ...]


Found = tuple[Signature, ...] | FsconsoleError
"""The signatures of a device, or why they can't be told."""


def probe_all(executor: Executor, paths: Sequence[str]) -> dict[str, Found]:
    """Return every magic string that libblkid finds on each device, valid or damaged (man 8 wipefs), or its error.

    Reads only, some devices a child, the children side by side. The errors are DeviceSilent, ToolMissing, and
    ToolFailed where a device can't be read or the answer is not understood.
    """
    step = -(-len(paths) // _AT_ONCE)
    groups = [tuple(paths[first : first + step]) for first in range(0, len(paths), step or 1)]

    def probe(group: tuple[str, ...]) -> dict[str, Found]:
        try:
            return dict(_probe(executor, group))
        except FsconsoleError as error:
            if len(group) == 1:
                return {group[0]: error}
            # wipefs ends at the first device that it can't read: each alone tells which.
            return {path: found for path in group for path, found in probe((path,)).items()}

    if len(groups) < 2:
        return {path: found for group in groups for path, found in probe(group).items()}
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        return {path: found for probed in threads.map(probe, groups) for path, found in probed.items()}


def _probe(executor: Executor, paths: tuple[str, ...]) -> dict[str, tuple[Signature, ...]]:
    result = executor.run(Command((*_PROBE, *paths), timeout_s=_TIMEOUT_S))
    command = " ".join(result.argv)
    if result.timed_out:
        raise DeviceSilent(paths[0], format_guess(_TIMEOUT_S))
    if result.exit_code != 0:
        raise ToolFailed(command, result.exit_code, result.err.strip() or "no output")
    try:
        return parse_wipefs(result.stdout, paths)
    except ValueError as error:
        raise ToolFailed(command, result.exit_code, f"its answer is not understood: {error}") from error


def parse_wipefs(answer: bytes, paths: Sequence[str]) -> dict[str, tuple[Signature, ...]]:
    r"""Return each device's signatures in `wipefs --json` output; nothing at all, as of old versions, means none.

    It names devices without their folder; of one device that was asked for alone the name is not looked at. Labels are
    the disk's own bytes, copied into the JSON as they are: what is not UTF-8 becomes ``\xNN``. Raises ValueError.
    """
    found: dict[str, list[Signature]] = {path: [] for path in paths}
    by_name = {os.path.basename(path): path for path in paths}
    if len(by_name) < len(paths):
        raise ValueError("two devices of one name")
    text = answer.decode("utf-8", errors="surrogateescape").strip()
    document: object = json.loads(text, strict=False) if text else {"signatures": []}
    for row in from_plain(_Answer, document).signatures:
        path = paths[0] if len(paths) == 1 else by_name.get(row.device or "")
        if path is None:
            raise ValueError("a signature on another device")
        kind, label, uuid = (
            decode((word or "").encode("utf-8", "surrogateescape")) for word in (row.type, row.label, row.uuid)
        )
        usage = _USAGES.get(row.usage or "", Usage.OTHER)
        found[path].append(Signature(kind, usage, int(str(row.offset), 0), label, uuid))
    return {path: tuple(signatures) for path, signatures in found.items()}
