"""Engines that are forked off a process in which all of fsconsole is loaded already: a guest loads it for 8 s.

Each is what `unshare --mount --pid --fork --kill-child --propagation slave` would make of it (man 1 unshare), but that
its interpreter is not begun anew. That it begins well from nothing is for tests/loop to prove.
"""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fsconsole.client import engine, follow
from fsconsole.devices.ask import read_test
from fsconsole.devices.snapshot import find_device
from fsconsole.engine import hangs, runner
from fsconsole.engine.steps import HANDLERS, crash, equalise
from fsconsole.engine.work import CellWork, StepResult
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Step, StepKind
from fsconsole.plan.raw import READTEST_S
from tests.lab.soak import IN_GUEST, IN_UML, SOAK

NAME = "engine-starter"
"""What the process that leads an engine's namespaces is called; 15 bytes at most (man 2 prctl, PR_SET_NAME)."""
_NEW_NAMESPACES = 0x00020000 | 0x20000000  # CLONE_NEWNS | CLONE_NEWPID
_SLAVE = 0x4000 | (1 << 19)  # MS_REC | MS_SLAVE
_DIES_WITH_PARENT, _SET_NAME = 1, 15
_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Forked:
    """An engine by the process that leads its namespaces: to end that one ends all."""

    pid: int

    def wait(self) -> int:
        """Return the exit code, negative for a signal, when it has ended."""
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def is_over(self) -> bool:
        """Return whether it has ended; it stays to be waited for."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def kill(self) -> None:
        """End it, which need not be there any more."""
        os.kill(self.pid, signal.SIGKILL)


def fork_engine(carry_out: Callable[[], int], log_path: str | Path, environment: Mapping[str, str]) -> Forked:
    """Let carry_out be what an engine does, in a session and namespaces of its own, its outputs added to a log."""
    gc.freeze()
    pid = os.fork()
    if pid:
        return Forked(pid)
    code = 99
    try:
        os.setsid()
        log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o640)
        for number, source in ((0, os.open(os.devnull, os.O_RDONLY)), (1, log), (2, log)):
            os.dup2(source, number)
        sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1) for number in (1, 2))
        os.environ.clear()
        os.environ.update(environment)
        code = _lead(carry_out)
    finally:
        os._exit(code)


def _lead(carry_out: Callable[[], int]) -> int:
    """Enter new namespaces, have a child carry it out there, and end as that does."""
    _call(_LIBC.unshare, _NEW_NAMESPACES)
    _call(_LIBC.mount, b"none", b"/", None, _SLAVE, None)
    _call(_LIBC.prctl, _SET_NAME, NAME.encode())
    pid = os.fork()
    if pid == 0:
        _call(_LIBC.prctl, _DIES_WITH_PARENT, signal.SIGKILL)
        os._exit(_told(carry_out))
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code < 0:
        os.kill(os.getpid(), -code)
    return code


def _told(carry_out: Callable[[], int]) -> int:
    try:
        return carry_out()
    except BaseException:  # noqa: BLE001 - as an interpreter does at its end
        traceback.print_exc()
        return 1


def _call(function: Callable[..., int], *arguments: object) -> None:
    if function(*arguments):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


_BEGUN: list[Forked] = []
"""Engines of the commands that this process has carried out."""


def reap() -> None:
    """Wait for those of them that have ended: the process that carried out their command is still there."""
    for begun in [each for each in _BEGUN if each.is_over()]:
        begun.wait()
        _BEGUN.remove(begun)


def _readtest(work: CellWork, _step: Step) -> StepResult:
    """Do in the engine what a whole fsconsole of its own does, which a guest loads for as long as all else of a cell."""
    tested = read_test(find_device(work.cell.target), READTEST_S if SOAK else 0.5)
    return StepResult((Measurement(Metric.READTEST, tested.bytes_per_s),))


def _begin(child: engine.EngineChild, argv: tuple[str, ...], log_path: str) -> None:
    assert argv[-2] == "fsconsole.engine", argv
    reap()
    forked = fork_engine(lambda: runner.main([argv[-1]]), log_path, engine._environment())
    child._pid = forked.pid
    _BEGUN.append(forked)


if IN_GUEST in os.environ:
    # The tests that run in guests are loaded on the host too, where engines begin as they do.
    engine.EngineChild.__init__ = _begin  # type: ignore[method-assign]
    # Half as often as the product does, and more seldom: a sample costs a guest a tenth of its only CPU's time, and to
    # show it as much again.
    runner.SAMPLE_PERIOD_S = 1.0
    follow.POLL_S = 1.0
    hangs._POLL_S = 3.0
    # Of each disk's reads before and after its discard, which fill a guest's CPU meanwhile.
    equalise._WINDOW_S = 0.2
    # A sync takes a guest ten times as long as that, and to ask after it as long as the sync.
    crash._POLL_S = 0.01
if IN_UML:
    # In qemu a disk is pulled in this step too, which ends its program.
    HANDLERS[StepKind.READTEST] = _readtest
