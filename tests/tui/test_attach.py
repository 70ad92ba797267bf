"""The next console after a detach offers to attach."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from fsconsole.tui.app import ConsoleApp
from fsconsole.tui.screens.dialogs import AttachScreen
from tests.lab.soak import tried
from tests.tui.harness import ONE_OF_SIZES, console, drive, picture
from tests.tui.living import living_run
from tests.tui.recorded import all_recorded
from tests.tui.waiting import shows, until

OLDER, NEWER = "20261121-081000-k7qf", "20261121-092000-aaaa"


async def offered(pilot: Pilot[None]) -> str:
    await until(pilot, lambda: isinstance(pilot.app.screen, AttachScreen), "the offer")
    return picture(pilot)


async def nothing_is_offered(app: ConsoleApp, pilot: Pilot[None]) -> None:
    await app.workers.wait_for_complete()
    await pilot.pause()
    assert not isinstance(app.screen, AttachScreen)


@pytest.mark.parametrize("size", ONE_OF_SIZES)
async def test_a_run_that_goes_on_is_offered_at_the_start_and_shown_by_enter(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    app = console(runs_dir=tmp_path)
    with living_run(tmp_path) as run:
        async with drive(app, size=size) as pilot:
            await offered(pilot)
            await shows(pilot, "A run is in progress:", "two filesystems", "cell 1 of 2, about", "on /dev/")
            assert app.current_mode == "devices"
            await pilot.press("enter")
            await shows(pilot, "two filesystems  [", "0/2 cells")
            assert (app.current_mode, app.session.folder) == ("run", run.folder)


async def test_the_keys_of_the_screens_lead_there_from_the_offer_and_escape_leaves_the_run_alone(
    tmp_path: Path,
) -> None:
    modes = (("2", "plan"), ("escape", "devices"), ("1", "devices"), ("4", "results"), ("5", "runs"))
    with living_run(tmp_path) as run:
        for key, mode in tried(modes, modes[:2]):
            app = console(runs_dir=tmp_path)
            async with drive(app) as pilot:
                await offered(pilot)
                await pilot.press(key)
                await until(pilot, lambda p=pilot: not isinstance(p.app.screen, AttachScreen), f"{key} leaves")
                assert (app.current_mode, app.session.folder) == (mode, None), key
                if key == "escape":
                    await pilot.press("3")
                    await shows(pilot, "two filesystems  [", "0/2 cells")
        assert run.asked == []


async def test_several_are_offered_the_newest_first(tmp_path: Path) -> None:
    app = console(runs_dir=tmp_path)
    with living_run(tmp_path, OLDER) as older, living_run(tmp_path, NEWER):
        async with drive(app) as pilot:
            await offered(pilot)
            shown = await shows(pilot, "2 runs are in progress, newest first:")
            assert shown.count("cell 1 of 2") == 2
            assert [one.folder.name for one in app.screen._runs] == [NEWER, OLDER]
            await pilot.press("down", "enter")
            await until(pilot, lambda: app.session.folder == older.folder, "the older run")


async def test_where_the_operator_is_at_something_already_a_sentence_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = console(runs_dir=tmp_path)
    monkeypatch.setattr(app, "on_ready", lambda: None)
    with living_run(tmp_path):
        async with drive(app, "2") as pilot:
            ConsoleApp.on_ready(app)
            await shows(pilot, "A run is in progress: two filesystems, cell 1 of 2", "; 3 shows it.")
            await nothing_is_offered(app, pilot)


async def test_runs_that_have_ended_are_not_offered(tmp_path: Path) -> None:
    all_recorded(tmp_path)
    app = console(runs_dir=tmp_path)
    async with drive(app) as pilot:
        await nothing_is_offered(app, pilot)


async def test_one_whose_journal_can_not_be_read_is_offered_with_what_is_wrong(tmp_path: Path) -> None:
    with living_run(tmp_path) as run:
        hidden = Path(run.folder.journal).rename(tmp_path / "away")
        async with drive(console(runs_dir=tmp_path)) as pilot:
            await offered(pilot)
            await shows(pilot, run.folder.name, "can't be used")
        hidden.rename(run.folder.journal)
