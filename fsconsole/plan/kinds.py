"""Kinds of values in a plan file: each reads TOML, writes it, and takes typed text."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from fsconsole import units
from fsconsole.catalog.tables import LONGEST_TEXT, Table, nearest_words, shown
from fsconsole.errors.runs import UnknownColumn
from fsconsole.errors.targets import BadQuantity
from fsconsole.model.fio_job import MAX_JOB_CHARACTERS, read_fio_job
from fsconsole.model.metrics import Metric, column_named
from fsconsole.model.plan import Age
from fsconsole.model.workload import (
    OPERATIONS,
    WHOLE_FILE,
    WorkloadKind,
)
from fsconsole.system.files import read_regular_file
from fsconsole.text import GIB, KIB, TIB, error_reason

# Bounds: wide enough for any real plan, narrow enough to catch a slip.

MAX_THREADS = 4096
MAX_FILES = 10_000_000
MAX_FILE_SIZE_BYTES = 64 * TIB
MAX_WEIGHT = 1_000_000
MAX_REPEATS = 1000
MAX_SEED = 2**63 - 1
MAX_NAME_CHARACTERS = 200
MAX_AGE_CYCLES = 100
MIN_AGE_FILL, MAX_AGE_FILL = 0.01, 0.9
MAX_WORD_CHARACTERS = 4096
MAX_WORDS = 1000
MIN_DURATION_S, MAX_DURATION_S = 0.01, 30 * 86400.0
PAGE_BYTES = 4 * KIB
"""The least page of any machine; where pages are larger the kernel rounds down, and the run says so."""


def number_of(text: str) -> object:
    """Return text as the number that it is, whole or not; else the text, for the reader to refuse."""
    word = text.strip()
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value: its words in docs, read from TOML, written to it, and typed in a form."""

    words: str
    one: Callable[[Table, str, object], Any]
    """Takes a value that was found at a key of a table. Raises PlanBadValue."""
    plain: Callable[[Any], object] = _same
    """Gives the value as a plan file has it."""
    of_text: Callable[[str], object] = _same
    """Gives typed text as a plan file has it; what is no such value stays text, for the reader to refuse."""
    choices: tuple[str, ...] = ()
    is_axis: bool = False
    """One value or a list of them, none twice; each makes cells of its own."""

    @property
    def is_typed(self) -> bool:
        """True if there are values beside its choices."""
        return not self.choices or self.of_text is number_of

    def read(self, table: Table, name: str) -> Any:
        """Return the value at a key. Raises PlanBadValue, PlanUnknownKey."""
        if not self.is_axis:
            return self.one(table, name, table.raw(name))
        return tuple(dict.fromkeys(self.one(table, name, item) for item in table.one_or_more(name)))

    def toml(self, value: Any) -> object:
        """Return the value as a plan file has it."""
        return [self.plain(item) for item in value] if self.is_axis else self.plain(value)

    def typed(self, text: str) -> object:
        """Return typed text as a plan file has it."""
        return [self.of_text(word.strip()) for word in text.split(",")] if self.is_axis else self.of_text(text)


_Made = Callable[[Any], Any]


def several(kind: Kind) -> Kind:
    """Return a kind that takes a list too, as an axis."""
    return replace(kind, words=f"{kind.words}; or a list", is_axis=True)


def a_text(most: int = LONGEST_TEXT, *, may_be_blank: bool = True) -> Kind:
    """Return a kind for text of at most so many characters."""

    def one(table: Table, name: str, value: object) -> str:
        text = table.as_text(name, value, most)
        if not may_be_blank and not text.strip():
            raise table.bad(name, "must not be blank", f"1 to {most} characters")
        return text

    return Kind("text", one)


def a_number(low: int, high: int) -> Kind:
    """Return a kind for whole numbers between low and high."""
    words = f"{low:,} to {high:,}" if high < 2**40 else f"number from {low:,}"
    words = str(low) if low == high else words
    return Kind(words, lambda table, name, value: table.as_integer(name, value, low, high), of_text=number_of)


def a_size(low: int, high: int) -> Kind:
    """Return a kind for sizes in bytes between low and high."""
    words = f"size, {units.format_bytes_exact(low)} to {units.format_bytes_exact(high)}"
    return Kind(words, lambda table, name, value: table.as_size(name, value, low, high), units.format_bytes_exact)


def kept_as_text(kind: Kind, step: int = 1) -> Kind:
    """Return numbers or sizes of settings: kept as text, in multiples of step; numbers may be quoted."""

    def one(table: Table, name: str, value: object) -> str:
        if kind.of_text is number_of and isinstance(value, str):
            value = number_of(value)
        found = kind.one(table, name, value)
        if found % step:
            whole = f"a multiple of {units.format_bytes_exact(step)}"
            raise table.bad(name, "the kernel counts it in pages", whole)
        return str(kind.plain(found))

    return Kind(kind.words, one)


def read_chunk(table: Table, name: str, value: object) -> int:
    """Return a chunk size in bytes, a power of two. Raises PlanBadValue."""
    size = table.as_size(name, value, 4 * KIB, GIB)
    if size & (size - 1):
        raise table.bad(name, "must be a power of two", "a size such as 64KiB, 128KiB or 512KiB")
    return size


def read_file_size(table: Table, name: str, value: object) -> tuple[int, int]:
    """Return the ends of a range; the second is 0 where one size is given."""
    items = table.one_or_more(name)
    sizes = [table.as_size(name, item, 1, MAX_FILE_SIZE_BYTES) for item in items]
    if not isinstance(value, list):
        return sizes[0], 0
    if len(sizes) != 2 or sizes[0] >= sizes[1]:
        raise table.bad(name, "not a valid range", 'a size, or a range such as ["4KiB", "64KiB"]')
    return sizes[0], sizes[1]


def range_toml(ends: tuple[int, int]) -> object:
    """Return a size, or the ends of a range, as a plan file has it."""
    smallest, largest = map(units.format_bytes_exact, ends)
    return [smallest, largest] if ends[1] else smallest


def sizes_typed(text: str) -> object:
    """Return typed text as one size, or as the ends of a range."""
    words = [word.strip() for word in text.split(",")]
    return words if len(words) > 1 else words[0]


def read_duration(table: Table, name: str, value: object) -> float:
    """Return seconds. Raises PlanBadValue."""
    wanted = 'a time such as "60s" or "10min", of at least 10 ms and at most 30 days'
    text = table.as_text(name, value, wanted=wanted)
    try:
        seconds = units.parse_seconds(text)
    except BadQuantity as error:
        raise table.bad(name, f"must be {error.wanted}", wanted) from error
    if not MIN_DURATION_S <= seconds <= MAX_DURATION_S:
        raise table.bad(name, "out of bounds", wanted)
    return seconds


def seconds_toml(seconds: float) -> str:
    """Return seconds as a plan file has them."""
    return f"{str(seconds).removesuffix('.0')}s"


def a_choice(
    choices: Sequence[str],
    made: _Made = _same,
    plain: _Made = _same,
    numbers: tuple[str, float, float] = ("", 0, 0),
    **refused: str,
) -> Kind:
    """Return a choice of words, or numbers: whole, or where the least is a float those above it.

    refused says why others, that md knows, are none of the words.
    """
    in_words, low, high = numbers
    or_numbers = f" or {in_words}" if in_words else ""

    def one(table: Table, name: str, value: object) -> Any:
        if in_words and not isinstance(value, str):
            if isinstance(low, int):
                return made(table.as_integer(name, value, low, int(high)))
            if low < (number := table.number(name)) <= high:
                return made(number)
            raise table.bad(name, "out of bounds", in_words)
        if value not in choices:
            said = shown(value)
            wanted = f"one of {nearest_words(said, choices)}{or_numbers}"
            raise table.bad(name, refused.get(said.strip('"'), "not a valid value"), wanted)
        return made(value)

    words = ", ".join(f'`"{word}"`' for word in choices) + or_numbers
    return Kind(words, one, plain, number_of if in_words else _same, tuple(choices))


def a_member(of: type[Enum]) -> Kind:
    """Return a kind for the values of an Enum."""
    return a_choice([str(member.value) for member in of], of, lambda member: member.value)


def read_published(table: Table, name: str, _value: object) -> tuple[int, int]:
    """Return memory and device in bytes; 0 for what is not said."""
    found = table.table(name)
    found.only("memory", "device")
    sizes = [found.as_size(each, found.raw(each), 1, 2**60) if found.has(each) else 0 for each in ("memory", "device")]
    return sizes[0], sizes[1]


def published_toml(sizes: tuple[int, int]) -> object:
    """Return memory and device as a plan file has them."""
    return {
        name: units.format_bytes_exact(size) for name, size in zip(("memory", "device"), sizes, strict=True) if size
    }


def read_geometry(table: Table, name: str, _value: object) -> tuple[int, int]:
    """Return the chunk in bytes and the number of data disks."""
    found = table.table(name)
    found.only("chunk", "data_disks")
    return read_chunk(found, "chunk", found.raw("chunk")), found.as_integer(
        "data_disks", found.raw("data_disks"), 1, 1024
    )


def geometry_toml(shape: tuple[int, int]) -> object:
    """Return chunk and data disks as a plan file has them."""
    return {"chunk": units.format_bytes_exact(shape[0]), "data_disks": shape[1]}


def read_column(table: Table, name: str, value: object) -> Metric | None:
    """Return a column by its name; None for an empty one."""
    text = table.as_text(name, value, wanted="a column's name in quotes")
    try:
        return column_named(text) if text.strip() else None
    except UnknownColumn as error:
        raise table.bad(name, "there is no such column", f"one of {error.nearest}") from error


def read_share(table: Table, name: str, _value: object) -> float:
    """Return per cent as a share of 1. Raises PlanBadValue."""
    if 0 < (percent := table.number(name)) <= 100:
        return percent / 100
    raise table.bad(name, "out of bounds", "per cent above 0 and at most 100, such as 10")


def percent_toml(share: float) -> object:
    """Return a share of 1 as per cent."""
    percent = round(100 * share, 6)
    return int(percent) if percent.is_integer() else percent


_SCHEDULER = re.compile(r"[a-z][a-z0-9_-]{0,30}")


def read_scheduler(table: Table, name: str, value: object) -> str:
    """Return the name of a scheduler. Raises PlanBadValue."""
    word = table.as_text(name, value)
    if not _SCHEDULER.fullmatch(word):
        raise table.bad(name, "not a valid name", 'a name such as "mq-deadline"')
    return word


def read_weights(table: Table, name: str, _value: object) -> tuple[tuple[WorkloadKind, int], ...]:
    """Return operations with their weights. Raises PlanBadValue."""
    mix, known = table.table(name), {kind.value: kind for kind in OPERATIONS}
    for each in mix.names():
        if each not in known:
            raise mix.bad(each, "not an operation of a mix", nearest_words(each, known))
    return tuple((known[each], mix.as_integer(each, mix.raw(each), 1, MAX_WEIGHT)) for each in mix.names())


def read_age(table: Table, name: str, _value: object) -> Age | None:
    """Return the ageing of a new filesystem, None for an empty table. Raises PlanBadValue, PlanUnknownKey."""
    own = table.table(name)
    if not own.names():
        return None
    for each in own.names():
        if each not in ("cycles", "fill"):
            raise own.bad(each, "not a key of age", "cycles, fill")
    for each in ("cycles", "fill"):
        if each not in own.names():
            raise table.bad(name, f"{each} is missing", "{ cycles = 3, fill = 0.7 }")
    fill = own.number("fill")
    if not MIN_AGE_FILL <= fill <= MAX_AGE_FILL:
        raise own.bad("fill", "out of bounds", f"a share of the device from {MIN_AGE_FILL} to {MAX_AGE_FILL}")
    return Age(own.as_integer("cycles", own.raw("cycles"), 1, MAX_AGE_CYCLES), fill)


def age_toml(age: Age | None) -> object:
    """Return the ageing as a plan file has it."""
    return {} if age is None else {"cycles": age.cycles, "fill": age.fill}


def read_size_weights(table: Table, name: str, _value: object) -> tuple[tuple[int, int], ...]:
    """Return sizes with their weights. Raises PlanBadValue."""
    sizes = table.table(name)
    found = [
        (sizes.as_size(each, each, 1, MAX_FILE_SIZE_BYTES), sizes.as_integer(each, sizes.raw(each), 1, MAX_WEIGHT))
        for each in sizes.names()
    ]
    if not found or len({size for size, _ in found}) < len(found):
        raise table.bad(name, "each size must have one weight", '{ "4KiB" = 33, "1MiB" = 2 }')
    return tuple(found)


def size_weights_toml(weights: tuple[tuple[int, int], ...]) -> object:
    """Return sizes with their weights as a plan file has them."""
    return {units.format_bytes_exact(size): weight for size, weight in weights}


def read_operation_size(table: Table, name: str, value: object) -> int:
    """Return a size; WHOLE_FILE for "file". Raises PlanBadValue."""
    return WHOLE_FILE if value == "file" else table.as_size(name, value, 1, MAX_FILE_SIZE_BYTES)


def operation_size_toml(size_bytes: int) -> object:
    """Return the size of a mix's operations as a plan file has it."""
    return "file" if size_bytes == WHOLE_FILE else units.format_bytes_exact(size_bytes)


def read_argv(table: Table, name: str, value: object) -> tuple[str, ...]:
    """Return the words of a command. Raises PlanBadValue."""
    if not isinstance(value, list) or not value:
        raise table.bad(name, "must be a list of words", '["tar", "xf", "/srv/src.tar"]')
    words = tuple(table.as_text(name, word, MAX_WORD_CHARACTERS) for word in value)
    if len(words) > MAX_WORDS or "\0" in "".join(words) or not words[0]:
        raise table.bad(name, "not a command", f"a program and at most {MAX_WORDS - 1} words, without NUL characters")
    return words


def read_sources(table: Table, name: str, value: object) -> tuple[str, ...]:
    """Return absolute paths. Raises PlanBadValue."""
    if not isinstance(value, list) or not value:
        raise table.bad(name, "must be a list of paths", '["/srv/src.tar"]')
    return tuple(table.as_text(name, path, MAX_WORD_CHARACTERS) for path in value)


def words_typed(text: str) -> object:
    """Return typed text as the words of a command line; text whose quotes do not match stays text."""
    try:
        return shlex.split(text)
    except ValueError:
        return text


def read_job(table: Table, name: str, value: object) -> str:
    """Return the text of a job file; several lines are the text itself. Raises FioJobRefused too."""
    said = table.as_text(name, value, MAX_JOB_CHARACTERS, wanted="the path of a job file")
    if "\n" in said:
        read_fio_job(said, f"{table.path}: {table.key(name)}")
        return said
    path = os.path.join(os.path.dirname(table.path), said)
    try:
        # A character has at most four bytes.
        text = read_regular_file(path, 4 * MAX_JOB_CHARACTERS + 1).decode()
    except (OSError, ValueError) as error:
        raise table.bad(name, f"'{path}' can't be read: {error_reason(error)}", "the path of a job file") from error
    if len(text) > MAX_JOB_CHARACTERS:
        raise table.bad(name, f"'{path}' is too long", f"at most {MAX_JOB_CHARACTERS:,} characters")
    read_fio_job(text, path)
    return text if text.endswith("\n") else text + "\n"


def map_typed(text: str) -> object:
    """Return "a=1, b=2" as a table; text where a part has no equals sign."""
    parts = [part.partition("=") for part in text.split(",") if part.strip()]
    return (
        {name.strip(): number_of(value) for name, _, value in parts} if all(equals for _, equals, _ in parts) else text
    )


def weights_toml(weights: tuple[tuple[WorkloadKind, int], ...]) -> object:
    """Return operations with their weights as a plan file has them."""
    return {kind.value: weight for kind, weight in weights}


def of_catalog(words: str, plain: _Made) -> Kind:
    """Return what read.py holds against the catalog."""
    return Kind(words, lambda table, name, _: table.table(name), plain)


FLAG = Kind(
    "true, false",
    lambda table, name, value: table.as_flag(name, value),
    of_text=lambda text: {"yes": True, "no": False}.get(text, text),
    choices=("no", "yes"),
)
