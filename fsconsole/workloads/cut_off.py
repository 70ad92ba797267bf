"""The program that cuts directories off from later mounts of the host, limits pids, then becomes the cage.

Started for each load as ``python -I -S cut_off.py MOST_PIDS PATH... -- COMMAND...``, as root in mounts of its own, and with
MOST_PIDS above 0 as the first process of a PID namespace. It exists because
neither mount(8) nor unshare(1) becomes another program, and bwrap leaves what it shows slaves of the host's mounts.
"""

# Each start is waited for: nothing is imported that costs more than the mounts, as the modules signal and pathlib do.
from __future__ import annotations

import ctypes
import os
import sys

_BIND, _RECURSIVE, _PRIVATE = 0x1000, 0x4000, 0x40000
"""MS_BIND, MS_REC, MS_PRIVATE (include/uapi/linux/mount.h)."""
_RESERVED_PIDS = 300
"""Numbers that are not given again once all were given (kernel/pid.c, RESERVED_PIDS)."""
_SIGPIPE, _SIGXFSZ, _AS_AT_FIRST = 13, 25, None
"""Python ignores both, and what is ignored stays so in the next program (man 2 execve); SIG_DFL."""


def main() -> None:
    """Lay a private copy of each directory, and of what is mounted below, over it (man 7 mount_namespaces)."""
    most_pids, words = int(sys.argv[1]), sys.argv[2:]
    end = words.index("--")
    if most_pids:
        _limit_pids(most_pids)
    libc = ctypes.CDLL(None, use_errno=True)
    for path in words[:end]:
        place = os.fsencode(path)
        for source, flags in ((place, _BIND | _RECURSIVE), (None, _PRIVATE | _RECURSIVE)):
            if libc.mount(source, place, None, ctypes.c_ulong(flags), None):
                sys.exit(f"{path}: {os.strerror(ctypes.get_errno())}")
    for ignored in (_SIGPIPE, _SIGXFSZ):
        libc.signal(ignored, _AS_AT_FIRST)
    os.execvp(words[end + 1], words[end + 1 :])  # noqa: S606 (an argv list of the cage's)


def _limit_pids(most: int) -> None:
    """Set the pid_max of this PID namespace; the host's is never written."""
    if os.getpid() != 1:
        sys.exit("not the first process of a PID namespace")
    with open("/proc/sys/kernel/pid_max", "w") as file:
        file.write(str(most + _RESERVED_PIDS + 1))


if __name__ == "__main__":
    main()
