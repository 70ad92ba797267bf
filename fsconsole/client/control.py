"""Asking a living engine for something."""

from __future__ import annotations

import errno
import os
import socket
import stat

from fsconsole.errors import (
    EngineNotListening,
    EngineSilent,
    FsconsoleError,
    NotRoot,
    RequestRefused,
    RunOver,
)
from fsconsole.journal.store import RunFolder, is_alive
from fsconsole.model.control import MAX_LINE_BYTES, BadMessage, ControlAnswer, decode_answer, encode_request
from fsconsole.model.observation import Verb

WAIT_S = 5.0
"""How long an engine may take to answer; one that executes has a thread for nothing else."""


def ask(folder: RunFolder, verb: Verb, *, wait_s: float = WAIT_S) -> ControlAnswer:
    """Send one request and return the engine's answer: it was taken.

    Raises RunOver where no engine is alive, EngineNotListening for one that begins or ends, EngineSilent,
    RequestRefused, and NotRoot where the operator may not ask.
    """
    try:
        answer = decode_answer(_exchange(folder, encode_request(verb), wait_s))
    except (OSError, BadMessage) as error:
        raise _no_answer(folder, error, wait_s) from error
    if not answer.accepted:
        raise RequestRefused(run=folder.name, why=answer.why)
    return answer


def _exchange(folder: RunFolder, line: bytes, wait_s: float) -> bytes:
    name = os.path.basename(folder.control)
    directory = os.open(folder.path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if not stat.S_ISSOCK(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
            # A link in its place would lead to the engine of another run.
            raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(wait_s)
            # sun_path holds 108 bytes (man 7 unix); a descriptor's path is always short enough.
            connection.connect(f"/proc/self/fd/{directory}/{name}")
            connection.sendall(line)
            with connection.makefile("rb") as lines:
                return lines.readline(MAX_LINE_BYTES + 1)
    finally:
        os.close(directory)


def _no_answer(folder: RunFolder, error: OSError | BadMessage, wait_s: float) -> FsconsoleError:
    """Return why there is no answer, by what failed and by whether an engine lives. Raises NotRoot."""
    if isinstance(error, PermissionError):
        return NotRoot(what=f"Asking the engine of run {folder.name}")
    if not is_alive(folder):
        return RunOver(run=folder.name)
    # A queue of connections that nobody takes is full at once (man 2 connect, EAGAIN).
    if isinstance(error, (TimeoutError, BlockingIOError, BadMessage)):
        return EngineSilent(run=folder.name, waited_s=wait_s)
    return EngineNotListening(run=folder.name)
