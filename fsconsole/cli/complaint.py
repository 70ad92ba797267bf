"""Errors and notes as the operator sees them: whole sentences on stderr."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap

_UNBROKEN = "\0"
"""Stands for a space at which no line may end; printable text doesn't hold it."""


def complain(sentence: str, hint: str) -> None:
    """Write an error to stderr, a line each; on a terminal broken between words. Both texts are printable."""
    say(f"fsconsole: {sentence}")
    say(f"hint: {hint}")


def say(line: str) -> None:
    """Write a line to stderr, on a terminal broken between words."""
    sys.stderr.write((_fitted(line) if sys.stderr.isatty() else line) + "\n")
    sys.stderr.flush()


def _fitted(line: str) -> str:
    """Return a line broken between words; commands in backquotes that fit a line stay whole, to be copied."""
    width = shutil.get_terminal_size().columns
    short_command = f"`[^`]{{0,{max(0, width - len('``.'))}}}`"
    kept = re.sub(short_command, lambda command: command[0].replace(" ", _UNBROKEN), line)
    return textwrap.fill(kept, width, break_long_words=False, break_on_hyphens=False).replace(_UNBROKEN, " ")
