"""Ageing of a new filesystem before its first load: how much is filled, written and left."""

from __future__ import annotations

from fsconsole.model.plan import Age

LEFT_SHARE = 0.5
"""Of what a cycle has filled: the rest is removed at its end."""


def full_bytes(age: Age, size_bytes: int) -> int:
    """Return the bytes of all files when a cycle has filled a device of that size: the same for all filesystems."""
    return int(age.fill * size_bytes)


def left_bytes(age: Age | None, size_bytes: int) -> int:
    """Return the bytes that are left after the last cycle; 0 without ageing."""
    return int(LEFT_SHARE * full_bytes(age, size_bytes)) if age is not None else 0


def aged_bytes(age: Age | None, size_bytes: int) -> int:
    """Return the bytes that all cycles write; 0 without ageing."""
    if age is None:
        return 0
    return int(full_bytes(age, size_bytes) * (1 + (age.cycles - 1) * (1 - LEFT_SHARE)))
