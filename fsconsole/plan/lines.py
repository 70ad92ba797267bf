"""Lines of a plan file's keys, which the reader of TOML does not tell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from operator import itemgetter

from fsconsole.catalog.tables import raise_all
from fsconsole.errors import FsconsoleError

_PART = re.compile(r"([^.\[\]]+)(?:\[(\d+)\])?")
_HEADER = re.compile(r"\s*\[\[?\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")


@contextmanager
def telling_lines(path: str, text: str) -> Iterator[None]:
    """Give the errors of the block about keys of this file their lines."""
    try:
        yield
    except FsconsoleError as error:
        raise_all(with_lines(error.each, path, text))
        raise


def with_lines(errors: tuple[FsconsoleError, ...], path: str, text: str) -> tuple[FsconsoleError, ...]:
    """Give each error about a key of this file the line of that key, "plan.toml:7", and return them in that order."""
    lines = []
    for error in errors:
        key, line = getattr(error, "key", None), 0
        if isinstance(key, str) and getattr(error, "path", None) == path:
            line = line_of(text, key)
            error.path = f"{path}:{line}"  # type: ignore[attr-defined]
        lines.append(line)
    return tuple(error for _, error in sorted(zip(lines, errors, strict=True), key=itemgetter(0)))


def in_its_line(error: FsconsoleError, path: str, text: str) -> FsconsoleError:
    """Return an error that came after the reading with the line of its key, where the plan has a text."""
    return with_lines((error,), path, text)[0] if text else error


def line_of(text: str, key: str) -> int:
    """Return the line, from 1, of a key such as "filesystem[0].mount.data"; of what is missing that of its table."""
    lines = text.splitlines()
    parts = [(name, int(number or 0)) for name, number in _PART.findall(key)]
    if not parts:
        return 1
    (top, number), *rest = parts
    begin, end = _section(lines, top, number)
    found, names = begin, [name for name, _ in rest]
    if begin < 0:
        # Above all headers, where keys of the file itself stand.
        found, begin, names = 0, 0, [name for name, _ in parts]
        end = next((place for place, line in enumerate(lines) if _HEADER.match(line)), len(lines))
    for name in names:
        at = next((place for place in range(begin, end) if _names(lines[place], name)), -1)
        if at < 0:
            break
        found = begin = at
    return found + 1


def _section(lines: list[str], top: str, number: int) -> tuple[int, int]:
    """Return the lines of the table of that name and number, or (-1, 0)."""
    heads = [(place, match[1]) for place, line in enumerate(lines) if (match := _HEADER.match(line))]
    own = [place for place, name in heads if name == top]
    if number >= len(own):
        return -1, 0
    begin = own[number]
    after = (place for place, name in heads if place > begin and not name.startswith(f"{top}."))
    return begin, next(after, len(lines))


def _names(line: str, name: str) -> bool:
    return re.search(rf"(?:^|[\s{{,.\[])[\"']?{re.escape(name)}[\"']?\s*(?:[=.\]])", line.partition("#")[0]) is not None
