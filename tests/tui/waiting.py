"""Waiting for what a screen does in its own time: reading in a thread, a child's answer.

Nothing here waits for a time: a test goes on as soon as it can, and fails after two minutes in which a machine under load has
had every chance.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress

from textual.pilot import Pilot

from tests.tui.harness import picture

_LIMIT_S = 120.0
_AGAIN_S, _AGAIN_AT_MOST_S = 0.02, 0.2
"""Soon at first; to ask often would hold up a thread that works for seconds."""
_UNPAINTED_S = 0.5
"""After that the screen is looked at though nothing was painted."""
_FRAMES = str.maketrans("│|█░", "    ")


async def until(
    pilot: Pilot[None], holds: Callable[[], object], what: str = "it", *, limit_s: float = _LIMIT_S
) -> None:
    """Wait until something holds; what it is, and the picture, are told where it never does."""
    deadline, again_s = time.monotonic() + limit_s, _AGAIN_S
    await pilot.pause()
    while not holds():
        assert time.monotonic() < deadline, f"in vain: {what}\n{picture(pilot)}"
        await asyncio.sleep(again_s)
        again_s = min(1.2 * again_s, _AGAIN_AT_MOST_S)
        await pilot._wait_for_screen()
    await pilot.pause()


async def shows(pilot: Pilot[None], *words: str) -> str:
    """Wait until all of these words stand on the screen, in whatever lines; return its picture."""
    deadline = time.monotonic() + _LIMIT_S
    await pilot.pause()
    while missing := _missing(words, picture(pilot)):
        assert time.monotonic() < deadline, f"{missing} never came:\n{picture(pilot)}"
        await _painted(pilot)
    await pilot.pause()
    return picture(pilot)


def flat(pilot: Pilot[None]) -> str:
    """Return the words on the screen with one space between them and without frames, so that a broken line is found."""
    return _flat(picture(pilot))


def _flat(text: str) -> str:
    return " ".join(text.translate(_FRAMES).split())


def _missing(words: tuple[str, ...], shown: str) -> list[str]:
    return [word for word in words if not _stands(word, shown)]


def _stands(word: str, shown: str) -> bool:
    # A long path is broken at any of its characters.
    return word in shown or word in _flat(shown) or "".join(word.split()) in "".join(_flat(shown).split())


async def _painted(pilot: Pilot[None]) -> None:
    """Wait until something is painted: before that a picture would be the same."""
    painted = asyncio.Event()
    pilot.app.post_display_hook = painted.set  # type: ignore[method-assign]
    with suppress(asyncio.TimeoutError):
        await asyncio.wait_for(painted.wait(), _UNPAINTED_S)
