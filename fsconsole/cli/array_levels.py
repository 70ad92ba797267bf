"""The levels of [[array]], and what this machine lacks for each: as JSON, and in plain lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from fsconsole.plaintext import printable
from fsconsole.plan.arrays import ABOUT_LEVELS
from fsconsole.preflight.array_support import LevelHere
from fsconsole.report.cells import pad_right, wrap

_NAME_WIDTH = 10


def as_json(levels: Sequence[LevelHere]) -> str:
    """Return the levels as a JSON list; its keys only ever grow in number."""
    return json.dumps([_entry(level) for level in levels], indent=2)


def lines(levels: Sequence[LevelHere], width: int) -> Iterator[str]:
    """Yield a few lines for each level: what it is, and why it can't be had here."""
    for level in levels:
        told = [ABOUT_LEVELS[level.level]]
        if level.why:
            told += [f"not here: {level.why}", level.remedy]
        parts = [part for text in told for part in wrap(printable(text), width - _NAME_WIDTH)]
        leads = [level.level, *[""] * (len(parts) - 1)]
        yield from (pad_right(lead, _NAME_WIDTH) + part for lead, part in zip(leads, parts, strict=True))


def _entry(level: LevelHere) -> dict[str, object]:
    return {
        "level": level.level,
        "about": ABOUT_LEVELS[level.level],
        "unavailable": level.why,
        "remedy": level.remedy,
    }
