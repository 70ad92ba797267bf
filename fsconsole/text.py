"""Safe printing of outside text, encodings, text in terminal columns, and sizes by name; imports nothing, to start quickly."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence

_UNSAFE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})

_MOST_LISTED = 60
"""More names than this fit no line."""
_ANY_LINES = 100


def printable(text: str) -> str:
    r"""Return outside text (labels, file names, tool output) with control, format and unassigned characters escaped.

    A newline becomes the two characters ``\n``, ESC becomes ``\x1b``: nothing is lost, nothing acts.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character.encode("unicode_escape", errors="backslashreplace").decode("ascii")
        if unicodedata.category(character) in _UNSAFE_CATEGORIES
        else character
        for character in text
    )


def printable_lines(text: str) -> list[str]:
    """Split text at newlines and make each line printable; tabs become spaces."""
    return [printable(line.expandtabs(8)) for line in text.split("\n")]


def decode(raw: bytes) -> str:
    r"""Decode bytes of unknown encoding as UTF-8; what does not fit becomes ``\xNN``."""
    return raw.decode("utf-8", errors="backslashreplace")


def counted(number: int, noun: str) -> str:
    """Return a number of things: "1 cell", "3 cells"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def error_reason(error: Exception) -> str:
    """Return why a call failed, without the number and the file name that str() of an OSError adds."""
    return (error.strerror if isinstance(error, OSError) else "") or str(error) or type(error).__name__


_COERCED = frozenset({"C.UTF-8", "C.utf8"})


def encoding_of(environ: Mapping[str, str], stream_encoding: str, *, is_utf8_mode: bool) -> str:
    """Return the encoding of the terminal, by its stream; in Python's UTF-8 mode by the locale's name.

    In the C locale, and in one that isn't installed, Python takes UTF-8 for granted (PEP 538, PEP 540) and sets
    LC_CTYPE to C.UTF-8; what the operator's locale is called tells the two apart.
    """
    if not is_utf8_mode:
        return stream_encoding
    category = environ.get("LC_CTYPE", "")
    names = (environ.get("LC_ALL"), "" if category in _COERCED else category, environ.get("LANG"))
    name = next((name for name in names if name), "C").lower()
    return "utf-8" if name.replace("-", "").endswith("utf8") else "ascii"


ELLIPSIS = "..."
"""Three dots: the one character is missing in console fonts."""

_EMOJI_PRESENTATION = "\ufe0f"
"""Makes the character before it two cells wide on some terminals (Unicode TR 51), so it counts for one."""


def cells_of(text: str) -> int:
    """Return how many terminal cells printable text takes (Unicode TR 11), rather one too many than too few."""
    return len(text) if text.isascii() else sum(_character_cells(character) for character in text)


def shorten_middle(text: str, width: int) -> str:
    """Return text in at most width cells; what goes is the middle, since names differ at their ends."""
    if cells_of(text) <= width:
        return text
    if width <= len(ELLIPSIS):
        return ELLIPSIS[: max(width, 0)]
    room = width - len(ELLIPSIS)
    tail = _fitting(text[::-1], room // 2)[::-1]
    return _fitting(text, room - cells_of(tail)) + ELLIPSIS + tail


def listed(names: Sequence[str], fits: Callable[[str], bool]) -> str:
    """Return as many of the first names as fit, and how many more there are; empty where not one fits."""
    if len(names) <= _MOST_LISTED and fits(words := ", ".join(names)):
        return words
    told = ""
    # From few to many: of a thousand a dozen fit, and to see that a text is too long takes time.
    for count in range(1, min(len(names), _MOST_LISTED + 1)):
        words = f"{', '.join(names[:count])} and {len(names) - count:,} more"
        if not fits(words):
            break
        told = words
    return told


def shorten_end(text: str, width: int) -> str:
    """Return a sentence in at most width cells; what goes is the end, from a word on, since its point stands first."""
    if cells_of(text) <= width:
        return text
    if width <= len(ELLIPSIS):
        return ELLIPSIS[: max(width, 0)]
    kept = _fitting(text, width - len(ELLIPSIS))
    cut = kept.rfind(" ")
    return (kept[:cut] if cut > len(kept) // 2 else kept).rstrip(" ,;:") + ELLIPSIS


def wrap(text: str, width: int, *, max_lines: int = 8) -> list[str]:
    """Return text as lines of at most width cells, broken after spaces and commas where there are any.

    A text that needs more lines loses its middle. Width is at least 2, the width of one character.
    """
    longest = min(width * max_lines, cells_of(text))
    for room in range(longest, width, -1):
        lines = _wrapped(shorten_middle(text, room), width)
        if len(lines) <= max_lines:
            return lines
    return [shorten_middle(text, width)]


def hanging(lead: str, text: str, width: int) -> list[str]:
    """Return text behind a lead, its further lines under its first."""
    first, *others = wrap(text, max(2, width - len(lead)), max_lines=_ANY_LINES)
    return [lead + first, *(" " * len(lead) + other for other in others)]


def shell_lines(parts: Sequence[str], width: int, *, lead: str = "") -> list[str]:
    r"""Return a command as lines that can be copied: broken between parts, each line that isn't the last ends with " \".

    A part stays whole, and may be wider than a line: an option with its value, quoted as a shell needs it.
    """
    if not parts:
        return []
    found: list[str] = []
    line = lead + parts[0]
    for place, part in enumerate(parts[1:], start=2):
        end = " \\" * (place < len(parts))
        if cells_of(f"{line} {part}{end}") > width:
            found.append(f"{line} \\")
            line = " " * (len(lead) + 4) + part
        else:
            line = f"{line} {part}"
    return [*found, line]


def pad_right(text: str, width: int) -> str:
    """Return text with spaces after it, in width cells."""
    return text + " " * (width - cells_of(text))


def pad_left(text: str, width: int) -> str:
    """Return text with spaces before it, in width cells."""
    return " " * (width - cells_of(text)) + text


def _wrapped(text: str, width: int) -> list[str]:
    lines = []
    while cells_of(text) > width:
        head = _fitting(text, width)
        cut = _break(head, text[len(head)])
        lines.append(text[:cut].rstrip(" "))
        text = text[cut:].lstrip(" ")
    return [*lines, text]


def _break(head: str, following: str) -> int:
    """Return where a line that has room for head ends."""
    if following == " ":
        return len(head)
    after = max(head.rfind(" "), head.rfind(",")) + 1
    # A break near the beginning would leave most of the line empty.
    return after if after > len(head) // 4 else len(head)


def _fitting(text: str, width: int) -> str:
    """Return the longest beginning of text that takes at most width cells."""
    taken = 0
    for index, character in enumerate(text):
        taken += _character_cells(character)
        if taken > width:
            return text[:index]
    return text


def _character_cells(character: str) -> int:
    if character == _EMOJI_PRESENTATION:
        return 1
    if unicodedata.category(character) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


KIB, MIB, GIB, TIB = 2**10, 2**20, 2**30, 2**40
SECTOR_BYTES = 512
"""The unit of the kernel's sector counts, whatever the device's own sector (Documentation/block/stat.rst)."""


_LONGEST_WORD = 100
"""Characters of a word that is compared: the time grows with their square."""


def did_you_mean(word: str, known: Iterable[str], most: int = 3) -> str:
    """Return "Did you mean ...?" with the known words that are near, at most so many, printable; empty where none is."""
    import difflib  # noqa: PLC0415 - each process loads this module, and few are told a wrong word

    near = difflib.get_close_matches(word[:_LONGEST_WORD], list(known), n=most)
    return f"Did you mean {printable(', '.join(near))}?" if near else ""
