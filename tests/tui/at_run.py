"""The Run screen at hand, over a recorded run or one that lives."""

from __future__ import annotations

from tests.tui.harness import Scripted


def acts(children: Scripted) -> list[tuple[str, ...]]:
    """Return what was asked of children, but for what only looks."""
    return [words for words in children.asked if words[0] != "devices"]
