"""The list at the left of the Plan screen: its ends, the rounds from each of its lines, and what the footer says of enter."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from textual.widgets._footer import FooterKey

from fsconsole.journal.folder import RunFolder
from fsconsole.plan.outcome import Outcome
from fsconsole.plan.planfile import PlanFile
from fsconsole.show import plan as view
from fsconsole.show.plan_options import MORE
from fsconsole.tui.screens import plan_files
from fsconsole.tui.screens.dialogs import RoundsScreen
from fsconsole.tui.widgets.chrome import Sentence
from fsconsole.tui.widgets.lists import Choices
from tests.lab.soak import tried
from tests.tui.at_plan import Hand, at_plan, catalog_answer
from tests.tui.harness import Scripted, console, drive, picture
from tests.tui.recorded import recorded


async def test_up_on_the_first_line_leads_to_the_last_and_down_from_there_to_the_first() -> None:
    async with at_plan() as hand:
        sections = hand.screen.query_one("#sections", Choices)
        await hand.keys("g")
        assert sections.key == view.START
        await hand.keys("up")
        assert sections.key == "variants"
        await hand.keys("up", "down")
        assert sections.key == "variants"
        await hand.keys("down")
        assert sections.key == view.START
        assert "first line" not in picture(hand.pilot)


async def test_plus_asks_for_the_rounds_on_each_line_at_the_left_and_their_line_names_it() -> None:
    async with at_plan() as hand:
        await hand.sees("Rounds +   5")
        sections = hand.screen.query_one("#sections", Choices)
        every = sections.lines_shown
        for line in tried(every, (*every[::4], every[-1])):
            sections.go_to(line.key)
            await hand.keys("+")
            await hand.until(lambda: isinstance(hand.pilot.app.screen, RoundsScreen))
            await hand.keys("escape")
            await hand.until(lambda: hand.pilot.app.screen is hand.screen)


async def test_the_footer_has_enter_with_what_it_does_and_space_only_where_it_ticks() -> None:
    async with at_plan() as hand:
        sections, lines = (hand.screen.query_one(f"#{name}", Choices) for name in ("sections", "lines"))
        for key, enter, ticks in (
            (view.START, "Run..", False),
            ("options 0", "Options", True),
            ("new btrfs", "Options", True),
            ("words", "Open", False),
            ("workloads", "Open", False),
            ("run", "Open", False),
            ("variants", "Open", False),
        ):
            sections.go_to(key)
            await hand.until(lambda e=enter, t=ticks: _offered(hand) == (e, t))
        for section, key, enter, ticks in (
            ("options 0", MORE, "All options", False),
            ("options 0", "delalloc", "", True),
            ("workloads", "load 0", "Edit", False),
            ("words", "", "Add", False),
            ("run", "repeats", "Edit", False),
        ):
            await hand.go_to(section)
            keys = [line.key for line in lines.lines_shown]
            await hand.look_at(next((each for each in keys if key and key in each), keys[-1]))
            await hand.until(lambda e=enter, t=ticks: _offered(hand) == (e, t))


def _offered(hand: Hand) -> tuple[str, bool]:
    """What the footer says of enter, empty where it has none, and whether it has space."""
    shown = {key.key_display: key.description for key in hand.screen.query(FooterKey)}
    return shown.get("enter", ""), "space" in shown


@pytest.mark.parametrize(
    "name", ["20261121-104500-k7qf", "a-run-with-a-name-of-its-own-that-is-far-too-long-for-a-line"]
)
async def test_a_plan_of_a_run_is_told_in_one_line_that_leaves_the_lists_as_they_were(
    name: str, tmp_path: Path
) -> None:
    folder = recorded("grid", tmp_path)
    renamed = type(folder)(str(Path(folder.path).rename(tmp_path / name)))
    children = Scripted({"catalog": catalog_answer(), "devices": "[]"})
    async with drive(console(children, folder=renamed, runs_dir=tmp_path), "3") as pilot:
        hand = Hand(pilot)
        await hand.sees("ext4 and xfs: a hundred files")
        await hand.keys("o")
        await hand.sees("Plan of run ", "w saves it, 1 leads to the devices.")
        assert hand.screen.query_one("#said", Sentence).size.height == 1
        await hand.sees("Rounds +", "Variants", "more options")


async def test_while_the_plan_of_a_run_is_read_the_title_is_not_that_of_the_plan_before(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    release, read = threading.Event(), plan_files.plan_of

    def held(folder: RunFolder) -> PlanFile:
        release.wait()
        return read(folder)

    monkeypatch.setattr(plan_files, "plan_of", held)
    async with at_plan() as hand:
        hand.screen.session.plan_of = recorded("grid", tmp_path)
        hand.screen.on_screen_resume()
        try:
            assert "New plan" not in await hand.sees("Reading the plan of run grid ...")
        finally:
            release.set()
        await hand.sees("ext4 and xfs: a hundred files: ")
        assert "Reading the plan" not in picture(hand.pilot)


async def test_until_a_change_is_counted_the_title_names_none_of_the_variants_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    release, count = asyncio.Event(), plan_files.counted

    async def held(*of: Any) -> Outcome:
        await release.wait()
        return await count(*of)

    async with at_plan() as hand:
        await hand.sees("New plan: ext4, xfs")
        monkeypatch.setattr(plan_files, "counted", held)
        await hand.keys("O")
        await hand.sees("Only ext4 is compared now.", "New plan  (not saved)")
        assert picture(hand.pilot).splitlines()[1] == "New plan  (not saved)"
        release.set()
        await hand.sees("New plan  (not saved): ext4")


async def test_the_list_of_recipes_has_the_whole_title_of_each_at_once_and_reads_no_plan_for_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = list[str]()
    monkeypatch.setattr(plan_files, "read_plan", read.append)
    async with at_plan() as hand:
        await hand.keys("f")
        assert hand.pilot.app.screen.query_one("#options", Choices).key == "backup"
        # The longest are broken.
        await hand.sees("vm-images", "VM images: 4 KiB random at depths 4 and 32", "wal", "write-ahead log: appends")
        assert read == []
