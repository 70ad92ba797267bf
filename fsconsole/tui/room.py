"""How much room there is where a file shall lie."""

from __future__ import annotations

import glob
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


def scratch_files(directory: str) -> frozenset[str]:
    """Return the scratch files in a directory, and those there that a loop device still stands on."""
    place = os.path.realpath(directory)
    found = set(glob.glob(os.path.join(glob.escape(place), "scratch-*.img")))
    for backing in glob.glob("/sys/block/loop*/loop/backing_file"):
        try:
            with open(backing, encoding="utf-8", errors="surrogateescape") as file:
                path = file.read().rstrip("\n").removesuffix(" (deleted)")
        except OSError:
            # Detached while it was looked at.
            continue
        if os.path.dirname(path) == place:
            found.add(path)
    return frozenset(found)
