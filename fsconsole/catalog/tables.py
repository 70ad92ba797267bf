"""A TOML table with its file and its place in it, so that every error names the key."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar, cast

from fsconsole import units
from fsconsole.errors import FsconsoleError
from fsconsole.errors.targets import (
    BadQuantity,
    PlanBadValue,
    PlanErrors,
    PlanKeyLacking,
    PlanKeyMissing,
    PlanUnknownKey,
)
from fsconsole.text import did_you_mean

_MOST_NEAREST = 12
LONGEST_TEXT = 2000
_LONGEST_SIZE = 24
_LONGEST_LIST = 1000
_SHOWN_VALUE = 60


def nearest_words(word: str, valid: Iterable[str]) -> str:
    """Return the valid words as text, the most similar first, at most a dozen; "none" where there are none."""
    matcher = difflib.SequenceMatcher(b=word[:100])

    def distance(candidate: str) -> float:
        matcher.set_seq1(candidate)
        return -matcher.ratio()

    ranked = sorted(sorted(set(valid)), key=distance)
    more = " and more" if len(ranked) > _MOST_NEAREST else ""
    return ", ".join(ranked[:_MOST_NEAREST]) + more or "none"


def close_words(word: str, valid: Sequence[str]) -> str:
    """Return "Did you mean ...?" with the words that are near, or else all that are valid, as a sentence."""
    return did_you_mean(word, valid) or f"Choose one of: {nearest_words(word, valid)}."


Made = TypeVar("Made")


def make_all(makers: Iterable[Callable[[], Made]]) -> tuple[Made, ...]:
    """Return what each maker makes. Raises what they raise, of several all together as PlanErrors."""
    made: list[Made] = []
    errors: list[FsconsoleError] = []
    for make in makers:
        try:
            made.append(make())
        except FsconsoleError as error:
            errors += error.each
    raise_all(errors)
    return tuple(made)


def raise_all(errors: Iterable[FsconsoleError]) -> None:
    """Raise the error, of several all together as PlanErrors; return where there is none."""
    found = tuple(errors)
    if found:
        raise found[0] if len(found) == 1 else PlanErrors.of(found)


class Table:
    """One table of a TOML file.

    Every method raises PlanBadValue for a value of another kind or out of bounds; a missing value without a
    default is one too. Methods as_... judge a value that was found at a key: an item of a list, for one.
    """

    def __init__(self, path: str, place: str, values: Mapping[str, object]) -> None:
        self.path = path
        self.place = place
        self._values = values

    def only(self, *names: str, elsewhere: Mapping[str, str] = MappingProxyType({})) -> None:
        """Raise PlanUnknownKey for keys that are none of these names; elsewhere has hints for keys of other tables."""
        raise_all(
            PlanUnknownKey(self.path, self.key(name), elsewhere.get(name) or close_words(name, names))
            for name in self._values
            if name not in names
        )

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
        """Return the error for this key's value, or for its absence."""
        if name not in self._values:
            return PlanKeyLacking(self.path, self.key(name), why=why, wanted=wanted)
        return PlanBadValue(self.path, self.key(name), shown(self._values[name]), why, wanted)

    def raw(self, name: str) -> object:
        """Return the value as it stands; raises PlanKeyMissing."""
        if name not in self._values:
            raise PlanKeyMissing(self.path, self.key(name))
        return self._values[name]

    def number(self, name: str) -> float:
        """Return a finite number."""
        value = self.raw(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.bad(name, "must be a number", "a number")
        try:
            number = float(value)
        except OverflowError as error:
            raise self.bad(name, "is too large", "a number") from error
        if not math.isfinite(number):
            raise self.bad(name, "must be a finite number", "a number")
        return number

    def table(self, name: str) -> Table:
        """Return the table below this key; missing is empty."""
        return self._as_table(name, self.key(name), self._values.get(name, {}))

    def tables(self, name: str) -> tuple[Table, ...]:
        """Return the list of tables below this key; missing is empty."""
        items = self._list(name) if name in self._values else ()
        return tuple(self._as_table(name, f"{self.key(name)}[{number}]", item) for number, item in enumerate(items))

    def words(self, name: str) -> tuple[str, ...]:
        """Return one or more values of a choice as words: true is "on", false is "off", 64 is "64"."""

        def word(value: object) -> str:
            if isinstance(value, bool):
                return "on" if value else "off"
            if isinstance(value, int):
                return str(self.as_integer(name, value, 0, 2**63 - 1))
            return self.as_text(name, value, wanted="a word, a whole number, true or false")

        return tuple(dict.fromkeys(map(word, self.one_or_more(name))))

    def one_or_more(self, name: str) -> tuple[object, ...]:
        """Return the items of a list, or the one value that stands instead; at least one."""
        items = self._list(name) if isinstance(self.raw(name), list) else (self.raw(name),)
        if not items:
            raise self.bad(name, "the list is empty", "at least one value")
        return items

    def as_flag(self, name: str, value: object) -> bool:
        """Return a value that is true or false."""
        if not isinstance(value, bool):
            raise self.bad(name, "must be true or false", "true or false")
        return value

    def as_text(self, name: str, value: object, most: int = LONGEST_TEXT, *, wanted: str = "text in quotes") -> str:
        """Return a value that is a string of at most so many characters."""
        if not isinstance(value, str):
            raise self.bad(name, "must be text", wanted)
        if len(value) > most:
            raise self.bad(name, "is too long", f"at most {most} characters")
        return value

    def as_integer(self, name: str, value: object, low: int, high: int) -> int:
        """Return a value that is a whole number between low and high."""
        wanted = f"a whole number from {low} to {high}" if low < high else str(low)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.bad(name, "must be a whole number", wanted)
        if not low <= value <= high:
            bound = f"at least {low}" if value < low else f"at most {high}"
            raise self.bad(name, f"must be {low if low == high else bound}", wanted)
        return value

    def as_size(self, name: str, value: object, low: int, high: int) -> int:
        """Return a value that is a size, as a number or a text, in bytes."""
        wanted = 'a size such as "64KiB", "1GiB" or 4096'
        if isinstance(value, str):
            if len(value) > _LONGEST_SIZE:
                raise self.bad(name, "is too long for a size", wanted)
            try:
                value = units.parse_bytes(value)
            except BadQuantity as error:
                raise self.bad(name, f"must be {error.wanted}", wanted) from error
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.bad(name, "must be a size", wanted)
        if not low <= value <= high:
            bounds = f"a size from {units.format_bytes_exact(low)} to {units.format_bytes_exact(high)}"
            raise self.bad(name, "is too small" if value < low else "is too large", bounds)
        return value

    def _list(self, name: str) -> tuple[object, ...]:
        value = self.raw(name)
        if not isinstance(value, list):
            raise self.bad(name, "must be a list", "a list in brackets")
        if len(value) > _LONGEST_LIST:
            raise self.bad(name, "is too long", f"at most {_LONGEST_LIST} items")
        return tuple(cast("list[object]", value))

    def _as_table(self, name: str, place: str, value: object) -> Table:
        if not isinstance(value, dict):
            raise self.bad(name, "must be a table", "a table: { key = value }")
        return Table(self.path, place, cast("dict[str, object]", value))


def shown(value: object) -> str:
    """Return a value as it goes into an error sentence: short, text in quotes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and value.bit_length() > 200:
        return "a very large number"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= _SHOWN_VALUE else text[: _SHOWN_VALUE - 3] + "..."
