"""The arrays of a draft, each key checked by the plan reader's own code as it is changed.

A table without a level is kept while its other keys are ticked, and comes into no plan file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fsconsole.catalog.tables import Table
from fsconsole.plan.arrays import KEYS, LEVELS
from fsconsole.plan.planfile import ArrayAxis, PlanFile
from fsconsole.plan.read_arrays import read_array, require_one_stripe_cache
from fsconsole.plan.writer import array_table
from fsconsole.tui.draft import Draft, changed
from fsconsole.tui.draft_parts import PLACE

NO_ARRAY = ArrayAxis(())
YES = "yes"
_NUMBERS = ("members", "stripe_cache_size", "group_thread_count")
_LEVELS_OF = {key.name: key.levels for key in KEYS}

Words = Mapping[str, tuple[str, ...]]
"""The values of each key as they are typed; a key that is left as it comes is absent."""


def array_at(plan: PlanFile, number: int) -> ArrayAxis:
    """Return one table of arrays; behind the last it is one that says nothing yet."""
    return plan.arrays[number] if number < len(plan.arrays) else NO_ARRAY


def words_of(axis: ArrayAxis) -> dict[str, tuple[str, ...]]:
    """Return the values of a table as words."""
    table = array_table(axis)
    said = {name: tuple(map(str, values)) for name, values in table.items() if isinstance(values, list)}
    return {name: values for name, values in said.items() if values} | (
        {"assume_clean": (YES,)} if axis.assume_clean else {}
    )


def checked_array_value(name: str, value: str) -> str:
    """Return one value of a key as the plan would have it. Raises PlanBadValue."""
    said = {"level": _LEVELS_OF[name]} | {name: (value,)}
    return words_of(_read(said, 0))[name][0]


def with_array(draft: Draft, number: int, name: str, values: tuple[str, ...]) -> Draft:
    """Return the draft with the values of a key, none to leave it as it comes. Raises PlanBadValue."""
    said = {key: each for key, each in words_of(array_at(draft.plan, number)).items() if key != name}
    said |= {name: values} if values else {}
    # Without a level yet, any that has what is ticked will do.
    axis = _read({"level": LEVELS} | said, number)
    taken = axis if "level" in said else replace(axis, levels=())
    return _with_tables(draft, number, (taken,))


def doubled_array(draft: Draft, number: int) -> Draft:
    """Return the draft with a second table like this one behind it, to be ticked otherwise."""
    axis = array_at(draft.plan, number)
    return _with_tables(draft, number, (axis, axis)) if axis.levels else draft


def removed_array(draft: Draft, number: int) -> Draft:
    """Return the draft without a table of arrays."""
    return _with_tables(draft, number, ())


def _with_tables(draft: Draft, number: int, instead: tuple[ArrayAxis, ...]) -> Draft:
    kept = draft.plan.arrays
    arrays = tuple(axis for axis in (*kept[:number], *instead, *kept[number + 1 :]) if axis != NO_ARRAY)
    settings = Table(PLACE, "settings", {name: list(values) for name, values in draft.plan.settings})
    require_one_stripe_cache(settings, arrays)
    return changed(draft, replace(draft.plan, arrays=arrays))


def _read(said: Words, number: int) -> ArrayAxis:
    table: dict[str, object] = {
        name: [_value_of(name, word) for word in words] for name, words in said.items()
    }
    if "assume_clean" in said:
        table["assume_clean"] = True
    return read_array(Table(PLACE, f"array[{number}]", table))


def _value_of(name: str, word: str) -> object:
    """Return a word in the kind that its key has; what is no such thing stays text, for the reader to refuse."""
    is_number = name in _NUMBERS and word.isascii() and word.isdigit() and len(word) < 20
    return int(word) if is_number else word
