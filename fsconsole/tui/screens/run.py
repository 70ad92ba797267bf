"""Run: what goes on, by the run's journal; what is asked of its engine goes through its control socket."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import ClassVar

from textual.containers import Container
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from fsconsole.errors import FsconsoleError
from fsconsole.report.cells import cells_of
from fsconsole.tui.bridge import Bridge, Fault
from fsconsole.tui.plaintext import plain
from fsconsole.tui.screens.run_keys import OFFERED_AT_TIMES, RunKeys
from fsconsole.tui.views.attach import living
from fsconsole.tui.views.gauges import LABEL_CELLS, TEXT_CELLS, gauges
from fsconsole.tui.views.layout import WIDE_COLUMNS, room_for
from fsconsole.tui.views.plots import plot
from fsconsole.tui.views.run import age_words, cell_in_sight, cell_row, step_line, title_line
from fsconsole.tui.views.snapshot import Snapshot
from fsconsole.tui.widgets.gauge import Gauge
from fsconsole.tui.widgets.plot import Plot
from fsconsole.tui.widgets.rowlist import RowList
from fsconsole.tui.widgets.values import GaugeValue

_TITLE = 1
_MOST_STEP = 2
_NOTHING = "No run is shown. Plan one (2) and start it, or open one of those that there are (5)."


class RunScreen(RunKeys):
    """Shows one run while it goes on, and how it ended."""

    class Arrived(Message, bubble=False):
        """The bridge has something to take."""

    CSS_PATH = "run.tcss"
    MODE: ClassVar[str] = "run"
    HELP: ClassVar[str] = (
        "What a run does right now, and what came of its cells so far.\n"
        "The console only looks on: the run goes on when you leave it, and when the terminal is gone.\n"
        "\n"
        "write, read   what the targets move, against the raw row of this run or the best rate so far\n"
        "dirty         written and not on a device yet; at bg the kernel begins to write it out,\n"
        "              at the limit writers wait\n"
        "busy          share of time with requests at the device, their number, and how long one takes\n"
        "bdi           the kernel's idea of the device's speed; inodes: dirty / being written / for later\n"
        "I/O wait      share of time in which some task, or all, waited for I/O (pressure)"
    )

    def __init__(self) -> None:
        super().__init__()
        self._bridge: Bridge | None = None
        self._values: tuple[GaugeValue, ...] = ()
        self._gauge_count = 0
        self._texts: dict[str, str] = {}
        self._offered: tuple[bool | None, ...] = ()

    def content(self) -> Iterable[Widget]:
        """Give title, cells, step, gauges and plot."""
        yield Static(plain(""), id="title")
        yield RowList(id="cells")
        yield Static(plain(""), id="step")
        yield Container(id="gauges")
        yield Plot(id="plot")
        yield Static(plain(_NOTHING), id="nothing")

    def on_mount(self) -> None:
        """Follow the run at hand, or one that lives; paint at the terminal's own rate."""
        self.plot_shown = not self.session.terminal.slow
        self.app.mode_change_signal.subscribe(self, self._on_mode)
        self.set_interval(1 / self.session.terminal.paint_hz, self.paint)

    def on_screen_resume(self) -> None:
        """Follow the run that the session names by now."""
        self._follow()

    def on_unmount(self) -> None:
        """Let the bridge end."""
        self._leave()

    def _on_mode(self, mode: str) -> None:
        # A screen that nobody looks at reads no journal.
        if mode == self.MODE:
            self._follow()
        else:
            self._leave()

    def _follow(self) -> None:
        if self.session.folder is None:
            self._offer()
        folder = self.session.folder
        self.set_class(folder is None, "-nothing")
        if folder is None or (self._bridge is not None and self._bridge.folder == folder):
            return
        self._leave()
        if self.snapshot is not None and self.snapshot.folder != folder:
            self.snapshot = None
            self.query_one("#cells", RowList).follow()
        self.set_class(self.snapshot is None, "-unread")
        if self.snapshot is None:
            self._put("#step", "Reading the run ...")
        self._bridge = Bridge(folder, self._tell)
        self._bridge.start()

    def _offer(self) -> None:
        try:
            self.session.folder = living(self.session.runs_dir)
        except FsconsoleError as error:
            self.complain(error)

    def _leave(self) -> None:
        if self._bridge is not None:
            self._bridge.stop()
            self._bridge = None

    def _tell(self) -> None:
        """Have the screen take what the bridge has; called from the bridge's thread."""
        # The loop may be closed by now: the console ends without waiting for the bridge.
        with suppress(RuntimeError):
            self.post_message(self.Arrived())

    def on_run_screen_arrived(self) -> None:
        """Take what the bridge has found."""
        taken = self._bridge.take() if self._bridge is not None else None
        if isinstance(taken, Fault):
            raise taken.error
        if isinstance(taken, FsconsoleError):
            self.complain(taken)
            self.faulty = True
            if self.snapshot is None:
                self._put("#step", "The run can't be read; it is tried again every second.")
        elif taken is not None:
            if self.faulty:
                self.say("")
                self.faulty = False
            before, self.snapshot = self.snapshot, taken
            self._offer_keys()
            if before is not None and before.alive and not taken.alive:
                self.give_scratch_back(taken)
            if before is None:
                self.remove_class("-unread")
                self.call_after_refresh(self.paint)

    def _offer_keys(self) -> None:
        # The footer paints itself anew, and has the screen laid out, whatever comes of it.
        offered = tuple(self.check_action(action, ()) for action in OFFERED_AT_TIMES)
        if offered != self._offered:
            self._offered = offered
            self.refresh_bindings()

    def say(self, text: str, *, style: str = "") -> None:
        """Show a sentence, and share out the lines that it leaves."""
        super().say(text, style=style)
        self.call_after_refresh(self.paint)

    def on_resize(self) -> None:
        """Share out the lines anew."""
        super().on_resize()
        self.call_after_refresh(self.paint)

    def paint(self) -> None:
        """Show the latest snapshot as it looks by now."""
        snapshot = self.snapshot
        if snapshot is None or self.app.current_mode != self.MODE:
            return
        now_ns = time.monotonic_ns()
        width = self.size.width
        self._put("#title", title_line(snapshot, now_ns, width))
        age = age_words(snapshot, now_ns)
        self._put("#step", "  ".join(filter(None, (step_line(snapshot, now_ns), f"({age})" if age else ""))))
        self._values = gauges(snapshot)
        self._share_out(snapshot)
        row = partial(cell_row, snapshot)
        self.query_one("#cells", RowList).show(
            len(snapshot.state.cells), row, follow=cell_in_sight(snapshot.state)
        )
        self._paint_gauges()
        if self.query_one("#plot").display:
            self.query_one("#plot", Plot).show(plot(snapshot, self.plotted, last_minute=self.last_minute))

    def _put(self, selector: str, text: str) -> None:
        # A Static paints itself anew whatever it is given.
        if self._texts.get(selector) != text:
            # To lay the screen out anew takes as long as to paint it, and is of use only where a text needs more lines.
            wider = (
                cells_of(text) > self.size.width or cells_of(self._texts.get(selector, "")) > self.size.width
            )
            layout = wider or not (text and self._texts.get(selector))
            self._texts[selector] = text
            self.query_one(selector, Static).update(plain(text), layout=layout)

    def _share_out(self, snapshot: Snapshot) -> None:
        is_wide = self.size.width >= WIDE_COLUMNS
        lines = (len(self._values) + 1) // 2 if is_wide else len(self._values)
        step = 1 + (cells_of(self._texts["#step"]) - 1) // max(1, self.size.width)
        free = self.query_one("#content").size.height - _TITLE - min(step, _MOST_STEP)
        room = room_for(free, cells=len(snapshot.state.cells), gauges=lines, plot=self.plot_shown)
        box = self.query_one("#gauges")
        box.set_class(is_wide, "-wide")
        heights = (("#cells", room.cells), ("#gauges", room.gauges), ("#plot", room.plot))
        for selector, height in heights:
            widget = self.query_one(selector)
            widget.display = height > 0
            widget.styles.height = max(1, height)
        self._gauge_count = room.gauges * 2 if is_wide else room.gauges

    def _paint_gauges(self) -> None:
        values = self._values[: self._gauge_count]
        box = self.query_one("#gauges")
        known = list(box.query(Gauge))
        missing = [Gauge(LABEL_CELLS, text_width=TEXT_CELLS) for _ in values[len(known) :]]
        if missing:
            box.mount_all(missing)
        for gauge, value in zip((*known, *missing), values, strict=False):
            gauge.show(value)
        for number, gauge in enumerate(known):
            gauge.display = number < len(values)
