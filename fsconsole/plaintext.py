"""Text from outside (labels, file names, tool output) made safe to print.

A filesystem label may hold escape sequences, newlines or right-to-left marks.
Whoever prints one to a terminal, a log or a report passes it through here first.
"""

from __future__ import annotations

import unicodedata

_UNSAFE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def printable(text: str) -> str:
    r"""Return text with every control, format and unassigned character as a visible escape.

    A newline becomes the two characters ``\n``, ESC becomes ``\x1b``: nothing is lost, nothing acts.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_visible(character) for character in text)


def printable_lines(text: str) -> list[str]:
    """Split text at newlines and make each line printable; tabs become spaces."""
    return [printable(line.expandtabs(8)) for line in text.split("\n")]


def decode(raw: bytes) -> str:
    r"""Decode bytes of unknown encoding as UTF-8; what does not fit becomes ``\xNN``."""
    return raw.decode("utf-8", errors="backslashreplace")


def _visible(character: str) -> str:
    if unicodedata.category(character) not in _UNSAFE_CATEGORIES:
        return character
    return character.encode("unicode_escape", errors="backslashreplace").decode("ascii")
