"""The list of runs, its questions and its directory."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from fsconsole.client.children import Done
from fsconsole.client.runs import targets_of
from fsconsole.errors.runs import NotRoot
from fsconsole.journal.folder import RunFolder
from fsconsole.show import run
from fsconsole.system.locks import FileLock
from fsconsole.tui.app import ConsoleApp
from fsconsole.tui.screens import runs
from fsconsole.tui.screens import runs as runs_module
from fsconsole.tui.screens.confirm import ResumeScreen
from fsconsole.tui.widgets.lists import Table
from tests.tui import harness
from tests.tui.at_devices import Held
from tests.tui.harness import SIZES, Scripted, Steps, console, drive, picture
from tests.tui.recorded import NAMES, all_recorded, recorded
from tests.tui.waiting import shows, until


def drive_runs(app: ConsoleApp, steps: Steps, size: tuple[int, int] = (80, 24)) -> None:
    async def read(pilot: Pilot[None]) -> None:
        await until(pilot, lambda: "..." not in standings(pilot), "all runs are read")
        await steps(pilot)

    harness.drive(app, read, size=size, keys="5")


def standings(pilot: Pilot[None]) -> list[str]:
    tables = pilot.app.screen.query("#list")
    return [row.cells[2] for row in tables.first(Table).value.rows] if tables else ["..."]


async def point_at(pilot: Pilot[None], run: str) -> None:
    pilot.app.screen.query_one("#list", Table).go_to(run)
    await pilot.pause()


@pytest.mark.parametrize("size", SIZES)
def test_every_run_says_where_it_stands(size: tuple[int, int], tmp_path: Path) -> None:
    all_recorded(tmp_path)
    Path(tmp_path / "grid" / "journal.sqlite").write_bytes(b"damaged" * 99)

    async def steps(pilot: Pilot[None]) -> None:
        shown = await shows(pilot, "stopped after 5 of 6 cells", "engine died in workload", "damaged")
        assert f"{len(NAMES)} runs" in shown
        assert all(len(line) <= size[0] for line in shown.splitlines())

    drive_runs(console(runs_dir=tmp_path), steps, size)


def test_enter_opens_the_grid_of_a_run_that_has_ended(tmp_path: Path) -> None:
    all_recorded(tmp_path)
    app = console(runs_dir=tmp_path)

    async def steps(pilot: Pilot[None]) -> None:
        await point_at(pilot, "raw")
        await pilot.press("enter")
        await shows(pilot, "read-ahead, beside", "sorted by")
        assert app.current_mode == "results"
        assert app.session.folder is not None
        assert app.session.folder.name == "raw"

    drive_runs(app, steps)


def test_enter_on_a_damaged_run_stays_and_says_so(tmp_path: Path) -> None:
    Path(recorded("grid", tmp_path).journal).write_bytes(b"damaged" * 99)
    app = console(runs_dir=tmp_path)

    async def steps(pilot: Pilot[None]) -> None:
        await pilot.press("enter")
        await shows(pilot, "can't be opened")
        assert app.current_mode == "runs"

    drive_runs(app, steps)


def test_a_living_run_is_attached_to_and_never_deleted(tmp_path: Path) -> None:
    folder = recorded("killed", tmp_path)
    children = Scripted()
    app = console(children, runs_dir=tmp_path)

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "running")
        await pilot.press("x")
        await shows(pilot, "can't be deleted")
        await pilot.press("u")
        await shows(pilot, "t follows it")
        await pilot.press("t")
        await until(pilot, lambda: app.current_mode == "run", "the Run screen")

    with FileLock.acquire(folder.lock):
        drive_runs(app, steps)
    assert children.acted == []
    assert app.session.folder == folder


def test_deleting_asks_with_the_runs_name_and_is_done_by_the_command(tmp_path: Path) -> None:
    recorded("raw", tmp_path)
    children = Scripted({"runs delete": ""})

    async def steps(pilot: Pilot[None]) -> None:
        await pilot.press("x")
        await shows(pilot, "Delete run raw?")
        await pilot.press("enter")
        await shows(pilot, "1 run")
        assert children.acted == []
        await pilot.press("x")
        await shows(pilot, "Delete run raw?")
        await pilot.press("y")
        await shows(pilot, "Run raw is deleted.")

    drive_runs(console(children, runs_dir=tmp_path), steps)
    assert children.acted == [("runs", "delete", "--runs", str(tmp_path), "--", "raw")]


def test_renaming_is_done_by_the_command(tmp_path: Path) -> None:
    recorded("raw", tmp_path)
    children = Scripted({"runs rename": ""})

    async def steps(pilot: Pilot[None]) -> None:
        await pilot.press("m")
        await shows(pilot, "Another title for run raw")
        await pilot.press("end", *"!", "enter")
        await shows(pilot, "is called")

    drive_runs(console(children, runs_dir=tmp_path), steps)
    (asked,) = children.acted
    assert asked == (
        "runs", "rename", "--runs", str(tmp_path), "--", "raw", "read-ahead, beside the raw device!",
    )  # fmt: skip


def test_a_resume_goes_on_in_the_run_screen(tmp_path: Path) -> None:
    recorded("stopped", tmp_path)
    children = Scripted({"resume stopped": ""})
    app = console(children, runs_dir=tmp_path)

    async def steps(pilot: Pilot[None]) -> None:
        await pilot.press("u")
        await shows(pilot, "Resume run stopped?")
        assert children.acted == []
        await pilot.press("y")
        await until(pilot, lambda: app.current_mode == "run", "the Run screen")

    drive_runs(app, steps)
    assert children.acted[0] == ("resume", "stopped", "--exact", "--detach", "--runs", str(tmp_path))


def test_devices_that_must_be_agreed_to_anew_are_asked_about(tmp_path: Path) -> None:
    recorded("stopped", tmp_path)
    refused = Done((), 27, "", "fsconsole: Nobody has consented.\nhint: Look.\n")
    children = Scripted({"resume stopped --exact --detach": refused})

    async def steps(pilot: Pilot[None]) -> None:
        await pilot.press("u")
        await shows(pilot, "Resume run stopped?")
        await pilot.press("y")
        await until(pilot, lambda: isinstance(pilot.app.screen, ResumeScreen), "the question")
        await until(
            pilot,
            lambda: ("resume", "stopped", "--exact", "--show") in [w[:4] for w in children.acted],
            "a look",
        )
        await pilot.press("escape")
        await shows(pilot, "Nobody has consented.", "Look.")

    drive_runs(console(children, runs_dir=tmp_path), steps)


def test_typing_filters_and_escape_shows_all_again(tmp_path: Path) -> None:
    all_recorded(tmp_path)

    async def steps(pilot: Pilot[None]) -> None:
        await pilot.press("slash", *"inodes")
        await until(pilot, lambda: len(standings(pilot)) == 1, "one run")
        await pilot.press("enter", "escape")
        await until(pilot, lambda: len(standings(pilot)) == len(NAMES), "all runs")

    drive_runs(console(runs_dir=tmp_path), steps)


def test_without_root_looking_works_and_acting_says_how(tmp_path: Path) -> None:
    all_recorded(tmp_path)
    children = Scripted()

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "5 runs", "status", "u resumes it")
        for key in "umx":
            await pilot.press(key)
            await shows(pilot, "needs root", "sudo fsconsole")

    drive_runs(console(children, runs_dir=tmp_path, is_root=False), steps)
    assert children.acted == []


def test_no_runs_at_all_is_a_sentence(tmp_path: Path) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "There are no runs in")
        await pilot.press("enter", "t", "u", "m", "x", "down")
        assert "There are no runs in" in picture(pilot)

    drive_runs(console(runs_dir=tmp_path / "none"), steps)


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
        await shows(pilot, "another screen or dialog is open" if exit_code else "goes on: the list of runs")

    drive(console(children, runs_dir=tmp_path), steps, keys="5")
    assert [words[0] for words in children.acted] == ["resume"]


MODES = [("3", "run"), ("4", "results"), ("5", "runs")]


@pytest.mark.parametrize("size", [*SIZES, (60, 20)])
@pytest.mark.parametrize(("key", "mode"), MODES)
def test_a_file_in_its_place_is_told_with_a_hint(
    tmp_path: Path, key: str, mode: str, size: tuple[int, int]
) -> None:
    (tmp_path / "runs").write_text("")

    async def go() -> None:
        app = console(runs_dir=tmp_path / "runs")
        async with app.run_test(size=size) as pilot:
            await pilot.press(key)
            shown = await shows(
                pilot, f"Runs can't be kept in {tmp_path}/runs: Not a directory.", "--runs DIR"
            )
            assert app.current_mode == mode
            assert "no runs" not in shown

    asyncio.run(go())


@contextmanager
def unreadable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have the directory refuse itself, as it does to anybody but root."""

    def refuse(runs_dir: str) -> None:
        raise NotRoot(what=f"Reading {runs_dir}")

    with monkeypatch.context() as patched:
        for module in (runs_module, run):
            patched.setattr(module, "list_runs", refuse)
        yield


def test_one_that_may_be_read_again_is_listed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded("grid", tmp_path)

    async def go() -> None:
        async with console(runs_dir=tmp_path).run_test(size=(80, 24)) as pilot:
            await pilot.press("5")
            await shows(pilot, "1 run", "finished")
            with unreadable(monkeypatch):
                await pilot.press("r")
                shown = await shows(pilot, f"Reading {tmp_path} needs root.", "can't be listed")
                assert "finished" not in shown
            await pilot.press("r")
            await shows(pilot, "1 run", "finished")
            await until(pilot, lambda: "needs root" not in picture(pilot), "the complaint is gone")

    asyncio.run(go())
