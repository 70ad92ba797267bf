"""The form of one workload: which keys its kind has, their units, and typed text as a plan file has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from fsconsole.errors import FsconsoleError, PlanBadValue, PlanUnknownKey
from fsconsole.model.workload import OPERATIONS, WorkloadKind
from fsconsole.tui.draft_parts import checked_workloads
from fsconsole.tui.views.plan_loads import number_of

_FLAGS = ("cold", "direct")
_LISTS = ("threads",)
_SIZES = ("block_size", "bytes", "file_size")
_NUMBERS = ("files", "fsync_every")
_MAPS = ("weights", "with")
_MOVING = frozenset(OPERATIONS) - {WorkloadKind.STAT, WorkloadKind.DELETE} | {WorkloadKind.MIX}
_WRITING = frozenset({WorkloadKind.CREATE, WorkloadKind.APPEND, WorkloadKind.RANDOM_WRITE, WorkloadKind.MIX})
_MAKING = frozenset({WorkloadKind.CREATE, WorkloadKind.MIX})
_HINTS = {
    "name": "in the grid",
    "of": "the create whose files it uses",
    "threads": "a number; 1, 16: both are compared",
    "files": "in all; empty: by itself",
    "file_size": "1GiB, or a range: 4KiB, 64KiB",
    "block_size": "of each call: 64KiB",
    "directories": "one, per-thread, or files in each",
    "data": "random, zero, or share of zeros: 0.5",
    "direct": "yes or no: O_DIRECT",
    "fsync_every": "writes of a thread; empty: never",
    "bytes": "limit: 10GiB",
    "duration": "limit: 60s, 10min",
    "end": "between-operations or at-once",
    "weights": "read=3, create=1",
    "cold": "yes or no: unmount and drop caches",
    "with": "settings of its own: read_ahead=4MiB",
}


@dataclass(frozen=True, slots=True)
class FormField:
    """One line of the form."""

    key: str
    hint: str
    text: str
    is_wide: bool = False
    """Whether it takes the whole line, and its hint the next one."""


def form_fields(table: Mapping[str, object]) -> tuple[FormField, ...]:
    """Return the fields of a workload's kind, and of whatever else its table names."""
    kind = WorkloadKind(str(table["kind"]))
    return tuple(
        FormField(key, hint, _text_of(table.get(key, "")))
        for key, hint in _HINTS.items()
        if _has(kind, key) or table.get(key)
    )


def table_of(kind: str, texts: Mapping[str, str]) -> dict[str, object]:
    """Return the table that typed texts come to; what is empty is not said."""
    said = {key: _value_of(key, text.strip()) for key, text in texts.items() if text.strip()}
    return {"kind": kind, **said}


def complaints(tables: Sequence[Mapping[str, object]], number: int, shown: Sequence[str]) -> tuple[str, str]:
    """Return the key to which the plan reader's complaint belongs, and its words; both empty where it has none.

    What concerns another workload, or a key that the form hasn't, is said of the first field.
    """
    try:
        checked_workloads(tables)
    except PlanBadValue as error:
        return _field_of(error.key, number, shown), _other(error.key, number) + f"{error.why}: {error.wanted}"
    except PlanUnknownKey as error:
        return _field_of(
            error.key, number, shown
        ), f"there is no {error.key.rpartition('.')[2]}: {error.nearest}"
    except FsconsoleError as error:
        return shown[0], str(error)
    return "", ""


def _field_of(key: str, number: int, shown: Sequence[str]) -> str:
    parts = key.split(".")
    found = parts[1] if parts[0] == f"workload[{number}]" and len(parts) > 1 else ""
    return found if found in shown else shown[0]


def _other(key: str, number: int) -> str:
    place = key.split(".", maxsplit=1)[0]
    if place == f"workload[{number}]":
        return ""
    return f"workload {int(place.removeprefix('workload[').rstrip(']')) + 1}: "


def _has(kind: WorkloadKind, key: str) -> bool:
    if key in ("directories", "data"):
        return kind in _MAKING or (key == "data" and kind in _WRITING)
    if key in ("file_size", "block_size", "direct", "bytes"):
        return kind in _MOVING
    if key == "fsync_every":
        return kind in _WRITING
    if key == "weights":
        return kind is WorkloadKind.MIX
    return key != "of" or kind is not WorkloadKind.CREATE


def _text_of(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, cast("list[object]", value)))
    if isinstance(value, dict):
        return ", ".join(f"{name}={each}" for name, each in cast("dict[str, object]", value).items())
    return str(value)


def _value_of(key: str, text: str) -> object:
    """Return text in the kind that its key has; what is no such thing stays text, for the reader to refuse."""
    if key in _FLAGS:
        return {"yes": True, "no": False}.get(text, text)
    if key in _LISTS:
        return [number_of(word) for word in text.split(",")]
    if key in _SIZES:
        words = [word.strip() for word in text.split(",")]
        return words if len(words) > 1 else words[0]
    if key in _MAPS:
        return _map_of(key, text)
    if key in _NUMBERS or key in ("directories", "data"):
        return number_of(text)
    return text


def _map_of(key: str, text: str) -> object:
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    if not all(equals for _, equals, _ in pairs):
        return text
    return {name.strip(): number_of(value) if key == "weights" else value.strip() for name, _, value in pairs}
