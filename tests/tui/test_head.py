"""Head and messages: what becomes of the run is told by the head, messages go by themselves, the mouse does what keys do."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets._footer import FooterKey

from fsconsole.model.events import Outcome, RunFinished
from fsconsole.tui import app as tui_app
from fsconsole.tui.screens import base
from fsconsole.tui.widgets.chrome import Head
from fsconsole.tui.widgets.lists import Table
from tests.tui.harness import ONE_OF_SIZES, console, drive, picture
from tests.tui.living import living_run
from tests.tui.recorded import recorded
from tests.tui.waiting import shows, until


@pytest.mark.parametrize("size", ONE_OF_SIZES)
async def test_the_head_says_that_a_run_goes_on_and_how_it_ended(
    tmp_path: Path, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tui_app, "_RUN_POLL_S", 0.05)
    with living_run(tmp_path) as run:
        async with drive(console(folder=run.folder, runs_dir=tmp_path), "5", size=size) as pilot:
            await until(pilot, lambda: picture(pilot).splitlines()[0].endswith("box RUNNING"), "it runs")
            assert len(picture(pilot).splitlines()[0]) == size[0]
            await pilot.press("2")
            await until(pilot, lambda: picture(pilot).splitlines()[0].endswith("box RUNNING"), "there, too")
            run.record((RunFinished(Outcome.STOPPED, "stopped"),))
            run.die()
            await until(pilot, lambda: picture(pilot).splitlines()[0].endswith("box STOPPED"), "it has ended")


async def test_a_run_of_the_past_is_no_state_of_the_head(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tui_app, "_RUN_POLL_S", 0.01)
    async with drive(console(folder=recorded("grid", tmp_path), runs_dir=tmp_path), "5") as pilot:
        await shows(pilot, "1 run")
        assert picture(pilot).splitlines()[0].endswith("5 Runs   box")


async def test_a_message_goes_by_itself_and_an_error_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "MESSAGE_LASTS_S", 0.1)
    async with drive(console(), "5") as pilot:
        await shows(pilot, "There are no runs")
        screen = pilot.app.screen
        screen.say("A message.")
        screen.say("An error.", style="$error")
        await pilot.pause(0.3)
        assert "An error." in picture(pilot)
        screen.say("A message.")
        await until(pilot, lambda: "A message." not in picture(pilot), "it goes")


async def test_the_mouse_opens_tabs_presses_keys_of_the_footer_and_sorts_by_a_columns_head(tmp_path: Path) -> None:
    app = console(folder=recorded("bull", tmp_path), runs_dir=tmp_path)
    async with drive(app) as pilot:
        head = picture(pilot).splitlines()[0]
        await pilot.click(Head, offset=(head.index("4 Results"), 0))
        await shows(pilot, "1/25")
        table = app.screen.query_one(Table)
        heads = next(line for line in picture(pilot).splitlines() if "durable" in line and "variant" in line)
        before = (table.value.mark, [row.key for row in table.value.rows])
        await pilot.click(Table, offset=(heads.index("durable") + 2, 0))
        await until(pilot, lambda: (table.value.mark, [row.key for row in table.value.rows]) != before, "sorted")
        row = table.key
        await pilot.click(Table, offset=(3, 5))
        assert table.key != row
        for key, words in (("b", "Compare the rows of"), ("question_mark", "raw rows.")):
            assert words not in picture(pilot)
            await pilot.click(next(shown for shown in app.screen.query(FooterKey) if shown.key == key))
            await shows(pilot, words)
            await pilot.press("escape")
            await until(pilot, lambda: app.screen.query(Table), "the table")
