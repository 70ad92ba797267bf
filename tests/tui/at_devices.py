"""The Devices screen over children that answer as a test says, some of them late."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from textual.pilot import Pilot

from fsconsole.client.children import Done
from fsconsole.tui.app import ConsoleApp
from fsconsole.tui.screens.devices import DevicesScreen
from fsconsole.tui.widgets.lists import List
from tests.tui.harness import Scripted, console, drive
from tests.tui.waiting import until


@dataclass
class Held(Scripted):
    """Children of whom those whose words begin so are not done before the test says so."""

    held: tuple[str, ...] = ()
    release: asyncio.Event = field(default_factory=asyncio.Event)
    running: int = 0
    most_running: int = 0
    ended: list[tuple[str, ...]] = field(default_factory=list)

    async def run(self, *words: str) -> Done:
        self.running += 1
        self.most_running = max(self.running, self.most_running)
        try:
            if " ".join(words).startswith(self.held):
                await self.release.wait()
            return await super().run(*words)
        except asyncio.CancelledError:
            self.ended.append(words)
            raise
        finally:
            self.running -= 1

    async def run_or_end(self, end: asyncio.Event, *words: str) -> Done:
        ended = asyncio.create_task(end.wait())
        answering = asyncio.create_task(self.run(*words))
        await asyncio.wait((ended, answering), return_when=asyncio.FIRST_COMPLETED)
        ended.cancel()
        if answering.done():
            return answering.result()
        answering.cancel()
        await asyncio.wait((answering,))
        return Done(words, 130, "", "")


def devices_of(pilot: Pilot[None]) -> DevicesScreen:
    screen = pilot.app.screen
    assert isinstance(screen, DevicesScreen)
    return screen


def targets(pilot: Pilot[None]) -> list[str]:
    assert isinstance(pilot.app, ConsoleApp)
    return list(pilot.app.session.targets)


async def go_to(pilot: Pilot[None], path: str) -> None:
    devices_of(pilot).query_one("#table", List).go_to(path)
    await until(pilot, lambda: devices_of(pilot).query_one("#table", List).key == path)


@asynccontextmanager
async def at_devices(
    children: Scripted | str, *, size: tuple[int, int] = (80, 24), **options: Any
) -> AsyncIterator[Pilot[None]]:
    """Show the list of devices that children, or their answer, give; options are those of a console."""
    scripted = Scripted({"devices": children}) if isinstance(children, str) else children
    async with drive(console(scripted, **options), size=size) as pilot:
        yield pilot
