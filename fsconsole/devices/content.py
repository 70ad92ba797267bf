"""Whether there is anything on a device: no signature is not empty."""

from __future__ import annotations

import errno
import hashlib
import json
import mmap
import os
from collections.abc import Mapping

from fsconsole.errors.runs import ToolFailed
from fsconsole.errors.targets import DeviceSilent
from fsconsole.model.command import Command, Executor
from fsconsole.model.device import ContentSample, Signature, Usage
from fsconsole.text import decode
from fsconsole.units import format_guess

BLOCK_BYTES = 4096
SAMPLED_BLOCKS = 64


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
                nonzero += block.count(0) != len(block)
        finally:
            os.close(fd)
    return ContentSample(len(offsets), nonzero, digest.hexdigest())


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


# What is written on a device, by a fresh low-level probe.

_PROBE = ("wipefs", "--no-act", "--json", "--output", "DEVICE,OFFSET,TYPE,USAGE,UUID,LABEL,LENGTH")
_TIMEOUT_S = 60.0
_USAGES = {usage.value: usage for usage in Usage}


def probe_signatures(executor: Executor, path: str) -> tuple[Signature, ...]:
    """Return every magic string that libblkid finds on the device, valid or damaged (man 8 wipefs).

    Reads only. Raises DeviceSilent, ToolFailed where the device can't be read or the answer is not understood,
    ToolMissing.
    """
    result = executor.run(Command((*_PROBE, path), timeout_s=_TIMEOUT_S))
    command = " ".join(result.argv)
    if result.timed_out:
        raise DeviceSilent(path, format_guess(_TIMEOUT_S))
    if result.exit_code != 0:
        raise ToolFailed(command, result.exit_code, result.err.strip() or "no word")
    try:
        return parse_wipefs(result.stdout)
    except ValueError as error:
        raise ToolFailed(command, result.exit_code, f"its answer is not understood: {error}") from error


def parse_wipefs(answer: bytes) -> tuple[Signature, ...]:
    r"""Return the signatures in `wipefs --json` output; nothing at all, as of old versions, means none.

    Labels are the disk's own bytes, copied into the JSON as they are: what is not UTF-8 becomes ``\xNN``.
    Raises ValueError.
    """
    if not answer.strip():
        return ()
    document: object = json.loads(answer.decode("utf-8", errors="surrogateescape"), strict=False)
    match document:
        case {"signatures": [*rows]} if all(isinstance(row, dict) for row in rows):
            return tuple(_signature(row) for row in rows)
        case _:
            raise ValueError("no list of signatures")


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
