"""How soon a disk that comes or goes is on the Devices screen: `python -m tests.bench.hotplug_latency`, as root.

The console runs in memory at 80x60 with its real children. A loop device is attached and detached again and again: the
kernel sends the same events as for a disk. The time is from the kernel's word (the return of losetup) to the screen.
With --poll nobody listens to events: what is left is the look at the kernel's tables. Printed are median and worst.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from textual.pilot import Pilot

from fsconsole.client.children import Children
from fsconsole.show.terminal import SAFE, Colours, Terminal
from fsconsole.tui.app import ConsoleApp
from fsconsole.tui.session import Session
from fsconsole.tui.watch import UdevWatch
from tests.bench.console_pty import compiled
from tests.tui.harness import picture

ALLOWED_S = 1.0
_LOOK_S, _PAUSE_S = 0.005, 2.0
_SIZE_MIB = 13
"""A size that no other device of the machine has."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return 0 where the medians are within what is allowed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--poll", action="store_true", help="listen to no events")
    wanted = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as directory, compiled(), _listening(not wanted.poll):
        found = asyncio.run(measured(Path(directory), wanted.times))
    fails = False
    for name, seconds in zip(("appears", "vanishes"), zip(*found, strict=True), strict=True):
        middle = statistics.median(seconds)
        fails |= middle > ALLOWED_S
        print(f"{name:8} {middle:.2f} s, at worst {max(seconds):.2f} s, of {len(seconds)}; allowed {ALLOWED_S} s")
    return int(fails)


@contextmanager
def _listening(listens: bool) -> Iterator[None]:
    if listens:
        yield
    else:
        with patch.object(UdevWatch, "start", lambda _: None):
            yield


async def measured(directory: Path, times: int) -> list[tuple[float, float]]:
    """Return how long a device took to appear and to vanish, so many times."""
    backing = directory / "disk"
    with backing.open("wb") as file:
        file.truncate(_SIZE_MIB * 2**20)
    session = Session(
        Terminal(Colours.SIXTEEN, SAFE, paint_hz=20.0, slow=False),
        Children(),
        str(directory),
        is_root=True,
    )
    found = []
    async with ConsoleApp(session).run_test(size=(80, 60)) as pilot:
        await _until(pilot, lambda text: "devices, " in text)
        for _ in range(times):
            await asyncio.sleep(_PAUSE_S)
            device = await _said("losetup", "--find", "--show", str(backing))
            row = re.compile(rf" {device.removeprefix('/dev/')} +{_SIZE_MIB}\.0 MiB")
            try:
                came_s = await _until(pilot, lambda text, row=row: row.search(text) is not None)
                await asyncio.sleep(_PAUSE_S)
            finally:
                await _said("losetup", "--detach", device)
            found.append((came_s, await _until(pilot, lambda text, row=row: row.search(text) is None)))
    return found


async def _until(pilot: Pilot[None], holds: Callable[[str], bool]) -> float:
    begun_s = time.monotonic()
    while not holds(picture(pilot)):
        await asyncio.sleep(_LOOK_S)
    return time.monotonic() - begun_s


async def _said(*argv: str) -> str:
    done = await asyncio.to_thread(subprocess.run, argv, check=True, capture_output=True, text=True)
    return done.stdout.strip()


if __name__ == "__main__":
    raise SystemExit(main())
