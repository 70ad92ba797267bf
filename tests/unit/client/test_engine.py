"""Starting engines, and commands that start a run."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from fsconsole.client import children, engine
from fsconsole.client.children import Children, Done, not_started, not_stopped, started_run, was_undone
from fsconsole.client.engine import EngineChild, EngineService, unit_of
from fsconsole.errors.runs import EngineNotListening, RequestRefused, RunOver
from fsconsole.journal.folder import RunFolder
from fsconsole.model.events import InCell, Verb
from fsconsole.system.mounts import SystemdUnit
from tests.conftest import wait_until
from tests.fakes import FakeExecutor, load_results

RECORDED = load_results(str(Path(__file__).parents[2] / "data" / "systemd" / "252.json"))
ALIVE, DEAD = (r for r in RECORDED if r.argv == ("systemctl", "is-active", "--", "fsconsole-lives.service"))
KILLED = next(r for r in RECORDED if r.argv[:2] == ("systemctl", "kill"))


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that is searched first for programs."""
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", f"{directory}:/usr/bin:/bin")
    monkeypatch.setattr(engine, "_ASK_EVERY_S", 0.0)
    return directory


def put(directory: Path, name: str, script: str) -> None:
    program = directory / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def service(tmp_path: Path, executor: FakeExecutor) -> EngineService:
    unit = SystemdUnit("fsconsole-lives.service", "a run", str(tmp_path / "engine.log"))
    return EngineService(("engine",), unit, executor)


def test_a_service_is_over_where_systemd_does_not_take_it_or_it_has_ended(tmp_path: Path, programs: Path) -> None:
    put(programs, "systemd-run", "echo no >&2; exit 1")
    starting = service(tmp_path, FakeExecutor({}))
    wait_until(starting.is_over, "the failure is seen")
    assert (tmp_path / "engine.log").read_text() == "no\n"
    put(programs, "systemd-run", "exit 0")
    starting = service(tmp_path, FakeExecutor({DEAD.argv: DEAD}))
    wait_until(starting.is_over, "the end is seen")
    assert "journalctl --unit=fsconsole-lives.service" in starting.silence


def test_a_service_that_runs_has_not_failed_although_its_starter_has_ended(tmp_path: Path, programs: Path) -> None:
    put(programs, "systemd-run", "exit 0")
    executor = FakeExecutor({ALIVE.argv: ALIVE})
    starting = service(tmp_path, executor)

    def is_asked_about() -> bool:
        assert not starting.is_over()
        return bool(executor.calls)

    wait_until(is_asked_about, "systemd is asked")


def test_a_service_that_is_given_up_is_killed_and_so_is_a_starter_that_hangs(tmp_path: Path, programs: Path) -> None:
    put(programs, "systemd-run", "exec sleep 600")
    executor = FakeExecutor({KILLED.argv: KILLED})
    starting = service(tmp_path, executor)
    assert not starting.is_over()
    starting.kill()
    wait_until(starting.is_over, "the starter ends")
    assert executor.calls == [KILLED.argv]


def test_a_child_is_watched_and_killed_with_all_of_its_group(tmp_path: Path) -> None:
    child = EngineChild(("sh", "-c", "sleep 600 & wait"), str(tmp_path / "engine.log"))
    assert not child.is_over()
    child.kill()
    wait_until(child.is_over, "it ends")
    # One that has ended already is killed in vain, not in error.
    child.kill()


def test_an_engine_gets_the_operators_path_and_none_of_their_secrets(
    tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "secret")
    monkeypatch.setenv("PYTHONPATH", "/tmp/elsewhere")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    child = EngineChild(("env",), str(tmp_path / "engine.log"))
    log = tmp_path / "engine.log"
    wait_until(lambda: "LC_ALL=C.UTF-8\n" in log.read_text() and "PATH=" in log.read_text(), "it is printed")
    words = log.read_text()
    assert f"PATH={programs}:" in words
    assert "secret" not in words
    assert "PYTHONPATH" not in words
    child.kill()


def test_every_attempt_has_a_unit_of_its_own() -> None:
    folder = RunFolder("/runs/20261121-104500-k7qf")
    first, second = (unit_of(folder, attempts) for attempts in (0, 1))
    assert first.name == "fsconsole-20261121-104500-k7qf.service"
    assert second.name == "fsconsole-20261121-104500-k7qf-2.service"
    assert first.description == "fsconsole run 20261121-104500-k7qf"


TOLD = '{"run_id": "20261121-081000-k7qf", "folder": "/elsewhere"}\n'
FOLDER = RunFolder("/runs/20261121-081000-k7qf")
HEARS = """
import signal, sys
def end(*_):
    print("undone", flush=True)
    sys.exit(4)
signal.signal(signal.SIGTERM, end)
print("begun", flush=True)
signal.pause()
"""


class Written(Children):
    """Children that carry out Python given as their only word."""

    async def _start(self, words: Sequence[str]) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-c", *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )


def test_a_child_that_is_asked_to_end_says_what_it_came_to() -> None:
    async def ended(program: str, wait_s: float) -> Done:
        end = asyncio.Event()
        running = asyncio.create_task(Written().run_or_end(end, program))
        while not running.done():
            # Before it listens, SIGTERM ends it without a word: it is asked when it has had time to begin.
            await asyncio.sleep(wait_s)
            end.set()
        return await running

    done = asyncio.run(ended(HEARS, 1.0))
    assert (done.exit_code, done.out) in {(4, "begun\nundone\n"), (-signal.SIGTERM, "")}
    # One that nobody ends is as any other, and one that is ended before it began is not begun.
    done = asyncio.run(Written().run_or_end(asyncio.Event(), "print('all')"))
    assert (done.exit_code, done.out) == (0, "all\n")
    done = asyncio.run(ended("print('begun')", 0.0))
    assert (done.out, was_undone(done)) == ("", True)


@pytest.mark.parametrize("out", [TOLD, TOLD + '{"more": 1}\n'])
def test_a_run_is_known_by_the_first_word_of_its_command(out: str) -> None:
    assert started_run(Done((), 4, out, ""), "/runs") == FOLDER


@pytest.mark.parametrize(
    "out",
    [
        "",
        "\n",
        "[]",
        "{}",
        '{"run_id": 3}',
        '{"run_id": ""}',
        '{"run_id": "../x"}',
        "no",
    ],
)
def test_what_tells_no_run_began_none(out: str) -> None:
    assert started_run(Done((), 0, out, ""), "/runs") is None


@pytest.mark.parametrize("exit_code", [130, -signal.SIGTERM, -signal.SIGINT])
def test_only_a_command_that_ended_by_the_signal_has_undone_all(exit_code: int) -> None:
    assert was_undone(Done((), exit_code, "", ""))
    assert not was_undone(Done((), exit_code, TOLD, ""))


@pytest.mark.parametrize(("exit_code", "words"), [(-9, "killed"), (0, "can't be read"), (1, "no room")])
def test_a_start_without_a_run_says_why(exit_code: int, words: str) -> None:
    done = Done(("run",), exit_code, "", "fsconsole: There is no room.\n")
    assert not was_undone(done)
    assert words in str(not_started(done))


@pytest.mark.parametrize(
    ("told", "problem"), [('{"run_id": "a"}', "`folder`"), ('{"run_id": "../x", "folder": ""}', "../x")]
)
def test_an_answer_that_names_no_run_is_an_error_that_says_what_is_wrong_with_it(told: str, problem: str) -> None:
    done = Done(("run",), 0, told, "")
    assert started_run(done, "/runs") is None
    assert problem in str(not_started(done))


def test_a_run_that_just_begins_is_asked_to_stop_until_it_hears_or_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = [
        EngineNotListening(run="r"),
        EngineNotListening(run="r"),
        None,
        RunOver(run="r"),
        RequestRefused("r", "why"),
    ]
    asked: list[Verb] = []

    def ask(_folder: RunFolder, verb: Verb, _cell: InCell | None) -> None:
        asked.append(verb)
        if answer := answers.pop(0):
            raise answer

    monkeypatch.setattr(children, "ask", ask)
    assert not_stopped(FOLDER) == ""
    assert asked == [Verb.STOP_NOW] * 3
    assert not_stopped(FOLDER) == ""
    assert "GOES ON" in not_stopped(FOLDER)
