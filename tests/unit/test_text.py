"""Shortened sentences, suggestions, and the reason of an error."""

from __future__ import annotations

import errno
import os
import sqlite3

from hypothesis import given
from hypothesis import strategies as st

from fsconsole.text import cells_of, did_you_mean, error_reason, printable, shorten_end


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


def test_the_reason_of_an_error_has_no_number_and_no_file_name_and_is_never_empty() -> None:
    assert error_reason(FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), "/x")) == "No such file or directory"
    assert error_reason(OSError("it was cut off")) == "it was cut off"
    assert error_reason(sqlite3.OperationalError("disk I/O error")) == "disk I/O error"
    assert error_reason(ValueError("embedded null byte")) == "embedded null byte"
    assert error_reason(TimeoutError()) == "TimeoutError"
