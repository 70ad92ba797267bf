"""Dirty pages and their thresholds, from /proc/meminfo and /proc/vmstat."""

from __future__ import annotations

import os

from fsconsole.model.sample import Writeback
from fsconsole.system.text import read_text, read_text_or
from fsconsole.telemetry.rates import Unreadable, kernel_number
from fsconsole.units import KIB

PROC_MEMINFO = "/proc/meminfo"
PROC_VMSTAT = "/proc/vmstat"


def parse_writeback(meminfo: str, vmstat: str) -> Writeback:
    """Return what both files say. Raises Unreadable.

    Dirty and Writeback are in kB of 1024 bytes (man 5 proc_meminfo); nr_dirty_threshold and
    nr_dirty_background_threshold are in pages, and absent from kernels before 2.6.37 (mm/vmstat.c).
    """
    dirty, writeback = kernel_number(meminfo, "Dirty:"), kernel_number(meminfo, "Writeback:")
    if dirty is None or writeback is None:
        raise Unreadable("no Dirty or no Writeback in /proc/meminfo")
    page_bytes = os.sysconf("SC_PAGE_SIZE")
    threshold = kernel_number(vmstat, "nr_dirty_threshold ")
    background = kernel_number(vmstat, "nr_dirty_background_threshold ")
    return Writeback(
        dirty_bytes=dirty * KIB,
        writeback_bytes=writeback * KIB,
        threshold_bytes=None if threshold is None else threshold * page_bytes,
        background_threshold_bytes=None if background is None else background * page_bytes,
    )


def read_writeback() -> Writeback:
    """Return the machine's dirty pages now. Raises OSError, Unreadable."""
    return parse_writeback(read_text(PROC_MEMINFO), read_text_or(PROC_VMSTAT, ""))
