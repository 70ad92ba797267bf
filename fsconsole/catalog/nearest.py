"""Which valid words come closest to one that is not valid."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_SHOWN = 12


def nearest_words(word: str, valid: Iterable[str]) -> str:
    """Return the valid words as text, the most similar first, at most a dozen; "none" where there are none."""
    known = sorted(set(valid))
    matcher = difflib.SequenceMatcher(b=word[:100])
    ranked = sorted(known, key=lambda candidate: -_similarity(matcher, candidate))
    more = " and more" if len(ranked) > _SHOWN else ""
    return ", ".join(ranked[:_SHOWN]) + more or "none"


def _similarity(matcher: difflib.SequenceMatcher[str], candidate: str) -> float:
    matcher.set_seq1(candidate)
    return matcher.ratio()
