"""The arrays of a draft as lines to be ticked: levels, then knobs, then what they come to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from fsconsole.errors import FsconsoleError
from fsconsole.model.array_words import array_words
from fsconsole.model.plan import ArraySpec, Plan
from fsconsole.plan.arrays import ABOUT_LEVELS, KEYS, LEVELS, ArrayKey, array_objections
from fsconsole.plan.axes import array_choices
from fsconsole.plan.planfile import ArrayAxis, PlanFile
from fsconsole.tui.draft_arrays import NO_ARRAY, words_of
from fsconsole.tui.here import Lack
from fsconsole.tui.views.lines import Line, Mark, mark_of

MADE = "made"
"""Begins the keys of the lines that tell what arrays there will be."""
KNOBS = {key.name: key for key in KEYS if key.name != "level"}
NOTHING_LACKS: Mapping[str, Lack] = MappingProxyType({})
_MOST_LINES = 200


def array_lines(
    plan: PlanFile, counted: Plan | None, lacks: Mapping[str, Lack] = NOTHING_LACKS
) -> tuple[Line, ...]:
    """Return a line for each level and knob of each table, and for each array that comes of them.

    counted is what the plan comes to on the devices that are ticked, None where that isn't known; lacks is why
    levels are not made on this machine.
    """
    tables = plan.arrays or (NO_ARRAY,)
    lines = [line for number, axis in enumerate(tables) for line in _table(axis, number, len(tables), lacks)]
    return (*lines, *_made(plan, counted))


def made_count(plan: PlanFile) -> int:
    """Return how many arrays a draft compares; 0 where they can't be counted out, or there are none."""
    return len(_specs(plan))


def next_values(name: str, now: tuple[str, ...]) -> tuple[str, ...]:
    """Return what follows when a knob is ticked once more: off, on, compare where there are several values, off."""
    offered = KNOBS[name].offered
    if not now:
        return offered[:1]
    return offered if len(now) == 1 and len(offered) > 1 else ()


def _table(axis: ArrayAxis, number: int, of: int, lacks: Mapping[str, Lack]) -> Iterator[Line]:
    which = f" ({number + 1})" if of > 1 else ""
    yield Line(f"levels {number}", f"Level{which}: all ticked devices are members", is_heading=True)
    for level in LEVELS:
        yield _level(level, number, lacks.get(level), is_ticked=level in axis.levels)
    yield Line(f"knobs {number}", f"Knobs{which}", is_heading=True)
    said = words_of(axis)
    for key in KNOBS.values():
        yield _knob(key, said.get(key.name, ()), number)


def _level(level: str, number: int, lack: Lack | None, *, is_ticked: bool) -> Line:
    key, mark = f"{level} {number}", Mark.ON if is_ticked else Mark.OFF
    if lack is None:
        told = "Several levels are compared; none: no array is made, each device stands for itself."
        return Line(key, level, mark, about=(ABOUT_LEVELS[level], told), found_by="level")
    # A level of a plan file for another machine can be unticked; none can be ticked anew.
    return Line(
        key,
        level,
        mark if is_ticked else Mark.BARRED,
        "not here",
        (f"Not here: {lack.why}. {lack.remedy}", ABOUT_LEVELS[level]),
        is_faint=not is_ticked,
        found_by="level",
    )


def _knob(key: ArrayKey, values: tuple[str, ...], number: int) -> Line:
    told = [key.about]
    if len(key.offered) > 1:
        told.append(f"Such as {', '.join(key.offered)}; enter for values of your own.")
    if key.levels != LEVELS:
        told.append(f"Only {', '.join(key.levels)}: another level {key.lacks}.")
    value = "" if key.name == "assume_clean" else ", ".join(values)
    return Line(f"{key.name} {number}", key.name, mark_of(len(values)), value, tuple(told))


def _made(plan: PlanFile, counted: Plan | None) -> Iterator[Line]:
    specs = _specs(plan)
    if not specs:
        return
    yield Line(f"{MADE} heading", "They come to", is_heading=True)
    stuck = _stuck(counted)
    for number, spec in enumerate(specs[:_MOST_LINES]):
        yield _array(spec, number, stuck.get(spec) or "; ".join(array_objections(spec)))
    if len(specs) > _MOST_LINES:
        more = f"... and {len(specs) - _MOST_LINES:,} more, which are not listed."
        yield Line(f"{MADE} more", more, is_heading=True)


def _array(spec: ArraySpec, number: int, why: str) -> Line:
    told = (
        f"It can't be made: {why}." if why else "It is made, and taken apart again, in every cell of its own."
    )
    return Line(
        f"{MADE} {number}",
        array_words(spec, 0),
        Mark.BARRED if why else Mark.NONE,
        "can't be made" if why else "",
        (told,),
        is_faint=bool(why),
        wraps=True,
    )


def _stuck(counted: Plan | None) -> dict[ArraySpec, str]:
    """Return the arrays of which no cell can run, with the reasons of the first."""
    able: set[ArraySpec] = set()
    reasons: dict[ArraySpec, str] = {}
    for cell in counted.cells if counted is not None else ():
        if cell.array is not None:
            reasons.setdefault(cell.array, cell.unavailable)
            if not cell.unavailable:
                able.add(cell.array)
    return {spec: why for spec, why in reasons.items() if spec not in able}


def _specs(plan: PlanFile) -> tuple[ArraySpec, ...]:
    try:
        return tuple(spec for spec in array_choices(plan) if spec is not None)
    except FsconsoleError:
        # Too many: the totals say so in the reader's words.
        return ()
