"""How quickly a run of 12 hours opens: `python -m tests.bench.long_run [--hours 12]`.

A journal with samples at 2 Hz, half of them of each of two cells, 4 CPUs and an array of 4 disks. The console is opened in memory
at 80x24, and keys are pressed as an operator would; each opening ends when all of its curves are on the screen. It exits
with 1 where one takes more than 2 s by the clock (median).
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from textual.pilot import Pilot

from fsconsole.cli.main import COLLECT_AFTER
from fsconsole.journal.folder import RunFolder
from fsconsole.tui.screens.run import RunScreen
from fsconsole.tui.widgets.charts import Chart
from fsconsole.tui.widgets.lists import Table
from tests.bench.long_journal import HOURS_12, made_run
from tests.bench.paired import Cost
from tests.tui.harness import console

ALLOWED_S = 2.0
SAMPLES_H = HOURS_12 // 12
_SLOTS = 100
"""Of each cell's curve at the least: all of it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return 0 where the limit holds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--hours", type=float, default=12.0)
    parser.add_argument("--times", type=int, default=5)
    wanted = parser.parse_args(arguments)
    samples = int(wanted.hours * SAMPLES_H)
    # As the command fsconsole has it.
    gc.set_threshold(*COLLECT_AFTER)
    gc.freeze()
    with tempfile.TemporaryDirectory() as directory:
        folder = made_run(Path(directory), samples)
        found = [asyncio.run(measured(folder)) for _ in range(wanted.times)]
    print(f"{samples:,} samples, {wanted.hours:g} h at 2 Hz")
    worst_s = 0.0
    for name in found[0]:
        wall_s, cpu_s = (statistics.median(getattr(one[name], of) for one in found) for of in ("wall_s", "cpu_s"))
        worst_s = max(worst_s, wall_s)
        print(f"{name:<28} {cpu_s:6.2f} CPU s {wall_s:6.2f} s   median of {len(found)}")
    holds = worst_s <= ALLOWED_S
    print(f"the longest: {worst_s:.2f} s; allowed at most {ALLOWED_S:g}: {'holds' if holds else 'DOES NOT HOLD'}")
    return int(not holds)


async def measured(folder: RunFolder) -> dict[str, Cost]:
    """Return what it takes to open a run's screens, one after the other, in a console of its own."""
    app = console(runs_dir=Path(folder.path).parent, folder=folder)
    async with app.run_test(size=(80, 24)) as pilot:
        return {
            "Run, first figures": await _until(pilot, "3", lambda: _snapshot(pilot)),
            "Run, and all its curves": await _until(pilot, "", lambda: _is_whole(pilot)),
            "Results": await _until(pilot, "4", lambda: bool(_table(pilot))),
            "Cell with its curves": await _until(pilot, "enter", lambda: _has_curves(pilot)),
        }


async def _until(pilot: Pilot[None], key: str, is_there: Callable[[], object]) -> Cost:
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    if key:
        await pilot.press(key)
    while not is_there():
        await asyncio.sleep(0.005)
    await pilot.pause()
    return Cost(time.process_time() - cpu_s, time.perf_counter() - wall_s)


def _snapshot(pilot: Pilot[None]) -> object:
    screen = pilot.app.screen
    return screen.snapshot if isinstance(screen, RunScreen) else None


def _is_whole(pilot: Pilot[None]) -> bool:
    screen = pilot.app.screen
    assert isinstance(screen, RunScreen)
    assert screen.snapshot is not None
    history = screen.snapshot.history
    return history.current is not None and len(history.current.points) > _SLOTS


def _table(pilot: Pilot[None]) -> object:
    return [table for table in pilot.app.screen.query(Table) if table.id == "grid" and table.value.rows]


def _has_curves(pilot: Pilot[None]) -> bool:
    charts = [chart for chart in pilot.app.screen.query(Chart) if chart.id == "throughput"]
    value = charts[0]._value if charts else None
    return value is not None and any(len(series.points) > _SLOTS for series in value.series)


if __name__ == "__main__":
    sys.exit(main())
