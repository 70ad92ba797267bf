"""What is drawn at once, and what is hidden; pictures of screens."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
from textual import timer
from textual.app import ComposeResult
from textual.geometry import Region
from textual.pilot import Pilot
from textual.screen import Screen

from fsconsole.client import runs
from fsconsole.show.charts import GaugeValue, PlotValue, Series, Threshold
from fsconsole.show.terminal import Colours
from fsconsole.text import MIB
from fsconsole.tui.widgets.charts import Chart
from tests.tui.harness import SIZES, console, drive, picture
from tests.tui.recorded import all_recorded, imported, recorded
from tests.tui.snapshots import assert_looks_as_kept
from tests.tui.waiting import shows


class Pictures(Screen[None]):
    def compose(self) -> ComposeResult:
        for name, height in (("gauges", 1), ("plot", "1fr")):
            chart = Chart(id=name)
            chart.styles.height = height
            yield chart


def gauge_value(value: float | None) -> GaugeValue:
    return GaugeValue("dirty", value, 100, f"{value} MiB" if value is not None else "", (Threshold(60, "bg"),))


def plot_value(height: float) -> PlotValue:
    series = Series("write", tuple((second, height) for second in range(61)), "write")
    return PlotValue((series,), 0, 60, 100, "100 MB/s", "last minute")


@asynccontextmanager
async def show(size: tuple[int, int] = (80, 24)) -> AsyncIterator[tuple[Pilot[None], Chart, Chart]]:
    """Show a chart of a gauge and one of a plot."""
    app = console()
    async with drive(app, size=size) as pilot:
        screen = Pictures()
        await app.push_screen(screen)
        gauge, plot = screen.query_one("#gauges", Chart), screen.query_one("#plot", Chart)
        gauge.show((gauge_value(30),))
        plot.show(plot_value(48))
        await pilot.pause()
        yield pilot, gauge, plot


def watched(widget: Chart, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Region, ...]]:
    """Return what a widget has painted anew, filled in as it comes; () is all of it."""
    found: list[tuple[Region, ...]] = []
    refresh = widget.refresh

    def noted(*regions: Region, **options: bool) -> Chart:
        found.append(regions)
        return refresh(*regions, **options)

    monkeypatch.setattr(widget, "refresh", noted)
    return found


@pytest.mark.parametrize("size", SIZES)
async def test_both_fill_the_width_of_any_size(size: tuple[int, int]) -> None:
    async with show(size) as (pilot, _, _):
        lines = picture(pilot).splitlines()
        assert re.match(r"dirty +\[█", lines[0])
        assert lines[0].endswith("30 MiB")
        assert lines[1].startswith("100 MB/s│")
        assert len(lines[-2]) == size[0]
        assert len(lines[0].rstrip()) in (size[0], size[0] // 2 - 1)
        for columns, height in ((60, 16), (200, 60), (20, 5), (80, 24)):
            await pilot.resize_terminal(columns, height)
            # On a busy machine the layout follows some messages later.
            for _ in range(50):
                await pilot.pause()
                if max(map(len, picture(pilot).splitlines())) <= columns:
                    break
            assert max(map(len, picture(pilot).splitlines())) <= columns
        assert picture(pilot).splitlines()[0].endswith("30 MiB")


async def test_the_same_value_paints_nothing_and_another_one_the_columns_that_differ(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with show() as (pilot, gauge, plot):
        painted = watched(plot, monkeypatch)
        plot.show(plot_value(48.01))
        await pilot.pause()
        assert painted == []
        painted = watched(gauge, monkeypatch)
        gauge.show((gauge_value(30),))
        await pilot.pause()
        assert painted == []
        gauge.show((GaugeValue("dirty", 30, 100, "31 MiB", (Threshold(60, "bg"),)),))
        await pilot.pause()
        assert painted == [(Region(75, 0, 1, 1),)]
        assert "31 MiB" in picture(pilot)


async def test_a_value_given_while_hidden_is_there_in_the_same_size_as_before_and_none_is_said() -> None:
    async with show() as (pilot, gauge, plot):
        gauge.display = plot.display = False
        await pilot.pause()
        gauge.show((gauge_value(77),))
        plot.show(plot_value(100))
        for _ in range(2):
            # The same again, as a screen does that paints at its own rate.
            gauge.display = plot.display = True
            gauge.show((gauge_value(77),))
            plot.show(plot_value(100))
            await pilot.pause()
        shown = picture(pilot)
        assert "77 MiB" in shown
        highest = next(line for line in shown.splitlines() if "100 MB/s" in line)
        assert highest.count("█") > 40
        gauge.show((gauge_value(None),))
        await pilot.pause()
        assert "n/a" in picture(pilot)


async def test_a_new_size_is_taken_though_the_process_was_held_up_just_then(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = count(step=0.01)
    async with drive(console(), "5") as pilot:
        await shows(pilot, "There are no runs")
        # Between any two looks at the clock 10 ms have gone by: Textual takes a timer of 8 ms for missed.
        monkeypatch.setattr(timer, "_time", SimpleNamespace(get_time=lambda: next(clock)))
        for size, words in (((20, 5), "too small"), ((80, 24), "There are no runs")):
            await pilot.resize_terminal(*size)
            await shows(pilot, words)


def test_the_filters_stay_the_same_so_that_what_they_made_of_a_line_is_kept() -> None:
    for colours in Colours:
        app = console(colours=colours)
        first, again = app.get_line_filters(), app.get_line_filters()
        assert [id(one) for one in first] == [id(one) for one in again], colours


@pytest.mark.parametrize("size", SIZES)
async def test_runs_results_and_a_cell_look_as_kept(
    size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runs, "size_bytes", lambda _folder: 3 * MIB)
    all_recorded(Path("runs"))
    async with drive(console(runs_dir="runs"), "5", size=size) as pilot:
        await shows(pilot, "5 runs", "finished: 1 of 2 cells failed", "engine died in workload of cell 6")
        await pilot.press("down", "down")
        await shows(pilot, "it can't be resumed, its scratch file")
        assert_looks_as_kept(pilot, f"runs-{size[0]}x{size[1]}")
    folder = recorded("killed", Path("one"))
    async with drive(console(runs_dir="one", folder=folder), "4", size=size) as pilot:
        await shows(pilot, "No verdicts: ", "6 cells: 5 done, 1 interrupted")
        assert_looks_as_kept(pilot, f"results-{size[0]}x{size[1]}")
        await pilot.press("enter")
        await shows(pilot, "Curves  Figures", "waiting for I/O", "in this row")
        assert_looks_as_kept(pilot, f"cell-{size[0]}x{size[1]}")
    async with drive(console(folder=imported("mail", Path("rounds"))), "4", size=size) as pilot:
        await shows(pilot, "undecided", "slower")
        await pilot.press("down", "]")
        await shows(pilot, "against ext4 data=ordered")
        assert_looks_as_kept(pilot, f"results-verdicts-{size[0]}x{size[1]}")
