"""A table of fixed width in plain text: names on the left, figures right-aligned under heads of two lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fsconsole.text import cells_of, pad_left, pad_right, shorten_middle, wrap

LEAST_WIDTH = 40
"""Below this nothing can be laid out; a narrower terminal wraps the lines itself."""

_LEAST_NAME = 16
_WIDEST_CELL = 18
"""Room for the longest figure with a verdict: no figure is ever shortened."""
_NAME_LINES = 2
_ANY_LINES = 1000
_GAPS = (2, 1)


@dataclass(frozen=True, slots=True)
class Head:
    """A column's name and, below it, the unit of its figures."""

    name: str
    unit: str


@dataclass(frozen=True, slots=True)
class PrintedRow:
    """One row; without cells its first note stands in their place. All text is printable."""

    name: str
    cells: tuple[str, ...]
    notes: tuple[str, ...] = ()


def table_lines(name: str, heads: Sequence[Head], lines: Sequence[PrintedRow], width: int) -> list[str]:
    """Return the table in lines of at most width cells (at least LEAST_WIDTH).

    Columns that don't fit beside each other go into a further block below, under the same names.
    """
    width = max(width, LEAST_WIDTH)
    widths = [_column_width(index, head, lines) for index, head in enumerate(heads)]
    printed: list[str] = []
    for block in _blocks(widths, width):
        printed += [""] if printed else []
        printed += _block_lines(name, heads, lines, _Block(block, tuple(widths[i] for i in block), width))
    return printed


@dataclass(frozen=True, slots=True)
class _Block:
    """The columns that stand beside each other, by index."""

    columns: tuple[int, ...]
    widths: tuple[int, ...]
    width: int

    @property
    def gap(self) -> int:
        """The spaces before each figure: two where the names have room beside them."""
        roomy = sum(self.widths) + _GAPS[0] * len(self.widths) + _LEAST_NAME
        return _GAPS[0] if roomy <= self.width else _GAPS[1]

    @property
    def figures_width(self) -> int:
        """What all figures and the gaps before them take."""
        return sum(self.widths) + self.gap * len(self.widths)

    def figures(self, cells: Sequence[str]) -> str:
        """Return the right part of a line."""
        fitted = (
            pad_left(shorten_middle(cells[column], width), width)
            for column, width in zip(self.columns, self.widths, strict=True)
        )
        return "".join(" " * self.gap + cell for cell in fitted)


def _column_width(index: int, head: Head, lines: Sequence[PrintedRow]) -> int:
    cells = [line.cells[index] for line in lines if line.cells]
    return min(_WIDEST_CELL, max(map(cells_of, (head.name, head.unit, *cells))))


def _blocks(widths: Sequence[int], width: int) -> list[tuple[int, ...]]:
    """Return the columns in as few blocks as fit."""
    blocks: list[tuple[int, ...]] = []
    block: tuple[int, ...] = ()
    room = width - _LEAST_NAME
    for column, column_width in enumerate(widths):
        taken = sum(widths[other] + _GAPS[1] for other in block)
        if block and taken + column_width + _GAPS[1] > room:
            blocks.append(block)
            block = ()
        block = (*block, column)
    return [*blocks, block]


def _block_lines(name: str, heads: Sequence[Head], lines: Sequence[PrintedRow], block: _Block) -> list[str]:
    longest = max(cells_of(text) for text in (name, *(line.name for line in lines)))
    name_width = min(max(longest, len(name)), block.width - block.figures_width)
    printed = [
        (pad_right(name, name_width) + block.figures([head.name for head in heads])).rstrip(),
        (" " * name_width + block.figures([head.unit for head in heads])).rstrip(),
        "-" * (name_width + block.figures_width),
    ]
    for line in lines:
        printed += _row_lines(line, block, name_width)
    return printed


def _row_lines(line: PrintedRow, block: _Block, name_width: int) -> list[str]:
    names = _indented(line.name, name_width)
    if len(names) > _NAME_LINES:
        # A name that would be shortened has lines of its own, and all of its figures stand below it.
        above = _indented(line.name, block.width)
        return [*above, *_row_lines(replace(line, name=""), block, name_width)]
    if not line.cells:
        return _beside(names, " / ".join(line.notes), name_width, block.width)
    printed = [(pad_right(names[0], name_width) + block.figures(line.cells)).rstrip(), *names[1:]]
    for note in line.notes:
        printed += [f"    {part}" for part in wrap(note, block.width - 4)]
    return printed


def _indented(name: str, width: int) -> list[str]:
    """Return a name in as many lines as it needs, each as far to the right as its first."""
    text = name.lstrip(" ")
    indent = len(name) - len(text)
    return [" " * indent + part for part in wrap(text, width - indent, max_lines=_ANY_LINES)]


def _beside(names: list[str], note: str, name_width: int, width: int) -> list[str]:
    """Return names with a note to their right, both over as many lines as they need."""
    notes = wrap(note, width - name_width - 2)
    rows = max(len(names), len(notes))
    left = [*names, *[""] * (rows - len(names))]
    right = [*notes, *[""] * (rows - len(notes))]
    return [
        f"{pad_right(before, name_width)}  {after}".rstrip()
        for before, after in zip(left, right, strict=True)
    ]
