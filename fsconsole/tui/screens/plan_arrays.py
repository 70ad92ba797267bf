"""The section of arrays: which are made of the ticked devices, with which knobs."""

from __future__ import annotations

from fsconsole.plan.arrays import LEVELS
from fsconsole.tui import draft_arrays as arrays
from fsconsole.tui.draft import Draft
from fsconsole.tui.screens.plan_section import Asked, Desk, number_in
from fsconsole.tui.screens.plan_values import ValuesScreen
from fsconsole.tui.views import plan_arrays as view
from fsconsole.tui.views.lines import Line

_TYPED = ("chunk", "members", "stripe_cache_size", "group_thread_count")


class Arrays:
    """Which arrays are compared."""

    def lines(self, desk: Desk) -> tuple[Line, ...]:
        """Return a line for each level and knob, and for each array that comes of them."""
        is_counted = desk.counted.plan.arrays == desk.draft.plan.arrays
        return view.array_lines(desk.draft.plan, desk.outcome.plan if is_counted else None, desk.here.levels)

    def ticked(self, desk: Desk, key: str) -> Draft:
        """Tick a level, or untick it; take a knob from off to on, to compare, to off. Raises FsconsoleError."""
        name, number = _parted(key)
        said = arrays.words_of(arrays.array_at(desk.draft.plan, number))
        if name in LEVELS:
            now = said.get("level", ())
            if name in desk.here.levels and name not in now:
                return desk.draft
            levels = tuple(level for level in LEVELS if (level in now) != (level == name))
            return arrays.with_array(desk.draft, number, "level", levels)
        if name in view.KNOBS:
            values = view.next_values(name, said.get(name, ()))
            return arrays.with_array(desk.draft, number, name, values)
        return desk.draft

    def opened(self, desk: Desk, key: str) -> Asked | None:
        """Ask for the values of a knob that has several."""
        name, number = _parted(key)
        knob = view.KNOBS.get(name)
        if knob is None or len(knob.offered) == 1:
            return None
        now = arrays.words_of(arrays.array_at(desk.draft.plan, number)).get(name, ())
        told = f"{knob.about} Several are compared; none: as it comes."
        typed = (lambda text: arrays.checked_array_value(name, text)) if name in _TYPED else None
        return Asked(
            ValuesScreen(name, told, [(value, "") for value in knob.offered], now, typed),
            lambda values: arrays.with_array(desk.draft, number, name, values),
        )


def doubled(draft: Draft, key: str) -> Draft:
    """Return the draft with another table like the one that is looked at. Raises FsconsoleError."""
    name, number = _parted(key)
    return draft if name == view.MADE else arrays.doubled_array(draft, number)


def dropped(draft: Draft, key: str) -> Draft:
    """Return the draft without the table that is looked at."""
    name, number = _parted(key)
    return draft if name == view.MADE else arrays.removed_array(draft, number)


def _parted(key: str) -> tuple[str, int]:
    return key.rpartition(" ")[0], number_in(key)
