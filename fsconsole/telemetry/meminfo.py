"""Dirty pages and their thresholds, from /proc/meminfo and /proc/vmstat."""

from __future__ import annotations

import os

from fsconsole.model.sample import Writeback
from fsconsole.system.text import read_text, read_text_or
from fsconsole.telemetry.rates import Unreadable
from fsconsole.units import KIB

PROC_MEMINFO = "/proc/meminfo"
PROC_VMSTAT = "/proc/vmstat"


def parse_writeback(meminfo: str, vmstat: str) -> Writeback:
    """Return what both files say. Raises Unreadable.

    Dirty and Writeback are in kB of 1024 bytes (man 5 proc_meminfo); nr_dirty_threshold and
    nr_dirty_background_threshold are in pages, and absent from kernels before 2.6.37 (mm/vmstat.c).
    """
    sizes = _named_numbers(meminfo, ":")
    pages = _named_numbers(vmstat, "")
    try:
        dirty, writeback = sizes["Dirty"] * KIB, sizes["Writeback"] * KIB
    except KeyError as error:
        raise Unreadable(f"no {error} in /proc/meminfo") from error
    page_bytes = os.sysconf("SC_PAGE_SIZE")
    threshold, background = pages.get("nr_dirty_threshold"), pages.get("nr_dirty_background_threshold")
    return Writeback(
        dirty_bytes=dirty,
        writeback_bytes=writeback,
        threshold_bytes=None if threshold is None else threshold * page_bytes,
        background_threshold_bytes=None if background is None else background * page_bytes,
    )


def read_writeback() -> Writeback:
    """Return the machine's dirty pages now. Raises OSError, Unreadable."""
    return parse_writeback(read_text(PROC_MEMINFO), read_text_or(PROC_VMSTAT, ""))


def _named_numbers(text: str, ending: str) -> dict[str, int]:
    words = (line.split() for line in text.splitlines())
    return {
        line[0].removesuffix(ending): int(line[1]) for line in words if len(line) > 1 and line[1].isdigit()
    }
