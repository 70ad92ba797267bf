"""Input that arrives together with q, or after it: the console ends, and nothing of it is acted on."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from textual import events
from textual.css.query import NoMatches
from textual.keys import _character_to_key

from fsconsole.tui.app import ConsoleApp
from fsconsole.tui.screens.base import SCREENS
from fsconsole.tui.screens.dialogs import Dialog
from tests.tui.harness import console, drive
from tests.tui.living import living_run
from tests.tui.on_a_pty import read_for, read_until, terminal
from tests.tui.recorded import recorded
from tests.tui.waiting import until

LATE = ("4", "down", "1", "2", "3", "5", "?", "n", "x", "f10", "enter", "y", "q", "r", "S", "tab", "/", "escape", "d")
TERM = {"TERM": "linux", "LANG": "C.UTF-8"}
LIMIT_S = 30.0


def send(app: ConsoleApp, *keys: str) -> None:
    """Send keys as one read of the terminal gives them: none is acted on before all have arrived."""
    for key in keys:
        name = _character_to_key(key) if len(key) == 1 else key
        app.post_message(events.Key(name, key if len(key) == 1 else None))
    app.post_message(events.Paste("5"))
    app.post_message(events.MouseDown(None, 3, 0, 0, 0, 1, shift=False, meta=False, ctrl=False))
    app.post_message(events.MouseUp(None, 3, 0, 0, 0, 1, shift=False, meta=False, ctrl=False))


async def ended(app: ConsoleApp, mode: str, *keys: str) -> None:
    """Run a console to its end by keys that come all at once on one of its screens."""
    running = asyncio.create_task(app.run_async(headless=True, size=(80, 24)))

    async def shown() -> None:
        while not app.is_running or app.current_mode != mode or not app.screen.query("#said"):
            await asyncio.sleep(0.02)

    while not (app.is_running and app.screen_stack and app.screen.query("#said")):
        await asyncio.sleep(0.02)
    key = next(label[0] for name, label in SCREENS if name == mode)
    app.post_message(events.Key(key, key))
    await asyncio.wait_for(shown(), LIMIT_S)
    send(app, *keys)
    await asyncio.wait_for(running, LIMIT_S)
    assert app._exception is None
    assert app.return_code == 0


@pytest.mark.parametrize("mode", [mode for mode, _ in SCREENS])
async def test_keys_behind_q_end_no_screen_badly(tmp_path: Path, mode: str) -> None:
    folder = recorded("grid", tmp_path)
    for late in (LATE, LATE[::-1]):
        await ended(console(folder=folder, runs_dir=tmp_path), mode, "q", *late)


@pytest.mark.parametrize("mode", [mode for mode, _ in SCREENS])
async def test_keys_behind_q_ask_nothing_of_living_run(tmp_path: Path, mode: str) -> None:
    with living_run(tmp_path) as run:
        await ended(console(folder=run.folder, runs_dir=tmp_path), mode, "q", "3", "p", "a", "S", "y", "X", "y")
        assert run.requested == []


@pytest.mark.parametrize("opened", [mode for mode, _ in SCREENS])
async def test_screen_that_opens_while_console_ends_is_given_up(tmp_path: Path, opened: str) -> None:
    app = console(runs_dir=tmp_path)
    async with drive(app) as pilot:
        await pilot.pause()
        # As the last step of a key that was pressed before q.
        app.switch_mode(opened)
        app.exit()
    assert app._exception is None


class Slow(Dialog[None]):
    """Looks for its title when it is closed already, as what was begun before that does."""

    closed: asyncio.Event

    def on_mount(self) -> None:
        self.closed = asyncio.Event()
        self.run_worker(self.look())

    async def look(self) -> None:
        try:
            await self.closed.wait()
        finally:
            self.complain("too late")


async def test_worker_may_miss_widgets_of_closed_dialog(tmp_path: Path) -> None:
    app = console(runs_dir=tmp_path)
    async with drive(app) as pilot:
        for _ in range(3):
            dialog = Slow("a title")
            await app.push_screen(dialog)
            await pilot.pause()
            dialog.dismiss(None)
            await until(pilot, lambda shown=dialog: not shown.is_attached, "it is closed")
        assert app._exception is None
        assert app.is_running


async def test_error_of_shown_screen_still_ends_console(tmp_path: Path) -> None:
    app = console(runs_dir=tmp_path)

    async def miss() -> None:
        async with drive(app) as pilot:
            app.screen.call_later(lambda: app.screen.query_one("#absent"))
            await pilot.pause()

    with pytest.raises(NoMatches, match="#absent"):
        await miss()


@pytest.mark.parametrize(
    "keys", [b"q4", b"q5", b"q2", b"q\x1b[B4", b"4q", b"q1235", b"q" + 5 * b"12345", b"2q\x1b[B?4"]
)
def test_bytes_behind_q_end_console_quietly(keys: bytes, tmp_path: Path) -> None:
    with terminal({**TERM, "XDG_STATE_HOME": str(tmp_path)}, "--runs", str(tmp_path)) as fd:
        read_until(fd, b"no target ticked")
        os.write(fd, keys)
        # The terminal is closed by the last process that has it.
        printed = b""
        while piece := read_for(fd, 30.0):
            printed += piece
        assert b"Traceback" not in printed
        assert b"crashed" not in printed
