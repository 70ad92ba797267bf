"""Paths that may not be there yet."""

from __future__ import annotations

import os


def nearest_existing(path: str) -> str:
    """Return the path, free of links, or the nearest of its parents that exists."""
    path = os.path.realpath(path)
    while not os.path.exists(path):
        path = os.path.dirname(path)
    return path
