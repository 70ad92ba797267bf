"""Pictures of screens kept as text: what stands there, and how it is styled.

A kept picture is tests/tui/pictures/NAME.txt: the lines of the screen, then a map of the same size with a letter for each
style, then what the letters mean. FSCONSOLE_DRAW=1 writes them anew; look at what has changed before it is committed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from rich.segment import Segment
from rich.style import Style
from textual.pilot import Pilot

from tests.tui.harness import strips

_KEPT = Path(__file__).parent / "pictures"
_LETTERS = ".abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def assert_looks_as_kept(pilot: Pilot[None], name: str) -> None:
    """Compare the screen with the picture of that name."""
    drawn, path = drawing(pilot), _KEPT / f"{name}.txt"
    if os.environ.get("FSCONSOLE_DRAW"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(drawn)
    assert path.exists(), f"{path} is missing: FSCONSOLE_DRAW=1 writes it"
    assert drawn == path.read_text(), f"not as in {path}; FSCONSOLE_DRAW=1 writes it anew"


def drawing(pilot: Pilot[None]) -> str:
    """Return the screen as a kept picture has it."""
    rows = [list(strip) for strip in strips(pilot)]
    letters: dict[str, str] = {}
    texts = ["".join(segment.text for segment in row).rstrip() for row in rows]
    styles = ["".join(_letters(row, letters)).rstrip(".") for row in rows]
    legend = [f"{letter} {words}" for words, letter in letters.items()]
    return "\n".join([*texts, "-" * 20, *styles, "-" * 20, *legend]) + "\n"


def _letters(row: list[Segment], letters: dict[str, str]) -> Iterator[str]:
    for segment in row:
        words = _words(segment.style)
        if words not in letters:
            letters[words] = _LETTERS[len(letters) % len(_LETTERS)]
        yield letters[words] * segment.cell_length


def _words(style: Style | None) -> str:
    """Return colours and attributes, without what Textual keeps in a style for its own use."""
    if style is None:
        return "plain"
    kinds = ("bold", "dim", "italic", "underline", "reverse", "strike")
    attributes = [kind for kind in kinds if getattr(style, kind)]
    colours = [f"{style.color.name if style.color else '-'} on {style.bgcolor.name if style.bgcolor else '-'}"]
    return " ".join([*attributes, *colours])
