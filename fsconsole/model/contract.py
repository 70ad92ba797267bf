"""JSON as commands print it, made from declared types: cells counted from 1, times in ISO 8601, objects for pairs."""

from __future__ import annotations

import dataclasses
import json
import math
import types
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from enum import Enum
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from fsconsole.model.wire import Wire

SCHEMA: Literal[4] = 4
"""Version of all documents; grows when a key changes its meaning or goes. New keys may come at any time."""

Instant = Annotated[
    str, msgspec.Meta(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$", description="ISO 8601, UTC.")
]
_WALL = "wall_ns"
_NUMBERS = {"Cell": "index"}
"""By record, the field that holds a cell's number from 0, where that is not "cell"."""


class Document(Wire, frozen=True, kw_only=True):
    """A whole answer of a command; every other record is a part of one."""

    schema: Literal[4] = SCHEMA


def instant(wall_ns: int) -> str:
    """Return a wall clock's nanoseconds as ISO 8601 with milliseconds, UTC."""
    seconds, rest_ns = divmod(wall_ns, 10**9)
    moment = datetime.fromtimestamp(seconds, timezone.utc)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{rest_ns // 10**6:03d}Z"


@dataclasses.dataclass(frozen=True, slots=True)
class _Key:
    """A field of a record as the contract has it."""

    field: str
    name: str
    hint: Any
    kind: Any
    plain: Callable[[Any], object]


def as_document(value: object) -> object:
    """Return a value of the model as objects, lists and scalars of the contract; a number that is none is null."""
    plain: object = value
    kind: Any = type(value)
    if isinstance(value, Enum):
        plain = value.value
    elif isinstance(value, float) and not math.isfinite(value):
        plain = None
    elif isinstance(value, (tuple, frozenset)):
        plain = [as_document(item) for item in value]
    elif isinstance(value, dict):
        plain = {as_document(key): as_document(item) for key, item in value.items()}
    elif _is_record(kind):
        plain = msgspec.to_builtins(value) if _is_plain(kind) else dict(_fields(value))
    return plain


def document_text(value: object, *, indent: int | None = None) -> str:
    """Return a value as JSON text that acts on no terminal, the schema's version first, without a line end."""
    document = as_document(value)
    if isinstance(document, dict) and "schema" in document:
        document = {"schema": document["schema"], **document}
    # DEL is the one control character that json lets through.
    return json.dumps(document, indent=indent, allow_nan=False).replace("\x7f", "\\u007f")


def event_text(event: str, wall_ns: int, value: Wire) -> str:
    """Return something that happened as a line of JSON, without its end; the same fields as tagged() has."""
    document = {"schema": SCHEMA, "event": event, "time": instant(wall_ns), **dict(_fields(value))}
    return json.dumps(document, allow_nan=False).replace("\x7f", "\\u007f")


def _fields(value: object) -> Iterator[tuple[str, object]]:
    kind: Any = type(value)
    for key in _keys(kind):
        yield key.name, key.plain(getattr(value, key.field))


@cache
def contract_of(kind: Any) -> Any:
    """Return the type of what as_document() makes of a type's values, for msgspec.json.schema()."""
    origin, args = get_origin(kind), get_args(kind)
    told = kind
    if _is_record(kind):
        told = _defined(kind, [(key.name, key.kind) for key in _keys(kind)])
    elif origin is Annotated:
        told = contract_of(args[0])
    elif origin in (Union, types.UnionType):
        told = Union[tuple(map(contract_of, args))]  # noqa: UP007 (members are not known before)
    # Made by calls: what stands in brackets of a type must be known to the type checker.
    elif origin is tuple and args[-1] is Ellipsis and _is_pair(args[0]):
        told = types.GenericAlias(dict, tuple(map(contract_of, get_args(args[0]))))
    elif origin is frozenset or (origin is tuple and args[-1] is Ellipsis):
        told = types.GenericAlias(tuple, (contract_of(args[0]), ...))
    elif origin in (tuple, dict):
        told = types.GenericAlias(origin, tuple(map(contract_of, args)))
    return told


def tagged(kind: Any, event: str) -> Any:
    """Return the contract's type of a line of JSON: a record with schema, event and time before its own fields."""
    head: list[tuple[str, Any]] = [("schema", Literal[4])]
    own = [(key.name, key.kind) for key in _keys(kind)]
    head += [] if any(name == "time" for name, _ in own) else [("time", Instant)]
    return _defined(kind, [*head, *own], tag_field="event", tag=event)


def _defined(kind: type, fields: list[tuple[str, Any]], **options: Any) -> Any:
    # Positional fields alone would have to stand in msgspec's order of required ones.
    documented = {"__doc__": kind.__doc__}
    return msgspec.defstruct(
        kind.__name__,
        fields,
        namespace=documented,
        module=kind.__module__,
        forbid_unknown_fields=True,
        kw_only=True,
        **options,
    )


@cache
def _keys(kind: Any) -> tuple[_Key, ...]:
    """Return the fields of a record in order, each as the contract has it."""
    if issubclass(kind, msgspec.Struct):
        named = [(field.name, field.encode_name, field.type) for field in msgspec.structs.fields(kind)]
    else:
        hints = get_type_hints(kind, include_extras=True)
        named = [(field.name, field.name, hints[field.name]) for field in dataclasses.fields(kind)]
    return tuple(_key(kind, *each) for each in named)


def _key(owner: type, field: str, name: str, hint: Any) -> _Key:
    args, kind = get_args(hint), contract_of(hint)
    if name.endswith(_WALL):
        told = Instant | None if type(None) in args else Instant
        return _Key(field, name.removesuffix(_WALL).rstrip("_") or "time", hint, told, _or_none(instant))
    if field == _NUMBERS.get(owner.__name__, "cell") and (hint is int or int in args):
        return _Key(field, "cell", hint, kind, _or_none(lambda index: index + 1))
    if get_origin(hint) is tuple and args[-1] is Ellipsis and _is_pair(args[0]):
        return _Key(field, name, hint, kind, lambda pairs: {as_document(k): as_document(v) for k, v in pairs})
    return _Key(field, name, hint, kind, as_document)


@cache
def _is_plain(hint: Any) -> bool:
    """Return whether msgspec's own form of a type's values, which takes no time, is that of the contract."""
    if not _is_record(hint):
        return all(map(_is_plain, get_args(hint)))
    config = getattr(hint, "__struct_config__", None)
    is_own = config is not None and (config.array_like or config.omit_defaults)
    keys = _keys(hint)
    return (
        not is_own
        and all(key.plain is as_document and key.name == _encoded(hint, key) for key in keys)
        and all(_is_plain(key.hint) for key in keys)
    )


def _encoded(kind: Any, key: _Key) -> str:
    """Return a field's name as msgspec has it."""
    if not issubclass(kind, msgspec.Struct):
        return key.field
    return str(kind.__struct_encode_fields__[kind.__struct_fields__.index(key.field)])


def _or_none(plain: Callable[[int], object]) -> Callable[[Any], object]:
    return lambda value: None if value is None else plain(value)


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and (issubclass(kind, msgspec.Struct) or dataclasses.is_dataclass(kind))


def _is_pair(kind: Any) -> bool:
    """Return whether a type is a name, or a number, with its value."""
    args = get_args(kind)
    return get_origin(kind) is tuple and len(args) == 2 and args[1] is not Ellipsis
