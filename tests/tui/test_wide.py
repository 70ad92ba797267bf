"""Screens on a terminal of 200x60: no line is too long, and what smaller ones leave out or break stands whole."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.tui.at_devices import at_devices
from tests.tui.at_plan import at_plan
from tests.tui.device_lists import STORAGE_BOX, listed
from tests.tui.harness import WIDE, console, drive, picture
from tests.tui.living import AGAIN, NEXT, living_run
from tests.tui.offers import said
from tests.tui.recorded import all_recorded, recorded
from tests.tui.test_confirm import DISK, confirming
from tests.tui.waiting import shows, until


@asynccontextmanager
async def devices(_runs: Path) -> AsyncIterator[Pilot[None]]:
    async with at_devices(listed(*STORAGE_BOX), size=WIDE) as pilot:
        yield pilot


@asynccontextmanager
async def plan(_runs: Path) -> AsyncIterator[Pilot[None]]:
    async with at_plan(size=WIDE) as hand:
        yield hand.pilot


@asynccontextmanager
async def confirm(_runs: Path) -> AsyncIterator[Pilot[None]]:
    async with confirming({"plan": said(DISK, consent="CODE")}, DISK, size=WIDE) as shown:
        yield shown.pilot


@asynccontextmanager
async def runs(runs: Path) -> AsyncIterator[Pilot[None]]:
    all_recorded(runs)
    async with drive(console(runs_dir=runs), "5", size=WIDE) as pilot:
        yield pilot


@asynccontextmanager
async def cell(runs: Path) -> AsyncIterator[Pilot[None]]:
    async with drive(console(folder=recorded("grid", runs), runs_dir=runs), "4", size=WIDE) as pilot:
        await shows(pilot, "] Block")
        await pilot.press("enter")
        yield pilot


@asynccontextmanager
async def run(runs: Path) -> AsyncIterator[Pilot[None]]:
    with living_run(runs, again=True) as living:
        async with drive(console(folder=living.folder, runs_dir=runs), "3", size=WIDE) as pilot:
            living.record((*NEXT, *AGAIN))
            living.sample(cell=2)
            yield pilot


@asynccontextmanager
async def results(runs: Path) -> AsyncIterator[Pilot[None]]:
    async with drive(console(folder=recorded("grid", runs), runs_dir=runs), "4", size=WIDE) as pilot:
        yield pilot


Opened = Callable[[Path], AbstractAsyncContextManager[Pilot[None]]]
SCREENS: tuple[tuple[Opened, str, tuple[str, ...]], ...] = (
    (
        devices,
        "17 devices, no target ticked",
        (
            # All columns, the details beside them, and every device of the box.
            r"device +size +kind +model +link +medium +serial +signature +state +│ /dev/sdg",
            r"^\[ \] sdg .* ST3000NM0033-9ZM178 +ata +disk +Z1Y0G +free +│ state +free$",
            r"└─ dm-1 \(vg-home\) .* xfs mounted on",
            r"sdi +3.0 TiB +disk .* held by dm-0 +│$",
        ),
    ),
    (
        plan,
        "70 more options",
        # Sections, options and variants beside each other, no option broken.
        (
            r"Run\.\. +│ Common options of ext4 +│ Variants$",
            r"^\[x\] xfs +1 +│ commit +\(default\) +60 +other\.\. +│$",
            r"│ inode_size +\(default\) +128 +256 +512 +1024 +│$",
            r"^f10 Run\.\. .* T Try \? Keys q Quit$",
        ),
    ),
    (
        confirm,
        "To wipe, type sdb, then F10 or Enter twice.",
        (r"│   would be LOST: ext4 '\[/x\]', UUID 2b9570c7-4191-4350-b671-b53e98ae2219, 64.0 MiB +│$",),
    ),
    (
        runs,
        "engine died in workload of cell 6",
        (
            r"^run +started +status +MB/s +best +cells +size$",
            r"^read-ahead, beside the raw device +11-21 15:49  finished +\+\*=# +4/4 +\d+",
            r"^enter Open .* i Import .* m Rename \? Keys q Quit$",
        ),
    ),
    (
        run,
        "2/3 cells",
        # Two curves and the ghost, the last minute of CPU, pressure and disk beside each other.
        (r"█ disk 410 MB/s   ■ app 812 MB/s   ░ disk, cell 1", r"lost if power fails now: 3\.10 GiB"),
    ),
    (
        results,
        "over time",
        # Check and delete have bars of their own, and curves stand below the rows.
        (r"check", r"durable delete"),
    ),
    (
        cell,
        "waiting for I/O",
        (
            r"^prepare device 0.0-0.1 s, workload 0.1-0.3 s, drain 0.3-0.4 s, drop caches 0.4-0.5 s, workload 0.5-0.9 s$",
            # Three charts over one axis, from the left edge to the last column.
            r"█ device write   ■ device read   ▲ application$",
            r"^ +0└─{189}$",
            r"█ dirty and under writeback$",
        ),
    ),
)


@pytest.mark.parametrize(("opened", "awaited", "lines"), SCREENS, ids=[one[0].__name__ for one in SCREENS])
async def test_200_columns_and_60_lines_are_used_and_none_is_too_long(
    opened: Opened, awaited: str, lines: tuple[str, ...], tmp_path: Path
) -> None:
    async with opened(tmp_path) as pilot:
        await shows(pilot, awaited)

        def missing() -> list[str]:
            return [line for line in lines if not any(re.search(line, one) for one in picture(pilot).splitlines())]

        # What is read run by run comes after the rest.
        await until(pilot, lambda: not missing(), f"a line for each of {lines}")
        shown = picture(pilot).splitlines()
        assert len(shown) == WIDE[1]
        assert max(map(len, shown)) <= WIDE[0]
        # The foot stands at the bottom, and something reaches to the right.
        assert "Keys" in shown[-1] or "esc " in shown[-1]
        assert max(len(one.rstrip("─ ")) for one in shown) > WIDE[0] / 2
