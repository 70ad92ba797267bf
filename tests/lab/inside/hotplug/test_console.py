"""The console itself in a guest: a disk that comes stands in its list, and one that goes is gone from it."""

from __future__ import annotations

import asyncio
import os
from itertools import count

import pytest

from fsconsole.client.children import Children
from fsconsole.show.terminal import SAFE, Colours, Terminal
from fsconsole.tui.app import ConsoleApp
from fsconsole.tui.session import Session
from tests.lab.guest import wait_until
from tests.lab.qmp import DRIVERS, Qmp
from tests.tui import waiting
from tests.tui.harness import picture
from tests.tui.waiting import shows, until

PATIENCE_S = 600.0
NUMBERS = count()


def names() -> set[str]:
    """Return the kernel names of all disks: without udevd nobody knows them by their serial numbers."""
    return set(os.listdir("/sys/block"))


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_LIMIT_S", PATIENCE_S)


@pytest.mark.usefixtures("udevd")
@pytest.mark.parametrize("bus", DRIVERS)
def test_the_console_lists_a_disk_that_comes_and_forgets_one_that_goes(qmp: Qmp, bus: str) -> None:
    disk = qmp.disk(f"listed-{next(NUMBERS)}", 16, bus, serial="LISTED")

    async def look() -> None:
        terminal = Terminal(Colours.SIXTEEN, SAFE, paint_hz=20.0)
        app = ConsoleApp(Session(terminal, Children(), "/var/lib/fsconsole/runs", is_root=True))
        async with app.run_test(size=(80, 40)) as pilot:
            await shows(pilot, "ticked")
            before, seen = picture(pilot), names()
            disk.plug_in()
            wait_until(lambda: names() > seen, "the kernel finds it")
            (name,) = names() - seen
            assert name not in before
            await until(pilot, lambda: name in picture(pilot), "it is listed", limit_s=PATIENCE_S)
            disk.pull_out()
            await until(pilot, lambda: name not in picture(pilot), "it is gone", limit_s=PATIENCE_S)

    asyncio.run(look())
