"""A table as values: columns with their widths, rows with texts that fit them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SheetColumn:
    """A column; width has the gap behind it."""

    title: str
    width: int


@dataclass(frozen=True, slots=True)
class SheetCell:
    """A cell: text in at most the column's width, safe to print, and a style of rich."""

    text: str
    style: str = ""


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A row; its key names what it shows, whatever row that is in."""

    key: str
    cells: tuple[SheetCell, ...]


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table that fits a width."""

    columns: tuple[SheetColumn, ...]
    rows: tuple[SheetRow, ...]
