"""Gauges, plots and histograms on a screen: what is painted, and how little of it anew."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

import pytest
from textual.app import ComposeResult
from textual.geometry import Region
from textual.pilot import Pilot
from textual.screen import Screen

from fsconsole.show.charts import GaugeValue, HistogramValue, Mark, PlotValue, Series
from fsconsole.tui.widgets.charts import Drawn, Gauge, Histogram, Plot
from tests.tui.harness import SIZES, console, picture


class Pictures(Screen[None]):
    def compose(self) -> ComposeResult:
        yield Gauge(8, text_width=10)
        yield Plot()
        yield Histogram()


def gauge_value(value: float | None) -> GaugeValue:
    return GaugeValue("dirty", value, 100, f"{value} MiB" if value is not None else "", (Mark(60, "bg"),))


def plot_value(height: float) -> PlotValue:
    series = Series("write", tuple((second, height) for second in range(61)), "write")
    return PlotValue((series,), 0, 60, 100, "100 MB/s", "last minute")


def show(size: tuple[int, int], act: Callable[[Pilot[None], Screen[None]], Awaitable[None]]) -> None:
    async def run() -> None:
        app = console()
        async with app.run_test(size=size) as pilot:
            screen = Pictures()
            await app.push_screen(screen)
            screen.query_one(Gauge).show(gauge_value(30))
            screen.query_one(Plot).show(plot_value(50))
            screen.query_one(Histogram).show(HistogramValue((("4 KiB", 2, "2"), ("1 MiB", 4, "4"))))
            await pilot.pause()
            await act(pilot, screen)

    asyncio.run(run())


def watched(widget: Drawn, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Region, ...]]:
    """Return what a widget has painted anew, filled in as it comes; () is all of it."""
    found: list[tuple[Region, ...]] = []
    refresh = widget.refresh

    def noted(*regions: Region, **options: bool) -> Drawn:
        found.append(regions)
        return refresh(*regions, **options)

    monkeypatch.setattr(widget, "refresh", noted)
    return found


@pytest.mark.parametrize("size", SIZES)
def test_all_three_fill_the_width(size: tuple[int, int]) -> None:
    async def act(pilot: Pilot[None], _screen: Screen[None]) -> None:
        lines = picture(pilot).splitlines()
        assert lines[0].startswith("dirty    [█")
        assert lines[0].endswith("30 MiB")
        assert lines[1].startswith("100 MB/s│")
        assert lines[-2].startswith("4 KiB █")
        assert lines[-1].startswith("1 MiB █")
        assert {len(lines[0]), len(lines[-1]), len(lines[-4])} == {size[0]}

    show(size, act)


def test_the_same_value_again_paints_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def act(pilot: Pilot[None], screen: Screen[None]) -> None:
        for widget, again in (
            (screen.query_one(Gauge), lambda: screen.query_one(Gauge).show(gauge_value(30))),
            (screen.query_one(Plot), lambda: screen.query_one(Plot).show(plot_value(50.1))),
        ):
            painted = watched(widget, monkeypatch)
            again()
            await pilot.pause()
            assert painted == []

    show((80, 24), act)


def test_another_value_paints_the_columns_that_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    async def act(pilot: Pilot[None], screen: Screen[None]) -> None:
        gauge = screen.query_one(Gauge)
        painted = watched(gauge, monkeypatch)
        gauge.show(GaugeValue("dirty", 30, 100, "31 MiB", (Mark(60, "bg"),)))
        await pilot.pause()
        assert painted == [(Region(75, 0, 1, 1),)]
        assert "31 MiB" in picture(pilot)

    show((80, 24), act)


def test_what_was_there_and_is_no_more_is_said() -> None:
    async def act(pilot: Pilot[None], screen: Screen[None]) -> None:
        screen.query_one(Gauge).show(gauge_value(None))
        await pilot.pause()
        assert "n/a" in picture(pilot)

    show((80, 24), act)


def test_another_size_is_drawn_anew() -> None:
    async def act(pilot: Pilot[None], _screen: Screen[None]) -> None:
        for columns, lines in ((60, 16), (200, 60), (20, 5), (80, 24)):
            await pilot.resize_terminal(columns, lines)
            await pilot.pause()
            assert max(map(len, picture(pilot).splitlines())) <= columns
        assert picture(pilot).splitlines()[0].endswith("30 MiB")

    show((80, 24), act)


def test_a_histogram_grows_with_its_rows() -> None:
    async def act(pilot: Pilot[None], screen: Screen[None]) -> None:
        rows: Iterable[tuple[str, float, str]] = (
            (f"{number} KiB", number, str(number)) for number in range(1, 6)
        )
        screen.query_one(Histogram).show(HistogramValue(tuple(rows)))
        await pilot.pause()
        assert [line.split()[0] for line in picture(pilot).splitlines()[-5:]] == ["1", "2", "3", "4", "5"]

    show((80, 24), act)
