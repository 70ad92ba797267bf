"""Form for a new scratch device; the command creates it, and its error is shown in the form."""

from __future__ import annotations

import asyncio
import glob
import os
import shutil
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

from textual import on, work
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import Button, Input, Static

from fsconsole.client.children import Children, carried_out, decoded, failure
from fsconsole.devices.scratch import BLOCK_BYTES, MIN_BYTES, Scratch, ScratchAnswer, kept_free
from fsconsole.errors import FsconsoleError
from fsconsole.errors.targets import BadQuantity, ScratchFolderMissing
from fsconsole.model import DEFAULT_SCRATCH_DIR
from fsconsole.system.files import nearest_existing, read_text_or
from fsconsole.text import GIB, printable
from fsconsole.tui import keys
from fsconsole.tui.screens.dialogs import Dialog
from fsconsole.tui.terminal import plain
from fsconsole.units import format_bytes, format_guess, parse_bytes


@dataclass(frozen=True, slots=True)
class FreeSpace:
    """Free space of a filesystem."""

    place: str
    """The directory that was asked: the wanted one, or the nearest above it that is there."""
    free_bytes: int
    kept_bytes: int
    """Space that must stay free."""
    is_missing: bool = False
    """True if the wanted directory isn't there."""


_SIZES = "Whole 4 KiB blocks, 1 MiB or more, such as 256MiB or 4GiB."


def judge(size_text: str, directory: str, room: FreeSpace | None) -> tuple[bool, str]:
    """Return whether a device can be made, by size and place as they are typed, and a sentence about it.

    room is None while it is not known.
    """
    try:
        size_bytes = parse_bytes(size_text)
    except BadQuantity:
        return False, f"'{printable(size_text)}' is not a size. {_SIZES}"
    if size_bytes < MIN_BYTES or size_bytes % BLOCK_BYTES:
        bytes_told = " means bytes, and" if size_text.strip().isdigit() else ""
        return False, f"{printable(size_text)}{bytes_told} can't be. {_SIZES}"
    if not directory.startswith("/"):
        return False, "The directory's whole path is needed, from / on."
    return _judge_place(size_bytes, directory, room) if room is not None else (True, "")


def _judge_place(size_bytes: int, directory: str, room: FreeSpace) -> tuple[bool, str]:
    if room.is_missing and directory != DEFAULT_SCRATCH_DIR:
        missing = ScratchFolderMissing(path=directory)
        return False, f"{missing} {missing.hint}"
    most_bytes = max(0, room.free_bytes - room.kept_bytes)
    there = (
        f"{format_bytes(room.free_bytes)} free at {printable(room.place)}, {format_bytes(room.kept_bytes)} must stay"
    )
    if size_bytes > most_bytes:
        return False, f"Too large: {there}; {format_bytes(most_bytes)} at most."
    return True, f"It fits: {there}."


def default_size(room: FreeSpace) -> str:
    """Return the default size: 4GiB, or less where less is free."""
    most_bytes = room.free_bytes - room.kept_bytes
    return next((text for text in ("4GiB", "2GiB", "1GiB") if parse_bytes(text) <= most_bytes), "512MiB")


def needed_words(least_bytes: int) -> str:
    """Return what a plan needs as a sentence, rounded up; empty where that isn't known."""
    # A tenth of a GiB is what is shown.
    tenths = -(-least_bytes * 10 // GIB)
    shown_bytes = least_bytes if least_bytes < GIB else tenths * GIB // 10
    return f"The plan needs at least {format_bytes(shown_bytes)}." if least_bytes else ""


def read_free_space(directory: str) -> FreeSpace:
    """Return the room below a directory, or below the nearest one above it that is there. Raises OSError."""
    place = nearest_existing(directory)
    found = shutil.disk_usage(place)
    return FreeSpace(place, found.free, kept_free(found.total), is_missing=not os.path.exists(directory))


def scratch_files(directory: str) -> frozenset[str]:
    """Return the scratch files in a directory, and those there that a loop device still uses."""
    place = os.path.realpath(directory)
    found = set(glob.glob(os.path.join(glob.escape(place), "scratch-*.img")))
    for backing in glob.glob("/sys/block/loop*/loop/backing_file"):
        # Empty where it was detached while it was looked at.
        path = read_text_or(backing, "").rstrip("\n").removesuffix(" (deleted)")
        if os.path.dirname(path) == place:
            found.add(path)
    return frozenset(found)


def new_bytes(directory: str, before: frozenset[str]) -> int:
    """Return the size of the scratch files in a directory that were not there before: they grow as they are written."""
    place = os.path.join(glob.escape(os.path.realpath(directory)), "scratch-*.img")
    total = 0
    for path in frozenset(glob.glob(place)) - before:
        with suppress(FileNotFoundError):
            total += os.path.getsize(path)
    return total


class ScratchForm(Dialog[Scratch]):
    """Asks for size and directory, and makes the device; ends with it, or with None where none was made."""

    BINDINGS: ClassVar[list[BindingType]] = keys.bindings("scratch")

    def __init__(self, children: Children, directory: str = DEFAULT_SCRATCH_DIR) -> None:
        super().__init__("New scratch device: safe to wipe")
        self._children = children
        self._directory = directory
        self._room: FreeSpace | None = None
        self._least_bytes = 0
        """Least size for the current plan; 0: unknown."""
        self._started_s: float | None = None
        self._end = asyncio.Event()
        self._before: frozenset[str] = frozenset()
        self._written_bytes = 0

    def body(self) -> Iterable[Widget]:
        yield Static(plain("A loop device over a file that is made here. The file's disk sets its speed."))
        with Vertical(id="fields"):
            for label, id_, value in (("Size", "size", "4GiB"), ("Directory", "directory", self._directory)):
                with Horizontal():
                    yield Static(plain(label), classes="label")
                    yield Input(value, id=id_, compact=True)
        yield Static(plain(""), id="judged")
        with Horizontal():
            yield Button(plain("Create"), id="make", compact=True)
            yield Button(plain("Cancel"), id="leave", compact=True)

    async def on_mount(self) -> None:
        self.set_interval(1.0, self._look_at_progress)
        await self._look_for_space()
        if self._room is not None:
            size = self.query_one("#size", Input)
            size.value = offered = default_size(self._room)
            size.action_select_all()
            self._look_at_plan(offered)

    @work
    async def _look_at_plan(self, offered: str) -> None:
        """Say what the plan needs, and offer a size that is enough where it fits and none was typed."""
        self._least_bytes = await asyncio.to_thread(self.session.least_bytes)
        if not self.is_attached or not self._least_bytes:
            return
        size, enough = self.query_one("#size", Input), f"{-(-self._least_bytes // GIB)}GiB"
        is_more = parse_bytes(enough) > parse_bytes(offered)
        if is_more and size.value == offered and judge(enough, self._text("directory"), self._room)[0]:
            size.value = enough
            size.action_select_all()
        self._judge()

    async def on_input_changed(self, event: Input.Changed) -> None:
        if event.input.id == "directory":
            await self._look_for_space()
        self._judge()

    def label_of(self, action: str) -> str:
        # Enter is a button's own key.
        is_leaving = self.focused is not None and self.focused.id == "leave"
        return "Cancel" if action == "accept" and is_leaving else super().label_of(action)

    @on(Button.Pressed, "#make")
    def action_accept(self) -> None:
        if self._judge() and self._started_s is None:
            # Set before the worker runs: the key may be pressed twice.
            self._started_s, self._end = time.monotonic(), asyncio.Event()
            self._make()

    @on(Button.Pressed, "#leave")
    def action_leave(self) -> None:
        if self._started_s is None:
            self.dismiss(None)
        else:
            self._end.set()
            self._tell_progress()

    def action_close(self) -> None:
        self.action_leave()

    @work
    async def _make(self) -> None:
        self._tell_progress()
        size, directory = self._text("size"), self._text("directory")
        told, style = "", "$error"
        try:
            self._before, self._written_bytes = await asyncio.to_thread(scratch_files, directory), 0
            words = ("scratch", "create", "--size", size, "--dir", directory, "--json")
            done = await self._children.run_or_end(self._end, *words)
            if done.exit_code and not self._end.is_set():
                raise failure(done)
            made = None if done.exit_code else decoded(ScratchAnswer, done.out, "scratch", "create")
            if not self._end.is_set():
                self.dismiss(made)
                return
            if made is not None:
                await carried_out(self._children, "scratch", "remove", "--yes", made.scratch_id)
            left = await asyncio.to_thread(scratch_files, directory) - self._before
            files = ", ".join(map(printable, sorted(left)))
            told, style = "Cancelled: no device and no file is left.", "$warning"
            if files:
                told = f"Cancelled, but {files} was not there before: x in the list removes a scratch device."
        except FsconsoleError as error:
            told = f"{error} {error.hint}"
        finally:
            self._started_s = None
        self._say(told, style)

    async def _look_for_space(self) -> None:
        try:
            self._room = await asyncio.to_thread(read_free_space, self._text("directory"))
        except (OSError, ValueError):
            self._room = None

    def _judge(self) -> bool:
        is_good, words = judge(self._text("size"), self._text("directory"), self._room)
        if self._started_s is None:
            is_enough = not is_good or parse_bytes(self._text("size")) >= self._least_bytes
            told = " ".join(filter(None, (words, needed_words(self._least_bytes))))
            self._say(told, "" if is_good and is_enough else "$warning")
        return is_good

    async def _look_at_progress(self) -> None:
        if self._started_s is not None:
            self._written_bytes = await asyncio.to_thread(new_bytes, self._text("directory"), self._before)
            self._tell_progress()

    def _tell_progress(self) -> None:
        if self._started_s is not None:
            elapsed = format_guess(time.monotonic() - self._started_s)
            size = self._text("size")
            ending = f"Cancelling and removing what was made of {size}; {elapsed} so far."
            making = f"Writing {size}: {format_bytes(self._written_bytes)}, {elapsed}. Escape cancels."
            self._say(ending if self._end.is_set() else making)

    def _say(self, text: str, style: str = "") -> None:
        self.query_one("#judged", Static).update(plain(text, style))

    def _text(self, name: str) -> str:
        return self.query_one(f"#{name}", Input).value.strip()
