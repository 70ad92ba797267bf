"""The line of keys: it follows what the keys do, and is left alone where that stays the same."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot
from textual.widgets._footer import FooterKey

from fsconsole.tui.screens.devices import DevicesScreen
from fsconsole.tui.widgets.panes import Footer
from tests.tui.at_devices import drive
from tests.tui.device_lists import FREE, SCRATCH, listed
from tests.tui.waiting import shows, until


def keys(pilot: Pilot[None]) -> dict[str, tuple[int, bool]]:
    """Return what stands in the line, each with the identity of its widget, and whether it can be pressed."""
    return {
        key.description: (id(key), not key.has_class("-disabled"))
        for key in pilot.app.screen.query(FooterKey)
    }


def test_the_line_of_keys_stays_while_its_keys_do_the_same() -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "2 devices", "New scratch")
        before = keys(pilot)
        await pilot.press("down", "up", "space", "tab")
        pilot.app.screen.refresh_bindings()
        await shows(pilot, "1 target ticked")
        assert before
        assert {name: keys(pilot)[name] for name in before if name in keys(pilot)} == before

    drive(listed(FREE, SCRATCH), steps)


def test_the_line_of_keys_shows_what_can_not_be_pressed_now(monkeypatch: pytest.MonkeyPatch) -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "2 devices", "New scratch")
        name = next(iter(keys(pilot)))
        assert keys(pilot)[name][1]
        monkeypatch.setattr(DevicesScreen, "check_action", lambda *_: None)
        pilot.app.screen.refresh_bindings()
        await until(pilot, lambda: not keys(pilot)[name][1], f"{name} as what can't be pressed")

    drive(listed(FREE, SCRATCH), steps)


def test_a_line_of_keys_whose_screen_has_gone_is_not_made_anew() -> None:
    async def steps(pilot: Pilot[None]) -> None:
        await shows(pilot, "2 devices")
        await pilot.press("n")
        await shows(pilot, "New scratch device")
        line = pilot.app.screen.query_one(Footer)
        await pilot.press("escape")
        await shows(pilot, "2 devices")
        await line.recompose()

    drive(listed(FREE, SCRATCH), steps)
