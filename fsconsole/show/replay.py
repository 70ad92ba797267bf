"""Race replay: the loads of all variants of a block released together, as frames at a time since their start. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fsconsole.journal.past import Point
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellState, RunState
from fsconsole.results.blocks import Block, BlockKind, BlockRow
from fsconsole.results.content import scale_for
from fsconsole.results.figures import CellFigures
from fsconsole.show.terminal import Glyphs
from fsconsole.text import cells_of, pad_right, printable, shorten_middle
from fsconsole.units import format_bytes, format_rate, format_seconds, significant

LEAST_SAMPLES = 4
"""Samples within a load below which it is drawn at its mean rate, from its start to its end."""
SPEEDS = tuple(digit * 10.0**power for power in range(-3, 4) for digit in (1, 2, 5))
"""Replayed seconds per second."""
_LASTS_S = 12.0
"""Longest replay at the speed that it begins with."""
_FIRST_SHARE = 0.05
"""Share of a load after which its rate is shown."""
_NAME_SHARE, _WORDS_CELLS, _MOST_CURVE_ROWS = 0.3, 27, 9

Spans = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """Rates from the end of the piece before to until_s, and the bytes moved by then."""

    until_s: float
    app_bytes_s: float
    device_bytes_s: float
    app_bytes: float
    device_bytes: float


@dataclass(frozen=True, slots=True)
class Lane:
    """One variant's load; times are seconds since its first writer or reader started."""

    name: str
    figure: str
    """Its primary figure with the unit."""
    moved_bytes: float
    """0: its load counts no bytes."""
    load_s: float
    end_s: float
    """With its drain."""
    pieces: tuple[Piece, ...]
    is_sampled: bool
    is_baseline: bool

    @property
    def writes(self) -> bool:
        """True if a drain follows, after which all is on the device."""
        return self.end_s > self.load_s

    def rates(self, at_s: float) -> tuple[float, float]:
        """Return the application's and the device's rate at a time."""
        place = self._place(at_s)
        if place == len(self.pieces):
            return 0.0, 0.0
        return self.pieces[place].app_bytes_s, self.pieces[place].device_bytes_s

    def shares(self, at_s: float) -> tuple[float, float]:
        """Return how much the application has moved at a time, and how much is on the device, as shares of all."""
        place = self._place(at_s)
        if at_s >= self.end_s or not self.pieces:
            return 1.0, 1.0
        of = self.pieces[min(place, len(self.pieces) - 1)]
        missing_s = max(0.0, of.until_s - at_s)
        loaded = self.pieces[min(self._place(self.load_s), len(self.pieces) - 1)]
        app = 1.0 if at_s >= self.load_s else _share(of.app_bytes - missing_s * of.app_bytes_s, loaded.app_bytes)
        device = _share(of.device_bytes - missing_s * of.device_bytes_s, self.pieces[-1].device_bytes)
        return app, min(app, device) if self.writes else app

    def _place(self, at_s: float) -> int:
        return bisect_right(self.pieces, at_s, key=lambda piece: piece.until_s)


def _share(part: float, whole: float) -> float:
    return min(1.0, part / whole) if whole > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Race:
    """The loads of one block; its lanes stand as the block's rows do."""

    title: str
    lanes: tuple[Lane, ...]
    length_s: float
    top_bytes_s: float
    """Highest rate of all loads, the top of each load's curve; 0 without bytes."""
    drain_top_bytes_s: float
    """Highest rate of all drains, the top of each drain's curve: a drain may be many times faster than its load."""
    left_out: tuple[str, ...]
    """Rows without a finished load."""
    rounds: tuple[int, ...]
    """Rounds that the lanes are of."""


def can_race(block: Block) -> bool:
    """Return whether a block has at least one finished load."""
    return block.kind is BlockKind.LOAD and any(cell_of(row, block) is not None for row in block.rows)


def cell_of(row: BlockRow, block: Block) -> CellFigures | None:
    """Return the cell with the median of a row's figures, the lower one of two; None without a finished load."""
    having = [cell for cell in row.row.cells if cell.counts and _load_s(cell) > 0]
    having.sort(key=lambda cell: (cell.value(block.metric) or 0.0, cell.cell))
    return having[(len(having) - 1) // 2] if having else None


def race_of(state: RunState, block: Block, points: Mapping[int, Sequence[Point]]) -> Race:
    """Return the race of a block; points are the samples of its cells, by the cell's index."""
    found = [(row, cell_of(row, block)) for row in block.rows]
    values = [value for _, cell in found if cell and (value := cell.value(block.metric)) is not None]
    scale = scale_for(block.metric, values)
    lanes = []
    for row, cell in found:
        if cell is None:
            continue
        value = cell.value(block.metric)
        figure = f"{scale.text(value)} {scale.unit}".strip() if value is not None else ""
        lanes.append(_lane(state, row, cell, figure, points.get(cell.cell, ())))
    left_out = tuple(row.title for row, cell in found if cell is None)
    rounds = tuple(sorted({cell.repeat for _, cell in found if cell is not None}))
    length_s = max((lane.end_s for lane in lanes), default=0.0)
    timed = [(piece, piece.until_s > lane.load_s) for lane in lanes if lane.moved_bytes for piece in lane.pieces]
    top = max((piece.app_bytes_s for piece, _ in timed), default=0.0)
    drain_top = max((piece.device_bytes_s for piece, drains in timed if drains), default=0.0)
    return Race(printable(block.name), tuple(lanes), length_s, top, drain_top, left_out, rounds)


def first_speed(race: Race) -> float:
    """Return the speed at which a race lasts up to 12 s."""
    return next((speed for speed in SPEEDS if race.length_s / speed <= _LASTS_S), SPEEDS[-1])


def speed_words(speed: float) -> str:
    """Return a speed in words: "1/5 x", "20 x"."""
    return "real time" if speed == 1 else f"{speed:g} x" if speed > 1 else f"1/{1 / speed:g} x"


def _load_s(cell: CellFigures) -> float:
    times = (Metric.LAST_DONE, Metric.WRITE_TIME, Metric.READ_TIME, Metric.REAL)
    return next((value for metric in times if (value := cell.value(metric))), 0.0)


def _lane(state: RunState, row: BlockRow, cell: CellFigures, figure: str, points: Sequence[Point]) -> Lane:
    load_s = _load_s(cell)
    end_s = load_s + (cell.value(Metric.DRAIN) or 0.0)
    moved = (cell.value(Metric.WRITTEN) or 0.0) + (cell.value(Metric.READ_BYTES) or 0.0)
    ended_ns = _ended_ns(state, cell.cell, row.row.key.workload)
    sampled = _rates(points, ended_ns, load_s, end_s) if ended_ns is not None else ()
    is_sampled = sum(until_s <= load_s for until_s, _, _ in sampled) >= LEAST_SAMPLES
    # A mean: the application's to the end of the load, the device's to the end of the drain. Without bytes: of the time.
    each = moved or 1.0
    mean = ((load_s, each / load_s, each / end_s), (end_s, 0.0, each / end_s))
    pieces = _pieces(sampled if is_sampled else mean)
    return Lane(row.title, figure, moved, load_s, end_s, pieces, is_sampled, row.is_baseline)


def _ended_ns(state: RunState, index: int, workload: int | None) -> int | None:
    """Return when the load of a cell ended, by CLOCK_MONOTONIC; a load's start has its workers' start before it."""
    known: CellState = state.cells[index]
    steps = state.request.plan.cells[index].steps
    for step in known.steps:
        is_load = step.kind is StepKind.WORKLOAD and step.number < len(steps)
        if is_load and workload in (None, steps[step.number].workload):
            return step.started_monotonic_ns + round(step.elapsed_s * 1e9)
    return None


_Rates = Sequence[tuple[float, float, float]]
"""Time, the application's rate, the device's rate."""


def _rates(points: Sequence[Point], ended_ns: int, load_s: float, end_s: float) -> _Rates:
    """Return the samples of a load and its drain; each tells of the time since the one before."""
    found = []
    for point in points:
        at_s = load_s + (point.monotonic_ns - ended_ns) / 1e9
        if 0 < at_s <= end_s:
            device = point.write_bytes_s or point.read_bytes_s or 0.0
            found.append((at_s, (point.load_bytes_s or 0.0) if at_s <= load_s else 0.0, device))
    return found


def _pieces(rates: _Rates) -> tuple[Piece, ...]:
    found: list[Piece] = []
    before_s = app_bytes = device_bytes = 0.0
    for until_s, app_bytes_s, device_bytes_s in rates:
        app_bytes += (until_s - before_s) * app_bytes_s
        device_bytes += (until_s - before_s) * device_bytes_s
        found.append(Piece(until_s, app_bytes_s, device_bytes_s, app_bytes, device_bytes))
        before_s = until_s
    return tuple(found)


# Frames.


@dataclass(frozen=True, slots=True)
class Frame:
    """A race at a time since the start of all its loads, to be drawn in any size."""

    race: Race
    at_s: float

    def lines(self, width: int, height: int, glyphs: Glyphs) -> tuple[Spans, ...]:
        """Return a bar for each lane, as many as find room, with the curve so far where there is more of it.

        Bars: what is on the device, then what is written and not there yet. Curves share the bars' edges: the time of
        the longest load.
        """
        lanes = self.race.lanes
        shown = _in_sight(lanes, height)
        rows = max(0, min(_MOST_CURVE_ROWS, height // max(1, len(shown)) - 1)) if self.race.top_bytes_s else 0
        name = min(round(_NAME_SHARE * width), max((cells_of(printable(lane.name)) for lane in shown), default=0))
        room = max(8, width - name - _WORDS_CELLS - 4)
        found: list[Spans] = []
        for lane in shown:
            found += _lane_lines(lane, self, (name, room, rows), glyphs)
        if len(shown) < len(lanes):
            found.append(((f"{len(lanes) - len(shown)} more: a larger terminal shows them", "axis"),))
        return tuple(found[:height])


def _in_sight(lanes: Sequence[Lane], height: int) -> list[Lane]:
    """Return as many lanes as there are lines for, the first ones and the baseline."""
    if len(lanes) <= height:
        return list(lanes)
    kept = {id(lane) for lane in lanes if lane.is_baseline}
    kept |= {id(lane) for lane in [lane for lane in lanes if id(lane) not in kept][: max(0, height - 1 - len(kept))]}
    return [lane for lane in lanes if id(lane) in kept]


def _lane_lines(lane: Lane, frame: Frame, sizes: tuple[int, int, int], glyphs: Glyphs) -> list[Spans]:
    name, room, rows = sizes
    app, device = lane.shares(frame.at_s)
    done, ahead = round(device * room), round(app * room)
    bar = (
        (glyphs.full * done, "good" if device >= 1 else "write"),
        (glyphs.shades[1] * (ahead - done), "dirty"),
        (glyphs.empty * (room - ahead), "text"),
    )
    label = pad_right(shorten_middle(printable(lane.name), name), name)
    words = pad_right(shorten_middle(f" {_words(lane, frame.at_s)}", _WORDS_CELLS), _WORDS_CELLS)
    lines: list[Spans] = [(("> " if lane.is_baseline else "  ", "mark"), (label, "label"), ("[", "axis"), *bar, ("]", "axis"), (words, "text"))]  # fmt: skip
    if rows:
        levels = _levels(lane, frame, room)
        lines += [
            ((" " * (name + 2), "text"), (glyphs.vertical, "axis"), *row)
            for row in _curve_rows(levels, lane, frame, rows, glyphs)
        ]
    return lines


def _words(lane: Lane, at_s: float) -> str:
    """Return where a lane is: its rate, that it drains, or when it was done, with its figure."""
    if at_s >= lane.end_s:
        return f"{format_seconds(lane.end_s)}: {lane.figure}" if lane.figure else f"done, {format_seconds(lane.end_s)}"
    if at_s >= lane.load_s:
        left_bytes = lane.moved_bytes * (1 - lane.shares(at_s)[1])
        return f"drain, {format_bytes(left_bytes)} left" if left_bytes >= 1 else "drain"
    if not lane.moved_bytes:
        return f"{significant(100 * at_s / lane.load_s)} %"
    if at_s < _begins_s(lane):
        return "-"
    return f"{format_rate(lane.rates(at_s)[0])}{'' if lane.is_sampled else ' on average'}"


def _begins_s(lane: Lane) -> float:
    """Return the time before which a lane has no rate: it would be of a moment that nothing has measured yet."""
    first_s = lane.pieces[0].until_s if lane.is_sampled else 0.0
    return max(first_s, _FIRST_SHARE * lane.load_s)


def _levels(lane: Lane, frame: Frame, room: int) -> list[float | None]:
    """Return the rate of each column as a share of its top, up to now; the device's once the load is over."""
    race, found = frame.race, []
    for column in range(room):
        # The middle of the column's time.
        at_s = (column + 0.5) / room * race.length_s
        app, device = lane.rates(at_s)
        rate, top = (app, race.top_bytes_s) if at_s < lane.load_s else (device, race.drain_top_bytes_s)
        found.append(_share(rate, top) if at_s < min(frame.at_s, lane.end_s) else None)
    return found


def _curve_rows(levels: Sequence[float | None], lane: Lane, frame: Frame, rows: int, glyphs: Glyphs) -> list[Spans]:
    """Return an area of so many rows, the top one first; in a single row a ramp where the font has no parts of blocks."""
    steps = glyphs.steps if rows > 1 or len(glyphs.steps) > len(glyphs.shades) else glyphs.shades + glyphs.full
    highest, drains_from = rows * len(steps), lane.load_s / frame.race.length_s * len(levels)
    heights = [None if level is None else max(1, round(min(1.0, level) * highest)) for level in levels]
    found: list[Spans] = []
    for row in range(rows - 1, -1, -1):
        spans: list[tuple[str, str]] = []
        for column, height in enumerate(heights):
            part = 0 if height is None else max(0, min(len(steps), height - row * len(steps)))
            spans.append((steps[part - 1] if part else " ", "value" if column + 0.5 < drains_from else "dirty"))
        found.append(tuple(spans))
    return found


def head_words(race: Race, at_s: float, speed: float, *, is_playing: bool) -> str:
    """Return the time, the speed, and the scales of the curves."""
    state = speed_words(speed) if is_playing else "end" if at_s >= race.length_s else f"paused, {speed_words(speed)}"
    scale = f"; curves: {scale_words(race)}" if race.top_bytes_s else ""
    return f"t = {_clock(at_s, race.length_s)} of {format_seconds(race.length_s)} ({state}){scale}"


def scale_words(race: Race) -> str:
    """Return where the curves end: "load to 80.0 MB/s", "load to 80.0 MB/s, drain to 900 MB/s"."""
    drain = f", drain to {format_rate(race.drain_top_bytes_s)}" if race.drain_top_bytes_s else ""
    return f"load to {format_rate(race.top_bytes_s)}{drain}"


def _clock(at_s: float, length_s: float) -> str:
    return f"{at_s:.{3 if length_s < 1 else 2 if length_s < 100 else 0}f}"


def notes_of(race: Race, glyphs: Glyphs) -> tuple[str, ...]:
    """Return what the bars are, which rounds are drawn, and what is drawn at a mean rate, in sentences."""
    drains = any(lane.writes for lane in race.lanes)
    said = [f"{glyphs.full} on disk, {glyphs.shades[1]} written, still in memory."] if drains else []
    rounds = f"round {race.rounds[0]}" if len(race.rounds) == 1 else "its median round"
    said.append(f"Each row: {rounds}; only verdicts tell which rows differ.")
    few = [lane for lane in race.lanes if not lane.is_sampled]
    if few and any(lane.moved_bytes for lane in few):
        who = "all rows" if len(few) == len(race.lanes) else f"{len(few)} of {len(race.lanes)} rows"
        said.append(f"Fewer than {LEAST_SAMPLES} samples in {who}: drawn at the mean rate.")
    if race.left_out:
        rows = "row has" if len(race.left_out) == 1 else "rows have"
        said.append(f"{len(race.left_out)} {rows} no finished load.")
    return tuple(said)
