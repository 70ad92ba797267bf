"""Colours by what they mean; words say the same, for terminals without them.

With 16 colours the bright ones are taken where the dim ones can hardly be read on black (blue, red, magenta: a contrast
below 3.5 on the kernel's palette, where the bright ones have 4.1 and more).
"""

from __future__ import annotations

from textual.theme import Theme

from fsconsole.tui.terminal import Colours, Terminal

_CURSOR_MANY = {
    "block-cursor-foreground": "#000000",
    "block-cursor-background": "#87d7ff",
    "block-cursor-text-style": "none",
    "block-cursor-blurred-foreground": "#e4e4e4",
    "block-cursor-blurred-background": "#3a3a3a",
    "border": "#87d7ff",
    "border-blurred": "#5f87af",
    "footer-key-foreground": "#87d7ff",
    "footer-background": "#000000",
    "footer-description-background": "#000000",
    "scrollbar": "#5f87af",
    "scrollbar-hover": "#87d7ff",
    "scrollbar-active": "#87d7ff",
    "scrollbar-background": "#000000",
    "scrollbar-background-hover": "#000000",
    "scrollbar-background-active": "#000000",
    "scrollbar-corner-color": "#000000",
}
_MANY = Theme(
    name="fsconsole",
    primary="#5fafff",
    secondary="#5f87af",
    warning="#ffaf5f",
    error="#ff5f5f",
    success="#87d787",
    accent="#87d7ff",
    foreground="#d0d0d0",
    background="#000000",
    surface="#000000",
    panel="#1c1c1c",
    dark=True,
    variables=_CURSOR_MANY,
)
_CURSOR_SIXTEEN = {
    "ansi-background": "ansi_black",
    "ansi-foreground": "ansi_white",
    "text-muted": "ansi_default",
    "text-disabled": "ansi_default",
    "foreground-muted": "ansi_default",
    "block-cursor-foreground": "ansi_black",
    "block-cursor-background": "ansi_cyan",
    "block-cursor-text-style": "none",
    "block-cursor-blurred-foreground": "ansi_default",
    "block-cursor-blurred-background": "ansi_default",
    "block-cursor-blurred-text-style": "bold",
    "border": "ansi_bright_cyan",
    "border-blurred": "ansi_default",
    "footer-key-foreground": "ansi_bright_cyan",
    "input-cursor-background": "ansi_white",
    "input-cursor-foreground": "ansi_black",
    "input-cursor-text-style": "none",
    "input-selection-background": "ansi_cyan",
    "input-selection-foreground": "ansi_black",
    "screen-selection-background": "ansi_cyan",
    "screen-selection-foreground": "ansi_black",
    "scrollbar": "ansi_cyan",
    "scrollbar-hover": "ansi_bright_cyan",
    "scrollbar-active": "ansi_bright_cyan",
    "scrollbar-background": "ansi_default",
    "scrollbar-background-hover": "ansi_default",
    "scrollbar-background-active": "ansi_default",
}
_SIXTEEN = Theme(
    name="fsconsole",
    ansi=True,
    primary="ansi_cyan",
    secondary="ansi_bright_blue",
    warning="ansi_bright_yellow",
    error="ansi_bright_red",
    success="ansi_bright_green",
    accent="ansi_bright_cyan",
    foreground="ansi_default",
    background="ansi_default",
    surface="ansi_default",
    panel="ansi_default",
    boost="ansi_default",
    dark=True,
    variables=_CURSOR_SIXTEEN,
)


def theme_of(terminal: Terminal) -> Theme:
    """Return the theme that a terminal can show; without colours it is that of 16, see ColourFilter."""
    return _MANY if terminal.colours is Colours.MANY else _SIXTEEN
