"""Reports of a load's confined process: a line when it is ready, and one that ends the load."""

from __future__ import annotations

import time
from typing import Generic, NoReturn, TypeVar

from fsconsole.errors.runs import GeneratorFailed
from fsconsole.model.command import CommandResult
from fsconsole.model.wire import Mismatch, decode
from fsconsole.system.run import RunningCommand
from fsconsole.workloads.job import GO, LoadReport, Stage

_Report = TypeVar("_Report", bound=LoadReport)


class Reports(Generic[_Report]):
    """The reports of one process; a process that ends without one has reported DIED."""

    def __init__(self, running: RunningCommand, kind: type[_Report]) -> None:
        self._running = running
        self._kind = kind
        self._last: _Report | None = None
        self.ended_ns = 0
        """When the last report came (CLOCK_MONOTONIC)."""

    def wait_ready(self) -> _Report:
        """Wait until the process is ready. Raises GeneratorFailed."""
        report = self._next(None)
        if report.event is not Stage.READY:
            self._fail(report.why)
        return report

    def go(self) -> None:
        """Start the load. Raises GeneratorFailed."""
        try:
            self._running.send(GO)
        except BrokenPipeError:
            self._fail("")

    def finished(self, timeout_s: float) -> bool:
        """Wait up to timeout_s for the load's end; True where it has ended, however."""
        try:
            self.wait_end(timeout_s)
        except TimeoutError:
            return False
        return True

    def wait_end(self, timeout_s: float | None = None) -> _Report:
        """Wait for the load's end, however it came. Raises TimeoutError."""
        if self._last is None:
            self._last = self._next(timeout_s)
            self.ended_ns = time.monotonic_ns()
        return self._last

    @property
    def last(self) -> _Report:
        """The report that ended the load; DIED where none came."""
        return self._last or self._kind(Stage.DIED)

    def _next(self, timeout_s: float | None) -> _Report:
        try:
            return decode(self._kind, self._running.receive(timeout_s))
        except (EOFError, Mismatch):
            return self._kind(Stage.DIED)

    def _fail(self, why: str) -> NoReturn:
        # The load's end() still returns the process's output.
        raise GeneratorFailed(why or ending_in_words(self._running.wait()))


def ending_in_words(command: CommandResult) -> str:
    """Return how a program ended, with the last line of its errors: "it ended with exit code 2: No such file"."""
    said = command.err.strip().splitlines()
    code = command.exit_code
    ending = f"signal {-code}" if code < 0 else f"exit code {code}"
    return f"it ended with {ending}" + (f": {said[-1]}" if said else "")
