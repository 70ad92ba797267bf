"""Starts an engine as a process of its own, which no closing terminal can reach, and tidies up after runs."""

from __future__ import annotations

import os
import shutil
import signal
import time

from fsconsole import __version__
from fsconsole.devices import scratch
from fsconsole.devices.scratch import Scratch
from fsconsole.errors.runs import EngineNotStarted
from fsconsole.errors.targets import ScratchMissing
from fsconsole.journal import last_word
from fsconsole.journal.folder import RunFolder, require_own
from fsconsole.journal.past import read_state
from fsconsole.journal.store import is_alive
from fsconsole.model.command import Executor
from fsconsole.model.plan import Plan
from fsconsole.model.run import RunRequest, Target
from fsconsole.model.state import RunState
from fsconsole.system.files import opened, read_text_or
from fsconsole.system.isolation import python_argv, search_path
from fsconsole.system.mounts import (
    SystemdUnit,
    engine_argv,
    is_gone,
    is_systemd_booted,
    kill,
    sees_what_init_sees,
    unit_argv,
)
from fsconsole.system.run import RealExecutor, find_program


def create_request(run_id: str, plan: Plan, targets: tuple[Target, ...], *, owned_scratch: str = "") -> RunRequest:
    """Return the request for a run that starts now."""
    return RunRequest(run_id, time.time_ns(), __version__, plan, targets, owned_scratch)


def withdraw(folder: RunFolder) -> None:
    """Remove the folder of a run that no engine has been started for. Raises OSError."""
    shutil.rmtree(folder.path)


def purpose_of(run_id: str) -> str:
    """Return what is written on a scratch device that is made for a run alone."""
    return f"run {run_id}"


def remove_owned_scratch(state: RunState) -> bool:
    """Remove the scratch device of a run with nothing left to do; one that can be resumed keeps it.

    Returns whether there was one to remove. Raises ScratchInUse.
    """
    made = None if state.is_open else owned_scratch(state)
    if made is not None:
        scratch.remove(made)
    return made is not None


def owned_scratch(state: RunState) -> Scratch | None:
    """Return the scratch device that was made for a run alone; None where there is none any more."""
    if not state.request.owned_scratch:
        return None
    try:
        made = scratch.find(state.request.owned_scratch)
    except ScratchMissing:
        return None
    # A journal from elsewhere may name any scratch device; the mark on the file says for which run it was made.
    return made if made.purpose == purpose_of(state.request.run_id) else None


def abandoned_scratch(folder: RunFolder) -> Scratch | None:
    """Return the scratch device of a run with nothing left to do that had no viewer at its end; None for others.

    Raises JournalUnusable for a folder that others can have written.
    """
    require_own(folder)
    state = None if is_alive(folder) else read_state(folder)
    return None if state is None or state.is_open else owned_scratch(state)


_START_LIMIT_S = 60.0
"""A failed start is known at once; this is for one that hangs, and a machine under full load is slow to begin."""
_POLL_S = 0.02
_ASK_EVERY_S = 0.5
_LOG_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
_PASSED_ON = ("LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ")
"""A service's variables are shown to every user (`systemctl show`): whatever else is set is nobody's business."""


class EngineChild:
    """An engine below this process: its starter is what it runs in, and ends when it ends."""

    silence = "it said nothing"

    def __init__(self, argv: tuple[str, ...], log_path: str) -> None:
        # New session, output to the log; not waited for.
        with opened(log_path, _LOG_FLAGS) as log:
            self._pid = os.posix_spawn(
                find_program(argv[0]),
                argv,
                _environment(),
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_DUP2, log, 1),
                    (os.POSIX_SPAWN_DUP2, log, 2),
                ],
                setsid=True,
                # Until setsid() it is in this process's group: a Ctrl-C of that moment would end it before it executes
                # argv. Blocked, it stays pending for unshare; the engine, which is forked from that, unblocks.
                setsigmask=(signal.SIGINT, signal.SIGTERM, signal.SIGHUP),
            )

    def status(self) -> int | None:
        """Return the status or signal that it ended with; it stays waitable, so that this can be asked again."""
        ended = os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return None if ended is None else ended.si_status

    def is_over(self) -> bool:
        """Return whether it has ended, in whatever way."""
        return self.status() is not None

    def kill(self) -> None:
        """End it, and all that it started."""
        # It stays waitable, so that its number can't be another's by now.
        os.killpg(self._pid, signal.SIGKILL)


class EngineService(EngineChild):
    """An engine below systemd, which outlives the login session that asked for it."""

    def __init__(self, argv: tuple[str, ...], unit: SystemdUnit, executor: Executor) -> None:
        self._executor = executor
        self._unit = unit
        self._asked_at = time.monotonic()
        self.silence = f"it said nothing; `journalctl --unit={unit.name}` may tell more"
        super().__init__(unit_argv(argv, unit, _environment()), unit.log_path)

    def is_over(self) -> bool:
        """Return whether it could not be started, or runs no more; the latter is known half a second later."""
        status = self.status()
        if status is None or status != 0:
            return bool(status)
        if time.monotonic() < self._asked_at + _ASK_EVERY_S:
            return False
        self._asked_at = time.monotonic()
        return is_gone(self._executor, self._unit)

    def kill(self) -> None:
        """End it, and all that it started; a request that systemd has not taken yet is taken back."""
        super().kill()
        kill(self._executor, self._unit)


def start_engine(folder: RunFolder) -> None:
    """Start the engine of a run and return when it holds the run's lock (or has already ended).

    Raises EngineNotStarted where it never came to life, and then it never will; ToolMissing.
    """
    attempts = len(read_state(folder).started)
    last_word.forget(folder)
    argv = python_argv("-m", "fsconsole.engine", folder.path)
    # Without root there are no namespaces of its own, and no service: a generator ends with its engine all the same.
    is_root = os.geteuid() == 0
    argv = engine_argv(argv) if is_root else argv
    if is_root and is_systemd_booted() and sees_what_init_sees():
        starter: EngineChild = EngineService(argv, unit_of(folder, attempts), RealExecutor())
    else:
        starter = EngineChild(argv, folder.engine_log)
    deadline = time.monotonic() + _START_LIMIT_S
    # The engine's own word is waited for: a service's starter ends long before the engine begins.
    while True:
        # Asked before looking: whatever an ending engine leaves is there by then.
        over = time.monotonic() > deadline or starter.is_over()
        if over:
            # One that comes late would wipe a device after the operator was told that nothing is touched.
            starter.kill()
        if is_alive(folder) or len(read_state(folder).started) > attempts or last_word.read(folder):
            return
        if over:
            said = read_text_or(folder.engine_log, "").rpartition("\n")[2] or starter.silence
            raise EngineNotStarted(run=folder.name, said=said, folder=folder.path)
        time.sleep(_POLL_S)


def unit_of(folder: RunFolder, attempts: int) -> SystemdUnit:
    """Return the unit for the next engine: one that has just died may still hold the name of its own."""
    name = f"fsconsole-{folder.name}{f'-{attempts + 1}' if attempts else ''}.service"
    return SystemdUnit(name, f"fsconsole run {folder.name}", folder.engine_log)


def _environment() -> dict[str, str]:
    passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return {"PATH": search_path(), **passed_on}
