"""A TOML table that knows its file and its place in it, so that every mistake is named by its key."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import TypeVar, cast

from fsconsole import units
from fsconsole.errors.targets import BadQuantity, PlanBadValue, PlanUnknownKey

# Which valid words come closest to one that is not valid.

_SHOWN = 12


def nearest_words(word: str, valid: Iterable[str]) -> str:
    """Return the valid words as text, the most similar first, at most a dozen; "none" where there are none."""
    known = sorted(set(valid))
    matcher = difflib.SequenceMatcher(b=word[:100])
    ranked = sorted(known, key=lambda candidate: -_similarity(matcher, candidate))
    more = " and more" if len(ranked) > _SHOWN else ""
    return ", ".join(ranked[:_SHOWN]) + more or "none"


def _similarity(matcher: difflib.SequenceMatcher[str], candidate: str) -> float:
    matcher.set_seq1(candidate)
    return matcher.ratio()


E = TypeVar("E", bound=Enum)

_LONGEST_TEXT = 2000
_LONGEST_SIZE = 24
_LONGEST_LIST = 1000
_SHOWN_VALUE = 60


class Table:
    """One table of a TOML file.

    Every method raises PlanBadValue for a value of another kind or out of bounds; a missing value without a
    default is one too.
    """

    def __init__(self, path: str, place: str, values: Mapping[str, object]) -> None:
        self.path = path
        self.place = place
        self._values = values

    def only(self, *names: str) -> None:
        """Raise PlanUnknownKey for the first key that is none of these names."""
        for name in self._values:
            if name not in names:
                raise PlanUnknownKey(self.path, self.key(name), nearest_words(name, names))

    def names(self) -> tuple[str, ...]:
        """Return the keys in the file's order."""
        return tuple(self._values)

    def has(self, name: str) -> bool:
        """Tell whether the key is there."""
        return name in self._values

    def key(self, name: str) -> str:
        """Return the key's full path in the file: "filesystem[0].mount.data"."""
        return f"{self.place}.{name}" if self.place else name

    def bad(self, name: str, why: str, wanted: str) -> PlanBadValue:
        """Return the error that says what is wrong with this key's value."""
        value = shown(self._values[name]) if name in self._values else "(missing)"
        return PlanBadValue(self.path, self.key(name), value, why, wanted)

    def raw(self, name: str) -> object:
        """Return the value as it stands; raises PlanBadValue where it is missing."""
        if name not in self._values:
            raise self.bad(name, "it is missing", "this key")
        return self._values[name]

    def text(self, name: str, default: str | None = None, *, wanted: str = "text in quotes") -> str:
        """Return a string of at most 2000 characters."""
        if default is not None and name not in self._values:
            return default
        return self._as_text(name, self.raw(name), wanted)

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of strings; missing is empty."""
        if name not in self._values:
            return ()
        return tuple(self._as_text(name, item, "a list of texts") for item in self._list(name))

    def flag(self, name: str, *, default: bool) -> bool:
        """Return true or false."""
        value = self._values.get(name, default)
        if not isinstance(value, bool):
            raise self.bad(name, "it is neither true nor false", "true or false")
        return value

    def integer(self, name: str, default: int | None = None, *, low: int, high: int) -> int:
        """Return a whole number between low and high."""
        if default is not None and name not in self._values:
            return default
        return self._as_integer(name, self.raw(name), low, high)

    def integers(self, name: str, default: int, *, low: int, high: int) -> tuple[int, ...]:
        """Return one or more whole numbers; a single one is a list of one; no number twice."""
        if name not in self._values:
            return (default,)
        numbers = (self._as_integer(name, item, low, high) for item in self._one_or_more(name))
        return tuple(dict.fromkeys(numbers))

    def number(self, name: str) -> float:
        """Return a finite number."""
        value = self.raw(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.bad(name, "it is not a number", "a number")
        try:
            number = float(value)
        except OverflowError as error:
            raise self.bad(name, "it is too large", "a number") from error
        if not math.isfinite(number):
            raise self.bad(name, "it is not a number", "a number")
        return number

    def size(self, name: str, default: int | None = None, *, low: int, high: int) -> int:
        """Return bytes from a number or a text such as "64KiB"."""
        if default is not None and name not in self._values:
            return default
        return self._as_size(name, self.raw(name), low, high)

    def sizes(self, name: str, *, low: int, high: int) -> tuple[int, ...]:
        """Return one or more sizes in bytes, none twice."""
        found = (self._as_size(name, item, low, high) for item in self._one_or_more(name))
        return tuple(dict.fromkeys(found))

    def choice(self, name: str, kind: type[E], default: E) -> E:
        """Return the member of an enumeration that the text names."""
        if name not in self._values:
            return default
        value = self.raw(name)
        for member in kind:
            if member.value == value:
                return member
        words = [str(member.value) for member in kind]
        raise self.bad(name, "that is none of its values", nearest_words(shown(value), words))

    def table(self, name: str) -> Table:
        """Return the table below this key; missing is empty."""
        return self._as_table(name, self.key(name), self._values.get(name, {}))

    def tables(self, name: str) -> tuple[Table, ...]:
        """Return the list of tables below this key; missing is empty."""
        items = self._list(name) if name in self._values else ()
        return tuple(
            self._as_table(name, f"{self.key(name)}[{number}]", item) for number, item in enumerate(items)
        )

    def words(self, name: str, *, low: int = 1) -> tuple[str, ...]:
        """Return one or more values of a choice as words: true is "on", false is "off", 64 is "64"."""
        items = self._one_or_more(name)
        if len(items) < low:
            raise self.bad(name, "the list is empty", "at least one value")
        return tuple(dict.fromkeys(self._as_word(name, item) for item in items))

    def _as_word(self, name: str, value: object) -> str:
        if isinstance(value, bool):
            return "on" if value else "off"
        if isinstance(value, int):
            return str(self._as_integer(name, value, 0, 2**63 - 1))
        return self._as_text(name, value, "a word, a whole number, true or false")

    def _as_text(self, name: str, value: object, wanted: str) -> str:
        if not isinstance(value, str):
            raise self.bad(name, "it is not text", wanted)
        if len(value) > _LONGEST_TEXT:
            raise self.bad(name, "it is too long", f"at most {_LONGEST_TEXT} characters")
        return value

    def _as_integer(self, name: str, value: object, low: int, high: int) -> int:
        wanted = f"a whole number from {low} to {high}"
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.bad(name, "it is not a whole number", wanted)
        if not low <= value <= high:
            raise self.bad(name, f"it is below {low}" if value < low else f"it is above {high}", wanted)
        return value

    def _as_size(self, name: str, value: object, low: int, high: int) -> int:
        bounds = f"a size from {units.format_bytes_exact(low)} to {units.format_bytes_exact(high)}"
        if isinstance(value, str):
            value = self._parsed_size(name, value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.bad(name, "it is not a size", 'a size such as "64KiB", or a number of bytes')
        if not low <= value <= high:
            raise self.bad(name, "it is too small" if value < low else "it is too large", bounds)
        return value

    def _parsed_size(self, name: str, text: str) -> int:
        wanted = 'a size such as "64KiB", "1GiB" or 4096'
        if len(text) > _LONGEST_SIZE:
            raise self.bad(name, "it is too long for a size", wanted)
        try:
            return units.parse_bytes(text)
        except BadQuantity as error:
            raise self.bad(name, f"it is not {error.wanted}", wanted) from error

    def _one_or_more(self, name: str) -> tuple[object, ...]:
        items = self._list(name) if isinstance(self.raw(name), list) else (self.raw(name),)
        if not items:
            raise self.bad(name, "the list is empty", "at least one value")
        return items

    def _list(self, name: str) -> tuple[object, ...]:
        value = self.raw(name)
        if not isinstance(value, list):
            raise self.bad(name, "it is not a list", "a list in brackets")
        if len(value) > _LONGEST_LIST:
            raise self.bad(name, "it is too long", f"at most {_LONGEST_LIST} items")
        return tuple(cast("list[object]", value))

    def _as_table(self, name: str, place: str, value: object) -> Table:
        if not isinstance(value, dict):
            raise self.bad(name, "it is not a table", "a table: { key = value }")
        return Table(self.path, place, cast("dict[str, object]", value))


def shown(value: object) -> str:
    """Return a value as it goes into an error sentence: short, text in quotes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and value.bit_length() > 200:
        return "a very large number"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= _SHOWN_VALUE else text[: _SHOWN_VALUE - 3] + "..."
