"""Runs: no question comes over another one, whose answer would be taken for it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from textual.pilot import Pilot

from fsconsole.client.children import Done
from fsconsole.client.runs import targets_of
from fsconsole.journal.folder import RunFolder
from fsconsole.tui.screens import runs
from tests.tui.at_devices import Held
from tests.tui.harness import Scripted, console, drive, picture
from tests.tui.recorded import recorded
from tests.tui.waiting import shows, until


@pytest.fixture
def may_read(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Reading a run's targets takes until this is set."""
    event = threading.Event()

    def late(folder: RunFolder) -> tuple[str, ...]:
        event.wait(60)
        return tuple(targets_of(folder))

    monkeypatch.setattr(runs, "targets_of", late)
    return event


def test_an_answer_meant_for_delete_resumes_nothing(tmp_path: Path, may_read: threading.Event) -> None:
    recorded("stopped", tmp_path)
    children = Scripted({"runs delete": "", "resume stopped": ""})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "1 run")
        await pilot.press("u", "x")
        await shows(pilot, "Delete run stopped?")
        may_read.set()
        await until(pilot, lambda: not pilot.app.screen_stack[0]._is_resuming, "its giving up")  # type: ignore[attr-defined]
        assert "Delete run stopped?" in picture(pilot)
        await pilot.press("y")
        await until(pilot, lambda: children.acted, "the deleting")

    drive(console(children, runs_dir=tmp_path), steps, keys="5")
    assert [words[:2] for words in children.acted] == [("runs", "delete")]


def test_a_key_pressed_twice_asks_once(tmp_path: Path, may_read: threading.Event) -> None:
    recorded("stopped", tmp_path)
    children = Scripted({"resume stopped": ""})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "1 run")
        await pilot.press("u", "u")
        may_read.set()
        await shows(pilot, "Resume run stopped?")
        await pilot.press("n")
        await pilot.pause()
        assert len(pilot.app.screen_stack) == 1
        await pilot.press("u")
        await shows(pilot, "Resume run stopped?")

    drive(console(children, runs_dir=tmp_path), steps, keys="5")
    assert children.acted == []


@pytest.mark.parametrize("exit_code", [0, 27], ids=["goes on", "must be agreed to"])
def test_a_resume_that_ends_below_a_question_leaves_that_alone(tmp_path: Path, exit_code: int) -> None:
    recorded("stopped", tmp_path)
    answer = Done((), exit_code, "", "fsconsole: Nobody has consented.\n" if exit_code else "")
    children = Held({"devices": "[]", "resume stopped": answer}, held=("resume",))

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "1 run")
        await pilot.press("u")
        await shows(pilot, "Resume run stopped?")
        await pilot.press("y")
        await until(pilot, lambda: children.running, "the resume")
        await pilot.press("x")
        await shows(pilot, "Delete run stopped?")
        children.release.set()
        await until(pilot, lambda: not pilot.app.screen_stack[0]._is_resuming, "its end")  # type: ignore[attr-defined]
        assert "Delete run stopped?" in picture(pilot)
        await pilot.press("n")
        await shows(pilot, "at something else by now" if exit_code else "goes on: the list of runs")

    drive(console(children, runs_dir=tmp_path), steps, keys="5")
    assert [words[0] for words in children.acted] == ["resume"]
