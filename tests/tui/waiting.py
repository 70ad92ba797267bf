"""Waiting for what a screen does in its own time: reading in a thread, a child's answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from textual.pilot import Pilot

from tests.tui.harness import picture

_TRIES, _PAUSE_S = 3000, 0.02


async def until(pilot: Pilot[None], holds: Callable[[], bool], what: str) -> None:
    """Wait until something holds; what it is, and the picture, are told where it never does."""
    for _ in range(_TRIES):
        await pilot.pause()
        if holds():
            return
        await asyncio.sleep(_PAUSE_S)
    raise AssertionError(f"in vain: {what}\n{picture(pilot)}")


async def until_shown(pilot: Pilot[None], *texts: str) -> str:
    """Wait until all texts stand on the screen, wherever their lines are broken; return its picture."""
    await until(
        pilot, lambda: all(stands_in(picture(pilot), text) for text in texts), f"{texts} on the screen"
    )
    return picture(pilot)


def stands_in(shown: str, text: str) -> bool:
    """Return whether a text is in a picture; a long path is broken at any of its characters."""
    return text in shown or "".join(text.split()) in "".join(shown.split())
