"""Devices: the tree of what can be tested, live; targets are ticked here."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from fsconsole.devices.identity import listed_identity
from fsconsole.tui.device_jobs import Made, is_first_start, read_test, remove_scratch
from fsconsole.tui.device_watch import DeviceWatch
from fsconsole.tui.one_at_a_time import OneAtATime
from fsconsole.tui.plaintext import plain
from fsconsole.tui.screens.ask import AskScreen
from fsconsole.tui.screens.device_demo import DemoScreen
from fsconsole.tui.udev_watch import UdevWatch
from fsconsole.tui.views.device_details import details
from fsconsole.tui.views.device_rows import lay_out
from fsconsole.tui.views.device_ticks import lost_ticks, refusal
from fsconsole.tui.views.device_words import about, offer, removal_told, ticked_told
from fsconsole.tui.views.devices import Entry
from fsconsole.tui.widgets.pane import Pane, labelled
from fsconsole.tui.widgets.sheet_table import SheetTable

_POLL_S, _PROGRESS_S, _SETTLE_S, _REST_S = 0.4, 1.0, 0.1, 1.0
"""A look costs half a second of a CPU: where devices come and go without end there is a rest between looks."""


class DevicesScreen(DemoScreen):
    """What can be tested, and how each device stands."""

    CSS_PATH = "devices.tcss"
    MODE: ClassVar[str] = "devices"
    HELP: ClassVar[str] = """Devices: what can be tested. Nothing is written here.
Tick what may be wiped; the plan runs on each target in turn, after what would be lost was agreed to.
What is in use can't be ticked; the pane says why and what frees it. A scratch device is always safe.
The list follows the machine by itself. Tab goes to the pane, whose text the arrow keys move.
On a machine without runs or scratch devices, d starts a first comparison that touches no disk."""
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]  # noqa: RUF012 (Textual's own is no class variable)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "tick", "Tick", id="devices.tick", tooltip="Make the device a target, or no target"),
        Binding(
            "enter", "plan", "Plan", id="devices.plan", tooltip="Plan with what is ticked", priority=True,
            key_display="enter",
        ),
        Binding("n", "create", "New scratch", id="devices.new", tooltip="Make a scratch device, safe to wipe"),
        Binding("r", "read", "Read test", id="devices.read", tooltip="Read for 3 s; nothing is written"),
        Binding(
            "x,delete", "remove", "Remove", id="devices.remove", tooltip="Remove a scratch device",
            key_display="x",
        ),
        Binding("f5", "look", "Refresh", id="devices.look", tooltip="Look at all devices again", show=False),
        Binding(
            "d", "demo", "Demo", id="devices.demo", show=False, tooltip="A first comparison; touches no disk"
        ),
        Binding(
            "escape", "end_job", "End it", id="devices.end", show=False, tooltip="End what is going on here"
        ),
    ]  # fmt: skip

    class News(Message):
        """Something happened to a device."""

    def __init__(self) -> None:
        super().__init__()
        self._udev = UdevWatch(lambda: self.post_message(self.News()))
        self._settling: Timer | None = None
        self._made: Made | None = None
        self._read_tests: dict[str, str] = {}

    def content(self) -> Iterable[Widget]:
        """Give the table, the pane, a line about them, and the offer of a first step."""
        yield Container(SheetTable(id="table"), Pane(id="details"), id="body")
        yield Static(plain(""), id="about")
        yield Static(plain(offer(is_root=self.session.is_root), "bold"), id="offer")

    def on_mount(self) -> None:
        """Begin to follow the machine."""
        self._watch = DeviceWatch(OneAtATime(self.session.children), self.session.runs_dir)
        self._udev.start()
        self.set_interval(_POLL_S, self.poll)
        self.set_interval(_PROGRESS_S, self.follow_progress)
        self.query_one(SheetTable).focus()

    def on_unmount(self) -> None:
        """Listen no more."""
        self._udev.stop()

    def on_screen_resume(self) -> None:
        """Look, if something happened meanwhile; show the ticks as they are now."""
        self._look_if_wanted()
        self._show()

    def on_devices_screen_news(self) -> None:
        """Look in a moment, once for all that comes until then: one event seldom comes alone."""
        self._glimpse()
        if self._settling is None:
            age_s = self._watch.age_s
            rest_s = 0.0 if age_s is None else _REST_S - age_s
            self._settling = self.set_timer(max(_SETTLE_S, rest_s), self._look_at_news)

    def on_sheet_table_moved(self) -> None:
        """Show the device under the cursor."""
        self._show_details()

    def on_sheet_table_mark_clicked(self, event: SheetTable.MarkClicked) -> None:
        """Tick what was clicked."""
        self._tick(event.key)

    async def poll(self) -> None:
        """Look where the kernel's tables have changed, also since a look began that still goes on."""
        if self._watch.is_looking:
            self._tell()
        if self.is_current and await self._watch.has_changed():
            self.on_devices_screen_news()

    async def follow_progress(self) -> None:
        """Show how far arrays have synced."""
        if self.is_current and await self._watch.follow_progress():
            self._show()

    def action_look(self) -> None:
        """Look at all devices; one look at a time, and one more where something happened during it."""
        self._watch.want()
        self._look_if_wanted()

    def action_tick(self) -> None:
        """Tick or untick the device under the cursor."""
        self._tick(self.query_one(SheetTable).key)

    def action_plan(self) -> None:
        """Go to the plan."""
        if self.session.targets:
            self.app.switch_mode("plan")
        else:
            self.say("Nothing is ticked: space ticks a target. (2 shows the plan without one.)")

    def action_create(self) -> None:
        """Ask for a new scratch device."""
        from fsconsole.tui.screens.scratch_form import ScratchForm  # noqa: PLC0415 - the start is sooner

        if self._may("A scratch device is made"):
            self.app.push_screen(ScratchForm(self._watch.children), self._was_made)

    def action_read(self) -> None:
        """Read from the device under the cursor."""
        entry = self._entry()
        if entry is not None and self._may("A disk is read"):
            self.begin(f"Reading from {entry.device.path} for 3 s", self._read_test(entry.device.path))

    def action_remove(self) -> None:
        """Ask whether the scratch device under the cursor shall go."""
        entry = self._entry()
        if entry is None or not self._may("A scratch device is removed"):
            return
        path = entry.device.path
        if not entry.device.is_scratch:
            self.say(f"{path} is no scratch device: only those are removed here.")
            return
        question = AskScreen(f"Remove {path}?", removal_told(entry), yes="Remove", no="Keep")
        self.app.push_screen(question, partial(self._was_answered, path, entry.scratch_id))

    @work(group="glimpse")
    async def _glimpse(self) -> None:
        if self.is_current and await self._watch.glimpse() and self.app.is_running:
            self._take()

    def _look_at_news(self) -> None:
        self._settling = None
        self.action_look()

    def _look_if_wanted(self) -> None:
        # Behind another screen nobody sees it: what is wanted is looked at on the return.
        if self.is_current and self._watch.is_wanted and not self._watch.is_looking:
            self._watch.is_looking = True
            self._look()

    @work(group="look")
    async def _look(self) -> None:
        try:
            while self._watch.is_wanted:
                self._tell()
                if await self.went_well(self._watch.look()) and self.app.is_running:
                    self._take()
        finally:
            self._watch.is_looking = False
        if self.app.is_running:
            self._tell()

    def _take(self) -> None:
        """Show what was seen, with the ticks that stand."""
        listing = self._watch.listing
        lost = lost_ticks(self.session.ticks, listing)
        for path in lost:
            del self.session.ticks[path]
        if lost:
            self.say_at_hand(" ".join(lost.values()), style="$warning")
        self._show()
        new = None if self._made is None else listing.scratch(self._made.scratch_id)
        if new is not None:
            self._made = None
            self.query_one(SheetTable).go_to(new.device.path)
            self._add(new)

    def _tick(self, path: str) -> None:
        entry = self._watch.listing.at(path)
        if entry is None:
            return
        if self.session.ticks.pop(path, None) is not None:
            self.say(f"{path} is no target any more.")
            self._show()
        elif why := refusal(entry, self._watch.listing, is_root=self.session.is_root):
            self.say(why, style="$warning")
        elif entry.is_proved:
            self._add(entry)
        else:
            self.begin(f"Looking closely at {path}", self._prove(entry))

    def _add(self, entry: Entry) -> None:
        self.session.ticks[entry.device.path] = listed_identity(entry.device)
        self.say(ticked_told(entry))
        self._show()

    async def _prove(self, entry: Entry) -> None:
        await self._watch.prove(entry)
        self._take()
        now = self._watch.listing.at(entry.device.path)
        if now is not None and now.is_proved:
            self._tick(entry.device.path)

    async def _read_test(self, path: str) -> None:
        told = self._read_tests[path] = await read_test(self._watch.children, path)
        self.say(f"{path}: {told}")
        self._show_details()

    async def _remove(self, path: str, scratch_id: str) -> None:
        await remove_scratch(self._watch.children, scratch_id)
        self.session.ticks.pop(path, None)
        self.say(f"{path} and its file are removed.")
        self.action_look()

    def _was_made(self, made: Made | None) -> None:
        if made is not None:
            self._made = made
            self.action_look()

    def _was_answered(self, path: str, scratch_id: str, remove: bool | None) -> None:  # noqa: FBT001 (given by Textual)
        if remove:
            self.begin(f"Removing {path}", self._remove(path, scratch_id))

    def _entry(self) -> Entry | None:
        return self._watch.listing.at(self.query_one(SheetTable).key)

    def _show(self) -> None:
        entries, ticked = self._watch.listing.entries, self.session.targets
        glyphs = self.session.terminal.glyphs
        self.query_one(SheetTable).show(lambda width: lay_out(entries, ticked, width, glyphs))
        self._tell()
        self._show_details()

    def _show_details(self) -> None:
        entry, listing, figures = self._entry(), self._watch.listing, dict(self._read_tests)
        is_root = self.session.is_root

        def made(width: int) -> Content:
            if entry is None:
                return plain("")
            return labelled(details(entry, listing, width, is_root=is_root, read_tests=figures))

        self.query_one(Pane).show(entry.device.path if entry is not None else "", made)

    def _tell(self) -> None:
        """Say how many there are, how old that is while it is looked at again, and the first step."""
        watch = self._watch
        ticked, failed = len(self.session.targets), watch.has_failed and not watch.is_looking
        words = about(
            watch.listing,
            ticked,
            watch.age_s,
            looking=watch.is_looking,
            failed=failed,
            makes_arrays=self.session.makes_arrays,
        )
        self.query_one("#about", Static).update(plain(words))
        self.query_one("#offer").display = watch.seen_s is not None and is_first_start(
            watch.listing, self.session.runs_dir
        )
