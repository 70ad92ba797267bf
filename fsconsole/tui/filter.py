"""The last thing before the terminal: characters that it lacks, and those that would steer it, are replaced.

Widths stay: a replacement is as many columns wide as what it stands for.
"""

from __future__ import annotations

from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

from fsconsole.tui.likeness import shown
from fsconsole.tui.terminal import Glyphs


class GlyphFilter(LineFilter):
    """Replaces what the terminal's font lacks."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(enabled=True)
        self._glyphs = glyphs

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002 (given by Textual)
        """Return the segments in characters that can be shown, each as wide as before."""
        return [
            segment
            if segment.control or (segment.text.isascii() and segment.text.isprintable())
            else Segment(shown(segment.text, self._glyphs), segment.style)
            for segment in segments
        ]


class BriefFilter(LineFilter):
    """Leaves out what is in the terminal's own colours anyway, and joins neighbours that look alike.

    On a page of gauges that is half of all bytes. Dim text is left as bright as other text: on a console it is dark grey
    on black. (Where there are many colours, Textual has made a colour of it before.)
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002 (given by Textual)
        """Return the segments in fewer bytes."""
        brief = [
            segment
            if segment.style is None or segment.control
            else Segment(segment.text, _without_defaults(segment.style))
            for segment in segments
        ]
        return list(Segment.simplify(brief))


class ColourFilter(LineFilter):
    """Takes all colours away; what had a background of its own, as a cursor has, is reversed instead.

    Textual's own sets the colours to the terminal's default instead, which takes bytes and which old terminals lack.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002 (given by Textual)
        """Return the segments without colours."""
        return [
            segment
            if segment.style is None or segment.control
            else Segment(segment.text, _reversed_for_background(segment.style))
            for segment in segments
        ]


@lru_cache(maxsize=1024)
def _reversed_for_background(style: Style) -> Style:
    has_background = style.bgcolor is not None and not style.bgcolor.is_default
    return _colourless(style) + Style(reverse=True) if has_background else _colourless(style)


@lru_cache(maxsize=1024)
def _colourless(style: Style) -> Style:
    # What the mouse finds under itself is kept in the style's meta.
    return style.without_color + Style.from_meta(style.meta) if style.meta else style.without_color


@lru_cache(maxsize=1024)
def _without_defaults(style: Style) -> Style:
    # Each text ends with a reset, so that the next one begins in the terminal's own colours.
    colours = (style.color, style.bgcolor)
    if not style.dim and not any(colour is not None and colour.is_default for colour in colours):
        return style
    kept = [None if colour is not None and colour.is_default else colour for colour in colours]
    return _colourless(style) + Style(color=kept[0], bgcolor=kept[1], dim=False if style.dim else None)
