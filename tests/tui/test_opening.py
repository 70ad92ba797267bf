"""A screen that must be made first: what is opened is said at once, and its modules are loaded before they are asked for."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TypeVar

import pytest
from textual.pilot import Pilot

from fsconsole.show.devices import WORDS
from fsconsole.tui import app as tui_app
from fsconsole.tui import screens
from fsconsole.tui.screens import plan
from fsconsole.tui.watch import in_background
from tests.tui.at_devices import Held, at_devices
from tests.tui.at_plan import catalog_answer
from tests.tui.device_lists import FREE, SCRATCH, listed
from tests.tui.harness import console, drive, picture
from tests.tui.recorded import recorded
from tests.tui.waiting import shows, until

T = TypeVar("T")
_LIMIT_S = 60.0
PATH = SCRATCH.path


@pytest.fixture
def may_load(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """A screen's module is loaded only once this is set."""
    event = asyncio.Event()

    async def late(work: Callable[[], T]) -> T:
        if getattr(work, "func", None) is import_module:
            await event.wait()
        return await in_background(work)

    monkeypatch.setattr(tui_app, "in_background", late)
    return event


async def painted(pilot: Pilot[None], words: str) -> None:
    """Wait until words are on the screen; while a screen is opened the pilot itself would wait for its end."""
    deadline = asyncio.get_running_loop().time() + _LIMIT_S
    while words not in picture(pilot):
        assert asyncio.get_running_loop().time() < deadline, f"{words} never came:\n{picture(pilot)}"
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("key", ["enter", pytest.param("2", marks=pytest.mark.soak)])
async def test_the_way_to_the_plan_is_told_at_once_also_while_no_child_answers_and_keys_after_it_are_the_plans(
    key: str, may_load: asyncio.Event
) -> None:
    look = " ".join((*WORDS, "--runs", "/nonexistent", PATH))
    children = Held({"devices": listed(SCRATCH), "catalog": catalog_answer()}, held=("catalog", look))
    async with at_devices(children) as pilot:
        await shows(pilot, "1 device")
        await pilot.press("space")
        told = f"{PATH} is ticked"
        await shows(pilot, "1 target ticked", told)
        pressed = asyncio.create_task(pilot.press(key, "f"))
        await painted(pilot, f"Opening the plan for {PATH} ...")
        assert pilot.app.current_mode == "devices"
        may_load.set()
        await pressed
        await shows(pilot, "Open a recipe")
        await pilot.press("escape")
        await shows(pilot, "Asking what this machine supports", f"Reading {PATH} ...")
        children.release.set()
        await until(pilot, lambda: "Asking" not in picture(pilot) and "Reading" not in picture(pilot), "the answers")
        # The sentence before it is back.
        await pilot.press("1")
        assert "Opening" not in await shows(pilot, told)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ("3", "Opening the run ..."),
        ("4", "Opening the results ..."),
        ("5", "Opening the list of runs ..."),
        ("5o", "Opening the plan ..."),
    ],
)
async def test_each_screen_that_is_made_is_told_before_and_the_second_time_it_is_there(
    keys: str, words: str, tmp_path: Path, may_load: asyncio.Event
) -> None:
    app = console(folder=recorded("grid", tmp_path), runs_dir=tmp_path)
    async with drive(app) as pilot:
        may_load.set()
        for key in keys[:-1]:
            await pilot.press(key)
            await shows(pilot, "1 run")
        may_load.clear()
        before = app.current_mode
        pressed = asyncio.create_task(pilot.press(keys[-1]))
        await painted(pilot, words)
        assert app.current_mode == before
        may_load.set()
        await pressed
        mode = app.current_mode
        assert mode != before
        may_load.clear()
        await pilot.press("1", keys[-1] if len(keys) == 1 else "2")
        assert app.current_mode == mode


async def test_the_plan_screen_is_loaded_once_the_devices_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(screens, "plan")
    monkeypatch.delitem(sys.modules, plan.__name__)
    async with at_devices(listed(FREE)) as pilot:
        await shows(pilot, "1 device")
        await until(pilot, lambda: plan.__name__ in sys.modules, "its module")
