"""Text from outside on a screen: labels, file names and tool output are never markup.

A label ``[/x]`` would crash most widgets, and one with an escape sequence would reach the terminal. So every text that a
widget is given is made here, of one of two types that are no str: Content for Textual's widgets, Text for cells of a
DataTable, which takes any str for markup.
"""

from __future__ import annotations

from rich.text import Text
from textual.content import Content

from fsconsole.plaintext import printable


def plain(text: str, style: str = "") -> Content:
    """Return one line for a widget; what can't be printed is shown as an escape."""
    return Content.styled(printable(text), style) if style else Content(printable(text))


def lines(*parts: Content) -> Content:
    """Return several lines for a widget."""
    return Content("\n").join(parts)


def cell(text: str, style: str = "", *, right: bool = False) -> Text:
    """Return a cell of a DataTable, or its heading, on one line."""
    return Text(printable(text), style=style, no_wrap=True, justify="right" if right else "left", end="")
