"""The Plan screen at hand: keys are pressed, and what they bring about is waited for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from fsconsole.catalog.filesystem import Answer, Verdict
from fsconsole.catalog.loader import load_catalog
from fsconsole.cli.plan_show import plan_answer
from fsconsole.devices.identity import listed_identity
from fsconsole.model.answers import FilesystemsAnswer, LevelAnswer, LevelsAnswer, StepAnswer
from fsconsole.model.device import Device
from fsconsole.model.wire import encode
from fsconsole.plan.arrays import LEVELS
from fsconsole.plan.draft import Draft, new_draft
from fsconsole.plan.outcome import work_out
from fsconsole.preflight.catalog_survey import catalog_answer as answer_of
from fsconsole.preflight.findings import Findings, Versions
from fsconsole.preflight.machine import Driver, FilesystemSupport
from fsconsole.tui.app import ConsoleApp
from fsconsole.tui.screens.plan import PlanScreen
from fsconsole.tui.widgets.lists import Choices
from tests.tui.device_lists import SCRATCH, listed
from tests.tui.harness import Scripted, console, picture
from tests.tui.waiting import shows, until

LOAD = '[[workload]]\nkind = "create"\nfile_size = "1MiB"\n'


def catalog_answer(refused: dict[str, str] | None = None, unavailable: dict[str, str] | None = None) -> str:
    """What `fsconsole catalog --json` would say, with these options of ext4 refused, and these filesystems missing."""
    return _catalog_answer(tuple((refused or {}).items()), tuple((unavailable or {}).items()))


@cache
def _catalog_answer(refusals: tuple[tuple[str, str], ...], missing: tuple[tuple[str, str], ...]) -> str:
    refused, unavailable = dict(refusals), dict(missing)
    entries = []
    for filesystem in load_catalog().filesystems:
        lacks = unavailable.get(filesystem.name, "")
        answers = tuple(
            Answer("ext4", option.scope, option.name, value, Verdict.REFUSED, refused[option.name])
            for option in filesystem.options
            if filesystem.name == "ext4" and option.name in refused
            for value in option.values_to_try
        )
        findings = Findings(filesystem.name, Versions("", "", ""), filesystem.driver, "", answers)
        support = FilesystemSupport(filesystem.name, Driver.ABSENT if lacks else Driver.LOADED, (), lacks)
        entries.append(answer_of(filesystem, support, findings if refused else None))
    return encode(FilesystemsAnswer(tuple(entries)), indent=2)


def levels_answer(lacks: dict[str, tuple[str, str]] | None = None) -> str:
    """What `fsconsole catalog --arrays --json` would say, with why these levels are lacking, and what to do about it."""
    levels = tuple(LevelAnswer(level, "", *(lacks or {}).get(level, ("", ""))) for level in LEVELS)
    return encode(LevelsAnswer(levels))


def commands_answer(index: int, step: StepAnswer) -> str:
    """What `fsconsole plan --json --cell` would say of a cell with a single step."""
    plan = work_out(new_draft().plan_file, (), load_catalog(), kernel="6.12").plan
    assert plan is not None
    answer = plan_answer(plan, (), "", cell=1)
    return encode(replace(answer, cells=(replace(answer.cells[0], number=index + 1, unavailable="", steps=(step,)),)))


def device_answer(path: str, size_bytes: int) -> str:
    return listed(device_at(path, size_bytes))


def device_at(path: str, size_bytes: int) -> Device:
    """Return a scratch device of that name."""
    return replace(SCRATCH, name=path.removeprefix("/dev/"), path=path, size_bytes=size_bytes)


class Hand:
    """Presses keys, and waits for what they bring about."""

    def __init__(self, pilot: Pilot[None]) -> None:
        self.pilot = pilot

    @property
    def screen(self) -> PlanScreen:
        return cast("PlanScreen", next(s for s in self.pilot.app.screen_stack if isinstance(s, PlanScreen)))

    async def keys(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def until(self, condition: Callable[[], object]) -> None:
        await until(self.pilot, condition)

    async def sees(self, *words: str) -> str:
        return await shows(self.pilot, *words)

    @property
    def about(self) -> str:
        """What stands on the screen of what is told of the line at the cursor."""
        place = self.screen.query_one("#about").content_region
        rows = picture(self.pilot).splitlines()[place.y : place.bottom]
        return " ".join(" ".join(row[place.x : place.right] for row in rows).split())

    async def settled(self) -> None:
        await self.until(lambda: self.screen.count.is_up_to_date)
        await self.pilot.pause()

    async def begin(self, draft: Draft | None = None, source_sha256: str = "") -> None:
        """Begin with another plan, a new one if none is given, and ask nothing of the one before."""
        self.screen._begin_with(draft or new_draft(), source_sha256)
        await self.settled()

    async def open(self, path: Path) -> None:
        """Open a plan file by the keys: the first that is typed at the list goes to the path."""
        await self.keys("f", "slash")
        assert cast("Input", self.pilot.app.screen.focused).value == "/"
        await self.type(str(path))
        await self.keys("enter")

    async def go_to(self, section: str) -> None:
        """Go to a section and into its list; "filesystems" is the list of sections itself."""
        sections = self.screen.query_one("#sections", Choices)
        sections.focus()
        await self.pilot.pause()
        if section == "filesystems":
            return
        # A plan that has just been opened has other sections.
        await self.until(lambda: section in [line.key for line in sections.lines_shown])
        sections.go_to(section)
        await self.until(lambda: self.screen.section_key == section)
        await self.keys("enter")

    async def filesystem(self, name: str) -> None:
        """Tick a filesystem, or untick it."""
        await self.go_to("filesystems")
        sections = self.screen.query_one("#sections", Choices)
        sections.go_to(next(line.key for line in sections.lines_shown if line.name == name))
        await self.keys("space")

    async def tick(self, key: str, *values: str) -> None:
        """Tick values of a line, or untick them."""
        await self.look_at(key)
        choices = self.screen.query_one("#lines", Choices)
        for value in values:
            assert choices.looked_at is not None
            chip = [chip.value for chip in choices.looked_at.chips].index(value)
            await self.keys(*(["right"] * (chip - choices.chip) or ["left"] * (choices.chip - chip)), "space")

    async def look_at(self, key: str) -> None:
        """Go to a line of the section's list, at once: arrows are the list's own, and used elsewhere."""
        choices = self.screen.query_one("#lines", Choices)
        choices.go_to(key)
        await self.pilot.pause()

    async def type(self, text: str) -> None:
        field = cast("Input", self.pilot.app.screen.focused)
        field.value = text
        await self.pilot.pause()


@asynccontextmanager
async def at_plan(
    *,
    size: tuple[int, int] = (80, 24),
    children: Scripted | None = None,
    targets: tuple[str, ...] = (),
    is_root: bool = True,
    state: Path | None = None,
) -> AsyncIterator[Hand]:
    """Show the Plan screen of a new plan, with these devices ticked; state is where drafts are kept, nowhere by default."""
    known = children or Scripted({"catalog": catalog_answer(), "catalog --arrays": levels_answer()})
    app = console(known, is_root=is_root)
    app.session.ticks.update((path, listed_identity(device_at(path, 2**30))) for path in targets)
    with TemporaryDirectory() as nowhere, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(state or nowhere))
        async with _shown(app, size) as hand:
            yield hand


@asynccontextmanager
async def _shown(app: ConsoleApp, size: tuple[int, int]) -> AsyncIterator[Hand]:
    async with app.run_test(size=size) as pilot:
        hand = Hand(pilot)
        await hand.keys("2")
        await hand.settled()
        yield hand
