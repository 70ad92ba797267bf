"""Devices: the tree of what can be tested, live; targets are ticked here."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass
from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import Worker

from fsconsole.client.children import (
    Children,
    answer,
    carried_out,
    decoded,
    failure,
    not_started,
    not_stopped,
    started_run,
    was_undone,
)
from fsconsole.devices.identity import listed_identity
from fsconsole.devices.scratch import Scratch
from fsconsole.errors import FsconsoleError
from fsconsole.journal.folder import RunFolder
from fsconsole.model import DEFAULT_SCRATCH_DIR
from fsconsole.model.answers import ReadTestAnswer
from fsconsole.show.device_details import details
from fsconsole.show.devices import (
    DEMO_QUESTION,
    DEMO_SIZE,
    DEMO_TOLD,
    ListedEntry,
    Listing,
    about,
    lay_out,
    lost_ticks,
    offer,
    read_test_told,
    refusal,
    removal_told,
    ticked_told,
)
from fsconsole.tui.screens.base import ConsoleScreen
from fsconsole.tui.terminal import plain
from fsconsole.tui.watch import DeviceWatch, OneAtATime, UdevWatch
from fsconsole.tui.widgets.lists import List
from fsconsole.tui.widgets.rows import SheetRows, Texts


async def read_test(children: Children, path: str) -> str:
    """Read from a device and return the figure in words. Raises ChildFailed."""
    return read_test_told(await answer(children, ReadTestAnswer, "readtest", path))


async def remove_scratch(children: Children, scratch_id: str) -> None:
    """Remove a scratch device with its file, by its id: a loop's number may be another's by now.

    Raises ChildFailed.
    """
    await carried_out(children, "scratch", "remove", scratch_id)


@dataclass(frozen=True, slots=True)
class Demo:
    """What a start of the demo came to: its run, none where it had none yet, and why that goes on though it was ended."""

    folder: RunFolder | None
    going_on: str = ""


async def start_demo(children: Children, runs_dir: str, end: asyncio.Event) -> Demo:
    """Start the demo; one that was ended before it had a run has taken back what it made.

    Raises ChildFailed.
    """
    place = ("--size", DEMO_SIZE, "--dir", DEFAULT_SCRATCH_DIR)
    done = await children.run_or_end(end, "demo", *place, "--detach", "--runs", runs_dir, "--json")
    folder = started_run(done, runs_dir)
    if folder is None and not (end.is_set() and was_undone(done)):
        raise not_started(done)
    if folder is None or not end.is_set():
        return Demo(folder)
    # Whatever the command's exit code: once it has told its run, only this console can stop that.
    return Demo(folder, await asyncio.to_thread(not_stopped, folder))


async def make_scratch(children: Children, size: str, directory: str, end: asyncio.Event) -> Scratch | None:
    """Make a scratch device; None where that was ended before it was made. Raises ChildFailed."""
    words = ("scratch", "create", "--size", size, "--dir", directory, "--json")
    done = await children.run_or_end(end, *words)
    if done.exit_code:
        if end.is_set():
            return None
        raise failure(done)
    return decoded(Scratch, done.out, "scratch", "create")


def is_first_start(listing: Listing, runs_dir: str) -> bool:
    """Return whether nothing was tried on this machine yet: no scratch device, no run."""
    from fsconsole.journal.store import list_runs  # noqa: PLC0415 - the first screen is there sooner without

    try:
        return not listing.has_scratch and not list_runs(runs_dir)
    except FsconsoleError:
        return False


_POLL_S, _PROGRESS_S, _SETTLE_S, _REST_S = 0.4, 1.0, 0.1, 1.0
"""A look costs half a second of a CPU: where devices come and go without end there is a rest between looks."""


class DevicesScreen(ConsoleScreen):
    """What can be tested, and how each device stands."""

    CSS_PATH = "devices.tcss"
    MODE: ClassVar[str] = "devices"
    HELP: ClassVar[str] = """Devices: what can be tested. Nothing is written here.
Tick what may be wiped; the plan runs on each target in turn, after you confirm what will be lost.
A device in use can't be ticked; its details say why and how to free it. A scratch device is always safe.
The list is updated when devices change. Tab goes to the details, which the arrow keys scroll.
On a machine without runs or scratch devices, d starts a first comparison that touches no disk."""
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]  # noqa: RUF012 (Textual's own is no class variable)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "plan", "Plan", id="devices.plan", tooltip="Plan with what is ticked", priority=True, key_display="enter"),
        Binding("space", "tick", "Tick", id="devices.tick", tooltip="Make the device a target, or untick it"),
        Binding("n", "create", "New scratch", id="devices.new", tooltip="Create a scratch device, safe to wipe"),
        Binding("r", "read", "Read test", id="devices.read", tooltip="Read for 3 s; nothing is written"),
        Binding("x,delete", "remove", "Remove", id="devices.remove", tooltip="Remove a scratch device", key_display="x"),
        Binding("f5", "look", "Refresh", id="devices.look", tooltip="Look at all devices again", show=False),
        Binding("d", "demo", "Demo", id="devices.demo", show=False, tooltip="A first comparison; touches no disk"),
        Binding("escape", "end_job", "Stop", id="devices.end", show=False, tooltip="Stop the current job"),
    ]  # fmt: skip

    class News(Message):
        """Something happened to a device."""

    def __init__(self) -> None:
        super().__init__()
        self._udev = UdevWatch(lambda: self.post_message(self.News()))
        self._settling: Timer | None = None
        self._made: Scratch | None = None
        self._read_tests: dict[str, str] = {}
        self._told_of = ""
        self._job: Worker[None] | None = None
        self._job_words = ""
        self._job_end: asyncio.Event | None = None
        self._is_ending = False

    def content(self) -> Iterable[Widget]:
        yield Container(List(id="table"), List(id="details", space_reads_on=False), id="body")
        yield Static(plain(""), id="about")
        yield Static(plain(offer(is_root=self.session.is_root), "bold"), id="offer")

    def on_mount(self) -> None:
        self._watch = DeviceWatch(OneAtATime(self.session.children), self.session.runs_dir)
        self._udev.start()
        self.set_interval(_POLL_S, self.poll)
        self.set_interval(_PROGRESS_S, self.follow_progress)
        self._table.focus()

    def on_unmount(self) -> None:
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

    def on_list_moved(self) -> None:
        self._show_details()

    def on_list_ticked(self, event: List.Ticked) -> None:
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
        self._tick(self._table.key)

    def action_plan(self) -> None:
        if self.session.targets:
            self.app.switch_mode("plan")
        else:
            self.say("Nothing is ticked: space ticks a target. (2 shows the plan without one.)")

    def action_create(self) -> None:
        from fsconsole.tui.screens.scratch_form import ScratchForm  # noqa: PLC0415 - the start is sooner

        if self.may("Making a scratch device"):
            self.app.push_screen(ScratchForm(self._watch.children), self._was_made)

    def action_read(self) -> None:
        entry = self._entry()
        if entry is not None and self.may("Reading a disk"):
            self.begin(f"Reading from {entry.device.path} for 3 s", self._read_test(entry.device.path))

    @work(group="remove", exclusive=True)
    async def action_remove(self) -> None:
        entry = self._entry()
        if entry is None or not self.may("Removing a scratch device"):
            return
        path = entry.device.path
        if not entry.device.is_scratch:
            self.say(f"{path} is no scratch device: only those are removed here.")
            return
        if await self.agreed(f"Remove {path}?", removal_told(entry), yes="Remove"):
            self.begin(f"Removing {path}", self._remove(path, entry.scratch_id))

    @work(group="demo", exclusive=True)
    async def action_demo(self) -> None:
        """Start the first comparison; where no line says what that does, ask first."""
        if not self.may("Starting the demo"):
            return
        offered = self.query_one("#offer").display
        if offered or await self.agreed(DEMO_QUESTION, DEMO_TOLD, yes="Start"):
            end = asyncio.Event()
            self.begin("Creating a scratch device of 2 GiB and starting the demo", self._demo(end), end)

    async def _demo(self, end: asyncio.Event) -> None:
        with self.session.starting(self.action_end_job):
            demo = await start_demo(self._watch.children, self.session.runs_dir, end)
            if demo.going_on:
                self.session.unstopped.append(demo.going_on)
        self._watch.want()
        if demo.folder is None:
            self.say("Stopped: no run was started, and the scratch device is removed.")
        elif demo.going_on:
            self.say_at_hand(f"{demo.going_on}  The list of runs (5) shows it.", style="$error")
        elif self.is_active:
            self.session.folder = demo.folder
            self.app.switch_mode("run")
        else:
            # Whoever is at something else by now stays there.
            self.say_at_hand(f"The demo's run {demo.folder.name} has started: the list of runs (5) shows it.")

    def begin(self, words: str, job: Coroutine[None, None, None], end: asyncio.Event | None = None) -> None:
        """Carry out a job, unless there is one; words say what goes on.

        A job that says itself what became of it when it is ended has an event for that; any other is cancelled.
        """
        if self._job is not None:
            job.close()
            self.say(f"{self._job_words} is still running: escape stops it.", style="$warning")
            return
        self._job_words, self._job_end, self._is_ending = words, end, False
        self.say(f"{words}; escape stops it.")
        self._job = self.run_worker(self._carried_out(job), group="job")

    def action_end_job(self) -> None:
        if self._job is None or self._is_ending:
            return
        self._is_ending = True
        self.say(f"Stopping: {self._job_words} ...")
        if self._job_end is not None:
            self._job_end.set()
        else:
            self._job.cancel()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer the end of a job only while there is one."""
        return action != "end_job" or self._job is not None

    async def went_well(self, job: Coroutine[None, None, None]) -> bool:
        """Wait for a job and return whether it met no error; one that it met is shown."""
        try:
            await job
        except FsconsoleError as error:
            self.complain(error)
        else:
            return True
        return False

    async def _carried_out(self, job: Coroutine[None, None, None]) -> None:
        try:
            await self.went_well(job)
        finally:
            # One that was ended before it began would warn that nobody waited for it.
            job.close()
            self._job = None
            if self._is_ending and self._job_end is None and self.is_attached:
                self.say(f"Stopped: {self._job_words}.")

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
            self._table.go_to(new.device.path)
            self._add(new)

    def _tick(self, path: str) -> None:
        entry = self._watch.listing.at(path)
        if entry is None:
            return
        if self.session.ticks.pop(path, None) is not None:
            self.say(f"{path} is unticked.")
            self._show()
        elif why := refusal(entry, self._watch.listing, is_root=self.session.is_root):
            self.say(why, style="$warning")
        elif entry.is_proved:
            self._add(entry)
        else:
            self.begin(f"Reading more of {path}", self._prove(entry))

    def _add(self, entry: ListedEntry) -> None:
        self.session.ticks[entry.device.path] = listed_identity(entry.device)
        self.say(ticked_told(entry))
        self._show()

    async def _prove(self, entry: ListedEntry) -> None:
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

    def _was_made(self, made: Scratch | None) -> None:
        if made is not None:
            self._made = made
            self.action_look()

    @property
    def _table(self) -> List:
        return self.query_one("#table", List)

    def _entry(self) -> ListedEntry | None:
        return self._watch.listing.at(self._table.key)

    def _show(self) -> None:
        entries, ticked = self._watch.listing.entries, self.session.targets
        glyphs = self.session.terminal.glyphs
        self._table.show(lambda width: SheetRows(lay_out(entries, ticked, width - 1, glyphs)))
        self._tell()
        self._show_details()

    def _show_details(self) -> None:
        entry, listing, figures = self._entry(), self._watch.listing, dict(self._read_tests)
        is_root = self.session.is_root

        def made(width: int) -> Texts:
            if entry is None:
                return Texts(())
            told = details(entry, listing, width - 1, is_root=is_root, read_tests=figures)
            return Texts([((line.label, "primary"), (line.text, line.style.lstrip("$"))) for line in told])

        path = entry.device.path if entry is not None else ""
        self.query_one("#details", List).show(made, afresh=path != self._told_of)
        self._told_of = path

    def _tell(self) -> None:
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
