"""Devices: the tree of what can be tested, live; targets are ticked here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Iterable
from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import Worker

from fsconsole.client.children import Children, answer, failure
from fsconsole.errors import ChildFailed, FsconsoleError
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.store import list_runs
from fsconsole.system.refusal import system_refusal
from fsconsole.tui.block_tables import BlockTables, read_arrays, read_tables
from fsconsole.tui.one_at_a_time import OneAtATime
from fsconsole.tui.plaintext import lines, plain
from fsconsole.tui.screens.base import ConsoleScreen
from fsconsole.tui.screens.remove_scratch import RemoveScratch
from fsconsole.tui.screens.scratch_form import ScratchForm
from fsconsole.tui.udev_watch import UdevWatch
from fsconsole.tui.views.device_details import details, read_test_told
from fsconsole.tui.views.device_rows import lay_out
from fsconsole.tui.views.device_ticks import NEEDS_ROOT, refusal, still_ticked
from fsconsole.tui.views.device_words import OFFER, about, folder_of, removal_told, ticked_told
from fsconsole.tui.views.devices import WORDS, Entry, Key, Listing, parse_listing, with_progress, with_proofs
from fsconsole.tui.widgets.pane import Pane
from fsconsole.tui.widgets.sheet_table import SheetTable

_POLL_S, _PROGRESS_S, _SETTLE_S = 2.0, 1.0, 0.3


class DevicesScreen(ConsoleScreen):
    """What can be tested, and how each device stands."""

    CSS_PATH = "devices.tcss"
    MODE: ClassVar[str] = "devices"
    HELP: ClassVar[str] = """Devices: what can be tested. Nothing is written here.
Tick what may be wiped; the plan runs on each target in turn, after what would be lost was agreed to.
What is in use can't be ticked; the pane says why and what frees it. A scratch device is always safe.
The list follows the machine by itself. Tab goes to the pane, whose text the arrow keys move."""
    HORIZONTAL_BREAKPOINTS: ClassVar = [(0, "-narrow"), (120, "-wide")]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "tick", "Tick", id="devices.tick", tooltip="Make the device a target, or no target"),
        Binding(
            "enter",
            "plan",
            "Plan",
            id="devices.plan",
            tooltip="Plan with what is ticked",
            priority=True,
            key_display="enter",
        ),
        Binding(
            "n", "create", "New scratch", id="devices.new", tooltip="Make a scratch device, safe to wipe"
        ),
        Binding("r", "read", "Read test", id="devices.read", tooltip="Read for 3 s; nothing is written"),
        Binding(
            "x,delete",
            "remove",
            "Remove",
            id="devices.remove",
            tooltip="Remove a scratch device",
            key_display="x",
        ),
        Binding("f5", "look", "Refresh", id="devices.look", tooltip="Look at all devices again"),
        Binding(
            "d", "demo", "Demo", id="devices.demo", show=False, tooltip="A first comparison; touches no disk"
        ),
        Binding(
            "escape", "end_job", "End it", id="devices.end", show=False, tooltip="End what is going on here"
        ),
    ]

    class News(Message):
        """Something happened to a device."""

    def __init__(self) -> None:
        super().__init__()
        self._children: Children
        self._listing = Listing()
        self._seen_s: float | None = None
        self._tables: BlockTables | None = None
        self._looking, self._look_again, self._stale = False, False, True
        self._settling: Timer | None = None
        self._keys: dict[str, Key] = {}
        self._proofs: dict[Key, Entry] = {}
        self._made = ""
        self._read_tests: dict[str, str] = {}
        self._job: Worker[None] | None = None
        self._job_words = ""
        self._udev = UdevWatch(lambda: self.post_message(self.News()))

    def content(self) -> Iterable[Widget]:
        """Give the table, a line about it, and the pane."""
        yield Container(SheetTable(id="table"), Pane(id="details"), id="body")
        yield Static(plain("Looking at the devices..."), id="about")
        yield Static(plain(""), id="offer")

    def on_mount(self) -> None:
        """Begin to follow the machine."""
        self._children = OneAtATime(self.session.children)
        self._udev.start()
        self.set_interval(_POLL_S, self.poll)
        self.set_interval(_PROGRESS_S, self.follow_progress)
        self.query_one(SheetTable).focus()

    def on_unmount(self) -> None:
        """Listen no more."""
        self._udev.stop()

    def on_screen_resume(self) -> None:
        """Look, if something happened meanwhile; show the ticks as they are now."""
        if self._stale:
            self.action_look()
        self._show()

    def on_devices_screen_news(self) -> None:
        """Look when it has been quiet for a moment: one event seldom comes alone."""
        if self._settling is not None:
            self._settling.stop()
        self._settling = self.set_timer(_SETTLE_S, self.action_look)

    def on_sheet_table_moved(self) -> None:
        """Show the device under the cursor."""
        self._show_details()

    def on_sheet_table_mark_clicked(self, event: SheetTable.MarkClicked) -> None:
        """Tick what was clicked."""
        self._tick(event.key)

    async def poll(self) -> None:
        """Look where the kernel's tables have changed."""
        if self.is_current and not self._looking and self._tables is not None:
            now = await asyncio.to_thread(read_tables)
            if now != self._tables:
                self.action_look()
        if self._looking:
            self._tell()

    async def follow_progress(self) -> None:
        """Show how far arrays have synced."""
        if self.is_current and self._listing.syncs:
            moved = with_progress(self._listing, await asyncio.to_thread(read_arrays))
            if moved is not self._listing:
                self._listing = moved
                self._show()

    def action_look(self) -> None:
        """Look at all devices; one look at a time, and one more where something happened during it."""
        if not self.is_current:
            self._stale = True
            return
        self._stale, self._look_again = False, True
        if not self._looking:
            self._looking = True
            self._look()

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
        if self._may("A scratch device is made"):
            self.app.push_screen(ScratchForm(self._children), self._was_made)

    def action_read(self) -> None:
        """Read from the device under the cursor."""
        entry = self._entry()
        if entry is not None and self._may("A disk is read"):
            self._begin(f"Reading from {entry.device.path} for 3 s", self._read_test(entry.device.path))

    def action_remove(self) -> None:
        """Ask whether the scratch device under the cursor shall go."""
        entry = self._entry()
        if entry is None or not self._may("A scratch device is removed"):
            return
        if not entry.device.is_scratch:
            self.say(f"{entry.device.path} is no scratch device: only those are removed here.")
            return
        path = entry.device.path

        def answered(remove: bool | None) -> None:
            if remove:
                self._begin(f"Removing {path}", self._remove(path))

        self.app.push_screen(RemoveScratch(path, removal_told(entry)), answered)

    def action_demo(self) -> None:
        """Begin the first comparison."""
        if self._may("The demo is started"):
            self._begin("Making a scratch device of 2 GiB and starting the demo", self._demo())

    def action_end_job(self) -> None:
        """End the command at hand."""
        if self._job is not None:
            self._job.cancel()
            self.say(f"Ended: {self._job_words}.")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        """Offer the end of a job only while there is one."""
        return action != "end_job" or self._job is not None

    @work(group="look")
    async def _look(self) -> None:
        try:
            while self._look_again:
                self._look_again = False
                self._tell()
                await self._look_once()
        finally:
            self._looking = False
        self._tell()

    async def _look_once(self) -> None:
        try:
            self._tables = await asyncio.to_thread(read_tables)
            found = await self._listed()
        except FsconsoleError as error:
            self.complain(error)
        except OSError as error:
            self.complain(system_refusal(error))
        else:
            self._seen_s = time.monotonic()
            self._take(with_proofs(found, self._proofs))

    async def _listed(self, *paths: str) -> Listing:
        done = await self._children.run(*WORDS, "--runs", self.session.runs_dir, *paths)
        if done.exit_code:
            raise failure(done)
        return parse_listing(done.out, done.err)

    def _take(self, listing: Listing) -> None:
        self._listing = listing
        kept, said = still_ticked(self.session.targets, self._keys, listing)
        self.session.targets[:] = kept
        if said:
            self.say(" ".join(said), style="$warning")
        self._show()
        new = listing.at(self._made)
        if new is not None:
            self._made = ""
            self.query_one(SheetTable).go_to(new.device.path)
            self._add(new)

    def _tick(self, path: str) -> None:
        entry = self._listing.at(path)
        if entry is None:
            return
        if path in self.session.targets:
            self.session.targets.remove(path)
            self.say(f"{path} is no target any more.")
            self._show()
        elif why := refusal(entry, self._listing, is_root=self.session.is_root):
            self.say(why, style="$warning")
        elif entry.is_proved:
            self._add(entry)
        else:
            self._begin(f"Looking closely at {path}", self._prove(entry))

    def _add(self, entry: Entry) -> None:
        path = entry.device.path
        if path not in self.session.targets:
            self.session.targets.append(path)
        self._keys[path] = entry.key
        self.say(ticked_told(entry, len(self.session.targets)))
        self._show()

    async def _prove(self, entry: Entry) -> None:
        found = await self._listed(entry.device.path)
        seen = found.at(entry.device.path)
        if seen is None or not seen.is_proved:
            why = "; ".join(found.notes) or f"{entry.device.path} could not be looked at"
            raise ChildFailed(words="devices", said=why)
        self._proofs[entry.key] = seen
        self._take(with_proofs(self._listing, self._proofs))
        now = self._listing.at(entry.device.path)
        if now is not None and now.is_proved:
            self._tick(entry.device.path)

    async def _read_test(self, path: str) -> None:
        try:
            told = read_test_told(await answer(self._children, "readtest", path))
        except ValueError as error:
            raise ChildFailed(words="readtest", said=f"{error}") from error
        self._read_tests[path] = told
        self.say(f"{path}: {told}")
        self._show_details()

    async def _remove(self, path: str) -> None:
        done = await self._children.run("scratch", "remove", path)
        if done.exit_code:
            raise failure(done)
        if path in self.session.targets:
            self.session.targets.remove(path)
        self.say(f"{path} and its file are removed.")
        self.action_look()

    async def _demo(self) -> None:
        document = await answer(self._children, "demo", "--detach", "--runs", self.session.runs_dir)
        self.session.folder = RunFolder(folder_of(document))
        self._stale = True
        self.app.switch_mode("run")

    def _was_made(self, path: str | None) -> None:
        if path:
            self._made = path
            self.say(f"{path} is made.")
            self.action_look()

    def _may(self, what: str) -> bool:
        if not self.session.is_root:
            self.say(f"{what} by root only: {NEEDS_ROOT}", style="$warning")
        return self.session.is_root

    def _begin(self, words: str, job: Coroutine[None, None, None]) -> None:
        """Carry out a job that escape ends; one at a time."""
        if self._job is not None:
            job.close()
            self.say("Something is going on here already: escape ends it.", style="$warning")
            return
        self._job_words = words
        self.say(f"{words}; escape ends it.")
        self._job = self.run_worker(self._carried_out(job), group="job")

    async def _carried_out(self, job: Coroutine[None, None, None]) -> None:
        try:
            await job
        except FsconsoleError as error:
            self.complain(error)
        except OSError as error:
            self.complain(system_refusal(error))
        finally:
            job.close()
            self._job = None

    def _entry(self) -> Entry | None:
        return self._listing.at(self.query_one(SheetTable).key)

    def _show(self) -> None:
        entries, ticked = self._listing.entries, tuple(self.session.targets)
        glyphs = self.session.terminal.glyphs
        if entries:
            self.query_one(SheetTable).show(lambda width: lay_out(entries, ticked, width, glyphs))
        self._tell()
        self._show_details()

    def _show_details(self) -> None:
        entry, listing, figures = self._entry(), self._listing, dict(self._read_tests)
        is_root = self.session.is_root

        def made(width: int) -> Content:
            if entry is None:
                return plain("")
            told = details(entry, listing, width, is_root=is_root, read_tests=figures)
            return lines(
                *(Content.assemble(plain(one.label, "dim"), plain(one.text, one.style)) for one in told)
            )

        self.query_one(Pane).show(entry.device.path if entry is not None else "", made)

    def _tell(self) -> None:
        """Say how many there are, how old that is while it is looked at again, and the first step."""
        age_s = None if self._seen_s is None else time.monotonic() - self._seen_s
        words = about(self._listing, len(self.session.targets), age_s, looking=self._looking)
        self.query_one("#about", Static).update(plain(words))
        offer = self.query_one("#offer", Static)
        offer.update(plain(OFFER, "bold"))
        offer.display = self._seen_s is not None and self._is_first_start()

    def _is_first_start(self) -> bool:
        if self._listing.has_scratch:
            return False
        try:
            return not list_runs(self.session.runs_dir)
        except FsconsoleError:
            return False
