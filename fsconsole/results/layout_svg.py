"""Layout map as SVG: maps of one or several loads above each other, a colour for each file. Pure."""

from __future__ import annotations

import colorsys
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from fsconsole.model.layout import FREE, OTHERS
from fsconsole.results.layout_map import LETTERS, MapPart, PlacedMap, notes_of, parts_of, short_bytes, words_below
from fsconsole.text import printable, wrap

_WIDE, _ROWS = 1000, 24
"""Pixels of the device in a row, and rows: the finest part drawn is 1/24,000 of it."""
_HIGH, _LEFT, _TOP = 12, 70, 20
_GOLDEN = 137.508
"""Degrees between the hues of neighbours: no two that follow each other are alike."""
_BACKGROUND, _MIXED, _OTHER = "#f2f2f2", "#9a9a9a", "#404040"
_SWATCH = 30
_CHARACTERS = 150
"""In a line of small text."""


def maps_svg(loads: Sequence[Sequence[PlacedMap]]) -> str:
    """Return a drawing of the maps; those of one load have one scale. At least one map."""
    body: list[str] = []
    y = _TOP
    for maps in loads:
        end_bytes = max(placed.end_bytes for placed in maps)
        for placed in maps:
            body += [_text(_LEFT, y, placed.title, 13), *_drawn(placed, end_bytes, y + 8)]
            y += 8 + _ROWS * (_HIGH + 2)
            lines = [line for said in words_below(placed.seen) for line in wrap("".join(said), _CHARACTERS)]
            body += [_text(_LEFT, y + 12 + 14 * number, line, 11) for number, line in enumerate(lines)]
            y += 28 + 14 * len(lines)
        files = max(1, *(placed.seen.files for placed in maps))
        for line in (line for note in notes_of(maps) for line in wrap(note, _CHARACTERS)):
            body.append(_text(_LEFT, y, line, 11))
            y += 14
        body += _legend(files, y)
        y += 16 + 18 * (1 + min(files, len(LETTERS)) * _SWATCH // _WIDE) + 16
    size = f'width="{_LEFT + _WIDE + 20}" height="{y}"'
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">',
            '<rect width="100%" height="100%" fill="#ffffff"/>',
            *body,
            "</svg>\n",
        )
    )


def colour_of(owner: int) -> str:
    """Return the colour of a file by its number."""
    if owner >= OTHERS:
        return _OTHER
    lightness = (0.42, 0.55, 0.68)[owner % 3]
    red, green, blue = colorsys.hls_to_rgb(owner * _GOLDEN % 360 / 360, lightness, 0.65)
    return f"#{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}"


def _drawn(placed: PlacedMap, end_bytes: int, top: int) -> Iterator[str]:
    parts = parts_of(placed.seen, _WIDE * _ROWS, end_bytes)
    for row in range(_ROWS):
        y = top + row * (_HIGH + 2)
        label = short_bytes(end_bytes * row / _ROWS)
        yield f'<text x="{_LEFT - 6}" y="{y + _HIGH - 2}" font-size="10" text-anchor="end">{label}</text>'
        yield _rect(_LEFT, y, _WIDE, _BACKGROUND)
        x = _LEFT
        for (letter, owner), group in groupby(parts[row * _WIDE : (row + 1) * _WIDE], _key):
            width = len(list(group))
            if owner != FREE:
                title = _named(placed, letter, owner) + _groups(placed, row * _WIDE + x - _LEFT, width, end_bytes)
                yield _rect(x, y, width, _MIXED if letter == "*" else colour_of(owner), title)
            x += width


def _key(part: MapPart) -> tuple[str, int]:
    return part.letter, part.owner


def _named(placed: PlacedMap, letter: str, owner: int) -> str:
    if letter == "*":
        return "several files"
    names = placed.seen.names
    return f"{letter} {names[owner]}" if owner < len(names) else "a further file"


def _groups(placed: PlacedMap, first: int, count: int, end_bytes: int) -> str:
    """Return the allocation groups of so many pixels, as ", AG 2"; nothing where there are none."""
    if placed.seen.group_bytes <= 0:
        return ""
    each = _WIDE * _ROWS * placed.seen.group_bytes
    low, high = first * end_bytes // each, ((first + count) * end_bytes - 1) // each
    return f", AG {low}" if low == high else f", AG {low}-{high}"


def _rect(x: int, y: int, width: int, colour: str, title: str = "") -> str:
    inner = f"><title>{escape(printable(title))}</title></rect>" if title else "/>"
    return f'<rect x="{x}" y="{y}" width="{width}" height="{_HIGH}" fill="{colour}"{inner}'


def _text(x: int, y: int, text: str, size: int) -> str:
    return f'<text x="{x}" y="{y}" font-size="{size}">{escape(printable(text))}</text>'


def _legend(files: int, top: int) -> Iterator[str]:
    yield _text(
        _LEFT,
        top,
        "Files in the order of their names; grey: several files; light: free, metadata, other loads, ageing",
        11,
    )
    each_row = _WIDE // _SWATCH
    for number in range(min(files, len(LETTERS))):
        x, y = _LEFT + number % each_row * _SWATCH, top + 8 + number // each_row * 18
        yield _rect(x, y, 12, colour_of(number))
        yield _text(x + 15, y + 10, LETTERS[number], 11)
