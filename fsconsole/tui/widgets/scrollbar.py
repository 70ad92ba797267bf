"""Scroll bars of glyphs that every terminal has, and that show without colours."""

from __future__ import annotations

from rich.color import Color
from rich.segment import Segment, Segments
from rich.style import Style
from textual.scrollbar import ScrollBarRender

_THUMB, _TRACK = "█", "░"


class BlockScrollBar(ScrollBarRender):
    """Draws whole blocks, no eighths."""

    @classmethod
    def render_bar(  # noqa: PLR0913, PLR0917 (Textual's own signature)
        cls,
        size: int = 25,
        virtual_size: float = 50,
        window_size: float = 20,
        position: float = 0,
        thickness: int = 1,
        vertical: bool = True,  # noqa: FBT001, FBT002
        back_color: Color = Color.parse("default"),  # noqa: B008
        bar_color: Color = Color.parse("default"),  # noqa: B008
    ) -> Segments:
        """Return the bar's cells from its beginning to its end."""
        begin, end = thumb(size, virtual_size, window_size, position)

        def piece(glyph: str, count: int, action: str) -> list[Segment]:
            style = Style(color=bar_color, bgcolor=back_color, meta={"@mouse.down": action})
            # A line of its own for each cell, or one text: a style takes bytes.
            return (
                [Segment(glyph * thickness, style)] * count if vertical else [Segment(glyph * count, style)]
            )

        bar = [
            *piece(_TRACK, begin, "scroll_up"),
            *piece(_THUMB, end - begin, "grab"),
            *piece(_TRACK, size - end, "scroll_down"),
        ]
        if vertical:
            return Segments(bar, new_lines=True)
        return Segments([*bar, Segment.line()] * thickness, new_lines=False)


def thumb(size: int, virtual_size: float, window_size: float, position: float) -> tuple[int, int]:
    """Return the first cell of the thumb and the one after its last; at the ends only where the text is at its ends."""
    if not (window_size and size and virtual_size > window_size):
        return 0, size
    length = min(max(round(size * window_size / virtual_size), 1), size)
    room = size - length
    share = min(max(position / (virtual_size - window_size), 0.0), 1.0)
    begin = round(share * room)
    if room > 1 and 0 < share < 1:
        begin = min(max(begin, 1), room - 1)
    return begin, begin + length
