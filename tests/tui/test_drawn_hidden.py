"""A widget that is given a value while nobody sees it shows that one later."""

from __future__ import annotations

from textual.pilot import Pilot
from textual.screen import Screen

from fsconsole.tui.widgets.charts import Gauge, Plot
from tests.tui.harness import picture
from tests.tui.test_drawn import gauge_value, plot_value, show


def test_a_value_given_while_hidden_is_there_in_the_same_size_as_before() -> None:
    async def act(pilot: Pilot[None], screen: Screen[None]) -> None:
        gauge, plot = screen.query_one(Gauge), screen.query_one(Plot)
        gauge.display = plot.display = False
        await pilot.pause()
        gauge.show(gauge_value(77))
        plot.show(plot_value(100))
        for _ in range(2):
            # The same again, as a screen does that paints at its own rate.
            gauge.display = plot.display = True
            gauge.show(gauge_value(77))
            plot.show(plot_value(100))
            await pilot.pause()
        shown = picture(pilot)
        assert "77 MiB" in shown
        highest = next(line for line in shown.splitlines() if "100 MB/s" in line)
        assert highest.count("█") > 40

    show((80, 24), act)
