"""Devices: the list follows the machine."""

from __future__ import annotations

from dataclasses import replace

import pytest
from textual.pilot import Pilot

from fsconsole.tui import watch
from fsconsole.tui.screens.devices import DevicesScreen
from fsconsole.tui.watch import BlockChanges, BlockTables
from fsconsole.tui.widgets.table import SheetTable
from tests.tui.at_devices import Held, devices_of, drive, go_to
from tests.tui.device_lists import ARRAY, FREE, RESYNC, SCRATCH, STORAGE_BOX, SYSTEM, listed
from tests.tui.harness import Scripted
from tests.tui.waiting import flat, shows, until


def test_the_cursor_stays_on_its_device_when_others_come_and_go() -> None:
    children = Scripted({"devices": listed(*STORAGE_BOX)})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "17 devices")
        await go_to(pilot, FREE.path)
        children.answers = {"devices": listed(*[one for one in STORAGE_BOX if one not in SYSTEM])}
        await pilot.press("f5")
        await shows(pilot, "13 devices")
        assert devices_of(pilot).query_one(SheetTable).key == FREE.path
        children.answers = {"devices": listed(*STORAGE_BOX)}
        await pilot.press("f5")
        await shows(pilot, "17 devices")
        assert devices_of(pilot).query_one(SheetTable).key == FREE.path
        await shows(pilot, "/dev/sdg ST3000NM0033-9ZM178")

    drive(children, steps)


def test_while_it_looks_again_the_old_list_stays_with_its_age_and_no_second_child_is_started() -> None:
    children = Held({"devices": listed(FREE)})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "1 device,")
        children.held = ("devices",)
        children.answers = {"devices": listed(FREE, SCRATCH)}
        await pilot.press("f5", "f5", "f5")
        await shows(pilot, "reading again,", "old", "sdg")
        children.release.set()
        await shows(pilot, "2 devices")
        await until(pilot, lambda: children.running == 0 and "looking" not in flat(pilot))
        assert children.most_running == 1
        assert len([words for words in children.asked if words[0] == "devices"]) == 3

    drive(children, steps)


def test_a_change_in_the_kernels_tables_makes_it_look_again(monkeypatch: pytest.MonkeyPatch) -> None:
    children = Scripted({"devices": listed(FREE)})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "1 device,")
        await devices_of(pilot).poll()
        assert len(children.asked) == 1
        children.answers = {"devices": listed(FREE, SCRATCH)}
        monkeypatch.setattr(watch, "read_tables", lambda: BlockTables(("loop0",), ()))
        await devices_of(pilot).poll()
        await shows(pilot, "2 devices")

    drive(children, steps)


def test_what_happens_behind_another_screen_is_looked_at_on_the_return() -> None:
    children = Scripted({"devices": listed(FREE)})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "1 device,")
        screen = devices_of(pilot)
        await pilot.press("2")
        await until(pilot, lambda: pilot.app.current_mode == "plan")
        screen.action_look()
        await pilot.pause()
        assert len([words for words in children.asked if words[0] == "devices"]) == 1
        children.answers = {"devices": listed(FREE, SCRATCH)}
        await pilot.press("1")
        await shows(pilot, "2 devices")

    drive(children, steps)


def test_udevs_news_are_looked_at_once_when_it_is_quiet() -> None:
    children = Scripted({"devices": listed(FREE)})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "1 device,")
        children.answers = {"devices": listed(FREE, SCRATCH)}
        for _ in range(5):
            devices_of(pilot).post_message(DevicesScreen.News())
        await shows(pilot, "2 devices")
        assert len(children.asked) == 2

    drive(children, steps)


def test_the_progress_of_an_array_moves_without_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    children = Scripted({"devices": listed(*STORAGE_BOX)})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "resync 41 %")
        await go_to(pilot, ARRAY.path)
        asked = len(children.asked)
        later = replace(RESYNC, progress_percent=57.3, finish_min=90.0)
        monkeypatch.setattr(watch, "read_arrays", lambda: (later,))
        await devices_of(pilot).follow_progress()
        await shows(pilot, "resync 57 %", "resync 57.3 %, 90 min to go")
        assert len(children.asked) == asked

    drive(children, steps, size=(120, 40))


def test_what_came_and_went_is_shown_before_the_command_has_looked(monkeypatch: pytest.MonkeyPatch) -> None:
    children = Held({"devices": listed(FREE, SCRATCH)})

    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "2 devices")
        children.held = ("devices",)
        new = replace(FREE, name="sdz", path="/dev/sdz", diskseq=99)
        changes = BlockChanges(frozenset({FREE.name}), (new,))
        monkeypatch.setattr(watch, "read_changes", lambda _listed: changes)
        screen = devices_of(pilot)
        screen.post_message(screen.News())
        await shows(pilot, "sdz", "new; reading")
        assert "sdg" not in flat(pilot)
        monkeypatch.setattr(watch, "read_changes", lambda _listed: BlockChanges())
        children.answers = {"devices": listed(new, SCRATCH)}
        children.release.set()
        await until(pilot, lambda: "new; reading" not in flat(pilot))
        await shows(pilot, "sdz", "2 devices")

    drive(children, steps)
