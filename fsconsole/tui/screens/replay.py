"""Race replay: the loads of all variants released together, with speed and pause."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from textual import work
from textual.binding import BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from fsconsole.client.runs import look
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.past import read_curve
from fsconsole.model.state import RunState
from fsconsole.results.blocks import Block, blocks_of
from fsconsole.results.grid import build_grid
from fsconsole.show import replay as view
from fsconsole.show.progress import begun_ns
from fsconsole.text import shorten_middle
from fsconsole.tui import keys
from fsconsole.tui.screens.base import ConsoleScreen
from fsconsole.tui.terminal import lines, plain
from fsconsole.tui.widgets.charts import Chart

_LEAST_FRAMES = 20
"""Parts of a race that left and right go by."""


@dataclass(frozen=True, slots=True)
class Races:
    """The races of a run, one for each workload with a finished load."""

    title: str
    of: tuple[view.Race, ...]


class ReplayScreen(ConsoleScreen):
    """Replays the loads of a run; works on every run that can be read, and needs no root."""

    MODE: ClassVar[str] = "results"
    CSS_PATH = "replay.tcss"
    HELP: ClassVar[str] = """All variants of a workload released together, as they were recorded.
Bar: the load's data, on disk and still in memory.
Curve: the application's rate, then, in the drain, the device's, each on a scale of its own, which all rows share.
Each row shows the round with its median figure.
At first the replay takes at most 12 s; "1/5 x" is five times slower than recorded."""
    BINDINGS: ClassVar[list[BindingType]] = keys.bindings("replay")

    def __init__(self, folder: RunFolder, block: str = "") -> None:
        """Replay a run's workload of that name, its first one for none."""
        super().__init__()
        self._folder, self._wanted = folder, block
        self._races: Races | None = None
        self._at = 0
        self._at_s = 0.0
        self._speed = 1.0
        self._is_playing = True
        self._ticked_s = 0.0
        self._told = ""
        """The footer's label of p when it was last painted."""

    def content(self) -> Iterable[Widget]:
        yield Static(plain("Reading the run..."), id="title")
        yield Static(plain(""), id="blocks")
        yield Chart(id="race")
        yield Static(plain(""), id="notes")

    def on_mount(self) -> None:
        self.while_shown(1 / self.session.terminal.paint_hz, self._tick)
        self._read()

    def on_screen_resume(self) -> None:
        self._ticked_s = time.monotonic()
        if self.session.folder not in (None, self._folder):
            self.call_after_refresh(self.action_dismiss)

    def on_resize(self) -> None:
        super().on_resize()
        self.call_after_refresh(self._place)

    def label_of(self, action: str) -> str:
        if action != "pause":
            return ""
        return "Again" if self._is_over else "" if self._is_playing else "Continue"

    @property
    def _is_over(self) -> bool:
        return (race := self._race()) is not None and self._at_s >= race.length_s

    def action_pause(self) -> None:
        if self._is_over:
            self._at_s, self._is_playing = 0.0, True
        else:
            self._is_playing = not self._is_playing
        self._ticked_s = time.monotonic()
        self._place()

    def action_faster(self, by: int) -> None:
        at = view.SPEEDS.index(self._speed) + by
        self._speed = view.SPEEDS[max(0, min(at, len(view.SPEEDS) - 1))]
        self._place()

    def action_seek(self, by: int) -> None:
        if (race := self._race()) is not None:
            self._at_s = max(0.0, min(self._at_s + by * race.length_s / _LEAST_FRAMES, race.length_s))
            self._place()

    def action_to(self, end: int) -> None:
        if (race := self._race()) is not None:
            self._at_s = end * race.length_s
            self._place()

    def action_block(self, by: int) -> None:
        if self._races is not None and self._races.of:
            self._release((self._at + by) % len(self._races.of))

    def _race(self) -> view.Race | None:
        return self._races.of[self._at] if self._races is not None and self._races.of else None

    def _release(self, at: int) -> None:
        """Start the race of a workload from t = 0."""
        self._at, self._at_s, self._is_playing = at, 0.0, True
        self._ticked_s = time.monotonic()
        if (race := self._race()) is not None:
            self._speed = view.first_speed(race)
        self._place()

    def _tick(self) -> None:
        race, now_s = self._race(), time.monotonic()
        passed_s, self._ticked_s = now_s - self._ticked_s, now_s
        if race is None or not self._is_playing or self._at_s >= race.length_s:
            return
        self._at_s = min(self._at_s + passed_s * self._speed, race.length_s)
        self._place()

    @work(group="read", exclusive=True)
    async def _read(self) -> None:
        folder = self._folder

        def read() -> Races:
            state = look(folder).state
            return Races(state.request.plan.title, _races(folder, state))

        with self.complaining():
            self._races = await asyncio.to_thread(read)
            names = [race.title for race in self._races.of]
            self._release(names.index(self._wanted) if self._wanted in names else 0)

    def _place(self) -> None:
        if self._races is None or not self.app.is_running:
            return
        if (told := self.label_of("pause")) != self._told:
            self._told = told
            self.refresh_bindings()
        race, width = self._race(), max(20, self.size.width)
        if race is None:
            self.put(
                "#title",
                lines(plain(self._races.title, "bold"), plain("No load of this run has finished: nothing to replay.")),
            )
            return
        head = view.head_words(
            race, self._at_s, self._speed, is_playing=self._is_playing and self._at_s < race.length_s
        )
        title = shorten_middle(f"Race replay: {self._races.title}", width)
        self.put("#title", lines(plain(title, "bold"), plain(shorten_middle(head, width))))
        tabs = (plain(f" {of.title} ", "reverse" if of is race else "") for of in self._races.of)
        self.put("#blocks", Content("").join(tabs))
        self.query_one("#race", Chart).show(view.Frame(race, self._at_s))
        self.put("#notes", plain("  ".join(view.notes_of(race, self.session.terminal.glyphs))))


def _races(folder: RunFolder, state: RunState) -> tuple[view.Race, ...]:
    blocks = blocks_of(state, build_grid(state))
    return tuple(read_race(folder, state, block) for block in blocks if view.can_race(block))


def read_race(folder: RunFolder, state: RunState, block: Block) -> view.Race:
    """Return the race of a block, with the samples of its cells. Raises as read_curve()."""
    cells = {cell.cell for row in block.rows if (cell := view.cell_of(row, block)) is not None}
    points = {index: read_curve(folder, index, begun_ns(state.cells[index])) for index in sorted(cells)}
    return view.race_of(state, block, points)
