"""Runs fsconsole's own commands as children of the console, and sends requests to a living engine.

Each is started with this interpreter, isolated, without a terminal; what it prints with --json is parsed. Its errors
come back as they were worded: a sentence and a hint.
"""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
import stat
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from fsconsole.errors import ChildFailed, ExitCode, FsconsoleError
from fsconsole.errors.runs import (
    CellNotSkipped,
    EngineBusy,
    EngineNotListening,
    EngineSilent,
    NotRoot,
    RequestRefused,
    RunOver,
)
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.store import is_alive
from fsconsole.model.events import ControlAnswer, ControlRequested, InCell, Verb
from fsconsole.model.run import StartedRun
from fsconsole.model.wire import MAX_LINE_BYTES, Mismatch, Value, decode, from_line, to_line
from fsconsole.system.files import opened
from fsconsole.system.isolation import python_argv
from fsconsole.text import decode as decode_text
from fsconsole.text import error_reason

_WORD = "fsconsole: "
_HINT = "hint: "
_PATIENCE_S = 5.0
"""Time limit for the cleanup of a child, before SIGKILL."""
_PATIENCE_OF_STARTS_S = 90.0
"""The same for one that starts an engine: killed before it has handed on that the run must stop, it left one unseen."""
_PATIENCE_AFTER_KILL_S = 5.0
"""Seconds that a killed child may take to be gone: one that waits inside the kernel (state D: its disk hangs) never is."""
_NOT_STARTED = "Try again; a run that goes on is not touched by it."
_STARTS = frozenset({"run", "resume", "demo"})


@dataclass(frozen=True, slots=True)
class Done:
    """A child that has ended."""

    words: tuple[str, ...]
    exit_code: int
    out: str
    err: str


class Children:
    """Runs fsconsole's commands as children of this process."""

    async def run(self, *words: str) -> Done:
        """Run a command to its end, whatever its exit code; where the waiting is cancelled, it is ended.

        Raises ChildFailed where it can't be started.
        """
        return await self.run_or_end(asyncio.Event(), *words)

    async def run_or_end(self, end: asyncio.Event, *words: str) -> Done:
        """Run a command that gets SIGTERM once end is set, and that is not started where it is set before.

        Unlike one whose waiting is cancelled, it is never killed, and its own last words are returned. Raises ChildFailed.
        """
        if end.is_set():
            return Done(words, -signal.SIGTERM, "", "")
        process = await self._start(words)

        async def ask_to_end() -> None:
            await end.wait()
            with suppress(ProcessLookupError):
                process.terminate()

        asking = asyncio.create_task(ask_to_end())
        try:
            out, err = await process.communicate()
        except asyncio.CancelledError:
            await _end(process, _PATIENCE_OF_STARTS_S if words[:1] and words[0] in _STARTS else _PATIENCE_S)
            raise
        finally:
            asking.cancel()
        return Done(words, process.returncode or 0, decode_text(out), decode_text(err))

    async def _start(self, words: Sequence[str]) -> asyncio.subprocess.Process:
        try:
            # A session of its own: Ctrl-C at the terminal is the console's to answer.
            return await asyncio.create_subprocess_exec(
                *python_argv("-m", "fsconsole", *words),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
                env={**os.environ, "TERM": "dumb", "NO_COLOR": "1"},
            )
        except OSError as error:
            # No memory, process or open file is left, or the interpreter has been replaced.
            said = f"`fsconsole {' '.join(words[:1])}` can't be started: {error_reason(error)}."
            raise ChildFailed(words=" ".join(words), said=said, hint_given=_NOT_STARTED) from error


async def carried_out(children: Children, *words: str) -> Done:
    """Return a command that did what it was asked. Raises ChildFailed."""
    done = await children.run(*words)
    if done.exit_code:
        raise failure(done)
    return done


async def answer(children: Children, kind: type[Value], *words: str) -> Value:
    """Return what a command answers with --json. Raises ChildFailed."""
    done = await carried_out(children, *words, "--json")
    return decoded(kind, done.out, *words)


def decoded(kind: type[Value], out: str, *words: str) -> Value:
    """Return the answer that the command of these words printed. Raises ChildFailed."""
    try:
        return decode(kind, out)
    except Mismatch as error:
        said = f"The answer of `fsconsole {words[0]} --json` can't be read: {error}."
        raise ChildFailed(words=" ".join(words), said=said, hint_given=_VERSION_HINT) from error


def failure(done: Done) -> ChildFailed:
    """Return what a command that failed said of it."""
    said = [line.removeprefix(_WORD) for line in done.err.splitlines() if line.startswith(_WORD)]
    hints = [line.removeprefix(_HINT) for line in done.err.splitlines() if line.startswith(_HINT)]
    last = done.err.strip().splitlines()[-1:] or [f"exit code {done.exit_code}"]
    return ChildFailed(words=" ".join(done.words), said=(said or last)[-1], hint_given=" ".join(hints))


async def _end(process: asyncio.subprocess.Process, patience_s: float) -> None:
    """End a child and wait for that, however often the waiting is cancelled: closing the console does so twice.

    One that is not even ended by being killed is given up: asyncio waits for it in a daemon thread, or in none, so that
    neither the end of the loop nor that of the interpreter waits on.
    """
    if process.returncode is not None:
        return
    with suppress(ProcessLookupError):
        process.terminate()
    if not await _has_ended(process, patience_s):
        with suppress(ProcessLookupError):
            process.kill()
        await _has_ended(process, _PATIENCE_AFTER_KILL_S)


async def _has_ended(process: asyncio.subprocess.Process, patience_s: float) -> bool:
    """Wait so long at most for a child's end and return whether it came; a waiting that is cancelled goes on."""
    clock = asyncio.get_running_loop().time
    until_s = clock() + patience_s
    while process.returncode is None and clock() < until_s:
        with suppress(asyncio.CancelledError, asyncio.TimeoutError):
            await asyncio.wait_for(process.wait(), until_s - clock())
    return process.returncode is not None


WAIT_S = 5.0
"""Seconds that an engine may take to answer; it has a thread for nothing else."""


def ask(folder: RunFolder, verb: Verb, in_cell: InCell | None = None, *, wait_s: float = WAIT_S) -> ControlAnswer:
    """Send one request, with the cell that the operator saw running, and return the engine's answer: it was taken.

    Raises RunOver where no engine is alive, EngineNotListening for one that begins or ends, EngineBusy, EngineSilent,
    RequestRefused, CellNotSkipped for a skip of a cell that no longer runs, and NotRoot where the operator may not ask.
    """
    try:
        answer = from_line(ControlAnswer, _exchange(folder, to_line(ControlRequested(verb, in_cell)), wait_s))
    except PermissionError as error:
        raise NotRoot(what=f"Asking the engine of run {folder.name}") from error
    except (OSError, Mismatch) as error:
        if not is_alive(folder):
            raise RunOver(run=folder.name) from error
        if isinstance(error, BlockingIOError):
            raise EngineBusy(run=folder.name, waited_s=wait_s) from error
        if isinstance(error, (TimeoutError, Mismatch)):
            raise EngineSilent(run=folder.name, waited_s=wait_s) from error
        raise EngineNotListening(run=folder.name) from error
    if answer.accepted:
        return answer
    if in_cell is None:
        raise RequestRefused(run=folder.name, why=answer.why)
    if verb is not Verb.SKIP:
        # An engine of an older version takes no cell; a stop or a pause does not depend on it.
        return ask(folder, verb, wait_s=wait_s)
    if answer.is_over:
        raise CellNotSkipped(run=folder.name, cell=in_cell.cell + 1, why=answer.why)
    raise RequestRefused(run=folder.name, why=answer.why)


def _exchange(folder: RunFolder, line: bytes, wait_s: float) -> bytes:
    name = os.path.basename(folder.control)
    with opened(folder.path, os.O_PATH | os.O_DIRECTORY) as directory:
        if not stat.S_ISSOCK(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
            # A link in its place would lead to the engine of another run.
            raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            # sun_path holds 108 bytes (man 7 unix); a descriptor's path is always short enough.
            _connect(connection, f"/proc/self/fd/{directory}/{name}", wait_s)
            connection.sendall(line)
            with connection.makefile("rb") as lines:
                return lines.readline(MAX_LINE_BYTES + 1)


def _connect(connection: socket.socket, path: str, wait_s: float) -> None:
    """Connect, within wait_s. Raises OSError: BlockingIOError if others fill the engine's queue all the time."""
    deadline_s = time.monotonic() + wait_s
    connection.settimeout(wait_s)
    while True:
        try:
            return connection.connect(path)
        except BlockingIOError:
            # A full queue of connections refuses at once (man 2 connect, EAGAIN).
            if time.monotonic() > deadline_s:
                raise
            time.sleep(_POLL_S)


_VERSION_HINT = "Command and console must be of one version: leave with q, and start it again."
_UNDONE = frozenset({int(ExitCode.INTERRUPTED), -signal.SIGTERM, -signal.SIGINT})
"""Exit codes of a command that was ended before it had a run: it cleans up, and prints no run."""
_LISTENS_SOON_S, _POLL_S = 10.0, 0.1


def started_run(done: Done, runs_dir: str) -> RunFolder | None:
    """Return the run in a command's first line with --detach --json; None where there is none."""
    try:
        return RunFolder(os.path.join(os.path.abspath(runs_dir), _run_id(done)))
    except Mismatch:
        return None


def _run_id(done: Done) -> str:
    """Return the id of the run in a command's first line. Raises Mismatch."""
    name = decode(StartedRun, done.out.partition("\n")[0]).run_id
    if not name or name != os.path.basename(name):
        raise Mismatch(f"{name!r} is no run's id", ".run_id")
    return name


def was_undone(done: Done) -> bool:
    """Return whether a command that was asked to end has taken back all that it made."""
    return done.exit_code in _UNDONE and not done.out


def not_started(done: Done) -> ChildFailed:
    """Return why a command printed no run."""
    if done.exit_code < 0:
        said = "The start was killed without a word of its own: the list of runs (5) shows whether one goes on."
        return ChildFailed(words=" ".join(done.words), said=said)
    if done.exit_code:
        return failure(done)
    try:
        why = _run_id(done)
    except Mismatch as error:
        why = str(error)
    said = f"The command's answer can't be read ({why}): the list of runs (5) shows what it started."
    return ChildFailed(words=" ".join(done.words), said=said)


def ask_when_it_listens(folder: RunFolder, verb: Verb, in_cell: InCell | None = None) -> ControlAnswer:
    """Send a request to an engine that may have only just started; return its answer.

    Raises EngineNotListening where it does not listen in time, and what ask() raises.
    """
    deadline = time.monotonic() + _LISTENS_SOON_S
    while True:
        try:
            return ask(folder, verb, in_cell)
        except EngineNotListening:
            if time.monotonic() > deadline:
                raise
            time.sleep(_POLL_S)


def not_stopped(folder: RunFolder) -> str:
    """Ask a run that has just started to stop now, and return why it goes on; empty where it stops or has ended."""
    try:
        ask_when_it_listens(folder, Verb.STOP_NOW)
    except RunOver:
        return ""
    except FsconsoleError as error:
        return f"Run {folder.name} GOES ON, it could not be stopped. {error}  {error.hint}".rstrip()
    return ""
