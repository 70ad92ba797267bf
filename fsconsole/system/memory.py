"""How much memory a running process has taken at its height."""

from __future__ import annotations

from fsconsole.system.text import KeptFile


class PeakMemory:
    """The highest resident size of a running process that was seen (VmHWM, man 5 proc_pid_status)."""

    def __init__(self, pidfd: int) -> None:
        self.peak_bytes = 0
        self._status: KeptFile | None = None
        try:
            self._status = KeptFile(f"/proc/{_visible_pid(pidfd)}/status")
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


def _visible_pid(pidfd: int) -> int:
    """Return the pid that the visible /proc knows a process by (man 2 pidfd_open: fdinfo); -1 once it is waited for."""
    with open(f"/proc/self/fdinfo/{pidfd}", encoding="ascii") as file:
        fields = dict(line.split(":", 1) for line in file if ":" in line)
    return int(fields.get("Pid", "-1"))
