"""Values as JSON and back, strictly: what comes from outside is data, and only what fits its type is let in.

Both ends of a wire (journal, control socket, the generator's job, `--json`) declare one type, derived from Wire.
Nothing in a document names a class: what is built is decided by the type that the reader asks for.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import Field, fields, make_dataclass
from functools import cache
from threading import Lock
from typing import TypeVar, cast

import msgspec

Value = TypeVar("Value")

INTEGER_RANGE = range(-(2**63), 2**64)
"""Wide enough for the kernel's unsigned 64 bit counters; nothing in the model is larger."""

_PLACE = re.compile(r"(?P<problem>.*) - at `(?:key in )?\$(?P<where>.*)`", re.DOTALL)
_DIGITS_AS_ZERO = bytes(ord("0") if 48 <= code < 58 else code for code in range(256))
_UNUSUAL = (b"\\ud", b"\\uD", b"0" * 20, b"-" + b"0" * 19)
"""In JSON whose digits are all 0: a surrogate, which may stand alone, and integers that may exceed 64 bits."""


class _DataclassFields:
    """Lets dataclasses.replace(), fields() and asdict() take a Wire, as mypy expects of it (PEP 681) and checks."""

    def __get__(self, _: object, owner: type[msgspec.Struct]) -> dict[str, Field[object]]:
        return _dataclass_fields(owner)


@cache
def _dataclass_fields(owner: type[msgspec.Struct]) -> dict[str, Field[object]]:
    stand_in = make_dataclass(owner.__name__, owner.__struct_fields__)
    return {field.name: field for field in fields(stand_in)}


class Wire(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A value that one process encodes and another decodes; a missing field takes its default."""

    __dataclass_fields__ = _DataclassFields()


class Mismatch(ValueError):
    """A document that doesn't fit the type; its text says where and how."""

    def __init__(self, problem: str, where: str = "") -> None:
        super().__init__(f"{where.lstrip('.')}: {problem}" if where else problem)
        self.problem = problem
        self.where = where

    def within(self, place: str) -> Mismatch:
        """Return the same, seen from one level further out."""
        return Mismatch(self.problem, place + self.where)


class TooLarge:
    """A number that is infinite or has more than 64 bits: no field takes it, so the error names its place."""


def to_plain(value: object) -> object:
    """Return value as dicts, lists and scalars. Raises TypeError for a list, dict or set: no field is one."""
    if isinstance(value, (list, dict, set)):
        raise TypeError(f"{type(value).__name__} is not a value of the model")
    return msgspec.to_builtins(value)


def encode(value: object, *, indent: int | None = None) -> str:
    """Return value as JSON in ASCII, on one line without an indent. Raises ValueError for NaN, infinity and integers of more than 64 bits.

    Written by json: msgspec turns NaN into null and refuses the lone surrogates of a file name that is not UTF-8.
    """
    text = json.dumps(
        to_plain(value), allow_nan=False, indent=indent, separators=(",", ":" if indent is None else ": ")
    )
    if _is_unusual(text.encode("ascii")):
        json.loads(text, parse_int=_within_64_bits)
    return text


def decode(kind: type[Value], text: str | bytes) -> Value:
    """Return the value of that type that a JSON text holds. Raises Mismatch."""
    try:
        raw = text.encode() if isinstance(text, str) else text
        if not _is_unusual(raw):
            return _decoder(kind).decode(raw)
        # msgspec refuses lone surrogates, and takes integers of any size.
        document = json.loads(raw, parse_int=_integer, parse_float=_number, parse_constant=_number)
    except msgspec.ValidationError as error:
        raise _mismatch(error) from error
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise Mismatch(f"is not JSON: {error}") from error
    return from_plain(kind, document)


_decoders: dict[object, object] = {}
_learning = Lock()


def _decoder(kind: type[Value]) -> msgspec.json.Decoder[Value]:
    """Return the decoder of a type; msgspec 0.22 crashes where two threads learn a type at once."""
    if kind not in _decoders:
        with _learning:
            _decoders.setdefault(kind, msgspec.json.Decoder(kind))
    return cast("msgspec.json.Decoder[Value]", _decoders[kind])


def decode_whole(kind: type[Value], text: str | bytes) -> Value:
    """Return the same; here a missing key is a Mismatch even where its field has a default."""
    value = decode(kind, text)
    _require_keys(to_plain(value), json.loads(text))
    return value


def _require_keys(whole: object, document: object, where: str = "") -> None:
    if isinstance(whole, dict) and isinstance(document, dict):
        for key, value in whole.items():
            if key not in document:
                raise Mismatch(f"Object missing required field `{key}`", where)
            _require_keys(value, document[key], f"{where}.{key}")


MAX_LINE_BYTES = 4096
"""Of a message on a socket, with its end."""


def to_line(value: object) -> bytes:
    """Return value as a line of JSON."""
    return encode(value).encode("ascii") + b"\n"


def from_line(kind: type[Value], line: bytes) -> Value:
    """Return the value of that type that a line holds. Raises Mismatch, also for a line that is too long."""
    if len(line) > MAX_LINE_BYTES:
        raise Mismatch("line too long")
    return decode(kind, line)


def from_plain(kind: type[Value], document: object) -> Value:
    """Return the value of that type that dicts, lists and scalars hold; numbers' bounds are not checked. Raises Mismatch."""
    try:
        _decoder(kind)
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        raise _mismatch(error) from error
    except UnicodeEncodeError as error:
        # A lone surrogate in a text that msgspec tries to read as a number, an instant or the like.
        raise Mismatch("a text stands where none may") from error


def _is_unusual(raw: bytes) -> bool:
    zeroed = raw.translate(_DIGITS_AS_ZERO)
    # Asked of each row of a journal: any() would take longer than the search.
    small, capital, large, least = _UNUSUAL
    return small in zeroed or capital in zeroed or large in zeroed or least in zeroed


def _mismatch(error: msgspec.ValidationError) -> Mismatch:
    placed = _PLACE.fullmatch(str(error))
    return Mismatch(placed["problem"], placed["where"]) if placed else Mismatch(str(error))


def _within_64_bits(digits: str) -> int:
    if int(digits) not in INTEGER_RANGE:
        raise ValueError(f"{digits} has more than 64 bits")
    return int(digits)


def _integer(digits: str) -> object:
    number = int(digits)
    return number if number in INTEGER_RANGE else TooLarge()


def _number(text: str) -> object:
    number = float(text)
    return number if math.isfinite(number) else TooLarge()
