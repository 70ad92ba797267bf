"""The Runs screen, over recorded runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from fsconsole.client.children import Done
from fsconsole.system.locks import FileLock
from fsconsole.tui.app import ConsoleApp
from fsconsole.tui.screens.confirm import ResumeScreen
from fsconsole.tui.widgets.table import Table
from tests.tui import harness
from tests.tui.harness import SIZES, Scripted, Steps, console, picture
from tests.tui.recorded import NAMES, all_recorded, recorded
from tests.tui.waiting import shows, until


def drive(app: ConsoleApp, steps: Steps, size: tuple[int, int] = (80, 24)) -> None:
    async def read(pilot: Pilot[None]) -> None:
        await until(pilot, lambda: "..." not in standings(pilot), "all runs are read")
        await steps(pilot)

    harness.drive(app, read, size=size, keys="5")


def standings(pilot: Pilot[None]) -> list[str]:
    tables = pilot.app.screen.query("#list")
    return [row.cells[2] for row in tables.first(Table).value.rows] if tables else ["..."]


async def point_at(pilot: Pilot[None], run: str) -> None:
    pilot.app.screen.query_one("#list", Table).point_at(run)
    await pilot.pause()


@pytest.mark.parametrize("size", SIZES)
def test_every_run_says_where_it_stands(size: tuple[int, int], tmp_path: Path) -> None:
    all_recorded(tmp_path)
    Path(tmp_path / "grid" / "journal.sqlite").write_bytes(b"damaged" * 99)

    async def steps(pilot: Pilot[None]) -> None:
        shown = await shows(pilot, "stopped after 5 of 6 cells", "engine died in workload", "damaged")
        assert f"{len(NAMES)} runs" in shown
        assert all(len(line) <= size[0] for line in shown.splitlines())

    drive(console(runs_dir=tmp_path), steps, size)


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

    drive(app, steps)


def test_enter_on_a_damaged_run_stays_and_says_so(tmp_path: Path) -> None:
    Path(recorded("grid", tmp_path).journal).write_bytes(b"damaged" * 99)
    app = console(runs_dir=tmp_path)

    async def steps(pilot: Pilot[None]) -> None:
        await pilot.press("enter")
        await shows(pilot, "nothing to open")
        assert app.current_mode == "runs"

    drive(app, steps)


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
        drive(app, steps)
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

    drive(console(children, runs_dir=tmp_path), steps)
    assert children.acted == [("runs", "delete", "--runs", str(tmp_path), "--", "raw")]


def test_renaming_is_done_by_the_command(tmp_path: Path) -> None:
    recorded("raw", tmp_path)
    children = Scripted({"runs rename": ""})

    async def steps(pilot: Pilot[None]) -> None:
        await pilot.press("m")
        await shows(pilot, "Another title for run raw")
        await pilot.press("end", *"!", "enter")
        await shows(pilot, "is called")

    drive(console(children, runs_dir=tmp_path), steps)
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

    drive(app, steps)
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

    drive(console(children, runs_dir=tmp_path), steps)


def test_typing_filters_and_escape_shows_all_again(tmp_path: Path) -> None:
    all_recorded(tmp_path)

    async def steps(pilot: Pilot[None]) -> None:
        await pilot.press("slash", *"inodes")
        await until(pilot, lambda: len(standings(pilot)) == 1, "one run")
        await pilot.press("enter", "escape")
        await until(pilot, lambda: len(standings(pilot)) == len(NAMES), "all runs")

    drive(console(runs_dir=tmp_path), steps)


def test_without_root_looking_works_and_acting_says_how(tmp_path: Path) -> None:
    all_recorded(tmp_path)
    children = Scripted()

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "5 runs", "where it stands", "u resumes it")
        for key in "umx":
            await pilot.press(key)
            await shows(pilot, "needs root", "sudo fsconsole")

    drive(console(children, runs_dir=tmp_path, is_root=False), steps)
    assert children.acted == []


def test_no_runs_at_all_is_a_sentence(tmp_path: Path) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "There are no runs in")
        await pilot.press("enter", "t", "u", "m", "x", "down")
        assert "There are no runs in" in picture(pilot)

    drive(console(runs_dir=tmp_path / "none"), steps)
