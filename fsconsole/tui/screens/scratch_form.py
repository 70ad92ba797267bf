"""The form for a new scratch device; the command makes it, and what it says of a failure stays in the form."""

from __future__ import annotations

import asyncio
import glob
import os
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import Button, Input, Static

from fsconsole.client.children import Children
from fsconsole.devices.scratch import BLOCK_BYTES, MIN_BYTES, Scratch, kept_free
from fsconsole.errors import FsconsoleError
from fsconsole.errors.targets import BadQuantity
from fsconsole.model import DEFAULT_SCRATCH_DIR
from fsconsole.text import printable
from fsconsole.tui.screens.devices import make_scratch, remove_scratch
from fsconsole.tui.screens.dialogs import Dialog
from fsconsole.tui.terminal import plain
from fsconsole.units import format_bytes, format_guess, parse_bytes


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
        return "Cancelled: no device and no file is left."
    files = ", ".join(map(printable, sorted(left)))
    return f"Cancelled, but {files} was not there before: x removes a scratch device from the list."


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


class ScratchForm(Dialog[Scratch]):
    """Asks for size and directory, and makes the device; ends with it, or with None where none was made."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Cancel", id="scratch.leave", tooltip="Create none; cancel the one under way"),
    ]  # fmt: skip

    def __init__(self, children: Children, directory: str = DEFAULT_SCRATCH_DIR) -> None:
        super().__init__("New scratch device: safe to wipe")
        self._children = children
        self._directory = directory
        self._room: Room | None = None
        self._begun_s: float | None = None
        self._end = asyncio.Event()

    def body(self) -> Iterable[Widget]:
        yield Static(plain("A loop device over a file that is made here. The file's disk sets its speed."))
        with Vertical(id="fields"):
            for label, id_, value in (("Size", "size", "4GiB"), ("Directory", "directory", self._directory)):
                with Horizontal():
                    yield Static(plain(label), classes="label")
                    yield Input(value, id=id_, compact=True, select_on_focus=False)
        yield Static(plain(""), id="judged")
        with Horizontal():
            yield Button(plain("Create"), id="make", compact=True)
            yield Button(plain("Cancel"), id="leave", compact=True)

    async def on_mount(self) -> None:
        self.set_interval(1.0, self._tell_progress)
        await self._look_for_room()
        if self._room is not None:
            self.query_one("#size", Input).value = default_size(self._room)

    @on(Input.Changed, "#directory")
    async def directory_changed(self) -> None:
        """Look at the room there."""
        await self._look_for_room()
        self._judge()

    @on(Input.Changed, "#size")
    def size_changed(self) -> None:
        """Check the size as it is typed."""
        self._judge()

    @on(Input.Submitted)
    @on(Button.Pressed, "#make")
    def submitted(self) -> None:
        """Make the device, if that is possible."""
        if self._judge() and self._begun_s is None:
            # Before its worker comes to work: a second word to make it may be under way.
            self._begun_s, self._end = time.monotonic(), asyncio.Event()
            self._make()

    @on(Button.Pressed, "#leave")
    def action_leave(self) -> None:
        if self._begun_s is None:
            self.dismiss(None)
        else:
            self._end.set()
            self._tell_progress()

    @work
    async def _make(self) -> None:
        self._tell_progress()
        told, style = "", "$error"
        try:
            told = await self._made_or_ended()
            style = "$warning"
        except FsconsoleError as error:
            told = f"{error} {error.hint}"
        finally:
            self._begun_s = None
        if told:
            self._say(told, style)

    async def _made_or_ended(self) -> str:
        """Make the device and leave with it; where that was ended, return what is left of it, in a sentence."""
        size, directory = self._text("size"), self._text("directory")
        before = await asyncio.to_thread(scratch_files, directory)
        made = await make_scratch(self._children, size, directory, self._end)
        if not self._end.is_set():
            self.dismiss(made)
            return ""
        if made is not None:
            await remove_scratch(self._children, made.scratch_id)
        return ended_told(await asyncio.to_thread(scratch_files, directory) - before)

    async def _look_for_room(self) -> None:
        try:
            self._room = await asyncio.to_thread(read_room, self._text("directory"))
        except (OSError, ValueError):
            self._room = None

    def _judge(self) -> bool:
        judgement = judge(self._text("size"), self._text("directory"), self._room)
        if self._begun_s is None:
            self._say(judgement.words, "" if judgement.is_good else "$warning")
        return judgement.is_good

    def _tell_progress(self) -> None:
        if self._begun_s is not None:
            elapsed = format_guess(time.monotonic() - self._begun_s)
            size = self._text("size")
            ending = f"Cancelling and removing what was made of {size}; {elapsed} so far."
            making = f"Creating and allocating {size}: {elapsed}. Escape cancels."
            self._say(ending if self._end.is_set() else making)

    def _say(self, text: str, style: str = "") -> None:
        self.query_one("#judged", Static).update(plain(text, style))

    def _text(self, name: str) -> str:
        return self.query_one(f"#{name}", Input).value.strip()
