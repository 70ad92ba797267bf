"""Lines laid out in rows of a width; their texts are made when they are asked for."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from fsconsole.tui.views.lines import Line, columns_of, text_of

_MOST_WRAPPED = 500
"""In longer lists every line takes one row: how many rows a line takes would have to be found out for all."""


class LineRows:
    """Which line stands in which row, and with which text."""

    def __init__(self, lines: Sequence[Line], width: int) -> None:
        self.lines = tuple(lines)
        self.width = width
        self._columns = columns_of(self.lines, width)
        self._texts: dict[int, tuple[str, ...]] = {}
        self._ends: list[int] = []
        """The row behind each line; empty where every line has one row."""
        if len(self.lines) <= _MOST_WRAPPED and any(line.wraps for line in self.lines):
            self._ends = list(accumulate(len(self.text(place)) for place in range(len(self.lines))))

    @property
    def made(self) -> int:
        """How many texts were made."""
        return len(self._texts)

    @property
    def count(self) -> int:
        """How many rows there are."""
        return self._ends[-1] if self._ends else len(self.lines)

    def first_of(self, place: int) -> int:
        """Return the first row of a line."""
        return (self._ends[place - 1] if place else 0) if self._ends else place

    def height_of(self, place: int) -> int:
        """Return how many rows a line takes."""
        return self._ends[place] - self.first_of(place) if self._ends else 1

    def place_at(self, row: int) -> int:
        """Return which line stands in a row."""
        return bisect_right(self._ends, row) if self._ends else row

    def text(self, place: int) -> tuple[str, ...]:
        """Return the text of a line, row by row."""
        if place not in self._texts:
            line = self.lines[place]
            if len(self.lines) > _MOST_WRAPPED:
                line = replace(line, wraps=False)
            self._texts[place] = text_of(line, self._columns)
        return self._texts[place]
