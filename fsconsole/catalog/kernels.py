"""Kernel releases compared by their numbers."""

from __future__ import annotations

import re


def release_numbers(release: str) -> tuple[int, ...]:
    """Return the leading numbers of a release: "6.1.0-18-amd64" is (6, 1, 0); empty where it has none."""
    match = re.match(r"[0-9]{1,9}(?:\.[0-9]{1,9}){0,3}", release)
    return tuple(int(part) for part in match[0].split(".")) if match else ()


def is_before(release: str, since: str) -> bool:
    """Tell whether a release is older than since."""
    return release_numbers(release) < release_numbers(since)


def is_after(release: str, until: str) -> bool:
    """Tell whether a release is of a later series than until: 2.6.27.5 is not after 2.6.27."""
    last = release_numbers(until)
    return release_numbers(release)[: len(last)] > last
