"""The Plan screen at hand: keys are pressed, and what they bring about is waited for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import cast

from textual.pilot import Pilot
from textual.widgets import Input

from fsconsole.catalog.loader import load_catalog
from fsconsole.devices.identity import listed_identity
from fsconsole.model.device import Device
from fsconsole.plan.arrays import LEVELS
from fsconsole.tui.screens.plan import PlanScreen
from fsconsole.tui.widgets.lists import Choices
from tests.tui.device_lists import SCRATCH, listed
from tests.tui.harness import Scripted, console
from tests.tui.waiting import shows, until

LOAD = '[[workload]]\nkind = "create"\nfile_size = "1MiB"\n'


def catalog_answer(refused: dict[str, str] | None = None, unavailable: dict[str, str] | None = None) -> str:
    """What `fsconsole catalog --json` would say, with these options of ext4 refused, and these filesystems missing."""
    refused, unavailable = refused or {}, unavailable or {}
    entries = []
    for filesystem in load_catalog().filesystems:
        options = [
            {
                "name": option.name,
                "kind": option.scope.value,
                "probe": [
                    {"value": value, "verdict": "refused", "words": refused[option.name]}
                    for value in option.values_to_try
                ]
                if filesystem.name == "ext4" and option.name in refused
                else [],
            }
            for option in filesystem.options
        ]
        lacks = unavailable.get(filesystem.name, "")
        entries.append(
            {
                "filesystem": filesystem.name,
                "unavailable": lacks,
                "kernel": "not in this kernel" if lacks else "in the kernel",
                "probed": bool(refused),
                "options": options,
            }
        )
    return json.dumps(entries)


def levels_answer(lacks: dict[str, tuple[str, str]] | None = None) -> str:
    """What `fsconsole catalog --arrays --json` would say, with why these levels are lacking, and what to do about it."""
    entries = [(level, *(lacks or {}).get(level, ("", ""))) for level in LEVELS]
    keys = ("level", "unavailable", "remedy")
    return json.dumps([dict(zip(keys, entry, strict=True)) for entry in entries])


def device_answer(path: str, size_bytes: int) -> str:
    return listed(device_at(path, size_bytes))


def device_at(path: str, size_bytes: int) -> Device:
    """Return a scratch device of that name."""
    return replace(SCRATCH, name=path.removeprefix("/dev/"), path=path, size_bytes=size_bytes)


_ATTEMPTS = 5


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

    async def settled(self) -> None:
        await self.until(lambda: self.screen.is_current)
        await self.pilot.pause()

    async def go_to(self, section: str) -> None:
        """Go to a section and into its list."""
        sections = self.screen.query_one("#sections", Choices)
        sections.focus()
        for _ in range(_ATTEMPTS):
            # The list may still change: a plan that has just been opened has other sections.
            await self.until(lambda: section in [line.key for line in sections.lines_shown])
            place = [line.key for line in sections.lines_shown].index(section)
            await self.pilot.press("home", *["down"] * place)
            await self.pilot.pause()
            if self.screen.section_key == section:
                break
        await self.until(lambda: self.screen.section_key == section)
        await self.keys("enter")

    async def look_at(self, key: str) -> None:
        """Go to a line of the section's list, at once: arrows are the list's own, and used elsewhere."""
        choices = self.screen.query_one("#lines", Choices)
        choices.go_to(key)
        await self.pilot.pause()

    async def type(self, text: str) -> None:
        field = cast("Input", self.pilot.app.screen.focused)
        field.value = text
        await self.pilot.pause()


def at_plan(
    work: Callable[[Hand], Awaitable[None]],
    *,
    size: tuple[int, int] = (80, 24),
    children: Scripted | None = None,
    targets: tuple[str, ...] = (),
    is_root: bool = True,
) -> None:
    async def look() -> None:
        known = children or Scripted({"catalog": catalog_answer(), "catalog --arrays": levels_answer()})
        app = console(known, is_root=is_root)
        app.session.ticks.update((path, listed_identity(device_at(path, 2**30))) for path in targets)
        async with app.run_test(size=size) as pilot:
            hand = Hand(pilot)
            await hand.keys("2")
            await hand.settled()
            await work(hand)

    asyncio.run(look())
