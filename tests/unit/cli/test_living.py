"""`attach` and `stop` without a name mean the one run that is running; an ended run has its outcome."""

from __future__ import annotations

import io
import json
from contextlib import ExitStack
from pathlib import Path

import pytest

from fsconsole.cli.complaint import choose
from fsconsole.cli.run import _living, stop
from fsconsole.client import children
from fsconsole.errors import ExitCode
from fsconsole.errors.runs import EngineNotListening, SeveralLive
from fsconsole.model.events import Outcome, RunFinished
from fsconsole.system.locks import FileLock
from tests.unit.cli.recorded import STARTED, WHOLE, Terminal, make_run, run_command, write

FIRST, SECOND = "20261121-081000-aaaa", "20261122-081000-bbbb"


def test_of_two_living_runs_one_is_to_be_named_and_of_one_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    locks = []
    for name in (FIRST, SECOND):
        folder = make_run(tmp_path, name)
        write(folder, (STARTED,))
        locks.append(FileLock.acquire(folder.lock))
    runs = ("--runs", str(tmp_path))
    for command in ("attach", "stop"):
        done = run_command(command, *runs)
        assert (done.returncode, done.stdout) == (ExitCode.USAGE, "")
        assert done.stderr == (
            f"fsconsole: 2 runs are running: {SECOND}, {FIRST}.\n"
            f"hint: Name one: `fsconsole {command} {SECOND} --runs {tmp_path}`.\n"
        )
    locks.pop().release()
    # The older one is asked, not the newest; its engine is none that would listen.
    monkeypatch.setattr(children, "_LISTENS_SOON_S", 0.0)
    with pytest.raises(EngineNotListening, match=FIRST):
        stop(runs=str(tmp_path))
    locks.pop().release()
    assert run_command("stop", *runs).returncode == ExitCode.RUN_OVER


def test_on_a_terminal_one_of_several_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for said, chosen in (("2\n", 1), ("1\n", 0), ("3\n", None), ("\n", None), ("", None)):
        asked = Terminal()
        monkeypatch.setattr("sys.stdin", Terminal(said))
        monkeypatch.setattr("sys.stderr", asked)
        assert choose("Which run?", [SECOND, FIRST]) == chosen
        assert asked.getvalue() == f"1  {SECOND}\n2  {FIRST}\nWhich run? (1 to 2): "
    monkeypatch.setattr("sys.stdin", io.StringIO("1\n"))
    assert choose("Which run?", [SECOND, FIRST]) is None


def test_on_a_terminal_the_run_that_is_chosen_is_the_one_that_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as stack:
        for name in (FIRST, SECOND):
            folder = make_run(tmp_path, name)
            write(folder, (STARTED,))
            stack.callback(FileLock.acquire(folder.lock).release)
        for said, name in (("1\n", SECOND), ("2\n", FIRST)):
            asked = Terminal()
            monkeypatch.setattr("sys.stdin", Terminal(said))
            monkeypatch.setattr("sys.stderr", asked)
            meant = _living(str(tmp_path), "", "attach")
            assert meant is not None
            assert meant.name == name
            assert asked.getvalue().endswith("Which run? (1 to 2): ")
        monkeypatch.setattr("sys.stdin", Terminal("\n"))
        with pytest.raises(SeveralLive):
            _living(str(tmp_path), "", "attach")


def test_attach_to_a_run_that_ended_otherwise_exits_with_its_code_and_reason(tmp_path: Path) -> None:
    end = RunFinished(Outcome.STOPPED, "stopped as asked", "Resume it.", ExitCode.STOPPED)
    write(make_run(tmp_path, FIRST), (STARTED, end))
    for words in ((), ("--json",)):
        done = run_command("attach", *words, "--runs", str(tmp_path))
        assert (done.returncode, done.stderr) == (
            ExitCode.STOPPED,
            "fsconsole: stopped as asked\nhint: Resume it.\n",
        )
    assert json.loads(done.stdout)["exit_code"] == ExitCode.STOPPED


def test_attach_to_an_ended_run_prints_its_outcome_and_exits_with_its_code(tmp_path: Path) -> None:
    write(make_run(tmp_path, FIRST), WHOLE)
    done = run_command("attach", "--runs", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{FIRST}: finished\n2 cells: 1 done, 1 failed\n"
    told = json.loads(run_command("attach", "--json", "--runs", str(tmp_path)).stdout)
    assert (told["event"], told["outcome"]) == ("run_finished", "done")
    write(make_run(tmp_path, SECOND), (STARTED,))
    done = run_command("attach", "--runs", str(tmp_path))
    assert (done.returncode, done.stdout) == (ExitCode.ENGINE_DIED, "")
