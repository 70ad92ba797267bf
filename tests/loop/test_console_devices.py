"""The Devices screen over real commands and a real scratch device."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.widgets import Input

from fsconsole.client.children import RealChildren
from fsconsole.devices.snapshot import find_device
from fsconsole.show.terminal import SAFE, Colours, Terminal
from fsconsole.system import block
from fsconsole.tui.app import ConsoleApp
from fsconsole.tui.session import Session
from fsconsole.tui.widgets.table import SheetTable
from tests.conftest import loops_under, wait_until
from tests.tui.harness import picture
from tests.tui.waiting import shows, until

pytestmark = pytest.mark.root

LIMIT_S = 60.0


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A directory for scratch files; loop devices over them are gone after the test."""
    path = tmp_path / "scratch"
    yield path
    for device in loops_under(str(path)):
        block.detach(device)
    wait_until(lambda: not loops_under(str(path)), "scratch devices are detached")


def test_a_scratch_device_is_made_shown_ticked_read_and_removed(folder: Path, tmp_path: Path) -> None:
    async def look() -> None:
        terminal = Terminal(Colours.SIXTEEN, SAFE, paint_hz=20.0)
        session = Session(terminal, RealChildren(), str(tmp_path / "runs"), is_root=True)
        app = ConsoleApp(session)
        async with app.run_test(size=(80, 24)) as pilot:
            await shows(pilot, "ticked")
            await pilot.press("n")
            await shows(pilot, "It fits")
            app.screen.query_one("#size", Input).value = "16MiB"
            app.screen.query_one("#directory", Input).value = str(folder)
            await shows(pilot, "It fits")
            await pilot.press("enter")
            await until(pilot, lambda: session.targets)
            (device,) = session.targets
            assert find_device(device).is_scratch
            assert "1 target ticked" in picture(pilot)
            assert app.screen.query_one(SheetTable).key == device
            await pilot.press("r")
            await shows(pilot, "read test")
            await pilot.press("x")
            await shows(pilot, f"Remove {device}?")
            await pilot.press("y")
            await shows(pilot, "its file are removed")
            assert session.targets == ()
            assert os.listdir(folder) == []

    asyncio.run(look())
    wait_until(lambda: not loops_under(str(folder)), "the scratch device is detached")


def test_a_scratch_device_that_appears_is_shown_by_itself(folder: Path, tmp_path: Path) -> None:
    async def look() -> None:
        terminal = Terminal(Colours.SIXTEEN, SAFE, paint_hz=20.0)
        session = Session(terminal, RealChildren(), str(tmp_path / "runs"), is_root=True)
        app = ConsoleApp(session)
        async with app.run_test(size=(80, 40)) as pilot:
            await shows(pilot, "ticked")
            made = await RealChildren().run("scratch", "create", "--size=16MiB", f"--dir={folder}", "--json")
            device = json.loads(made.out)["device"]
            await until(pilot, lambda: device.removeprefix("/dev/") in picture(pilot))
            await RealChildren().run("scratch", "remove", device)
            await until(pilot, lambda: device.removeprefix("/dev/") not in picture(pilot))

    asyncio.run(look())


def test_a_scratch_device_whose_making_is_ended_leaves_nothing(folder: Path) -> None:
    script = (
        "import sys, time\n"
        "from fsconsole.devices import scratch\n"
        "def slow(path, undo):\n    print('made', flush=True)\n    time.sleep(600)\n"
        "scratch._attach_proven = slow\n"
        "from fsconsole.cli.main import main\n"
        "sys.exit(main())\n"
    )
    words = ("scratch", "create", "--size=16MiB", "--dir", str(folder))
    making = subprocess.Popen((sys.executable, "-c", script, *words), stdout=subprocess.PIPE)
    assert making.stdout is not None
    assert making.stdout.readline() == b"made\n"
    assert len(os.listdir(folder)) == 1
    making.send_signal(signal.SIGTERM)
    making.communicate(timeout=LIMIT_S)
    assert making.returncode == 130
    assert os.listdir(folder) == []
