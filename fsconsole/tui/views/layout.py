"""How the lines of the Run screen are shared out: what matters finds room on 24 of them."""

from __future__ import annotations

from dataclasses import dataclass

_CELLS, _GAUGES, _PLOT = 5, 7, 4
"""What each part gets before any gets more."""
_MOST_CELLS = 12
_MOST_PLOT = 40
WIDE_COLUMNS = 150
"""From here on gauges stand in two columns."""


@dataclass(frozen=True, slots=True)
class Room:
    """Lines for each part; 0: it isn't shown."""

    cells: int
    gauges: int
    plot: int


def room_for(lines: int, *, cells: int, gauges: int, plot: bool) -> Room:
    """Return how so many lines are used for so many cells and lines of gauges, with or without a plot."""
    least_plot = _PLOT if plot and lines >= _CELLS + _PLOT + 2 else 0
    cell_lines = min(cells, _CELLS, max(1, lines - least_plot - 2))
    gauge_lines = min(gauges, max(0, lines - cell_lines - least_plot))
    if least_plot:
        # A plot of six lines before an eighth gauge, and all gauges before a higher plot.
        gauge_lines = min(gauge_lines, max(_GAUGES, lines - cell_lines - 2 * _PLOT))
    rest = lines - cell_lines - gauge_lines - least_plot
    more_cells = min(max(0, cells - cell_lines), _MOST_CELLS - _CELLS, rest // 2 if least_plot else rest)
    plot_lines = min(_MOST_PLOT, least_plot + rest - more_cells) if least_plot else 0
    return Room(cell_lines + more_cells, gauge_lines, plot_lines)
