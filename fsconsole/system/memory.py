"""How much memory a running process has taken at its height."""

from __future__ import annotations

from fsconsole.system.processes import visible_pid
from fsconsole.system.text import KeptFile


class PeakMemory:
    """The highest resident size of a running process that was seen (VmHWM, man 5 proc_pid_status)."""

    def __init__(self, pidfd: int) -> None:
        self.peak_bytes = 0
        self._status: KeptFile | None = None
        try:
            self._status = KeptFile(f"/proc/{visible_pid(pidfd)}/status")
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            return
        self.look()

    def look(self) -> None:
        """Read it once more; a process that has ended has no memory any more, and changes nothing."""
        if self._status is None:
            return
        try:
            text = self._status.read()
        except ProcessLookupError:
            return
        for line in text.split(b"\n"):
            if line.startswith(b"VmHWM:"):
                self.peak_bytes = max(self.peak_bytes, int(line.split()[1]) * 1024)

    def close(self) -> None:
        """Give the descriptor back."""
        if self._status is not None:
            self._status.close()
