"""Colours by what they mean; words say the same, for terminals without them."""

from __future__ import annotations

from dataclasses import replace

from textual.theme import BUILTIN_THEMES, Theme

from fsconsole.tui.terminal import Colours, Terminal


def theme_of(terminal: Terminal) -> Theme:
    """Return the theme that a terminal can show."""
    if terminal.colours is Colours.MANY:
        return Theme(
            name="fsconsole",
            primary="#5fafff",
            secondary="#5f87af",
            warning="#ffaf5f",
            error="#ff5f5f",
            success="#87d787",
            accent="#87d7ff",
            background="#000000",
            surface="#121212",
            panel="#1c1c1c",
            dark=True,
        )
    return replace(BUILTIN_THEMES["ansi-dark"], name="fsconsole")
