"""Who this machine is, and how large."""

from __future__ import annotations

import os

from fsconsole.system.text import read_text


def boot_id() -> str:
    """Return the UUID of this boot (man 5 proc_sys_kernel). Raises OSError."""
    return read_text("/proc/sys/kernel/random/boot_id")


def kernel_release() -> str:
    """Return what uname -r says."""
    return os.uname().release


def hostname() -> str:
    """Return the node name (man 2 uname)."""
    return os.uname().nodename


def memory_bytes() -> int:
    """Return the memory that the kernel manages (MemTotal of man 5 proc_meminfo)."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def cpu_count() -> int:
    """Return the number of CPUs that this process may run on (man 2 sched_getaffinity)."""
    return len(os.sched_getaffinity(0))
