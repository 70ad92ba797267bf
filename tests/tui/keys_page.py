"""Writes docs/keys.md from the table of keys: `python -m tests.tui.keys_page`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fsconsole.tui.keys import COMMANDS, KEYS, Use, keys_of, name_of

PAGE = Path(__file__).parents[2] / "docs" / "keys.md"
SCREENS = ("devices", "plan", "run", "results", "replay", "cell", "runs", "confirm")
_INTRO = """# Keys of the console

A key means the same on every screen. What ends a cell or a run, or wipes or deletes something, is on a capital letter or asks
first. The footer shows the most important keys of a screen, `?` all of them, `ctrl+p` searches all actions by words. Head,
lists and footer take the mouse, too. In a question `y` and `n` are its answers, and Enter alone does no harm.
"""


def page() -> str:
    """Return the page."""
    return "\n".join([_INTRO, *_meanings(), *(line for place in SCREENS for line in _screen(place))])


def _meanings() -> Iterator[str]:
    yield "| key | meaning |"
    yield "| --- | --- |"
    for key in KEYS:
        yield f"| {_names(' '.join(map(name_of, key.keys)))} | {key.means} |"
    yield ""


def _screen(place: str) -> Iterator[str]:
    yield f"## {place.capitalize()}"
    yield ""
    yield "| key | command | |"
    yield "| --- | --- | --- |"
    for names, use in keys_of(place):
        yield f"| {_names(names)} | {use.label} | {_does(use)} |"
    for use in COMMANDS:
        if use.place == place:
            yield f"| `ctrl+p` | {use.label} | {_does(use)} |"
    yield ""


def _names(names: str) -> str:
    return " ".join(f"`{name}`" for name in names.split())


def _does(use: Use) -> str:
    return f"{use.does}; asks" if use.asks else use.does


if __name__ == "__main__":
    PAGE.write_text(page())
