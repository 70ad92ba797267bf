"""Drawings of `fsconsole results`: the layout map as text, in colour where the terminal has it, and as SVG."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fsconsole.errors import Misused

if TYPE_CHECKING:
    from fsconsole.client.runs import Look
    from fsconsole.journal.folder import RunFolder
    from fsconsole.results.layout_map import Spans

_COMMAND = "fsconsole results"
_SGR = {
    "strong": "1", "faint": "2",
    "map0": "31", "map1": "32", "map2": "33", "map3": "34", "map4": "35", "map5": "36",
}  # fmt: skip
"""Select Graphic Rendition of ECMA-48, what every terminal with colours has."""


def cells_named(text: str) -> tuple[int, ...]:
    """Return the indexes of cells given as "3,7", counted from 1. Raises Misused."""
    numbers = [word.strip() for word in text.split(",")] if text else []
    if not all(word.isascii() and word.isdecimal() and int(word[:9]) > 0 for word in numbers):
        raise Misused(what="--cells takes numbers from 1, such as 3,7.", nearest="", command=_COMMAND)
    return tuple(int(word[:9]) - 1 for word in numbers)


def check_map(*, has_map: bool, idle: Mapping[str, object]) -> None:
    """Raise Misused for options of a drawing without --map, and for those in idle, by name, that a map would ignore."""
    what = "" if has_map else "--cells goes with --map, --svg with --map or --curves."
    ignored = [name for name, given in idle.items() if given]
    if has_map and ignored:
        what = f"--map is a drawing: it has no use for {', '.join(ignored)}."
    if what:
        raise Misused(what=what, nearest="", command=_COMMAND)


def layout_map(folder: RunFolder, seen: Look, *, cells: str, svg: str, width: int) -> str:
    """Return the layout maps of a run's loads as text; with svg, write them there instead and return nothing.

    Raises LayoutMissing, Misused, ExportFailed, and what the journal's reader raises.
    """
    from fsconsole.client.runs import save
    from fsconsole.errors.runs import LayoutMissing
    from fsconsole.journal.past import layout_places, read_layouts
    from fsconsole.results.grid import build_grid
    from fsconsole.results.layout_map import maps_of, maps_text
    from fsconsole.results.layout_svg import maps_svg

    chosen = cells_named(cells)
    grid, places = build_grid(seen.state), layout_places(folder, seen.state)
    wanted = chosen or tuple(dict.fromkeys(next(filter(places.__contains__, row.indexes), -1) for row in grid.rows))
    layouts = read_layouts(folder, [number for cell in wanted for number in places.get(cell, ())])
    loads = maps_of(seen.state, grid, layouts, chosen)
    if not loads:
        raise LayoutMissing(run=folder.name, of=f" of cells {cells}" if chosen else "")
    if svg:
        save(svg, maps_svg(loads), overwrite=False)
        return ""
    lines = [line for maps in loads for line in (*maps_text(maps, width), (("", ""),))]
    return "".join(f"{line}\n" for line in painted(lines[:-1], has_colours=has_colours()))


def painted(lines: Sequence[Spans], *, has_colours: bool) -> list[str]:
    """Return lines as text, with escape sequences for their tones where there are colours."""
    if not has_colours:
        return ["".join(text for text, _ in line) for line in lines]
    return [
        "".join(f"\x1b[{_SGR[tone]}m{text}\x1b[0m" if tone in _SGR else text for text, tone in line) for line in lines
    ]


def has_colours() -> bool:
    """Return whether standard output is a terminal with colours."""
    from fsconsole.errors import DumbTerminal
    from fsconsole.show.terminal import Colours, terminal_of

    if not sys.stdout.isatty():
        return False
    try:
        return terminal_of(os.environ, sys.stdout.encoding).colours is not Colours.NONE
    except DumbTerminal:
        return False
