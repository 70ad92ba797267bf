"""Reads [[array]]: md arrays that a run makes of its targets, as an axis of the plan."""

from __future__ import annotations

from collections.abc import Sequence

from fsconsole.catalog.nearest import nearest_words
from fsconsole.catalog.tables import Table
from fsconsole.plan.arrays import BITMAPS, KEYS, LEVELS, MAX_MEMBERS, POLICIES, least_members
from fsconsole.plan.planfile import ArrayAxis
from fsconsole.plan.settings import STRIPE_CACHE
from fsconsole.units import GIB, KIB

_CHUNK_LOW, _CHUNK_HIGH = 4 * KIB, GIB
# raid5_store_group_thread_cnt takes no more (drivers/md/raid5.c).
_MAX_GROUP_THREADS = 8192


def read_array(table: Table) -> ArrayAxis:
    """Return the arrays of one table; raises PlanUnknownKey, PlanBadValue."""
    table.only(*(key.name for key in KEYS))
    axis = ArrayAxis(
        levels=_words(table, "level", LEVELS),
        chunks_bytes=_chunks(table),
        members=_numbers(table, "members", 2, MAX_MEMBERS),
        stripe_cache_sizes=_numbers(table, "stripe_cache_size", STRIPE_CACHE.low, STRIPE_CACHE.high),
        group_thread_counts=_numbers(table, "group_thread_count", 0, _MAX_GROUP_THREADS),
        bitmaps=_words(table, "bitmap", BITMAPS) if table.has("bitmap") else (),
        consistency_policies=_policies(table),
        assume_clean=table.flag("assume_clean", default=False),
    )
    _require_levels_that_have(table, axis)
    _require_enough_members(table, axis)
    return axis


def require_one_stripe_cache(settings: Table, arrays: Sequence[ArrayAxis]) -> None:
    """Raise PlanBadValue where the stripe cache is set as a setting and as a knob of arrays."""
    name = "stripe_cache_size"
    if settings.has(name) and any(axis.stripe_cache_sizes for axis in arrays):
        raise settings.bad(name, "[[array]] sets it too", "this key in one of the two places")


def _chunks(table: Table) -> tuple[int, ...]:
    if not table.has("chunk"):
        return ()
    sizes = table.sizes("chunk", low=_CHUNK_LOW, high=_CHUNK_HIGH)
    if any(size & (size - 1) for size in sizes):
        raise table.bad("chunk", "it is no power of two", "a size such as 64KiB, 128KiB or 512KiB")
    return sizes


def _numbers(table: Table, name: str, low: int, high: int) -> tuple[int, ...]:
    return table.integers(name, low, low=low, high=high) if table.has(name) else ()


def _words(table: Table, name: str, valid: tuple[str, ...]) -> tuple[str, ...]:
    found = table.words(name)
    for word in found:
        if word not in valid:
            raise table.bad(name, f"there is no such {name.replace('_', ' ')}", nearest_words(word, valid))
    return found


def _policies(table: Table) -> tuple[str, ...]:
    if not table.has("consistency_policy"):
        return ()
    if "journal" in table.words("consistency_policy"):
        why = "a journal lies on a device of its own, and a plan names no devices"
        raise table.bad("consistency_policy", why, ", ".join(POLICIES))
    return _words(table, "consistency_policy", POLICIES)


def _require_levels_that_have(table: Table, axis: ArrayAxis) -> None:
    for key in KEYS:
        said = table.has(key.name) and not (key.name == "assume_clean" and not axis.assume_clean)
        if said and not set(axis.levels) & set(key.levels):
            why = f"{', '.join(axis.levels)} {key.lacks}"
            raise table.bad(key.name, why, f"this key beside one of {', '.join(key.levels)}")
    if "ppl" in axis.consistency_policies and "raid5" not in axis.levels:
        raise table.bad("consistency_policy", "only raid5 has a partial parity log", "ppl beside raid5")


def _require_enough_members(table: Table, axis: ArrayAxis) -> None:
    least = min(map(least_members, axis.levels))
    if axis.members and max(axis.members) < least:
        raise table.bad("members", "that is too few for the level", f"at least {least} for {axis.levels[0]}")
