"""A child that is asked to end, and what became of one that was to begin a run."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Sequence

import pytest

from fsconsole.client import children
from fsconsole.client.children import Done, RealChildren, begun_run, not_begun, stop_at_once, was_undone
from fsconsole.errors.runs import EngineNotListening, RunOver
from fsconsole.journal.folder import RunFolder
from fsconsole.model.events import Verb

TOLD = '{"run": "20261121-081000-k7qf", "folder": "/elsewhere"}\n'
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


class Written(RealChildren):
    """Children that carry out Python given as their only word."""

    async def _start(self, words: Sequence[str]) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-c", *words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )


def test_a_child_that_is_asked_to_end_says_what_it_came_to() -> None:
    async def ended() -> Done:
        end = asyncio.Event()
        running = asyncio.create_task(Written().run_or_end(end, HEARS))
        while not running.done():
            # Before it listens, SIGTERM ends it without a word: it is asked when it has had time to begin.
            await asyncio.sleep(1.0)
            end.set()
        return await running

    done = asyncio.run(ended())
    assert (done.exit_code, done.out) in {(4, "begun\nundone\n"), (-signal.SIGTERM, "")}


def test_a_child_that_nobody_ends_is_as_any_other() -> None:
    done = asyncio.run(Written().run_or_end(asyncio.Event(), "print('all')"))
    assert (done.exit_code, done.out) == (0, "all\n")


def test_what_is_ended_before_it_began_is_not_begun() -> None:
    async def ended() -> Done:
        end = asyncio.Event()
        end.set()
        return await Written().run_or_end(end, "print('begun')")

    done = asyncio.run(ended())
    assert (done.out, was_undone(done)) == ("", True)


@pytest.mark.parametrize("out", [TOLD, TOLD + '{"more": 1}\n'])
def test_a_run_is_known_by_the_first_word_of_its_command(out: str) -> None:
    assert begun_run(Done((), 4, out, ""), "/runs") == FOLDER


@pytest.mark.parametrize(
    "out",
    [
        "",
        "\n",
        "[]",
        "{}",
        TOLD.replace("folder", "where"),
        '{"run": 3}',
        '{"run": ""}',
        '{"run": "../x"}',
        "no",
    ],
)
def test_what_tells_no_run_began_none(out: str) -> None:
    assert begun_run(Done((), 0, out, ""), "/runs") is None


@pytest.mark.parametrize("exit_code", [130, -signal.SIGTERM, -signal.SIGINT])
def test_only_a_command_that_ended_by_the_signal_has_undone_all(exit_code: int) -> None:
    assert was_undone(Done((), exit_code, "", ""))
    assert not was_undone(Done((), exit_code, TOLD, ""))


@pytest.mark.parametrize(("exit_code", "words"), [(-9, "killed"), (0, "can't be read"), (1, "no room")])
def test_a_start_without_a_run_says_why(exit_code: int, words: str) -> None:
    done = Done(("run",), exit_code, "", "fsconsole: There is no room.\n")
    assert not was_undone(done)
    assert words in str(not_begun(done))


def test_a_run_that_just_begins_is_asked_until_it_hears(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Verb] = []

    def ask(_folder: RunFolder, verb: Verb) -> None:
        asked.append(verb)
        if len(asked) < 3:
            raise EngineNotListening(run="r")

    monkeypatch.setattr(children, "ask", ask)
    stop_at_once(FOLDER)
    assert asked == [Verb.STOP_NOW] * 3


def test_a_run_that_is_over_needs_no_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(_folder: RunFolder, _verb: Verb) -> None:
        raise RunOver(run="r")

    monkeypatch.setattr(children, "ask", ask)
    stop_at_once(FOLDER)
