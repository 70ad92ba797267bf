"""Whether md still gets on with bringing a new array in step: nobody of ours waits for a disk that hangs in a resync."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from fsconsole.devices.md_members import SyncState
from fsconsole.engine.attention import patience_s
from fsconsole.engine.work import StepFailed
from fsconsole.telemetry.ended_io import ended_io
from fsconsole.units import format_elapsed


class Stillness:
    """How long no I/O of an array's members has ended."""

    def __init__(self, members: Sequence[str]) -> None:
        self._names = tuple(os.path.basename(os.path.realpath(path)) for path in members)
        self._seen: object = None
        self._since_s = 0.0

    def require_less(self, state: SyncState) -> None:
        """Let a resync pass that moves, or that is not at work at all. Raises StepFailed."""
        now_s, seen = time.monotonic(), ended_io(self._names)
        if seen != self._seen or not state.is_at_work:
            self._seen, self._since_s = seen, now_s
        still_s = now_s - self._since_s
        if still_s >= patience_s():
            words = f"no I/O of its members has ended for {format_elapsed(still_s)}"
            raise StepFailed(f"{words}: one of them hangs")
