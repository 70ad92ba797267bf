"""Whether there is anything on a device: no signature is not empty."""

from __future__ import annotations

import errno
import hashlib
import mmap
import os

from fsconsole.model.device import ContentSample

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
