"""The engine's control socket: a Unix socket in the run's folder for pause, skip, stop-after and stop-now.

Requests only set flags, which the executing thread polls between steps and while it waits. Skip and stop-now also
kill the programs of the current cell. A skip is refused unless the cell that it names is the one that runs.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable

from fsconsole.model.events import ControlAnswer, ControlRequested, InCell, Verb
from fsconsole.model.wire import MAX_LINE_BYTES, Mismatch, from_line, to_line

_PEER_CREDENTIALS = struct.Struct("iII")
"""struct ucred: pid, uid, gid (man 7 unix, SO_PEERCRED)."""
_ANSWER_WAIT_S = 2.0


def end_programs() -> None:
    """Kill every other process of the engine's own PID namespace.

    Only PID 1 of a namespace may: anywhere else kill(-1) would reach the whole machine.
    """
    if os.getpid() == 1:
        try:
            os.kill(-1, signal.SIGKILL)
        except ProcessLookupError:
            return


class CellNotRunning(Exception):
    """A skip names a cell that does not run; the text says why, as a clause about that cell."""


class Requests:
    """The operator's requests so far; set by the control thread, read by the executing thread.

    end_programs is called only while a cell may be interrupted: a request meant for this cell must kill neither a
    command that releases something nor one of the next cell.
    """

    def __init__(self, end_programs: Callable[[], None] = lambda: None) -> None:
        self._end_programs = end_programs
        self._changed = threading.Condition()
        self._running: InCell | None = None
        self._is_interruptible = False
        self._ended: set[InCell] = set()
        self._skip = False
        self._stop_after = False
        self.paused = False
        """True while the next cell must wait."""
        self.stopping_now = False
        """True when the run must end without finishing the current cell."""

    def take(self, request: ControlRequested, note: Callable[[ControlRequested], None] = lambda _: None) -> None:
        """Carry out a request; note is called with it first. Raises CellNotRunning, and changes nothing then."""
        verb = request.verb
        with self._changed:
            if verb is Verb.SKIP:
                self._require_running(request.in_cell)
            note(request)
            if verb in (Verb.PAUSE, Verb.CONTINUE):
                self.paused = verb is Verb.PAUSE
            self._skip = self._skip or verb is Verb.SKIP
            # To continue is to go on after this cell, too.
            self._stop_after = verb is Verb.STOP_AFTER or (self._stop_after and verb is not Verb.CONTINUE)
            self.stopping_now = self.stopping_now or verb is Verb.STOP_NOW
            self._changed.notify_all()
            if self._is_interruptible and verb in (Verb.SKIP, Verb.STOP_NOW):
                self._end_programs()

    def _require_running(self, cell: InCell | None) -> None:
        """Raise CellNotRunning unless this cell runs and can still be skipped; one that is skipped already may be again."""
        if cell is None:
            raise CellNotRunning("the request names none")
        if cell == self._running:
            if not (self._is_interruptible or self._skip):
                raise CellNotRunning("it is ending, with nothing left to skip")
            return
        running = "no cell runs now" if self._running is None else f"cell {self._running.cell + 1} runs now"
        if self._running is not None and self._running.cell == cell.cell:
            running = "it was started again since"
        raise CellNotRunning(f"it {'is finished' if cell in self._ended else 'does not run'}, and {running}")

    @property
    def interrupting(self) -> bool:
        """True when the current cell must end immediately."""
        return self._skip or self.stopping_now

    @property
    def stopping(self) -> bool:
        """True when no further cell may start."""
        return self._stop_after or self.stopping_now

    def cell_begins(self, cell: InCell) -> None:
        """Drop a skip that was meant for the previous cell; from now on programs may be killed."""
        with self._changed:
            self._running, self._skip = cell, False
            self._is_interruptible = True

    def cell_releases(self) -> None:
        """From now on let programs finish: the cell releases what it took."""
        with self._changed:
            self._is_interruptible = False

    def cell_ends(self, *, is_final: bool) -> None:
        """Refuse skips of the current cell from now on; is_final is False after its pilot, since it runs again."""
        with self._changed:
            if self._running is not None and is_final:
                self._ended.add(self._running)
            self._running, self._is_interruptible = None, False

    def wait_while_paused(self) -> None:
        """Block until the run is continued or stopped."""
        with self._changed:
            self._changed.wait_for(lambda: not self.paused or self.stopping)


class ControlServer:
    """Serves one short connection after the other on a thread of its own."""

    def __init__(
        self,
        path: str,
        requests: Requests,
        *,
        on_request: Callable[[ControlRequested], None],
        place: Callable[[], str],
    ) -> None:
        self._path = path
        self._wishes = requests
        self._on_request = on_request
        self._place = place
        self._closing = False
        self._socket = _listen(path)
        self._thread = threading.Thread(target=self._serve, name="control", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening and remove the socket."""
        self._closing = True
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()
        os.unlink(self._path)

    def _serve(self) -> None:
        while not self._closing:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                try:
                    self._answer(connection)
                except OSError:
                    # The caller hung up: only its answer is lost.
                    continue

    def _answer(self, connection: socket.socket) -> None:
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER_CREDENTIALS.size)
        _pid, uid, _gid = _PEER_CREDENTIALS.unpack(credentials)
        if uid != os.geteuid():
            return
        line = _read_line(connection)
        connection.settimeout(_ANSWER_WAIT_S)
        try:
            request = from_line(ControlRequested, line)
            if request.verb is not Verb.STATUS:
                self._wishes.take(request, self._on_request)
            answer = ControlAnswer(accepted=True, step=self._place(), why="")
        except Mismatch as error:
            answer = ControlAnswer(accepted=False, step=self._place(), why=str(error))
        except CellNotRunning as error:
            answer = ControlAnswer(accepted=False, step=self._place(), why=str(error), is_over=True)
        connection.sendall(to_line(answer))


def _read_line(connection: socket.socket) -> bytes:
    """Return the first line, or what came before its end. Raises OSError, TimeoutError if it takes too long.

    The limit is for the whole line: a caller that sends a byte now and then must not keep others waiting.
    """
    line, deadline_s = b"", time.monotonic() + _ANSWER_WAIT_S
    while b"\n" not in line and len(line) <= MAX_LINE_BYTES:
        left_s = deadline_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        connection.settimeout(left_s)
        data = connection.recv(MAX_LINE_BYTES + 1)
        if not data:
            break
        line += data
    return line.partition(b"\n")[0]


def _listen(path: str) -> socket.socket:
    """Return a listening socket, mode 0600 from its first moment, at a path that may exceed 107 bytes."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    folder = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    former_mask = os.umask(0o177)
    try:
        # sun_path holds 108 bytes (man 7 unix); a descriptor's path is always short enough.
        short_path = f"/proc/self/fd/{folder}/{os.path.basename(path)}"
        if os.path.lexists(short_path):
            os.unlink(short_path)
        listener.bind(short_path)
    finally:
        os.umask(former_mask)
        os.close(folder)
    listener.listen(8)
    return listener
