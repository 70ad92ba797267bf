"""Sentences that are too long lose their end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fsconsole.text import cells_of, printable, shorten_end


def test_a_sentence_keeps_its_beginning_and_ends_at_a_word() -> None:
    assert shorten_end("cached: most of it was still dirty", 40) == "cached: most of it was still dirty"
    assert shorten_end("cached: most of it was still dirty", 24) == "cached: most of it..."


@given(st.text().map(printable), st.integers(0, 60))
def test_it_never_takes_more_than_its_room(text: str, width: int) -> None:
    assert cells_of(shorten_end(text, width)) <= width
