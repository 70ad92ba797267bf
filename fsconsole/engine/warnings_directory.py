"""Warnings about runs in directories: reads that nothing shows to be cold, and what the directory lies on."""

from __future__ import annotations

import os
from typing import Protocol

from fsconsole.engine.work import CellWork, LoadWindow
from fsconsole.model.events import WarningKind
from fsconsole.model.run import Target
from fsconsole.model.workload import Workload
from fsconsole.units import format_bytes

COLD_SHARE = 0.95
"""Of the bytes read: what the device, or the NFS server, must have read for a load to be cold."""


class Warn(Protocol):
    """Journals a warning about the whole run."""

    def __call__(self, kind: WarningKind, reason: str, hint: str) -> None:
        """Take a kind, a reason and what to do."""


def about_directory(target: Target, runs_device: int, warn: Warn) -> None:
    """Warn of a run log on the tested filesystem."""
    if target.place is not None and target.place.device_number == runs_device:
        warn(
            WarningKind.JOURNAL_SHARED_DISK,
            f"the run log is on the filesystem of {target.path}",
            "Put the runs (--runs) on another disk: the log's writes affect the results.",
        )


def about_cold(work: CellWork, workload: Workload, window: LoadWindow) -> None:
    """Warn of reads in a directory that are not proved to be cold: a live filesystem is not unmounted before them."""
    read_bytes, place = window.result.read_bytes, work.place
    if place is None or not read_bytes:
        return
    known = window.device_read_bytes
    if known is None:
        work.warn(
            WarningKind.NOT_COLD,
            f"'{workload.name}': what the storage below {place.filesystem} read is not known to this machine",
            "Read it as a rate of caches and storage together; to be sure, read far more than the memory holds.",
        )
    elif workload.cold and known < COLD_SHARE * read_bytes:
        who, more = place.device or place.source, "run as root, or " if os.geteuid() else ""
        work.warn(
            WarningKind.NOT_COLD,
            f"'{workload.name}': {who} read {format_bytes(known)} of {format_bytes(read_bytes)}",
            f"A live filesystem is not unmounted, so caches may keep its files: {more}read more than the memory holds.",
        )
