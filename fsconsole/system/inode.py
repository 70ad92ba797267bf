"""What tells a file from another one with the same inode number (include/uapi/linux/fs.h)."""

from __future__ import annotations

import errno
import fcntl
import struct
import sys

_FS_IOC_GETVERSION = 2 << 30 | struct.calcsize("l") << 16 | ord("v") << 8 | 1
"""_IOR('v', 1, long); the kernel writes an int of it."""
_INT_BYTES = 4
_UNKNOWN = frozenset({errno.ENOTTY, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS})


def generation(fd: int) -> int:
    """Return the generation of an open file's inode; 0 where its filesystem doesn't tell (tmpfs).

    The first file on a new ext4 is always inode 12; the generation is random. Raises OSError.
    """
    try:
        answer = fcntl.ioctl(fd, _FS_IOC_GETVERSION, bytes(struct.calcsize("l")))
    except OSError as error:
        if error.errno in _UNKNOWN:
            return 0
        raise
    return int.from_bytes(answer[:_INT_BYTES], sys.byteorder)
