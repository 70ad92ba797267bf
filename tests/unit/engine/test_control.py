"""The control socket: who may speak, what is understood, and what each request sets."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.client import children
from fsconsole.client.children import ask
from fsconsole.engine.control import CellNotRunning, ControlServer, Requests
from fsconsole.errors.runs import CellNotSkipped, EngineBusy, RequestRefused, RunOver
from fsconsole.journal.folder import RunFolder
from fsconsole.model.events import ControlAnswer, ControlRequested, InCell, Verb
from fsconsole.model.wire import Mismatch, from_line, to_line


@pytest.fixture
def served(tmp_path):
    """A run folder with a server, its requests, and the verbs that reached it."""
    folder = RunFolder(str(tmp_path))
    requests, heard = Requests(), []
    server = ControlServer(folder.control, requests, on_request=heard.append, place=lambda: "mkfs of cell 1")
    yield folder, requests, heard
    server.close()


def test_a_request_is_answered_with_the_place_where_the_engine_stands(served):
    folder, _, heard = served
    assert ask(folder, Verb.STATUS) == ControlAnswer(accepted=True, step="mkfs of cell 1", why="")
    assert heard == []
    for verb in (Verb.PAUSE, Verb.STOP_NOW):
        ask(folder, verb)
    assert heard == [ControlRequested(Verb.PAUSE), ControlRequested(Verb.STOP_NOW)]


CELL, NEXT = InCell(3, 1), InCell(6, 1)


def asking(verb: Verb) -> ControlRequested:
    """Return a request about the cell that runs in these tests."""
    return ControlRequested(verb, CELL)


def test_each_verb_sets_its_own_wish_and_ends_programs_only_while_a_cell_may_be_interrupted():
    wishes = {
        # interrupting, stopping, paused
        Verb.PAUSE: (False, False, True),
        Verb.CONTINUE: (False, False, False),
        Verb.SKIP: (True, False, False),
        Verb.STOP_AFTER: (False, True, False),
        Verb.STOP_NOW: (True, True, False),
    }
    for verb, wanted in wishes.items():
        ended = []
        requests = Requests(lambda ended=ended: ended.append(1))
        if verb is not Verb.SKIP:
            requests.take(asking(verb))
            assert (requests.interrupting, requests.stopping, requests.paused) == wanted, verb
            assert ended == [], verb
        requests.cell_begins(CELL)
        requests.take(asking(verb))
        assert (requests.interrupting, requests.stopping, requests.paused) == wanted, verb
        assert len(ended) == requests.interrupting, verb
        # The cell gives back what it took.
        requests.cell_releases()
        requests.take(asking(verb))
        assert len(ended) == requests.interrupting, verb


def test_a_skip_is_over_with_its_cell_and_a_stop_is_not():
    requests = Requests()
    requests.cell_begins(CELL)
    requests.take(asking(Verb.SKIP))
    requests.take(asking(Verb.STOP_AFTER))
    assert (requests.interrupting, requests.stopping_now) == (True, False)
    requests.cell_releases()
    requests.cell_ends(is_final=True)
    requests.cell_begins(NEXT)
    assert (requests.interrupting, requests.stopping) == (False, True)


def begun(*, ends: bool = True, is_final: bool = True, then: InCell | None = None) -> Requests:
    """Return requests after a cell has begun, and perhaps ended and been followed by another one."""
    requests = Requests()
    requests.cell_begins(CELL)
    requests.cell_releases()
    if ends:
        requests.cell_ends(is_final=is_final)
    if then is not None:
        requests.cell_begins(then)
    return requests


@pytest.mark.parametrize(
    ("requests", "cell", "why"),
    [
        (begun(then=NEXT), CELL, "it is finished, and cell 7 runs now"),
        (begun(), CELL, "it is finished, and no cell runs now"),
        (begun(then=InCell(3, 2)), CELL, "it is finished, and it was started again since"),
        (begun(is_final=False, then=NEXT), CELL, "it does not run, and cell 7 runs now"),
        (begun(ends=False), CELL, "it is ending, with nothing left to skip"),
        (begun(then=NEXT), None, "the request names none"),
        (Requests(), CELL, "it does not run, and no cell runs now"),
    ],
)
def test_skip_of_cell_that_does_not_run_is_refused(requests, cell, why):
    noted = []
    with pytest.raises(CellNotRunning, match=f"^{why}$"):
        requests.take(ControlRequested(Verb.SKIP, cell), noted.append)
    assert noted == []
    assert not requests.interrupting


@pytest.mark.parametrize("verb", [Verb.PAUSE, Verb.CONTINUE, Verb.STOP_AFTER, Verb.STOP_NOW])
@pytest.mark.parametrize("cell", [CELL, None])
def test_other_requests_are_taken_in_any_cell(verb, cell):
    noted, request = [], ControlRequested(verb, cell)
    begun(then=NEXT).take(request, noted.append)
    assert noted == [request]


def test_late_skip_over_socket_raises_cell_not_skipped(served):
    folder, requests, heard = served
    requests.cell_begins(CELL)
    requests.cell_ends(is_final=True)
    requests.cell_begins(NEXT)
    with pytest.raises(CellNotSkipped, match=r"Cell 4 of run .* is not skipped: it is finished, and cell 7 runs now\."):
        ask(folder, Verb.SKIP, CELL)
    # As an older client sends it, which saw no cell.
    with pytest.raises(RequestRefused, match="names none"):
        ask(folder, Verb.SKIP)
    assert (heard, requests.interrupting) == ([], False)
    ask(folder, Verb.SKIP, NEXT)
    assert heard == [ControlRequested(Verb.SKIP, NEXT)]
    assert requests.interrupting


def test_requests_and_answers_keep_their_older_form():
    assert from_line(ControlRequested, b'{"verb":"skip"}\n') == ControlRequested(Verb.SKIP)
    assert to_line(ControlRequested(Verb.PAUSE)) == b'{"verb":"pause"}\n'
    assert to_line(ControlAnswer(accepted=True, step="", why="")) == b'{"accepted":true,"step":"","why":""}\n'


@pytest.mark.parametrize("verb", [Verb.CONTINUE, Verb.STOP_AFTER])
def test_a_paused_run_waits_until_it_may_go_on_or_has_to_stop(verb):
    requests = Requests()
    requests.take(ControlRequested(Verb.PAUSE))
    waiter = threading.Thread(target=requests.wait_while_paused)
    waiter.start()
    requests.take(ControlRequested(verb))
    waiter.join(timeout=10)
    assert not waiter.is_alive()


def test_only_its_owner_can_reach_the_socket_from_its_first_moment(served):
    folder, _, _ = served
    assert stat.S_IMODE(os.stat(folder.control).st_mode) == 0o600


@pytest.mark.root
def test_another_user_is_not_heard(served):
    folder, requests, heard = served
    os.chmod(folder.control, 0o666)  # noqa: S103 - the mode alone must not be what keeps others out
    os.chmod(folder.path, 0o755)  # noqa: S103
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setgid(65534)
            os.setuid(65534)
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(folder.control)
            connection.sendall(to_line(ControlRequested(Verb.STOP_NOW)))
            code = 0 if connection.recv(100) == b"" else 2
        except PermissionError:
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert heard == []
    assert not requests.stopping


def test_nonsense_is_answered_and_sets_nothing(served):
    folder, requests, heard = served
    for line in (b"", b"stop\n", b'{"verb": "format"}\n', b"[]\n", b"x" * 9000 + b"\n", b"[" * 4000 + b"\n"):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(folder.control)
            connection.sendall(line)
            connection.shutdown(socket.SHUT_WR)
            answer = from_line(ControlAnswer, connection.makefile("rb").readline())
        assert not answer.accepted, line
    assert heard == []
    assert not requests.stopping


def test_request_is_answered_after_idle_and_slow_callers(served, monkeypatch):
    folder, _, heard = served
    monkeypatch.setattr(children, "is_alive", lambda _: True)
    with contextlib.ExitStack() as stack:
        callers = [stack.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(40)]
        waiting = iter(callers)
        for _ in range(2):
            with contextlib.suppress(BlockingIOError):
                for caller in waiting:
                    caller.setblocking(False)
                    caller.connect(folder.control)
            # The server takes one of them meanwhile, whose place the next one fills.
            time.sleep(0.2)
        with pytest.raises(EngineBusy):
            ask(folder, Verb.STOP_NOW, wait_s=0.3)
        for caller in callers[2:]:
            caller.close()
        over = threading.Event()
        stack.callback(over.set)

        def drip():
            with contextlib.suppress(OSError):
                while not over.wait(0.2):
                    callers[0].send(b"{")

        threading.Thread(target=drip).start()
        ask(folder, Verb.PAUSE, wait_s=6)
    assert heard == [ControlRequested(Verb.PAUSE)]


def test_a_run_without_an_engine_says_so_and_a_socket_that_a_killed_one_left_is_replaced(tmp_path):
    folder = RunFolder(str(tmp_path))
    with pytest.raises(RunOver):
        ask(folder, Verb.STATUS)
    left = socket.socket(socket.AF_UNIX)
    left.bind(folder.control)
    left.close()
    server = ControlServer(folder.control, Requests(), on_request=lambda _: None, place=lambda: "")
    assert ask(folder, Verb.STATUS).accepted
    server.close()
    assert not os.path.lexists(folder.control)


@given(st.binary(max_size=300))
def test_any_bytes_are_a_request_or_a_bad_message(line):
    with contextlib.suppress(Mismatch):
        assert from_line(ControlRequested, line).verb in Verb


@given(st.sampled_from(Verb), st.booleans(), st.text(), st.text())
def test_messages_come_back_as_they_went(verb, accepted, step, why):
    assert from_line(ControlRequested, to_line(ControlRequested(verb))).verb is verb
    answer = ControlAnswer(accepted, step, why)
    assert from_line(ControlAnswer, to_line(answer)) == answer


def test_to_continue_takes_a_stop_after_the_cell_back():
    requests = Requests()
    requests.cell_begins(CELL)
    for verb, stops in ((Verb.STOP_AFTER, True), (Verb.SKIP, True), (Verb.CONTINUE, False), (Verb.STOP_AFTER, True)):
        requests.take(asking(verb))
        assert requests.stopping is stops, verb
    requests.take(ControlRequested(Verb.STOP_NOW))
    requests.take(ControlRequested(Verb.CONTINUE))
    assert requests.stopping
