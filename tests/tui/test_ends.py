"""How a dialog, a demo and a run end on the screen, also where the engine died."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fsconsole.client.children import Done
from fsconsole.devices.scratch import Scratch
from fsconsole.errors.runs import EngineNotListening
from fsconsole.journal.folder import RunFolder
from fsconsole.model.wire import encode
from fsconsole.show.lines import Line
from fsconsole.tui import session
from fsconsole.tui.screens import runs as runs_module
from fsconsole.tui.screens.dialogs import AskScreen, PickScreen
from fsconsole.tui.screens.scratch_form import ScratchForm
from tests.tui.at_devices import Held
from tests.tui.device_lists import FREE, NO_DEVICES, listed
from tests.tui.harness import ONE_OF_SIZES, Late, Scripted, console, drive, picture
from tests.tui.living import living_run
from tests.tui.recorded import recorded
from tests.tui.waiting import shows, until

NAME = "20261121-081000-k7qf"


async def test_enter_twice_in_one_read_answers_a_question_and_chooses_once() -> None:
    ended: list[object] = []
    async with drive(console(Scripted({"devices": NO_DEVICES}))) as pilot:
        question = AskScreen("Really?", "It is asked.", yes="Do", no="Don't")
        pick = PickScreen("Which?", [Line("0", "one"), Line("1", "two")])
        for screen, title, accept in (
            (question, "Really?", lambda: question.query_one("#no").press()),
            (pick, "Which?", pick.action_accept),
        ):
            ended.clear()
            pilot.app.push_screen(screen, ended.append)
            await shows(pilot, title)
            accept()
            accept()
            await until(pilot, lambda: ended, "its end")
            assert ended == [False if screen is question else "0"]


async def test_one_device_is_made_however_often_that_is_submitted_at_once(tmp_path: Path) -> None:
    made = encode(Scratch("/dev/loop7", str(tmp_path / "a.img"), 64 << 20, "0a1b"))
    children = Held({"devices": NO_DEVICES, "scratch create": made}, held=("scratch",))
    async with drive(console(children)) as pilot:
        form = ScratchForm(children, str(tmp_path))
        pilot.app.push_screen(form)
        await shows(pilot, "New scratch device")
        form.query_one("#size").value = "64MiB"
        await pilot.pause()
        form.action_accept()
        form.action_accept()
        await until(pilot, lambda: children.running, "its making")
        children.release.set()
        await until(pilot, lambda: pilot.app.screen is not form, "its end")
    assert [words[:2] for words in children.asked].count(("scratch", "create")) == 1


def demo_waits() -> Late:
    """Return children of which the one that starts a demo waits for the test, whatever it is asked to do."""
    begun = json.dumps({"run_id": NAME, "folder": "/elsewhere"}) + "\n"
    return Late({"devices": listed(FREE)}, last=Done(("demo",), 0, begun, ""))


async def test_a_demo_that_has_begun_takes_nobody_away_from_a_form_and_one_that_was_ended_may_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unheard(folder: RunFolder) -> str:
        return f"Run {folder.name} GOES ON, {EngineNotListening(folder.name)}"

    monkeypatch.setattr(session, "not_stopped", unheard)
    for is_ended in (False, True):
        children = demo_waits()
        async with drive(console(children, runs_dir=tmp_path / "runs"), size=(120, 40)) as pilot:
            await shows(pilot, "1 device,")
            pilot.app.screen.action_demo()
            await shows(pilot, "starting the demo")
            if is_ended:
                await pilot.press("escape")
                await shows(pilot, "Stopping")
                children.release.set()
                await shows(pilot, f"Run {NAME} GOES ON", "The list of runs (5) shows it.")
                assert "no run was started" not in picture(pilot)
                continue
            form = ScratchForm(children, str(tmp_path))
            pilot.app.push_screen(form)
            await shows(pilot, "New scratch device")
            children.release.set()
            await pilot.pause()
            assert pilot.app.screen is form
            await pilot.press("escape")
            await shows(pilot, f"run {NAME} has started", "the list of runs (5) shows it")


@pytest.mark.parametrize("size", ONE_OF_SIZES)
async def test_an_engine_that_dies_while_its_run_is_watched_is_told_with_both_remedies_and_cleaned_up_after(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    with living_run(tmp_path) as run:
        children = Scripted({"cleanup": f"{run.folder.name}: marked as interrupted\n"})
        async with drive(console(children, folder=run.folder, runs_dir=tmp_path), "3", size=size) as pilot:
            await shows(pilot, "WORKLOAD")
            run.die()
            await shows(pilot, "engine died in workload of cell 1", "C Clean up", "r Resume")
            await shows(pilot, "ext4 data=ordered - 0 base interrupted")
            await shows(pilot, "Its engine died: C cleans up, r resumes the run.")
            await pilot.press("C")
            await shows(pilot, "marked as interrupted")
            assert children.acted == [("cleanup", run.folder.name, "--runs", str(tmp_path))]
            run.interrupt()
            await shows(pilot, "Interrupted and cleaned up: r resumes the run.")
            await pilot.press("5")
            await shows(pilot, "-> engine died in workload of cell 1; r resumes it")


@pytest.mark.parametrize("size", ONE_OF_SIZES)
async def test_one_that_dies_while_the_list_is_looked_at_is_told_with_both_remedies_and_cleaned_up_after(
    tmp_path: Path, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs_module, "_REFRESH_S", 0.1)
    children = Scripted({"cleanup": "it: marked as interrupted\n"})
    with living_run(tmp_path) as run:
        async with drive(console(children, folder=run.folder, runs_dir=tmp_path), "5", size=size) as pilot:
            await shows(pilot, "two filesystems", "running: workload of cell 1 of 2; Enter follows it")
            run.die()
            await shows(pilot, "-> engine died in workload of cell 1; C cleans up, r resumes it")
            await shows(pilot, "C Clean up", "r Resume", "q Quit")
            await pilot.press("C")
            await shows(pilot, "it: marked as interrupted")
    assert children.acted == [("cleanup", "--runs", str(tmp_path))]


async def test_without_root_both_remedies_say_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The recorded run can be resumed as if its scratch file was there.
    monkeypatch.setattr("fsconsole.client.runs._scratch_files", lambda _state: ())
    folder = recorded("killed", tmp_path)
    children = Scripted()
    app = console(children, folder=folder, runs_dir=tmp_path, is_root=False)
    async with drive(app) as pilot:
        for mode, resume, ready in (("5", "r", "engine died"), ("3", "r", "Its engine died")):
            await pilot.press(mode)
            await shows(pilot, ready)
            await pilot.press("C")
            await shows(pilot, "Cleaning up needs root")
            await pilot.press(resume)
            await shows(pilot, "Resuming a run needs root")
    assert children.acted == []
