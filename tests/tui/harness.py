"""A console for tests: its size, its terminal and its children are given, and pictures of it are text."""

from __future__ import annotations

import asyncio
import inspect
import pkgutil
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from textual.pilot import Pilot
from textual.strip import Strip

from fsconsole.client.children import Done
from fsconsole.journal.folder import RunFolder
from fsconsole.show.terminal import SAFE, Colours, Glyphs, Terminal, terminal_of
from fsconsole.tui.app import ConsoleApp
from fsconsole.tui.session import Session

SIZES = ((80, 24), (120, 40))
ONE_OF_SIZES = (SIZES[0], pytest.param(SIZES[1], marks=pytest.mark.soak))
"""For tests of words and keys, which are the same in both; what the larger one looks like is kept in pictures."""
WIDE = (200, 60)


@dataclass
class Scripted:
    """Children that answer what a test says, by the first words of a command; what they were asked is kept."""

    answers: Mapping[str, Done | str] = field(default_factory=dict)
    asked: list[tuple[str, ...]] = field(default_factory=list)

    @property
    def acted(self) -> list[tuple[str, ...]]:
        """What was asked, but for the list of devices that the first screen reads."""
        return [words for words in self.asked if words[0] != "devices"]

    async def run(self, *words: str) -> Done:
        """Answer, or fail as a command does that isn't there."""
        self.asked.append(words)
        said = " ".join(words)
        for begin in sorted(self.answers, key=len, reverse=True):
            if said.startswith(begin):
                answer = self.answers[begin]
                return answer if isinstance(answer, Done) else Done(words, 0, answer, "")
        return Done(words, 1, "", f"fsconsole: no answer for {said}\n")

    async def run_or_end(self, _end: asyncio.Event, *words: str) -> Done:
        """Answer; nothing takes so long that it could be ended."""
        return await self.run(*words)


@dataclass
class Late(Scripted):
    """Children of which the one that can be ended says its last when it was asked to end, or released, or both."""

    waits: tuple[str, ...] = ("release",)
    last: Done = field(default_factory=lambda: Done((), 0, "", ""))
    release: asyncio.Event = field(default_factory=asyncio.Event)

    async def run_or_end(self, end: asyncio.Event, *words: str) -> Done:
        self.asked.append(words)
        for each in self.waits:
            await (end if each == "end" else self.release).wait()
        return self.last


def console(
    children: Scripted | None = None,
    *,
    runs_dir: Path | str = "/nonexistent",
    folder: RunFolder | None = None,
    glyphs: Glyphs = SAFE,
    colours: Colours = Colours.SIXTEEN,
    slow: bool = False,
    is_root: bool = True,
) -> ConsoleApp:
    """Return a console that acts on nothing."""
    paint_hz = terminal_of({"TERM": "vt220"}, "ascii", slow_link=True).paint_hz if slow else 20.0
    terminal = Terminal(colours, glyphs, paint_hz=paint_hz, slow=slow)
    session = Session(terminal, children or Scripted(), str(runs_dir), is_root=is_root, folder=folder)
    return ConsoleApp(session)


@asynccontextmanager
async def drive(app: ConsoleApp, keys: str = "", *, size: tuple[int, int] = (80, 24)) -> AsyncIterator[Pilot[None]]:
    """Start a console, press keys, and end it after the test's own steps."""
    async with app.run_test(size=size) as pilot:
        await pilot.press(*keys)
        yield pilot


def picture(pilot: Pilot[None]) -> str:
    """Return what stands on the screen: its lines as the terminal would get them, without spaces at their ends."""
    return "\n".join(strip.text.rstrip() for strip in strips(pilot))


def strips(pilot: Pilot[None]) -> list[Strip]:
    """Return the lines of the screen, filtered as they are before they reach the terminal."""
    return pilot.app.screen._compositor.render_strips()


def classes_in(package: ModuleType, kind: type) -> Iterator[type]:
    """Give the classes of a kind that the modules of a package define."""
    for module in pkgutil.iter_modules(package.__path__):
        found = import_module(f"{package.__name__}.{module.name}")
        for _, value in inspect.getmembers(found, inspect.isclass):
            if issubclass(value, kind) and value.__module__ == found.__name__:
                yield value
