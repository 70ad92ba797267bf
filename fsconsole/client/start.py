"""Starting an engine as a process of its own, which no closing terminal can reach."""

from __future__ import annotations

import os
import sys
import time

from fsconsole.errors import EngineNotStarted
from fsconsole.journal import last_word
from fsconsole.journal.history import read_state
from fsconsole.journal.store import RunFolder, is_alive
from fsconsole.system.command import find_program
from fsconsole.system.namespace import engine_argv, is_systemd_booted

_START_LIMIT_S = 20.0
_POLL_S = 0.02
_LOG_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
ENGINE_LOG = "engine.log"
"""What the engine prints when it can't even write its journal: its last resort."""


def start_engine(folder: RunFolder) -> None:
    """Start the engine of a run and return when it holds the run's lock (or has already ended).

    Raises EngineNotStarted where it never came to life, ToolMissing.
    """
    attempts = len(read_state(folder).started)
    last_word.forget(folder)
    argv = engine_argv(
        (sys.executable, "-m", "fsconsole.engine", folder.path),
        systemd=is_systemd_booted(),
        unit=f"fsconsole-{folder.name}",
    )
    pid = _spawn(argv, os.path.join(folder.path, ENGINE_LOG))
    _await_life(folder, pid, attempts)


def _spawn(argv: tuple[str, ...], log_path: str) -> int:
    """Start argv in a session of its own, its outputs in the log; return its pid, which nobody needs to wait for."""
    log = os.open(log_path, _LOG_FLAGS, 0o640)
    try:
        return os.posix_spawn(
            find_program(argv[0]),
            argv,
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, log, 1),
                (os.POSIX_SPAWN_DUP2, log, 2),
            ],
            setsid=True,
        )
    finally:
        os.close(log)


def _await_life(folder: RunFolder, pid: int, attempts: int) -> None:
    """Wait for the engine's own word: a transient unit's starter ends long before the engine begins."""
    deadline = time.monotonic() + _START_LIMIT_S
    while True:
        # Asked before looking: whatever a failing engine leaves is there by then.
        over = time.monotonic() > deadline or _has_failed(pid)
        if is_alive(folder) or len(read_state(folder).started) > attempts or last_word.read(folder):
            return
        if over:
            raise EngineNotStarted(run=folder.name, said=_last_line(folder), folder=folder.path)
        time.sleep(_POLL_S)


def _has_failed(pid: int) -> bool:
    """Return whether the starter ended with a failure; it stays waitable, so that this can be asked again."""
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    return ended is not None and ended.si_status != 0


def _last_line(folder: RunFolder) -> str:
    with open(os.path.join(folder.path, ENGINE_LOG), encoding="utf-8", errors="backslashreplace") as log:
        lines = log.read().split("\n")
    return next((line for line in reversed(lines) if line.strip()), "it said nothing")
