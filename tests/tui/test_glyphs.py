"""Every screen, with hostile names in it, in characters that the poorest terminals have.

The walk does all that the palette offers on each screen, and looks at what comes of it; what no key leads to here is
opened by hand. A screen that is never seen fails the test: tell OPENED how it is made.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.segment import Segment
from textual.color import Color
from textual.pilot import Pilot
from textual.screen import Screen
from textual.worker import Worker

from fsconsole.catalog.loader import load_catalog
from fsconsole.devices.identity import listed_identity
from fsconsole.journal.folder import RunFolder
from fsconsole.plan import draft as parts
from fsconsole.plan.outcome import Outcome, ThisMachine
from fsconsole.plan.planfile import VariantText
from fsconsole.plan.read import read_plan
from fsconsole.show.going import Going
from fsconsole.show.lines import Line, TextLine
from fsconsole.show.terminal import ASCII, SAFE, Colours, Glyphs
from fsconsole.text import printable
from fsconsole.tui import screens
from fsconsole.tui.app import ConsoleApp
from fsconsole.tui.screens.base import offered
from fsconsole.tui.screens.confirm import ConfirmScreen, ResumeScreen
from fsconsole.tui.screens.dialogs import AskScreen, AttachScreen, OutputScreen, PickScreen
from fsconsole.tui.screens.plan_dialogs import OpenScreen, ValuesScreen
from fsconsole.tui.screens.plan_sections import Desk, section_of
from fsconsole.tui.screens.scratch_form import ScratchForm
from fsconsole.tui.terminal import GlyphFilter, allowed, shown
from tests.tui.device_lists import HOSTILE_LABEL, LABELLED, STORAGE_BOX, listed
from tests.tui.harness import ONE_OF_SIZES, Scripted, classes_in, console, drive, picture, strips
from tests.tui.recorded import recorded

BASES = {"ConsoleScreen", "Dialog"}
"""Screens that are never shown themselves."""
LEFT_OUT = (
    "app switch",
    "app quit",
    "app command",
    "attach quit",
    "attach app.",
    "attach elsewhere",
    "run detach",
    "list ",
    "table ",
)
"""What would end the walk or begin another one, and moves that lead nowhere."""
TAKEN = ("list open",)


def form(section: str) -> Screen[Any]:
    draft = parts.with_variant(parts.new_draft(), 0, VariantText("ext4", label=HOSTILE_LABEL))
    desk = Desk(draft, load_catalog(), ThisMachine("6.12"), draft, Outcome())
    asked = section_of(desk, section).opened(f"{section} 0")
    assert asked is not None
    return asked.dialog


OPENED: dict[str, Callable[[ConsoleApp], Screen[Any]]] = {
    "AttachScreen": lambda _app: AttachScreen([Going(RunFolder("/runs/a"), printable(HOSTILE_LABEL), "cell 1 of 2")]),
    "AskScreen": lambda _app: AskScreen(HOSTILE_LABEL, HOSTILE_LABEL, yes="Yes", no="No"),
    "ConfirmScreen": lambda _app: ConfirmScreen("/plans/a.toml", {LABELLED.path: listed_identity(LABELLED)}, ""),
    "ResumeScreen": lambda _app: ResumeScreen(RunFolder("/runs/a")),
    "PickScreen": lambda _app: PickScreen(HOSTILE_LABEL, [Line("a", HOSTILE_LABEL)]),
    "OpenScreen": lambda _app: OpenScreen(HOSTILE_LABEL, [Line("a", HOSTILE_LABEL)], read_plan),
    "ValuesScreen": lambda _app: ValuesScreen(
        HOSTILE_LABEL, HOSTILE_LABEL, {HOSTILE_LABEL: HOSTILE_LABEL, "b": ""}, ["b"], str
    ),
    "FormScreen": lambda _app: form("words"),
    "FormScreen of a workload": lambda _app: form("workloads"),
    "OutputScreen": lambda _app: OutputScreen(lambda _width: (TextLine(printable(HOSTILE_LABEL)),)),
    "ScratchForm": lambda app: ScratchForm(app.session.children),
}


async def settle(pilot: Pilot[None], goes_on: frozenset[Worker[Any]] = frozenset()) -> None:
    """Wait for what an action has begun; what goes on for good isn't waited for."""
    for _ in range(10):
        await pilot.pause()
        if running(pilot) <= goes_on:
            return
        await asyncio.sleep(0.01)


def running(pilot: Pilot[None]) -> frozenset[Worker[Any]]:
    return frozenset(worker for worker in pilot.app.workers if worker.is_running)


def strange(text: str, glyphs: Glyphs) -> set[str]:
    return {
        character for character in text if not (character.isascii() and (character.isprintable() or character == "\n"))
    } - allowed(glyphs)


def check(pilot: Pilot[None], glyphs: Glyphs) -> None:
    """Look at a screen as the terminal gets it."""
    assert strange(picture(pilot), glyphs) == set()
    if pilot.app.session.terminal.colours is Colours.NONE:
        styles = [segment.style for strip in strips(pilot) for segment in strip if segment.style is not None]
        assert {colour for style in styles for colour in (style.color, style.bgcolor)} <= {None}


async def walk(pilot: Pilot[None], glyphs: Glyphs, seen: set[str]) -> None:
    """Do all that is offered on the screen at hand, and on those that come of it."""
    app, here, mode = pilot.app, pilot.app.screen, pilot.app.current_mode
    for node, binding in offered(here):
        key = binding.id or ""
        if (key.startswith(LEFT_OUT) and key not in TAKEN) or not node.is_attached:
            continue
        before = running(pilot)
        await app.run_action(binding.action, node)
        await settle(pilot, before)
        check(pilot, glyphs)
        if app.current_mode != mode:
            await app.switch_mode(mode)
        elif app.screen is not here and type(app.screen).__name__ not in seen:
            seen.add(type(app.screen).__name__)
            await walk(pilot, glyphs, seen)
        while app.screen is not here and here in app.screen_stack:
            app.pop_screen()
            await pilot.pause()
        if here not in app.screen_stack:
            return


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return all that the filter was given, filled in as it comes."""
    found: set[str] = set()
    apply = GlyphFilter.apply

    def noted(self: GlyphFilter, segments: list[Segment], background: Color) -> list[Segment]:
        found.update(segment.text for segment in segments)
        return apply(self, segments, background)

    monkeypatch.setattr(GlyphFilter, "apply", noted)
    return found


def a_console(glyphs: Glyphs, runs_dir: Path, colours: Colours = Colours.SIXTEEN) -> ConsoleApp:
    children = Scripted({"devices": listed(*STORAGE_BOX)})
    return console(children, glyphs=glyphs, colours=colours, runs_dir=runs_dir, folder=recorded("grid", runs_dir))


async def see_all(pilot: Pilot[None], glyphs: Glyphs, *, walks: bool) -> set[str]:
    """Show each screen, walk on from it, and open the others by hand; return their names."""
    app = pilot.app
    seen: set[str] = set()

    async def look() -> None:
        await settle(pilot)
        seen.add(type(app.screen).__name__)
        check(pilot, glyphs)

    for mode in app.MODES:
        await app.switch_mode(mode)
        await look()
        if walks:
            await walk(pilot, glyphs, seen)
    await app.switch_mode("devices")
    for make in OPENED.values():
        await app.push_screen(make(app))
        await look()
        app.pop_screen()
    await pilot.press("ctrl+p")
    await look()
    return seen


async def test_every_screen_and_modal_is_drawn_with_the_sets_characters(tmp_path: Path, texts: set[str]) -> None:
    async with drive(a_console(SAFE, tmp_path)) as pilot:
        seen = await see_all(pilot, SAFE, walks=True)
    assert {cls.__name__ for cls in classes_in(screens, Screen)} - BASES - seen == set()
    for glyphs in (ASCII, SAFE):
        assert {character for text in texts for character in strange(shown(text, glyphs), glyphs)} == set()
    # Names from outside are all that the filter is for: what the console draws itself is chosen well.
    assert {character for text in texts for character in strange(text, SAFE)} - set(HOSTILE_LABEL) == set()


@pytest.mark.parametrize("size", ONE_OF_SIZES)
async def test_every_screen_is_drawn_in_ascii_where_there_is_nothing_else(
    size: tuple[int, int], tmp_path: Path
) -> None:
    async with drive(a_console(ASCII, tmp_path, Colours.NONE), size=size) as pilot:
        await see_all(pilot, ASCII, walks=False)
