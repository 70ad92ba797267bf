"""The race replay: lanes of a recorded run, and a load with samples drawn as it was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.journal.past import Point, read_state
from fsconsole.model.state import RunState
from fsconsole.results.blocks import Block, blocks_of
from fsconsole.results.grid import build_grid
from fsconsole.show import replay
from fsconsole.show.replay import Frame, Race, can_race, cell_of, head_words, notes_of, race_of
from fsconsole.show.terminal import ASCII, SAFE, WIDE
from fsconsole.text import cells_of
from tests.tui.recorded import imported


@pytest.fixture(scope="module")
def race(tmp_path_factory: pytest.TempPathFactory) -> Race:
    state = read_state(imported("demo", tmp_path_factory.mktemp("runs")))
    return race_of(state, blocks_of(state, build_grid(state))[1], {})


def texts(race: Race, at_s: float, width: int = 80, height: int = 15) -> list[str]:
    return ["".join(text for text, _ in line) for line in Frame(race, at_s).lines(width, height, SAFE)]


def test_all_lanes_start_empty_at_0_and_are_whole_at_their_own_ends(race: Race) -> None:
    assert [lane.name for lane in race.lanes][-1] == "btrfs"
    assert not any("█" in line for line in texts(race, 0.0))
    slowest = max(race.lanes, key=lambda lane: lane.end_s)
    assert slowest.name == "btrfs"
    assert race.length_s == slowest.end_s
    halfway = texts(race, race.length_s / 2, height=len(race.lanes))
    for place, lane in enumerate(race.lanes):
        bar = halfway[place].partition("[")[2].partition("]")[0]
        assert set(bar) == {"█"} if lane is not slowest else 0 < bar.count("█") < len(bar)
    assert "8.78 MB/s" in texts(race, race.length_s, height=len(race.lanes))[race.lanes.index(slowest)]


def test_the_written_data_is_ahead_of_what_is_on_disk_until_the_drain_ends(race: Race) -> None:
    for lane in race.lanes:
        app, device = lane.shares(lane.load_s)
        assert (app, device < 1.0) == (1.0, lane.writes)
        assert lane.shares(lane.end_s) == (1.0, 1.0)
        assert 0.45 < lane.shares(lane.load_s / 2)[0] < 0.55


def test_a_load_without_enough_samples_is_said_to_be_drawn_at_its_mean_rate(race: Race) -> None:
    assert not any(lane.is_sampled for lane in race.lanes)
    assert "Fewer than 4 samples in all rows: drawn at the mean rate." in notes_of(race, SAFE)
    assert any("on average" in line for line in texts(race, 0.05))


def test_no_lane_has_a_rate_before_a_twentieth_of_its_load_or_its_first_sample(race: Race) -> None:
    for lane in race.lanes:
        first_s = 0.05 * lane.load_s
        assert replay._words(lane, 0.9 * first_s) == "-"
        assert replay._words(lane, 1.1 * first_s).endswith(" on average")
        pieces = replay._pieces([(share * lane.load_s, 2e9, 1e9) for share in (0.2, 0.4, 0.6, 0.8)])
        sampled = replace(lane, is_sampled=True, pieces=pieces)
        assert replay._words(sampled, 0.19 * lane.load_s) == "-"
        assert replay._words(sampled, 0.21 * lane.load_s) == "2000 MB/s"
    assert not any("MB/s" in line for line in texts(race, 0.001))


def btrfs_load(directory: Path) -> tuple[RunState, Block, int, int]:
    """Return the demo's run, its block of small files, and the cell of btrfs there with the end of its load on the clock."""
    state = read_state(imported("demo", directory))
    block = blocks_of(state, build_grid(state))[1]
    row = next(row for row in block.rows if row.name == "btrfs")
    cell = cell_of(row, block)
    assert cell is not None
    ended_ns = replay._ended_ns(state, cell.cell, row.row.key.workload)
    assert ended_ns is not None
    return state, block, cell.cell, ended_ns


def test_samples_of_the_load_are_its_curve_and_later_ones_the_drain(tmp_path: Path) -> None:
    state, block, cell, ended_ns = btrfs_load(tmp_path)

    def point(at_s: float, app: float, device: float) -> Point:
        monotonic_ns = ended_ns + round((at_s - 2.75) * 1e9)
        return Point(monotonic_ns, cell, device, 0.0, 0.0, 0.0, load_bytes_s=app)

    slow_then_fast = [point(0.5 * n, 1e6 if n < 4 else 20e6, 5e6) for n in range(1, 6)]
    lane = next(lane for lane in race_of(state, block, {cell: slow_then_fast}).lanes if lane.name == "btrfs")
    assert lane.is_sampled
    assert lane.shares(1.5)[0] < 0.2
    assert lane.rates(1.0)[0] == 1e6
    assert lane.rates(1.9)[0] == 20e6


def test_a_drain_far_faster_than_all_loads_leaves_their_curves_the_whole_height(race: Race, tmp_path: Path) -> None:
    state, block, cell, ended_ns = btrfs_load(tmp_path)
    known = next(lane for lane in race.lanes if lane.name == "btrfs")
    shares = (0.2, 0.4, 0.6, 0.8, 1.0)
    times = (*((share * known.load_s, 5e9, 40e9) for share in shares), (known.end_s - 1e-6, 0.0, 50e9))
    points = [
        Point(ended_ns + int((at_s - known.load_s) * 1e9), cell, device, 0.0, 0.0, 0.0, load_bytes_s=app)
        for at_s, app, device in times
    ]
    of = race_of(state, block, {cell: points})
    lane = next(lane for lane in of.lanes if lane.name == "btrfs")
    assert lane.is_sampled
    levels = replay._levels(lane, Frame(of, of.length_s), 1000)
    drawn = int(lane.load_s / of.length_s * 1000) - 1
    assert {round(level or 0.0, 6) for level in levels[:drawn]} == {1.0}
    assert max(level or 0.0 for level in levels[drawn + 2 :]) == 1.0
    assert head_words(of, 0.0, 1, is_playing=True).endswith("; curves: load to 5000 MB/s, drain to 50000 MB/s")


@pytest.mark.parametrize(("width", "height", "glyphs"), [(60, 4, ASCII), (80, 15, SAFE), (200, 50, WIDE)])
def test_frames_fit_every_size(race: Race, width: int, height: int, glyphs: replay.Glyphs) -> None:
    for at_s in (0.0, 0.1, race.length_s):
        lines = Frame(race, at_s).lines(width, height, glyphs)
        assert len(lines) <= height
        assert all(cells_of("".join(text for text, _ in line)) <= width for line in lines)
        assert any(">" in line[0][0] for line in lines)  # The baseline stays.


def test_the_speed_ends_within_12_s_and_is_told(race: Race) -> None:
    speed = replay.first_speed(race)
    assert race.length_s / speed <= 12
    assert "(1/2 x)" in head_words(race, 0.0, 0.5, is_playing=True)
    assert "paused, 20 x" in head_words(race, 0.0, 20.0, is_playing=False)


def test_a_block_of_the_filesystem_s_own_times_is_no_race(tmp_path: Path) -> None:
    state = read_state(imported("demo", tmp_path))
    blocks: tuple[Block, ...] = blocks_of(state, build_grid(state))
    assert [can_race(block) for block in blocks] == [True, True, True, False]
