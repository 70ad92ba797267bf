"""Ticks and what follows from them: another device under a ticked name, a demo that asks, a making that is ended."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from fsconsole.client.children import Done
from fsconsole.devices.identity import listed_identity
from fsconsole.text import GIB
from fsconsole.tui import watch
from fsconsole.tui.app import ConsoleApp
from fsconsole.tui.screens import scratch_form
from fsconsole.tui.screens.scratch_form import Room
from fsconsole.tui.watch import BlockTables
from fsconsole.tui.widgets.table import SheetTable
from tests.tui.at_devices import Held
from tests.tui.device_lists import FREE, SCRATCH, listed
from tests.tui.harness import Scripted, Steps, console
from tests.tui.waiting import shows, until

MADE = json.dumps({"device": SCRATCH.path, "path": "/x.img", "size_bytes": 1, "scratch_id": "0a1b2c3d"})


@pytest.fixture(autouse=True)
def _quiet_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "read_tables", lambda: BlockTables((), ()))
    monkeypatch.setattr(watch, "read_arrays", tuple)
    monkeypatch.setattr(scratch_form, "read_room", lambda _directory: Room("/", 99 * GIB, GIB))


class Ended(Scripted):
    """Children of which those that can be ended wait for that, and then say this."""

    last: Done = Done(("scratch",), 130, "", "")

    async def run_or_end(self, end: asyncio.Event, *words: str) -> Done:
        self.asked.append(words)
        await end.wait()
        return self.last


def drive(children: Scripted, steps: Steps, runs_dir: Path | str = "/nonexistent") -> None:
    async def look() -> None:
        async with console(children, runs_dir=runs_dir).run_test(size=(80, 24)) as pilot:
            await steps(pilot)

    asyncio.run(look())


def app_of(pilot: Pilot[None]) -> ConsoleApp:
    assert isinstance(pilot.app, ConsoleApp)
    return pilot.app


OTHERS = (
    replace(FREE, diskseq=99),
    replace(FREE, serial="OTHER"),
    replace(FREE, size_bytes=FREE.size_bytes + 512),
)


@pytest.mark.parametrize("other", OTHERS)
def test_a_tick_does_not_pass_to_another_device_of_that_name(other: object) -> None:
    children = Scripted({"devices": listed(FREE)})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "1 device,")
        await pilot.press("space")
        await shows(pilot, "1 target ticked")
        assert app_of(pilot).session.ticks == {FREE.path: listed_identity(FREE)}
        children.answers = {"devices": listed(other)}  # type: ignore[arg-type]
        await pilot.press("f5")
        await shows(pilot, f"{FREE.path} was unticked: another device has its name now", "no target ticked")
        assert app_of(pilot).session.targets == ()

    drive(children, steps)


def test_a_ticked_device_that_another_has_replaced_is_unticked_when_the_plan_is_shown() -> None:
    children = Scripted({"devices": listed(FREE), "catalog": "[]"})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "1 device,")
        await pilot.press("space")
        await shows(pilot, "1 target ticked")
        children.answers = {**children.answers, "devices": listed(OTHERS[0])}
        await pilot.press("2")
        await shows(pilot, f"{FREE.path} was unticked: another device has its name now")
        assert app_of(pilot).session.targets == ()

    drive(children, steps)


def test_the_demo_asks_and_says_what_it_makes_where(tmp_path: Path) -> None:
    begun = json.dumps({"run": "20261121-100000-demo", "folder": "/x"})
    children = Scripted({"devices": listed(SCRATCH), "demo": begun})

    def demos() -> int:
        return sum(words[0] == "demo" for words in children.asked)

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "1 device,")
        for refusing in ("n", "escape", "enter"):
            await pilot.press("d")
            await shows(pilot, "Start the demo?", "a scratch device of 2 GiB in /var/lib/fsconsole/scratch,")
            await shows(pilot, "about a minute", "No disk is wiped.")
            await pilot.press(refusing)
            await shows(pilot, "1 device,")
        assert demos() == 0
        await pilot.press("d")
        await shows(pilot, "Start the demo?")
        await pilot.press("y")
        await until(pilot, lambda: pilot.app.current_mode == "run", "the Run screen")
        assert demos() == 1

    drive(children, steps, tmp_path)


def test_a_demo_that_is_ended_says_what_became_of_it(tmp_path: Path) -> None:
    children = Ended({"devices": listed(FREE)})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "d: a first comparison")
        await pilot.press("d")
        await shows(pilot, "starting the demo; escape ends it")
        await pilot.press("escape")
        await shows(pilot, "Ended: no run was begun, and the scratch device is removed.")

    drive(children, steps, tmp_path)


LEFT = {
    "nothing": (Done(("scratch",), 130, "", ""), (), "Ended: no device and no file of it is left."),
    "a file": (
        Done(("scratch",), -9, "", ""),
        ("/srv/scratch-1.img",),
        "Ended, but /srv/scratch-1.img was not there before",
    ),
    "a device": (Done(("scratch",), 0, MADE, ""), (), "Ended: no device and no file of it is left."),
}


@pytest.mark.parametrize("what", LEFT)
def test_what_is_left_of_a_making_that_was_ended_is_looked_for_before_it_is_told(
    monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    last, left, told = LEFT[what]
    found = iter([frozenset[str](), frozenset(left)])
    monkeypatch.setattr(scratch_form, "scratch_files", lambda _directory: next(found))
    children = Ended({"devices": listed(FREE), "scratch remove": ""})
    children.last = last

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "1 device,")
        await pilot.press("n")
        await shows(pilot, "It fits")
        pilot.app.screen.query_one("#directory", Input).value = "/srv"
        await pilot.press("enter")
        await shows(pilot, "Making and allocating")
        await pilot.press("escape")
        await shows(pilot, told)
        removed = [words for words in children.asked if words[:2] == ("scratch", "remove")]
        assert removed == ([("scratch", "remove", "0a1b2c3d")] if what == "a device" else [])
        await pilot.press("escape")
        await until(pilot, lambda: bool(pilot.app.screen.query(SheetTable)), "the list of devices")

    drive(children, steps)


def test_a_tick_that_is_lost_behind_another_screen_is_told_on_that_one() -> None:
    children = Held({"devices": listed(FREE), "catalog": "[]"})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "1 device,")
        await pilot.press("space")
        await shows(pilot, "1 target ticked")
        children.answers = {"devices": listed(OTHERS[0])}
        children.held = ("devices",)
        await pilot.press("f5")
        await until(pilot, lambda: children.running)
        await pilot.press("5")
        await shows(pilot, "There are no runs")
        children.release.set()
        await shows(pilot, f"{FREE.path} was unticked: another device has its name now")
        assert pilot.app.current_mode == "runs"

    drive(children, steps)
