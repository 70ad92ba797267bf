"""The form for a new scratch device; the command makes it, and what it says of a failure stays in the form."""

from __future__ import annotations

import asyncio
import time
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Input, Static

from fsconsole.client.children import Children
from fsconsole.errors import FsconsoleError
from fsconsole.model.places import DEFAULT_SCRATCH_DIR
from fsconsole.tui.device_jobs import Made, make_scratch, remove_scratch
from fsconsole.tui.plaintext import plain
from fsconsole.tui.room import read_room, scratch_files
from fsconsole.tui.screens.modal import Modal
from fsconsole.tui.views.scratch_form import Room, default_size, ended_told, judge
from fsconsole.tui.widgets.footer import Footer
from fsconsole.units import format_guess


class ScratchForm(Modal[Made | None]):
    """Asks for size and directory, and makes the device; ends with it, or with None where none was made."""

    CSS_PATH = "scratch_form.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave", id="scratch.leave", tooltip="Make none; end the making at hand"),
    ]

    def __init__(self, children: Children, directory: str = DEFAULT_SCRATCH_DIR) -> None:
        super().__init__()
        self._children = children
        self._directory = directory
        self._room: Room | None = None
        self._begun_s: float | None = None
        self._end = asyncio.Event()

    def compose(self) -> ComposeResult:
        """Give the form."""
        with Vertical(id="form"):
            yield Static(plain("New scratch device: safe to wipe", "bold"))
            yield Static(
                plain("A loop device over a file that is made here. The file's disk sets its speed.")
            )
            with Vertical(id="fields"):
                with Horizontal():
                    yield Static(plain("Size"), classes="label")
                    yield Input("4GiB", id="size", compact=True, select_on_focus=False)
                with Horizontal():
                    yield Static(plain("Directory"), classes="label")
                    yield Input(self._directory, id="directory", compact=True, select_on_focus=False)
            yield Static(plain(""), id="judged")
            with Horizontal():
                yield Button(plain("Make it"), id="make", compact=True)
                yield Button(plain("Leave"), id="leave", compact=True)
        yield Footer(show_command_palette=False, compact=True)

    async def on_mount(self) -> None:
        """Find out how much room there is."""
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
        """End the making at hand, or leave."""
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
            ending = f"Ending: what was made of {size} is taken back; {elapsed} so far."
            making = f"Making and allocating {size}: {elapsed}. Escape takes it back."
            self._say(ending if self._end.is_set() else making)

    def _say(self, text: str, style: str = "") -> None:
        self.query_one("#judged", Static).update(plain(text, style))

    def _text(self, name: str) -> str:
        return self.query_one(f"#{name}", Input).value.strip()
