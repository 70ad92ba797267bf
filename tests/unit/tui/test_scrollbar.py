"""A scroll bar of whole blocks: where its thumb is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.color import Color

from fsconsole.tui.widgets.chrome import BlockScrollBar, thumb

SIZES = st.integers(1, 60)
DEFAULT = Color.parse("default")


@given(size=SIZES, virtual=st.integers(1, 10_000), window=SIZES, position=st.floats(-10, 10_000))
def test_the_thumb_is_on_the_bar_and_a_cell_long_at_least(
    size: int, virtual: int, window: int, position: float
) -> None:
    begin, end = thumb(size, virtual, window, position)
    assert 0 <= begin < end <= size


def test_it_is_at_an_end_only_when_the_text_is() -> None:
    assert thumb(10, 1000, 10, 0) == (0, 1)
    assert thumb(10, 1000, 10, 1) == (1, 2)
    assert thumb(10, 1000, 10, 989) == (8, 9)
    assert thumb(10, 1000, 10, 990) == (9, 10)


def test_a_text_that_fits_has_a_full_bar() -> None:
    assert thumb(10, 8, 10, 0) == (0, 10)


@given(size=SIZES, virtual=st.integers(1, 10_000), window=SIZES, position=st.floats(0, 10_000))
def test_a_bar_has_a_line_for_each_cell_or_is_one_line(size: int, virtual: int, window: int, position: float) -> None:
    upright = BlockScrollBar.render_bar(size, virtual, window, position, 1, True, DEFAULT, DEFAULT)
    assert len(upright.segments) == size
    lying = BlockScrollBar.render_bar(size, virtual, window, position, 1, False, DEFAULT, DEFAULT)
    assert len("".join(segment.text for segment in lying.segments).rstrip("\n")) == size
