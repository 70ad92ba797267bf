"""Whether a scratch device of some size can be made in some place, in words. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from fsconsole.devices.scratch import BLOCK_BYTES, MIN_BYTES
from fsconsole.errors import BadQuantity
from fsconsole.plaintext import printable
from fsconsole.units import format_bytes, parse_bytes


@dataclass(frozen=True, slots=True)
class Room:
    """What a filesystem has left."""

    place: str
    """The directory that was asked: the wanted one, or the nearest above it that is there."""
    free_bytes: int
    kept_bytes: int
    """What must stay free."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether it can be made, and a sentence about it."""

    is_good: bool
    words: str


def judge(size_text: str, directory: str, room: Room | None) -> Judgement:
    """Return what is to be said of a size and a place as they are typed; room is None while it is not known."""
    try:
        size_bytes = parse_bytes(size_text)
    except BadQuantity as error:
        return Judgement(is_good=False, words=f"{error} {error.hint}")
    if size_bytes < MIN_BYTES or size_bytes % BLOCK_BYTES:
        return Judgement(is_good=False, words="Whole 4 KiB blocks, 1 MiB or more: 512MiB, 4GiB.")
    if not directory.startswith("/"):
        return Judgement(is_good=False, words="The directory's whole path is needed, from / on.")
    if room is None:
        return Judgement(is_good=True, words="")
    most_bytes = max(0, room.free_bytes - room.kept_bytes)
    there = f"{format_bytes(room.free_bytes)} free at {printable(room.place)}, {format_bytes(room.kept_bytes)} must stay"
    if size_bytes > most_bytes:
        return Judgement(is_good=False, words=f"Too large: {there}; {format_bytes(most_bytes)} at most.")
    return Judgement(is_good=True, words=f"It fits: {there}.")


def default_size(room: Room) -> str:
    """Return a size to begin with: 4GiB, or less where there is less room."""
    most_bytes = room.free_bytes - room.kept_bytes
    return next((text for text in ("4GiB", "2GiB", "1GiB") if parse_bytes(text) <= most_bytes), "512MiB")


def ended_told(left: Collection[str]) -> str:
    """Return what is left of a making that was ended, in a sentence; left are files that were not there before."""
    if not left:
        return "Ended: no device and no file of it is left."
    files = ", ".join(map(printable, sorted(left)))
    return f"Ended, but {files} was not there before: x removes a scratch device from the list."
