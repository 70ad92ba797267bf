"""Sentences that are too long lose their end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fsconsole.text import cells_of, did_you_mean, printable, shorten_end


def test_a_sentence_keeps_its_beginning_and_ends_at_a_word() -> None:
    assert shorten_end("cached: most of it was still dirty", 40) == "cached: most of it was still dirty"
    assert shorten_end("cached: most of it was still dirty", 24) == "cached: most of it..."


@given(st.text().map(printable), st.integers(0, 60))
def test_it_never_takes_more_than_its_room(text: str, width: int) -> None:
    assert cells_of(shorten_end(text, width)) <= width


def test_words_that_are_near_are_asked_for_and_others_are_not_named() -> None:
    known = ("demo", "video", "durable", "\x1b[31m")
    assert did_you_mean("demmo", known, most=1) == "Did you mean demo?"
    assert did_you_mean("demmo", known) == "Did you mean demo, video?"
    assert did_you_mean("nosuch", known) == did_you_mean("", known) == ""
    assert did_you_mean("\x1b[31n", known) == r"Did you mean \x1b[31m?"
