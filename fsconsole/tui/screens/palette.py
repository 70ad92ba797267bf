"""The list of everything that can be done on the screen at hand: type a few letters, press enter."""

from __future__ import annotations

from textual.command import CommandPalette


class Palette(CommandPalette):
    """Textual's list, with words that every terminal can show."""

    def __init__(self) -> None:
        super().__init__(placeholder="What is to be done? Type a few letters.", id="--command-palette")
