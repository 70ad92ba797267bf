"""How much room there is where a file shall lie."""

from __future__ import annotations

import os

from fsconsole.devices.space import kept_free
from fsconsole.tui.views.scratch_form import Room


def read_room(directory: str) -> Room:
    """Return the room below a directory, or below the nearest one above it that is there. Raises OSError."""
    place = os.path.abspath(directory)
    while not os.path.isdir(place) and place != os.path.dirname(place):
        place = os.path.dirname(place)
    found = os.statvfs(place)
    total_bytes = found.f_blocks * found.f_frsize
    return Room(place, found.f_bavail * found.f_frsize, kept_free(total_bytes))
