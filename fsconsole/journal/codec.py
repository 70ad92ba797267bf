"""Values of the model as JSON and back, strictly: a run from elsewhere is data, and only what fits is let in.

Frozen dataclasses become objects, tuples lists, enumerations their values. Nothing in a document names a
class: what is built is decided by the type that the caller asks for.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import TypeVar, Union, get_args, get_origin, get_type_hints

Value = TypeVar("Value")
Decoder = Callable[[object], object]

INTEGER_RANGE = range(-(2**63), 2**64)
"""Wide enough for the kernel's unsigned 64 bit counters; nothing in the model is larger."""


class Mismatch(ValueError):
    """A document that doesn't fit the type; its text says where and how."""

    def __init__(self, problem: str, where: str = "") -> None:
        super().__init__(f"{where.lstrip('.')} {problem}".strip())
        self.problem = problem
        self.where = where

    def within(self, place: str) -> Mismatch:
        """Return the same, seen from one level further out."""
        return Mismatch(self.problem, place + self.where)


def encode(value: object) -> object:
    """Return value as what json.dumps takes. Raises TypeError for a value that is not of the model."""
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, tuple):
        return [encode(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: encode(getattr(value, field.name)) for field in fields(value)}
    raise TypeError(f"{type(value).__name__} is not a value of the model")


def to_json(value: object) -> str:
    """Return value as JSON text in ASCII. Raises ValueError for a figure that is no number."""
    return json.dumps(encode(value), allow_nan=False, separators=(",", ":"))


def from_json(kind: type[Value], text: str) -> Value:
    """Return the value of that type that a JSON text holds. Raises Mismatch."""
    return decode(kind, parse_json(text))


def parse_json(text: str) -> object:
    """Return the document in a JSON text. Raises Mismatch for bad syntax, NaN, or endless nesting."""
    try:
        document: object = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise Mismatch(f"is not JSON: {error}") from error
    return document


def decode(kind: type[Value], document: object) -> Value:
    """Return the value of that type that a parsed document holds. Raises Mismatch."""
    value = decoder(kind)(document)
    if not isinstance(value, kind):
        raise Mismatch(f"is not {kind.__name__}")
    return value


def decoder(hint: object) -> Decoder:
    """Return the function that turns a parsed document into a value of a type hint, or raises Mismatch.

    Raises TypeError for a hint that the model doesn't use.
    """
    if hint not in _DECODERS:
        _DECODERS[hint] = _decoder(hint)
    return _DECODERS[hint]


_DECODERS: dict[object, Decoder] = {}
"""Built once per type: a plan of a thousand cells has a hundred thousand values."""


def _decoder(hint: object) -> Decoder:
    if get_origin(hint) in {Union, UnionType}:
        return _optional(get_args(hint))
    if get_origin(hint) is tuple:
        return _tuple(get_args(hint))
    if isinstance(hint, type):
        return _plain(hint)
    raise TypeError(f"no decoder for {hint}")


def _plain(kind: type) -> Decoder:
    if kind in _SCALARS:
        return _SCALARS[kind]
    if issubclass(kind, Enum):
        return _enumeration(kind)
    if is_dataclass(kind):
        return _record(kind)
    raise TypeError(f"no decoder for {kind.__name__}")


def _no_constant(name: str) -> object:
    raise Mismatch(f"holds {name}, which is no number")


def _text(document: object) -> object:
    if not isinstance(document, str):
        raise Mismatch("is not text")
    return document


def _integer(document: object) -> object:
    if not isinstance(document, int) or isinstance(document, bool) or document not in INTEGER_RANGE:
        raise Mismatch("is not a whole number of 64 bits")
    return document


def _number(document: object) -> object:
    if not isinstance(document, (int, float)) or isinstance(document, bool):
        raise Mismatch("is not a number")
    try:
        number = float(document)
    except OverflowError as error:
        raise Mismatch("is too large a number") from error
    if not math.isfinite(number):
        raise Mismatch("is not a finite number")
    return number


def _truth(document: object) -> object:
    if not isinstance(document, bool):
        raise Mismatch("is neither true nor false")
    return document


_SCALARS: dict[type, Decoder] = {str: _text, int: _integer, float: _number, bool: _truth}


def _enumeration(kind: type[Enum]) -> Decoder:
    members = {member.value: member for member in kind}

    def read(document: object) -> object:
        if not isinstance(document, str) or document not in members:
            raise Mismatch(f"is not a {kind.__name__}")
        return members[document]

    return read


def _optional(arguments: tuple[object, ...]) -> Decoder:
    kinds = [argument for argument in arguments if argument is not NoneType]
    if len(kinds) != 1:
        raise TypeError("of unions, only X | None is decoded")
    inner = decoder(kinds[0])

    def read(document: object) -> object:
        return None if document is None else inner(document)

    return read


def _tuple(arguments: tuple[object, ...]) -> Decoder:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        item = decoder(arguments[0])
        return lambda document: tuple(_each(_list(document), lambda _: item))
    items = [decoder(argument) for argument in arguments]

    def read(document: object) -> object:
        listed = _list(document)
        if len(listed) != len(items):
            raise Mismatch(f"has {len(listed)} items instead of {len(items)}")
        return tuple(_each(listed, lambda index: items[index]))

    return read


def _list(document: object) -> list[object]:
    if not isinstance(document, list):
        raise Mismatch("is not a list")
    return document


def _each(listed: list[object], item: Callable[[int], Decoder]) -> list[object]:
    values: list[object] = []
    for index, document in enumerate(listed):
        try:
            values.append(item(index)(document))
        except Mismatch as mismatch:
            raise mismatch.within(f"[{index}]") from mismatch
    return values


def _record(kind: type) -> Decoder:
    hints = get_type_hints(kind)
    members = fields(kind)
    known = frozenset(member.name for member in members)
    readers = [(member.name, decoder(hints[member.name]), _has_default(member)) for member in members]

    def read(document: object) -> object:
        if not isinstance(document, dict):
            raise Mismatch("is not an object")
        if not known.issuperset(document):
            raise Mismatch("holds keys that are not known")
        values = {}
        for name, inner, has_default in readers:
            # A field that was added later, with a default, is missing in an older journal.
            if name not in document and has_default:
                continue
            values[name] = _member(document, name, inner)
        built: object = kind(**values)
        return built

    return read


def _member(document: dict[object, object], name: str, inner: Decoder) -> object:
    if name not in document:
        raise Mismatch("is missing", f".{name}")
    try:
        return inner(document[name])
    except Mismatch as mismatch:
        raise mismatch.within(f".{name}") from mismatch


def _has_default(member: Field[object]) -> bool:
    return member.default is not MISSING or member.default_factory is not MISSING
