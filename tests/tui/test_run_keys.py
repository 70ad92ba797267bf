"""The Run screen's keys: what they ask of the engine, and of children."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from fsconsole.client.children import Done
from fsconsole.model.events import ControlRequested, Verb
from tests.tui.harness import Scripted, console
from tests.tui.living import living_run
from tests.tui.recorded import recorded
from tests.tui.waiting import shows


@pytest.mark.parametrize(
    ("key", "verb", "words"),
    [
        ("p", Verb.PAUSE, "Pausing before the next cell"),
        ("k", Verb.SKIP, "Skipping the current cell"),
        ("a", Verb.STOP_AFTER, "Stopping after the current cell"),
    ],
)
def test_a_key_asks_the_engine_and_its_answer_is_said(
    tmp_path: Path, key: str, verb: Verb, words: str
) -> None:
    async def ask() -> None:
        with living_run(tmp_path) as run:
            async with console(folder=run.folder, runs_dir=tmp_path).run_test(size=(80, 24)) as pilot:
                await pilot.press("3")
                await shows(pilot, "workload")
                await pilot.press(key)
                await shows(pilot, words, "(a test)")
                assert run.asked == [verb]

    asyncio.run(ask())


def test_a_paused_run_goes_on_by_the_same_key(tmp_path: Path) -> None:
    async def ask() -> None:
        with living_run(tmp_path) as run:
            run.record((ControlRequested(Verb.PAUSE),))
            async with console(folder=run.folder, runs_dir=tmp_path).run_test(size=(80, 24)) as pilot:
                await pilot.press("3")
                await shows(pilot, "paused, cell 1 of 2")
                await pilot.press("p")
                await shows(pilot, "It goes on.")
                assert run.asked == [Verb.CONTINUE]

    asyncio.run(ask())


def test_stopping_now_asks_first_and_enter_alone_goes_on(tmp_path: Path) -> None:
    async def ask() -> None:
        with living_run(tmp_path) as run:
            async with console(folder=run.folder, runs_dir=tmp_path).run_test(size=(80, 24)) as pilot:
                await pilot.press("3")
                await shows(pilot, "workload")
                await pilot.press("ctrl+x")
                await shows(pilot, "Stop the run now?")
                await pilot.press("enter")
                await pilot.pause()
                assert run.asked == []
                await pilot.press("ctrl+x")
                await shows(pilot, "Stop the run now?")
                await pilot.press("y")
                await shows(pilot, "It stops now")
                assert run.asked == [Verb.STOP_NOW]

    asyncio.run(ask())


def test_an_engine_that_does_not_answer_is_told_in_words(tmp_path: Path) -> None:
    async def ask() -> None:
        with living_run(tmp_path) as run:
            async with console(folder=run.folder, runs_dir=tmp_path).run_test(size=(80, 24)) as pilot:
                await pilot.press("3")
                await shows(pilot, "workload")
                Path(run.folder.control).rename(run.folder.control + ".away")
                await pilot.press("p")
                await shows(pilot, "takes no requests now", "ask again")
                Path(run.folder.control + ".away").rename(run.folder.control)

    asyncio.run(ask())


def test_detaching_leaves_the_console_and_nothing_is_asked_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []

    async def leave() -> None:
        with living_run(tmp_path) as run:
            app = console(folder=run.folder, runs_dir=tmp_path)
            monkeypatch.setattr(app, "exit", lambda message: said.append(str(message)))
            async with app.run_test(size=(80, 24)) as pilot:
                await pilot.press("3")
                await shows(pilot, "workload")
                await pilot.press("d")
                await pilot.pause()
            assert run.asked == []
        assert f"fsconsole attach {run.folder.name} --runs {tmp_path}" in said[0]

    asyncio.run(leave())


def test_a_dead_run_is_resumed_by_a_child(tmp_path: Path) -> None:
    async def resume() -> None:
        folder = recorded("killed", tmp_path)
        children = Scripted({"resume": f"{folder.name}\n"})
        async with console(children, folder=folder, runs_dir=tmp_path).run_test(size=(80, 24)) as pilot:
            await pilot.press("3")
            await shows(pilot, "r resumes")
            await pilot.press("r")
            await shows(pilot, "Resume run killed?", "is wiped again")
            assert children.acted == []
            await pilot.press("y")
            await shows(pilot, "Run killed goes on.")
        assert children.acted == [("resume", "killed", "--exact", "--runs", str(tmp_path), "--detach")]

    asyncio.run(resume())


def test_what_needs_root_says_so(tmp_path: Path) -> None:
    async def resume() -> None:
        folder = recorded("killed", tmp_path)
        children = Scripted()
        app = console(children, folder=folder, runs_dir=tmp_path, is_root=False)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press("3")
            await shows(pilot, "r resumes")
            await pilot.press("r")
            await shows(pilot, "root")
        assert children.acted == []

    asyncio.run(resume())


def test_a_resume_that_fails_is_told_with_its_hint(tmp_path: Path) -> None:
    async def resume() -> None:
        folder = recorded("killed", tmp_path)
        said = Done((), 20, "", "fsconsole: There is no /dev/loop0.\nhint: Look with devices.\n")
        app = console(Scripted({"resume": said}), folder=folder, runs_dir=tmp_path)
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press("3")
            await shows(pilot, "r resumes")
            await pilot.press("r")
            await shows(pilot, "Resume run killed?")
            await pilot.press("y")
            await shows(pilot, "There is no /dev/loop0. Look with devices.")

    asyncio.run(resume())
