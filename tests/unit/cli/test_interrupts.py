"""What signals do in each part of a command that starts an engine; the engine is a list of what it was asked."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import termios

import pytest

from fsconsole.cli import viewer as module
from fsconsole.cli.viewer import Answers, Interrupts
from fsconsole.errors.runs import EngineNotListening, EngineSilent
from fsconsole.journal.folder import RunFolder
from fsconsole.model.events import ControlAnswer, InCell, Verb
from fsconsole.model.state import RunStatus
from tests.unit.results import build

FOLDER = RunFolder("/nowhere/20261121-081000-k7qf")
ANSWER = ControlAnswer(accepted=True, step="cell 3, mkfs", why="")


@pytest.fixture(autouse=True)
def _as_in_a_terminal(monkeypatch):
    former = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in former.items():
        signal.signal(number, handler)


@pytest.fixture
def asked(monkeypatch) -> list[Verb]:
    """What reached the engine."""
    verbs: list[Verb] = []
    monkeypatch.setattr(module, "ask", lambda _folder, verb, _cell: verbs.append(verb) or ANSWER)
    return verbs


def press(number: int = signal.SIGINT) -> None:
    os.kill(os.getpid(), number)


def test_before_hold_ctrl_c_ends_the_command_and_a_second_signal_does_not_interrupt_the_undoing():
    undone = []

    def cut_and_undo():
        with Interrupts():
            try:
                press()
            finally:
                press()
                undone.append(True)

    with pytest.raises(KeyboardInterrupt):
        cut_and_undo()
    assert undone == [True]


def test_on_hold_nothing_happens_until_the_command_may_end(asked):
    with Interrupts() as interrupts:
        interrupts.hold()
        press()
        assert interrupts.asked
        with pytest.raises(KeyboardInterrupt):
            interrupts.require_none()
    assert asked == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_was_noted_reaches_the_engine_in_its_order(asked, capsys, number):
    with Interrupts() as interrupts:
        interrupts.hold()
        press(number)
        press(number)
        interrupts.pass_on_to(FOLDER)
        assert asked == [Verb.STOP_AFTER, Verb.STOP_NOW]
        press(number)
    assert asked == [Verb.STOP_AFTER, Verb.STOP_NOW, Verb.STOP_NOW]
    assert capsys.readouterr().err == "stopping after this cell (cell 3, mkfs); Ctrl-C again stops immediately\n"


def test_an_engine_that_does_not_listen_yet_is_asked_again(asked, monkeypatch, capsys):
    def deaf(_folder, _verb, _cell):
        raise EngineNotListening(run="r")

    with Interrupts() as interrupts:
        interrupts.hold()
        monkeypatch.setattr(module, "ask", deaf)
        interrupts.pass_on_to(FOLDER)
        press()
        assert capsys.readouterr().err == ""
        monkeypatch.setattr(module, "ask", lambda _folder, verb, _cell: asked.append(verb) or ANSWER)
        interrupts.deliver()
        interrupts.deliver()
    assert asked == [Verb.STOP_AFTER]


def test_an_engine_that_does_not_answer_is_told_of_and_the_view_goes_on(monkeypatch, capsys):
    def silent(_folder, _verb, _cell):
        raise EngineSilent(run="r", waited_s=5.0)

    monkeypatch.setattr(module, "ask", silent)
    with Interrupts() as interrupts:
        interrupts.hold()
        interrupts.pass_on_to(FOLDER)
        press()
        interrupts.deliver()
    assert capsys.readouterr().err.count("gave no answer within 5 s") == 1


def test_what_was_ignored_stays_ignored(asked):
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with Interrupts() as interrupts:
        press(signal.SIGHUP)
        interrupts.hold()
        interrupts.pass_on_to(FOLDER)
        press(signal.SIGHUP)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def ended_by(*lines: str) -> tuple[int, str, str]:
    """Run a program that begins with the import of Interrupts."""
    code = "\n".join(("import os", "from fsconsole.cli.viewer import Answers, Interrupts", *lines))
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("hold", ["interrupts.hold()", "pass"])
def test_the_process_ends_by_the_signal_itself_when_all_is_undone(number, hold):
    assert ended_by(
        # Under nohup these tests themselves ignore SIGHUP, and so would the program.
        "import signal",
        f"signal.signal({int(number)}, signal.SIG_DFL)",
        "with Interrupts() as interrupts:",
        "    try:",
        f"        {hold}",
        f"        os.kill(os.getpid(), {int(number)})",
        "        interrupts.require_none()",
        "    finally:",
        "        print('undone', flush=True)",
    ) == (-number, "undone\n", "")


def test_a_run_that_nobody_meant_to_watch_is_stopped_at_once(asked):
    with Interrupts(at_once=True) as interrupts:
        interrupts.hold()
        press(signal.SIGTERM)
        interrupts.pass_on_to(FOLDER)
    assert asked == [Verb.STOP_NOW]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_has_told_its_run_is_not_ended_by_a_signal(number):
    assert ended_by(
        "with Interrupts(at_once=True) as interrupts:",
        "    interrupts.hold()",
        "    print('run', flush=True)",
        "    assert interrupts.leave()",
        f"    os.kill(os.getpid(), {int(number)})",
        f"os.kill(os.getpid(), {int(number)})",
    ) == (0, "run\n", "")


def test_a_command_that_was_asked_to_stop_before_it_told_its_run_goes_on_to_hear_signals(asked):
    with Interrupts(at_once=True) as interrupts:
        interrupts.hold()
        interrupts.pass_on_to(FOLDER)
        press()
        assert not interrupts.leave()
        press()
    assert asked == [Verb.STOP_NOW, Verb.STOP_NOW]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.fixture
def terminal():
    """Both ends of a terminal: its keyboard, and what the command reads."""
    keyboard, stdin = os.openpty()
    yield keyboard, stdin
    os.close(keyboard)
    os.close(stdin)


@pytest.mark.parametrize(
    "answer",
    [(b"d", [], True), (b"a", [Verb.STOP_AFTER], False), (b"X", [Verb.STOP_NOW], False), (b"x", [], False)],
)
def test_on_a_terminal_the_first_ctrl_c_asks_what_is_meant(asked, capsys, terminal, answer):
    (keyboard, stdin), (key, verbs, detaches) = terminal, answer
    former = termios.tcgetattr(stdin)
    with Interrupts() as interrupts, Answers(interrupts, stdin) as answers:
        interrupts.hold()
        interrupts.pass_on_to(FOLDER)
        assert not answers.detaches()
        press()
        assert "d detach, a stop after this cell, X stop now" in capsys.readouterr().err
        assert not answers.detaches()
        assert asked == []
        os.write(keyboard, key)
        select.select([stdin], [], [])
        assert answers.detaches() == detaches
        assert asked == verbs
        answers.detaches()
    assert termios.tcgetattr(stdin) == former


def test_ctrl_c_question_and_requests_name_shown_cell(monkeypatch, capsys, terminal):
    named = []
    monkeypatch.setattr(module, "ask", lambda _folder, _verb, cell: named.append(cell) or ANSWER)
    with Interrupts() as interrupts, Answers(interrupts, terminal[1]):
        interrupts.hold()
        interrupts.pass_on_to(FOLDER)
        cells = (build.cell(0), build.cell(1, build.XFS))
        interrupts.state = build.run(cells, (build.done(0), build.running(1)), status=RunStatus.RUNNING)
        press()
        assert "a stop after cell 2 of 2, xfs, X stop now" in capsys.readouterr().err
        press()
    assert named == [InCell(1, 1)]


def test_a_second_ctrl_c_stops_after_the_cell_and_a_third_one_now(asked, terminal):
    with Interrupts() as interrupts, Answers(interrupts, terminal[1]):
        interrupts.hold()
        interrupts.pass_on_to(FOLDER)
        for verbs in ([], [Verb.STOP_AFTER], [Verb.STOP_AFTER, Verb.STOP_NOW]):
            press()
            assert asked == verbs
