"""The engine's ear: a Unix socket in the run's folder that takes pause, skip, stop-after and stop-now.

Requests only set flags; the executing thread looks at them between steps and while it waits. What must end
at once (skip, stop-now) also ends whatever program the cell at hand is running.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
import threading
from collections.abc import Callable

from fsconsole.model.events import (
    MAX_LINE_BYTES,
    BadMessage,
    ControlAnswer,
    Verb,
    decode_request,
    encode_answer,
)

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


class Wishes:
    """What has been asked of the engine so far; written by the ear, read by the executing thread.

    end_programs ends whatever program is running; it is called while a cell may be interrupted, and at no other
    time: neither what gives something back nor the next cell is hit by a request that was meant for this one.
    """

    def __init__(self, end_programs: Callable[[], None] = lambda: None) -> None:
        self._end_programs = end_programs
        self._changed = threading.Condition()
        self._at_hand = False
        self._paused = False
        self._skip = False
        self._stop_after = False
        self._stop_now = False

    def take(self, verb: Verb) -> None:
        """Note a request."""
        with self._changed:
            if verb in (Verb.PAUSE, Verb.CONTINUE):
                self._paused = verb is Verb.PAUSE
            self._skip = self._skip or verb is Verb.SKIP
            self._stop_after = self._stop_after or verb is Verb.STOP_AFTER
            self._stop_now = self._stop_now or verb is Verb.STOP_NOW
            self._changed.notify_all()
            if self._at_hand and verb in (Verb.SKIP, Verb.STOP_NOW):
                self._end_programs()

    @property
    def interrupting(self) -> bool:
        """True when the cell at hand is to end at once."""
        return self._skip or self._stop_now

    @property
    def stopping_now(self) -> bool:
        """True when the run is to end with the cell at hand undone."""
        return self._stop_now

    @property
    def stopping(self) -> bool:
        """True when no further cell is to begin."""
        return self._stop_after or self._stop_now

    @property
    def paused(self) -> bool:
        """True while the next cell has to wait."""
        return self._paused

    def cell_begins(self) -> None:
        """Forget a skip: it was meant for a cell that has ended. From now on programs may be ended."""
        with self._changed:
            self._skip = False
            self._at_hand = True

    def cell_releases(self) -> None:
        """From now on let programs run to their end: the cell gives back what it took."""
        with self._changed:
            self._at_hand = False

    def wait_while_paused(self) -> None:
        """Block until the run goes on or is to stop."""
        with self._changed:
            self._changed.wait_for(lambda: not self._paused or self.stopping)


class ControlServer:
    """Serves one short connection after the other on a thread of its own."""

    def __init__(
        self,
        path: str,
        wishes: Wishes,
        *,
        on_request: Callable[[Verb], None],
        place: Callable[[], str],
    ) -> None:
        self._path = path
        self._wishes = wishes
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
                    # A caller that hung up has lost its answer, nothing else.
                    continue

    def _answer(self, connection: socket.socket) -> None:
        connection.settimeout(_ANSWER_WAIT_S)
        if _peer_uid(connection) != os.geteuid():
            return
        with connection.makefile("rb") as lines:
            line = lines.readline(MAX_LINE_BYTES + 1)
        try:
            verb = decode_request(line)
        except BadMessage as error:
            connection.sendall(
                encode_answer(ControlAnswer(accepted=False, step=self._place(), why=str(error)))
            )
            return
        if verb is not Verb.STATUS:
            self._on_request(verb)
            self._wishes.take(verb)
        connection.sendall(encode_answer(ControlAnswer(accepted=True, step=self._place())))


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


def _peer_uid(connection: socket.socket) -> int:
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER_CREDENTIALS.size)
    uid: int = _PEER_CREDENTIALS.unpack(raw)[1]
    return uid
