"""Asking an engine: each way not to be answered has its own error."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterator

import pytest

from fsconsole.client.children import ask
from fsconsole.errors import ExitCode
from fsconsole.errors.runs import EngineBusy, EngineNotListening, EngineSilent, NotRoot, RequestRefused, RunOver
from fsconsole.journal.folder import RunFolder
from fsconsole.model.events import ControlAnswer, Verb
from fsconsole.model.wire import to_line
from fsconsole.system.locks import FileLock

SOON_S = 0.05
NOBODY = 65534


@pytest.fixture
def folder(tmp_path) -> RunFolder:
    return RunFolder(str(tmp_path))


@pytest.fixture
def alive(folder) -> Iterator[None]:
    """Hold the run's lock as a living engine does."""
    with FileLock.acquire(folder.lock):
        yield


@contextlib.contextmanager
def listening(folder: RunFolder, backlog: int = 8) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(folder.control)
        listener.listen(backlog)
        yield listener


def answering(listener: socket.socket, answer: bytes) -> threading.Thread:
    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(4096)
            connection.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    return thread


def test_a_run_without_an_engine_is_over_also_where_a_killed_one_left_its_socket(folder):
    with pytest.raises(RunOver):
        ask(folder, Verb.STATUS)
    with listening(folder):
        pass
    assert os.path.exists(folder.control)
    with pytest.raises(RunOver):
        ask(folder, Verb.STATUS)


def test_an_engine_that_begins_or_ends_takes_no_requests(folder, alive):
    with pytest.raises(EngineNotListening) as caught:
        ask(folder, Verb.STATUS)
    assert caught.value.exit_code is ExitCode.ENGINE_SILENT


def test_an_engine_that_does_not_answer_or_whose_queue_is_full_is_alive_all_the_same(folder, alive):
    with listening(folder, backlog=0), contextlib.ExitStack() as waiting:
        for _ in range(3):
            with pytest.raises((EngineSilent, EngineBusy), match=r"alive.* 0.05 s"):
                ask(folder, Verb.STATUS, wait_s=SOON_S)
            caller = waiting.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            caller.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                caller.connect(folder.control)


def test_an_answer_that_is_none_is_silence_and_a_refusal_an_error(folder, alive):
    refused = to_line(ControlAnswer(False, "", "unknown verb 'x'"))
    answers = [
        (b"", EngineSilent),
        (b"[]\n", EngineSilent),
        (b"x" * 5000, EngineSilent),
        (refused, RequestRefused),
    ]
    for said, error in answers:
        with listening(folder) as listener:
            thread = answering(listener, said)
            with pytest.raises(error, match="unknown verb 'x'" if error is RequestRefused else None):
                ask(folder, Verb.STATUS)
            thread.join()
        os.unlink(folder.control)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("mode", [0o700, 0o755], ids=["closed folder", "closed socket"])
def test_whoever_may_not_ask_is_told_so(folder, alive, mode):
    os.chmod(folder.path, mode)
    with listening(folder):
        os.chmod(folder.control, 0o600)
        os.seteuid(NOBODY)
        try:
            with pytest.raises(NotRoot):
                ask(folder, Verb.STATUS)
        finally:
            os.seteuid(0)
