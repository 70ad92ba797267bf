from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fsconsole.text import cells_of, pad_left, pad_right, printable, shorten_middle, wrap

TEXTS = st.text(max_size=120).map(printable)


@given(TEXTS, st.integers(0, 60))
def test_a_shortened_text_fits(text: str, width: int) -> None:
    assert cells_of(shorten_middle(text, width)) <= width


@given(TEXTS, st.integers(2, 60))
def test_a_wrapped_text_fits_and_loses_nothing_but_spaces(text: str, width: int) -> None:
    lines = wrap(text, width, max_lines=1000)
    assert all(cells_of(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


@given(TEXTS, st.integers(2, 60), st.integers(1, 4))
def test_lines_are_never_more_than_asked_for(text: str, width: int, most: int) -> None:
    lines = wrap(text, width, max_lines=most)
    assert 1 <= len(lines) <= most
    assert all(cells_of(line) <= width for line in lines)


def test_lines_break_after_spaces_and_commas_and_what_goes_is_the_middle() -> None:
    assert wrap("ext4 data=writeback,nodelalloc", 22) == ["ext4 data=writeback,", "nodelalloc"]
    assert wrap("ext4 data=ordered", 16) == ["ext4", "data=ordered"]
    assert shorten_middle("ext4 data=writeback,nodelalloc", 17) == "ext4 da...delalloc"[:7] + "...elalloc"
    assert cells_of("日本") == 4
    assert cells_of("e\u0301") == 1
    assert pad_right("日", 4) == "日  "
    assert pad_left("日", 4) == "  日"
