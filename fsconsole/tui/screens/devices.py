"""Devices screen: the live tree of devices; targets are ticked here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.binding import BindingType
from textual.containers import Container
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import Worker

from fsconsole.client.children import answer, not_started
from fsconsole.devices.identity import listed_identity
from fsconsole.errors import FsconsoleError
from fsconsole.model import DEFAULT_SCRATCH_DIR
from fsconsole.model.answers import ReadTestAnswer
from fsconsole.show import devices as view
from fsconsole.text import printable
from fsconsole.tui import keys
from fsconsole.tui.screens.base import ConsoleScreen
from fsconsole.tui.terminal import plain
from fsconsole.tui.watch import DeviceWatch, OneAtATime, UdevWatch, in_background
from fsconsole.tui.widgets.chrome import Seek
from fsconsole.tui.widgets.lists import Choices, List
from fsconsole.tui.widgets.rows import SheetRows, Texts

if TYPE_CHECKING:
    from fsconsole.devices.scratch import Scratch

Job = Callable[[], Coroutine[None, None, None]]
_POLL_S, _SETTLE_S, _REST_S, _PROGRESS_S = 0.4, 0.1, 1.0, 1.0
"""A look costs half a second of a CPU: where devices come and go without end there is a rest between looks."""


def _load_plan() -> None:
    from fsconsole.catalog.loader import load_catalog  # noqa: PLC0415 - the first screen is there sooner
    from fsconsole.tui.screens import plan  # noqa: F401, PLC0415 - the same

    load_catalog()


class DevicesScreen(ConsoleScreen):
    """The devices that can be tested, and the state of each."""

    CSS_PATH = "devices.tcss"
    MODE: ClassVar[str] = "devices"
    HELP: ClassVar[str] = f"""Devices: what can be tested. No disk is written to here.
N and n make a file in {DEFAULT_SCRATCH_DIR}; x deletes one.
Tick what may be wiped. The plan runs on each target in turn, after you confirm what will be lost.
A device in use can't be ticked; its details say why and how to free it.
A scratch device is wiped without a question while it is blank or as a run left it.
Tab goes to the details, which the arrow keys scroll."""
    GUIDE: ClassVar[str] = (
        "1 of 5: the machine's devices. Space ticks what may be wiped; a scratch device is safe. 2 plans, 4 is the recorded run."
    )
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]  # noqa: RUF012 (Textual's own is no class variable)
    BINDINGS: ClassVar[list[BindingType]] = keys.bindings("devices")

    class News(Message):
        """Something happened to a device."""

    def __init__(self) -> None:
        super().__init__()
        self._udev = UdevWatch(lambda: self.post_message(self.News()))
        self._settling: Timer | None = None
        self._made: Scratch | None = None
        """A scratch device on which the cursor is put once it is in the list: from then on the operator moves it."""
        self._removed: set[str] = set()
        """Ids of scratch devices that were removed here: they are not told as gone."""
        self._own_word = ""
        """The last word of the operator's own job: what happens to other devices doesn't replace it while it is shown."""
        self._read_tests: dict[str, str] = {}
        self._told_of = ""
        self._offered: tuple[bool, ...] = ()
        self._pointed: dict[str, view.ListedEntry] = {}
        """The device at the cursor."""
        self._gone: dict[str, view.ListedEntry] = {}
        """The device that went away under the cursor, until a tick was asked for."""
        self._job: Worker[None] | None = None
        self._job_words = ""
        self._job_progress = ""
        """Progress of the job, where it is known."""
        self._job_end: asyncio.Event | None = None
        self._is_ending = False
        self._sheet: tuple[int, view.Sheet] | None = None
        """The table as it is shown, and its width."""

    def content(self) -> Iterable[Widget]:
        yield Container(List(id="table"), List(id="details"), id="body")
        yield Static(plain(""), id="about")
        yield Choices(id="offer", ticks=False)
        yield Seek("name, model, serial or state")

    def on_mount(self) -> None:
        self._watch = DeviceWatch(OneAtATime(self.session.children), self.session.runs_dir)
        # Its library takes as long to load as the first painting.
        self.call_after_refresh(self._udev.start)
        self.set_interval(_POLL_S, self.poll)
        self.query_one("#offer", Choices).show_lines(view.offers(is_root=self.session.is_root))
        self._table.focus()

    def on_unmount(self) -> None:
        self._udev.stop()

    def on_screen_resume(self) -> None:
        self._look_if_wanted()
        self._show()

    def on_devices_screen_news(self) -> None:
        """Look in a moment, once for all that comes until then: one event seldom comes alone."""

        def look() -> None:
            self._settling = None
            self.action_look()

        self._glimpse()
        if self._settling is None:
            age_s = self._watch.age_s
            rest_s = 0.0 if age_s is None else _REST_S - age_s
            self._settling = self.set_timer(max(_SETTLE_S, rest_s), look)

    def on_list_ticked(self, event: List.Ticked) -> None:
        self._tick(event.key)

    async def poll(self) -> None:
        """Look again where the kernel's tables have changed, also during a look; follow the progress of arrays."""
        if self._watch.is_looking:
            self._tell()
        if not self.is_current:
            return
        if await self._watch.has_changed():
            self.on_devices_screen_news()
        if await self._watch.follow_progress():
            self._show()

    def action_look(self) -> None:
        """Look at all devices; one look at a time, and one more where something happened during it."""
        self._watch.is_wanted = True
        self._look_if_wanted()

    def on_list_headed(self) -> None:
        self.say("Devices are in groups by what may be done with them, and are not sorted by columns.")

    def action_tick(self) -> None:
        self._tick(self._table.key)

    def on_list_opened(self, event: List.Opened) -> None:
        if event.control.id == "offer":
            (self.action_demo if event.key == "demo" else self.action_create)()

    async def action_plan(self) -> None:
        if self.query_one("#offer").has_focus:
            self.query_one("#offer", Choices).action_open()
        else:
            await self.app.action_switch_mode("plan")

    def label_of(self, action: str) -> str:
        is_offered = action == "plan" and self.query_one("#offer").has_focus
        return (
            "Demo" if is_offered and self.query_one("#offer", Choices).key == "demo" else "Create" if is_offered else ""
        )

    def action_no_start(self) -> None:
        self.say("Nothing is started here: 2 is the plan, and F10 there confirms and runs it.")

    def action_create(self) -> None:
        from fsconsole.tui.screens.scratch_form import ScratchForm  # noqa: PLC0415 - the start is sooner

        def made(scratch: Scratch) -> None:
            self._made = scratch
            if scratch.identity is not None:
                # At once: a look at all devices lasts as long as somebody is at work on one of them.
                self.session.ticks[scratch.device] = scratch.identity
                self.say(view.scratch_ticked_told(scratch.device))
            # Where it is ticked is to be seen, also by whoever came from the offer.
            self._table.focus()
            self._show()
            self._go_to_made()
            self.on_devices_screen_news()

        if self.may("Making a scratch device"):
            self.ask(ScratchForm(self._watch.children), made)

    def action_read(self) -> None:
        entry = self._entry()
        if not self.may("Reading a disk") or entry is None:
            return
        path = entry.device.path

        async def read() -> None:
            from fsconsole.show.device_details import read_test_told  # noqa: PLC0415 - the first screen is there sooner

            figures = await answer(self._watch.children, ReadTestAnswer, "readtest", path)
            told = self._read_tests[path] = read_test_told(figures)
            self._say_own(f"{path}: {told}")
            self.on_list_moved()

        self.start_job(f"Reading from {path} for 3 s", read)

    @work(group="remove", exclusive=True)
    async def action_remove(self) -> None:
        entry = self._entry()
        if not self.may("Removing a scratch device") or entry is None:
            return
        path, scratch_id = entry.device.path, entry.scratch_id

        async def remove() -> None:
            # From now on: it may be seen to go before the command ends.
            self._removed.add(scratch_id)
            is_removed = False
            try:
                # By its id: a loop's number may be another's by now.
                is_removed = await self.removed("scratch", "remove", scratch_id, "--runs", self.session.runs_dir)
            finally:
                if not is_removed:
                    self._removed.discard(scratch_id)
            if not is_removed:
                return
            self.session.ticks.pop(path, None)
            self._say_own(f"Removed {path} and its file.")
            self.action_look()

        if entry.is_new:
            self.say(f"{path} is still being read: x again in a moment.")
        elif not entry.device.is_scratch:
            self.say(f"{path} is no scratch device: only those are removed here.")
        elif await self.agreed(f"Remove {path}?", view.removal_told(entry), yes="Remove"):
            self.start_job(f"Removing {path}", remove)

    @work(group="demo", exclusive=True)
    async def action_demo(self) -> None:
        if not self.may("Starting the demo"):
            return
        end = asyncio.Event()

        async def demo() -> None:
            words = ("demo", "--size", view.DEMO_SIZE, "--dir", DEFAULT_SCRATCH_DIR)
            telling = await self._tell_of_demo()
            try:
                started = await self.session.start(self._watch.children, self.action_end_job, end, *words)
            finally:
                telling.stop()
                self._job_progress = ""
            self._watch.is_wanted = True
            folder = started.folder
            if started.was_undone:
                self._say_own("Stopped; no run was started, and the unfinished file was removed.")
            elif folder is None:
                raise not_started(started.done)
            elif started.going_on:
                self.say_at_hand(f"{started.going_on}  The list of runs (5) shows it.", style="$error")
            else:
                self.show_run(folder, f"The demo's run {folder.name} has started")

        offered = self.query_one("#offer").display
        if offered or await self.agreed(view.DEMO_QUESTION, view.DEMO_TOLD, yes="Start"):
            self.start_job(f"Making 2 GiB in {DEFAULT_SCRATCH_DIR}, starting the demo", demo, end)

    async def _tell_of_demo(self) -> Timer:
        """Show every second how much of the demo's file is written; returns what ends that."""
        from fsconsole.tui.screens.scratch_form import new_bytes, scratch_files  # noqa: PLC0415 - the start is sooner

        before, started_s = await asyncio.to_thread(scratch_files, DEFAULT_SCRATCH_DIR), time.monotonic()

        async def tell() -> None:
            written_bytes = await asyncio.to_thread(new_bytes, DEFAULT_SCRATCH_DIR, before)
            if self._job is not None and not self._is_ending:
                self._job_progress = view.demo_progress(written_bytes, time.monotonic() - started_s)
                self._tell()

        return self.set_interval(_PROGRESS_S, tell)

    def start_job(self, words: str, job: Job, end: asyncio.Event | None = None) -> None:
        """Start a job, unless one is running; words name it.

        A job with an event ends itself once that is set, and says what became of it; any other is cancelled.
        """
        if self._job is not None:
            self.say(f"{self._job_words} is still running: escape stops it.", style="$warning")
            return
        self._job_words, self._job_end, self._is_ending = words, end, False
        self._say_own(f"{words}; escape stops it.")
        self._job = self.run_worker(self._carried_out(job), group="job")

    def on_input_changed(self) -> None:
        self._show()

    def on_input_submitted(self) -> None:
        self._table.focus()

    def action_end_job(self) -> None:
        """Stop the current job; where there is none, show all devices again."""
        if self._job is None:
            self.action_show_all()
        if self._job is None or self._is_ending:
            return
        self._is_ending = True
        self._say_own(f"Stopping: {self._job_words} ...")
        if self._job_end is not None:
            self._job_end.set()
        else:
            self._job.cancel()

    def applies(self, action: str) -> bool:
        entry = next(iter(self._pointed.values()), None)
        if action == "remove":
            return entry is not None and entry.device.is_scratch
        return entry is not None or action not in {"tick", "read"}

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        seek = self.query(Seek)
        if action == "plan":
            # Enter keeps the words that are typed.
            return not any(one.has_focus for one in seek)
        if action == "end_job":
            return self._job is not None or any(one.display for one in seek)
        return super().check_action(action, parameters)

    def _say_own(self, text: str) -> None:
        self._own_word = text
        self.say(text)

    async def _carried_out(self, job: Job) -> None:
        try:
            with self.complaining():
                await job()
        finally:
            self._job = None
            if self.app.is_running and self.is_attached:
                self._tell()
            if self._is_ending and self._job_end is None and self.is_attached:
                self._say_own(f"Stopped: {self._job_words}.")

    @work(group="glimpse")
    async def _glimpse(self) -> None:
        if self.is_current and await self._watch.glimpse() and self.app.is_running:
            self._take()

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
                with self.complaining():
                    await self._watch.look()
                    if self.app.is_running:
                        self._take()
        finally:
            self._watch.is_looking = False
        if self.app.is_running:
            # What uses a device by then is told on the return.
            self._watch.is_wanted = not self.is_current
            self._tell()
            self._load_ahead()

    @work(group="load", exclusive=True)
    async def _load_ahead(self) -> None:
        """Load what the Plan screen is made of while the list is read: enter leads there, and would wait for it."""
        await in_background(_load_plan)

    def _take(self) -> None:
        listing = self._watch.listing
        # Behind another screen a look may have ended on a run that this console has just started: that one uses its devices.
        lost = view.lost_ticks(self.session.ticks, listing, is_use_lost=self.is_current)
        own = {path for path in lost if self.session.ticks[path].scratch_id in self._removed}
        for path in lost:
            del self.session.ticks[path]
        pointed = {path: one for path, one in self._pointed.items() if one.scratch_id not in self._removed}
        gone = view.gone(pointed, listing)
        # What comes in its place may change several times until it is read: that is told once.
        told = [view.gone_words(path, listing) for path in gone if path not in lost and path not in self._gone]
        self._gone = {path: self._pointed[path] for path in gone} or self._gone
        unticked = [words for path, words in lost.items() if path not in own]
        if self._own_word and self.said == self._own_word:
            # The table shows what went at the cursor; a lost tick is told beside it.
            told, unticked = [], [self._own_word, *unticked] if unticked else []
        if told or unticked:
            self.say_at_hand(" ".join((*unticked, *told)), style="$warning")
        self._show()
        self._go_to_made()

    def _go_to_made(self) -> None:
        if self._made is not None and self._watch.listing.at(self._made.device) is not None:
            self._table.go_to(self._made.device)
            self._made = None

    def _tick(self, path: str) -> None:
        entry = self._watch.listing.at(path)
        if entry is None:
            return
        gone, self._gone = self._gone, {}
        if gone and (path not in gone or view.gone(gone, self._watch.listing)):
            # Whoever pressed it may have meant the device that was there; one that is back is meant.
            what = f"{path} is another device now" if path in gone else f"{next(iter(gone))} is gone"
            self.say(f"{what}: nothing was ticked. Space again is for {path}.", style="$warning")
            return
        if self.session.ticks.pop(path, None) is not None:
            self.say(f"{path} is unticked.")
            self._show()
        elif why := view.refusal(entry, self._watch.listing, is_root=self.session.is_root):
            self.say(why, style="$warning")
        elif entry.is_proved:
            self._add(entry)
        else:

            async def prove() -> None:
                await self._watch.prove(entry)
                self._take()
                now = self._watch.listing.at(path)
                if now is not None and now.is_proved:
                    self._tick(path)

            self.start_job(f"Reading more of {path}", prove)

    def _add(self, entry: view.ListedEntry) -> None:
        self.session.ticks[entry.device.path] = listed_identity(entry.device)
        self.say(view.ticked_told(entry))
        self._show()

    @property
    def _table(self) -> List:
        return self.query_one("#table", List)

    def _entry(self) -> view.ListedEntry | None:
        return self._watch.listing.at(self._table.key)

    def _show(self) -> None:
        entries, ticked = self._shown, self.session.targets
        glyphs = self.session.terminal.glyphs

        def made(width: int) -> SheetRows:
            before = self._sheet[1] if self._sheet is not None and self._sheet[0] == width else view.Sheet((), ())
            self._sheet = width, view.lay_out(entries, ticked, width - 1, glyphs, before)
            return SheetRows(self._sheet[1])

        self._table.show(made)
        self._tell()
        self.on_list_moved()

    @property
    def _shown(self) -> tuple[view.ListedEntry, ...]:
        return view.with_words(self._watch.listing.entries, self.query_one(Seek).words)

    def on_list_moved(self) -> None:
        entry, listing, figures = self._entry(), self._watch.listing, dict(self._read_tests)
        is_root = self.session.is_root

        def made(width: int) -> Texts:
            if entry is None:
                return Texts(())
            from fsconsole.show.device_details import details  # noqa: PLC0415 - the first screen is there sooner

            told = details(entry, listing, width - 1, is_root=is_root, read_tests=figures)
            return Texts([((label, "primary"), (text, tone)) for label, text, tone in told])

        path = entry.device.path if entry is not None else ""
        self._pointed = {path: entry} if entry is not None else {}
        offered = tuple(map(self.applies, ("remove", "read")))
        if offered != self._offered:
            self._offered = offered
            self.refresh_bindings()
        self.query_one("#details", List).show(made, afresh=path != self._told_of)
        self._told_of = path

    def _tell(self) -> None:
        watch = self._watch
        words = view.about(
            watch.listing,
            len(self.session.targets),
            watch.age_s,
            looking=watch.is_looking,
            failed=watch.has_failed and not watch.is_looking,
            makes_arrays=self.session.makes_arrays,
        )
        if sought := self.query_one(Seek).words:
            words = f"{len(self._shown)} with '{printable(sought)}' of {words} (escape shows all)"
        if self._job is not None:
            # What was said of it goes after a while.
            words = f"{self._job_progress or self._job_words}; escape stops it."
        self.put("#about", plain(words))
        offer = self.query_one("#offer")
        # Rows don't go away under the cursor, nor because somebody else made a scratch device.
        stays = offer.display and (offer.has_focus or not self.session.targets)
        offer.display = stays or self._is_in_need()

    def _is_in_need(self) -> bool:
        """Return whether nothing was tried yet, nothing is free, or a free scratch device waits to be ticked."""
        from fsconsole.journal.store import list_runs  # noqa: PLC0415 - the first screen is there sooner without

        listing = self._watch.listing
        if self._watch.seen_s is None:
            return False
        if not listing.has_free or (listing.has_free_scratch and not self.session.targets):
            return True
        try:
            return not list_runs(self.session.runs_dir)
        except FsconsoleError:
            return False
