"""Reads what is on a device: signatures, and sampled blocks, since no signature is not empty."""

from __future__ import annotations

import errno
import hashlib
import json
import mmap
import os
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from fsconsole.errors import FsconsoleError
from fsconsole.errors.runs import ToolFailed
from fsconsole.errors.targets import DeviceSilent
from fsconsole.model.command import Command, Executor
from fsconsole.model.device import ContentSample, Signature, Usage
from fsconsole.text import decode
from fsconsole.units import format_guess

BLOCK_BYTES = 4096
SAMPLED_BLOCKS = 64
_OF_THREAD = threading.local()
_ZEROS = bytes(BLOCK_BYTES)
_END_BYTES = 2**20
"""Where signatures lie: within the first and the last MiB, but for copies (ZFS labels, md 0.90 and 1.0, GPT)."""


def sample_offsets(size_bytes: int) -> tuple[int, ...]:
    """Return where the sampled blocks start: spread evenly, the first and the last block among them.

    A device of fewer than 64 blocks is sampled whole. All but the last are multiples of 4 KiB; the last
    one ends with the device, whose size is a multiple of its logical sector.
    """
    last = max(size_bytes - BLOCK_BYTES, 0)
    if size_bytes <= SAMPLED_BLOCKS * BLOCK_BYTES:
        return (*range(0, last, BLOCK_BYTES), last)
    steps = SAMPLED_BLOCKS - 1
    return (*(last * step // steps // BLOCK_BYTES * BLOCK_BYTES for step in range(steps)), last)


def sample_content(path: str, size_bytes: int) -> ContentSample:
    """Read the sampled blocks, past the page cache where the device allows, and return what they hold.

    Raises OSError, also where a block can't be read whole.
    """
    digest = hashlib.sha256()
    offsets = sample_offsets(size_bytes)
    nonzero = 0
    with mmap.mmap(-1, BLOCK_BYTES) as page:
        fd = _open_past_cache(path, page)
        try:
            for offset in offsets:
                block = _read_block(fd, page, offset, min(BLOCK_BYTES, size_bytes))
                digest.update(block)
                nonzero += block != _ZEROS[: len(block)]
        finally:
            os.close(fd)
    return ContentSample(len(offsets), nonzero, digest.hexdigest())


def read_ends(path: str, size_bytes: int) -> None:
    """Read both ends past the page cache, where signatures lie: what a probe can't read, it takes for none.

    Clean cached pages are dropped, which the probe would be given in the device's place. BLKFLSBUF would drop more, but
    it used to empty a RAM disk (drivers/block/brd.c). Raises OSError.
    """
    length = min(_END_BYTES, size_bytes)
    with mmap.mmap(-1, BLOCK_BYTES) as page:
        fd, room = _open_past_cache(path, page), _room()
        try:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            for start in sorted({0, size_bytes - length}):
                done = 0
                while done < length:
                    # A read that meets a bad block in the middle is short; the next one is the error.
                    with memoryview(room)[: length - done] as rest:
                        got = os.preadv(fd, [rest], start + done)
                    if not got:
                        raise OSError(errno.EIO, os.strerror(errno.EIO))
                    done += got
        finally:
            os.close(fd)


def _room() -> mmap.mmap:
    """Return this thread's room for one end: new memory for each device would cost as much as the reading."""
    if not hasattr(_OF_THREAD, "room"):
        _OF_THREAD.room = mmap.mmap(-1, _END_BYTES)
    room: mmap.mmap = _OF_THREAD.room
    return room


def _open_past_cache(path: str, page: mmap.mmap) -> int:
    """Open for O_DIRECT; a device that refuses it (sectors over 4 KiB) is opened plainly, its cache dropped."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECT)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    else:
        try:
            os.preadv(fd, [page], 0)
        except OSError as error:
            os.close(fd)
            if error.errno != errno.EINVAL:
                raise
        else:
            return fd
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    return fd


def _read_block(fd: int, page: mmap.mmap, offset: int, length: int) -> bytes:
    got = os.preadv(fd, [page], offset)
    if got < length:
        raise OSError(errno.EIO, f"only {got} of {length} bytes could be read at {offset}")
    return page[:length]


# Signatures, by a fresh low-level probe.

_PROBE = ("wipefs", "--no-act", "--json", "--output", "DEVICE,OFFSET,TYPE,USAGE,UUID,LABEL,LENGTH")
_TIMEOUT_S = 60.0
_USAGES = {usage.value: usage for usage in Usage}
_AT_ONCE = 8
"""Probes side by side, and most devices for which each is a child of its own."""

Found = tuple[Signature, ...] | FsconsoleError
"""The signatures of a device, or why they can't be told."""


def probe_signatures(executor: Executor, path: str) -> tuple[Signature, ...]:
    """Return every magic string that libblkid finds on the device, valid or damaged (man 8 wipefs).

    Reads only. Raises DeviceSilent, ToolFailed where the device can't be read or the answer is not understood,
    ToolMissing.
    """
    return _probe(executor, (path,))[path]


def probe_all(executor: Executor, paths: Sequence[str]) -> dict[str, Found]:
    """Return what probe_signatures() says of each device, or its error: some devices a child, the children side by side."""
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
        raise ToolFailed(command, result.exit_code, result.err.strip() or "no word")
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
    match document:
        case {"signatures": [*rows]} if all(isinstance(row, dict) for row in rows):
            for row in rows:
                path = paths[0] if len(paths) == 1 else by_name.get(_text(row, "device"))
                if path is None:
                    raise ValueError("a signature on another device")
                found[path].append(_signature(row))
        case _:
            raise ValueError("no list of signatures")
    return {path: tuple(signatures) for path, signatures in found.items()}


def _signature(row: Mapping[object, object]) -> Signature:
    kind, offset = _text(row, "type"), _text(row, "offset")
    if not kind or not offset:
        raise ValueError("a signature without type or offset")
    return Signature(
        type=kind,
        usage=_USAGES.get(_text(row, "usage"), Usage.OTHER),
        offset_bytes=int(offset, 0),
        label=_text(row, "label"),
        uuid=_text(row, "uuid"),
    )


def _text(row: Mapping[object, object], key: str) -> str:
    """Return a column as text; null, a missing one and a number (newer versions' offsets) are all served."""
    value = row.get(key)
    return "" if value is None else decode(str(value).encode("utf-8", errors="surrogateescape"))
