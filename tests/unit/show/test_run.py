"""The Run screen: title, cells, the current step, gauges, plot, and how its lines are shared out."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from fsconsole.journal.folder import RunFolder
from fsconsole.model.events import ControlAnswer, Outcome, Verb
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import RAW, StepKind, Variant
from fsconsole.model.sample import BdiStats, LoadProgress, Pressure, Role, Sample, Temperature, Writeback
from fsconsole.model.state import CellState, CellStatus, RunState, RunStatus, StepState
from fsconsole.show.charts import GaugeValue
from fsconsole.show.gauges import TEXT_CELLS, age_words, gauges
from fsconsole.show.history import History, RunSnapshot, Trace
from fsconsole.show.lines import TextLine
from fsconsole.show.minute import Minute
from fsconsole.show.run import (
    Plotted,
    answer_words,
    cell_in_sight,
    cell_row,
    event_line,
    room_for,
    step_line,
    strips,
    title_line,
)
from fsconsole.text import GIB, MIB, cells_of
from tests.unit.results import build

NOW_NS = 10 * build.SECOND_NS
CELLS = (build.cell(0), build.cell(1, build.EXT4_OTHER), build.cell(2, build.XFS), build.cell(3, build.BTRFS))


def going(kind: StepKind = StepKind.DRAIN, *, status: RunStatus = RunStatus.RUNNING) -> RunState:
    states = (build.done(0), build.failed(1), build.running(2, kind), CellState(3))
    return build.run(CELLS, states, status=status)


def sample(step: str, *, at_ns: int = NOW_NS, **how: object) -> Sample:
    made = replace(build.sample(at_ns), step=step, cell=2, **how)
    return replace(made, writeback=Writeback(3 * GIB, 100 * MIB))


def test_the_title_has_the_progress_of_the_run_the_cells_done_and_the_time_left() -> None:
    line = title_line(build.snapshot(going()), NOW_NS, 80)
    assert re.fullmatch(r"four filesystems  \[#+\.+\]  2/4 cells  about .* left", line)
    assert line.index("]") - line.index("[") == 31
    assert line.count("#") < 3 / 4 * 30
    paused = going(status=RunStatus.PAUSED)
    assert title_line(build.snapshot(paused), NOW_NS, 80).endswith("  2/4 cells  pauses after this cell")
    waiting = replace(paused, current_cell=None, cells=(*paused.cells[:2], CellState(2), CellState(3)))
    assert "PAUSED  2/4 cells" in title_line(build.snapshot(waiting), NOW_NS, 80)
    assert "[" not in title_line(build.snapshot(going(), alive=False), NOW_NS, 80)


def row_of(state: RunState, index: int, width: int = 80, *, alive: bool = True) -> TextLine:
    return cell_row(build.snapshot(state, alive=alive), index, width)


def step_of(state: RunState, sample: Sample | None = None, *, alive: bool = True) -> str:
    return step_line(build.snapshot(state, sample, alive=alive), NOW_NS, 80)


def test_no_line_is_wider_than_the_screen() -> None:
    state = going()
    long = replace(state.request.plan, title="\x1b[31m[/x]" + "name " * 60)
    state = replace(state, request=replace(state.request, plan=long))
    for width in (60, 80, 120, 200):
        rows = [row_of(state, index, width).text for index in range(4)]
        assert max(map(cells_of, (title_line(build.snapshot(state), NOW_NS, width), *rows))) <= width
        assert all(map(str.isprintable, rows)), width


def test_each_cell_has_its_status_in_a_word_and_figures_or_a_reason_in_line() -> None:
    rows = [row_of(going(), index, 100).text for index in range(4)]
    texts = [" ".join(row.split()) for row in rows]
    assert texts[0] == "1 ext4 data=ordered done write 812 durable 410 MB/s"
    assert texts[1].startswith("2 ext4 data=writeback,nodelalloc failed mkfs: mkfs.xfs failed")
    assert texts[2:] == ["3 xfs running step 4 of 7: drain", "4 btrfs pending"]
    words = ("done", "failed", "running", "pending")
    assert len({row.index(word) for row, word in zip(rows, words, strict=True)}) == 1


def test_rates_of_several_loads_are_told_with_their_names() -> None:
    mail, video = replace(build.LARGE_FILES, name="mail"), replace(build.LARGE_FILES, name="video")
    done = build.done(0)
    number = next(number for number, one in enumerate(build.STEPS) if one.kind is StepKind.WORKLOAD)
    planned = replace(
        build.cell(0), workloads=(mail, video), steps=(*build.STEPS, replace(build.STEPS[number], workload=1))
    )
    again = replace(done.steps[number], number=len(build.STEPS), measurements=(Measurement(Metric.READ, 140e6),))
    state = build.run((planned,), (replace(done, steps=(*done.steps, again)),))
    text = " ".join(row_of(state, 0, 120).text.split())
    assert text.endswith("done mail: write 812 durable 410 video: read 140 MB/s")


def test_names_keep_their_ends_in_80_columns_and_repeats_are_numbered() -> None:
    long = replace(build.EXT4, label="ext4 " + "x" * 60 + " data=ordered")
    text = row_of(build.run((build.cell(0, long), build.cell(1)), (build.done(0), build.done(1))), 0).text
    assert "data=ordered" in text
    assert text.endswith("MB/s")
    cells = (build.cell(0), build.cell(1, repeat=2))
    assert "#2" in row_of(build.run(cells, (build.done(0), build.done(1))), 1).text
    assert "#" not in row_of(going(), 0).text


def test_a_check_that_found_something_and_a_cell_of_a_dead_engine_stand_out() -> None:
    row = row_of(build.run(CELLS[:1], (build.done(0, verdict="errors"),)), 0)
    assert ("check: errors" in row.text, row.tone) == (True, "bad")
    row = row_of(going(), 2, alive=False)
    assert "running" not in row.text
    assert ("interrupted  engine died" in row.text, row.tone) == (True, "bad")


def test_the_step_line_has_the_step_before_the_current_one_with_its_progress_and_the_next() -> None:
    draining = step_of(going(), sample("drain"))
    assert draining.startswith("4 of 7  workload ok > DRAIN whole machine 3.1 GiB dirty, ")
    assert draining.endswith(" > extents")
    load, loading = LoadProgress(256 * MIB, 4096, 1, 16, 1e8), going(StepKind.WORKLOAD)
    line = "3 of 7  mkfs ok > WORKLOAD 256.0 MiB of 1.0 GiB, 8.0 s > drain"
    assert step_of(loading, sample("workload", load=load)) == line
    for other in (sample("workload", at_ns=build.SECOND_NS), sample("mkfs")):
        assert "WORKLOAD large files, 8.0 s > drain" in step_of(loading, other)


def test_120_columns_have_the_whole_cell_or_as_much_as_two_lines_hold_with_the_rest_as_numbers() -> None:
    shown = build.snapshot(going(), sample("drain"))
    line = step_line(shown, NOW_NS, 120)
    assert line.startswith(
        "4 of 7  device check ok > mkfs ok > workload ok > DRAIN application done, whole machine 3.1 GiB dirty"
    )
    assert line.endswith(" > extents > check > delete")
    many = tuple(replace(build.STEPS[1], title=f"step {n}") for n in range(40))
    cell = replace(CELLS[2], steps=(*many, *build.STEPS[3:]))
    at = StepState(40, StepKind.DRAIN, "drain", 7 * build.SECOND_NS)
    steps = (*(StepState(n, StepKind.MKFS, "", 0, Outcome.DONE, 1.0) for n in range(40)), at)
    state = build.run(
        (*CELLS[:2], cell), (build.done(0), build.done(1), CellState(2, CellStatus.RUNNING, 1, "", steps))
    )
    line = step_line(build.snapshot(replace(state, status=RunStatus.RUNNING)), NOW_NS, 120)
    assert re.match(r"41 of 44  \d+ ended > mkfs ok > mkfs ok", line)
    assert cells_of(line) <= 2 * 120
    assert line.endswith("extents > check > delete")


def test_the_event_line_has_the_latest_warning_of_the_cell_else_how_the_cell_before_ended() -> None:
    assert event_line(build.snapshot(going()), 80).startswith(
        "cell 2 ext4 data=writeback,nodelalloc failed: mkfs: mkfs."
    )
    warned = replace(going().cells[2], warnings=(build.warning(2),))
    state = replace(going(), cells=(*going().cells[:2], warned, CellState(3)))
    assert event_line(build.snapshot(state), 80) == "warning: short: it took 3.1 s"
    skipped = replace(going().cells[1], status=CellStatus.SKIPPED, reason="skipped as asked")
    asked = event_line(build.snapshot(replace(going(), cells=(build.done(0), skipped, *going().cells[2:]))), 80)
    assert asked.endswith(" skipped: skipped as asked")
    by_a_look = replace(skipped, steps=())
    before = event_line(build.snapshot(replace(going(), cells=(build.done(0), by_a_look, *going().cells[2:]))), 80)
    assert before.startswith("cell 1 ext4 data=ordered done: ")
    assert event_line(build.snapshot(build.run(CELLS[:1], (CellState(0),))), 80) == ""
    for width in (20, 60, 80, 200):
        assert cells_of(event_line(build.snapshot(going()), width)) <= width


def test_gauges_older_than_two_seconds_tell_their_age() -> None:
    last = sample("drain")
    assert age_words(last, NOW_NS + 2 * build.SECOND_NS) == ""
    assert age_words(last, NOW_NS + 3 * build.SECOND_NS) == "gauges 3.0 s old"
    assert age_words(None, NOW_NS) == "no gauges yet"
    assert age_words(last, NOW_NS + 9**15, alive=False) == "gauges as last read"


def test_a_run_that_is_over_or_dead_says_what_can_be_done() -> None:
    interrupted = replace(going(), status=RunStatus.INTERRUPTED, current_cell=None)
    for state, words in (
        (build.run(CELLS[:1], (build.done(0),)), "enter shows its results"),
        (going(), "C cleans up, r resumes"),
        (build.run(CELLS[:1], (CellState(0),), status=RunStatus.NEW), "Never started"),
        (interrupted, "cleaned up"),
    ):
        assert words in step_of(state, alive=False)
        gone = replace(build.snapshot(state, alive=False), file_gone="/x.img")
        told = step_line(gone, NOW_NS, 80)
        assert told.endswith(" Its scratch file /x.img is gone, so it can't go on.") == gone.dead
        assert "r resumes" not in told
        assert "r starts" not in told


def test_the_cell_at_hand_is_kept_in_sight_else_the_next_else_the_last() -> None:
    assert cell_in_sight(going()) == 2
    between = replace(going(), current_cell=None)
    waiting = replace(between, cells=(*between.cells[:2], build.done(2), CellState(3)))
    assert cell_in_sight(waiting) == 3
    over = replace(waiting, cells=(*waiting.cells[:3], CellState(3, CellStatus.SKIPPED)))
    assert cell_in_sight(over) == 3
    assert cell_in_sight(build.run((), ())) == 0


def test_a_raw_row_shows_its_own_rates() -> None:
    state = build.run(CELLS[:1], (build.done(0),))
    figures = {Metric.RAW_WRITE_N: 1.812e9, Metric.RAW_READ_N: 2.5e9}
    raw = CellState(0, CellStatus.DONE, 1, "", build.finished_steps(figures))
    text = cell_row(build.snapshot(replace(state, cells=(raw,))), 0, 100).text
    assert "raw write N 1812" in text
    assert "raw read N 2500 MB/s" in text


# Gauges and plots.

BDI = BdiStats(0, 0, bandwidth_bytes_s=200_000_000, b_dirty=12, b_io=3, b_more_io=1)
PRESSURE = Pressure(40.0, 35.0, 11.0, 1.0, 0.5)


def looked_at(sample: Sample | None, *, raw: float = 0.0, best: float = 0.0) -> RunSnapshot:
    cells, states = [build.cell(0)], [build.running(0)]
    if raw:
        cells.append(build.cell(1, Variant(RAW, RAW)))
        steps = build.finished_steps({Metric.RAW_WRITE_N: raw})
        states.append(CellState(1, CellStatus.DONE, 1, "", steps))
    return build.snapshot(build.run(cells, states), sample, best_bytes_s=best)


def of(shown: RunSnapshot) -> dict[str, GaugeValue]:
    return {gauge.label: gauge for gauge in gauges(shown)}


def full(**how: object) -> Sample:
    return replace(build.sample(), bdi=BDI, pressure=PRESSURE, **how)


def test_what_this_machine_does_not_offer_has_no_value_which_is_not_zero() -> None:
    assert gauges(looked_at(None)) == ()
    shown = of(looked_at(replace(build.sample(), devices=())))
    missing = (
        "write",
        "read",
        "busy",
        "writeback",
        "I/O wait",
        "queue",
        "latency",
        "mem wait",
        "CPU wait",
        "inodes",
    )
    for label in missing:
        assert shown[label].value is None, label
    idle = replace(build.sample().devices[0], write_bytes_s=0.0)
    assert of(looked_at(replace(build.sample(), devices=(idle,))))["write"].value == 0.0


def test_throughput_is_set_against_the_raw_row_where_there_is_one_else_against_the_peak() -> None:
    write = of(looked_at(full(), raw=500e6, best=410e6))["write"]
    assert (write.value, write.maximum, write.text) == (410.2e6, 500e6, "410 MB/s of raw 500")
    assert write.end == "500 MB/s"
    assert of(looked_at(full(), best=820e6))["write"].text == "410 MB/s of peak 820"
    # A bar isn't full at a peak: more may follow.
    assert of(looked_at(full(), raw=300e6, best=820e6))["write"].maximum == 1e9
    read = of(looked_at(full(), best=820e6))["read"]
    assert (read.maximum, read.end) == (1e9, "1000 MB/s")
    # Nor is it before a peak is known.
    device = replace(build.sample().devices[0], write_bytes_s=410.2e6, read_bytes_s=123.4e6)
    shown = of(looked_at(full(devices=(device,))))
    for label, value in (("write", 410.2e6), ("read", 123.4e6)):
        assert shown[label].value == value
        assert shown[label].maximum > value


def test_no_value_reaches_the_end_of_a_scale_that_has_no_natural_one() -> None:
    device = build.sample().devices[0]
    for depth, latency_ms in ((1.0, 0.5), (32.0, 10.0), (100.0, 1000.0), (1023.0, 9.99)):
        rates = replace(device, queue_depth=depth, latency_ms=latency_ms)
        shown = of(looked_at(full(devices=(rates,))))
        for label, value, least in (("queue", depth, 32.0), ("latency", latency_ms, 10.0)):
            assert shown[label].value == value
            assert least <= shown[label].maximum
            assert value < shown[label].maximum, (label, value)
            assert shown[label].end.startswith(f"{shown[label].maximum:.0f}")


def test_texts_fit_their_room_so_that_the_bars_of_all_gauges_are_equally_long() -> None:
    for bytes_s in (0.0, 51_700.0, 999_000.0, 1.3e6, 12.3e6, 1299e6):
        device = replace(build.sample().devices[0], write_bytes_s=bytes_s)
        text = of(looked_at(replace(build.sample(), devices=(device,)), best=1347e6))["write"].text
        assert len(text) <= TEXT_CELLS, text
    for factor in (1e-3, 1.0):
        device = build.sample().devices[0]
        rates = replace(device, write_bytes_s=9.99e9 * factor, in_flight=1023, latency_ms=1234.0 * factor)
        writeback = Writeback(int(1023.9 * MIB), int(1023.9 * MIB), 4 * GIB, 2 * GIB)
        shown = gauges(looked_at(full(devices=(rates,), writeback=writeback), best=9.99e9 * factor))
        assert {gauge.label: gauge.text for gauge in shown if len(gauge.text) > TEXT_CELLS} == {}, factor


def test_only_targets_are_added_up_and_what_is_below_has_a_gauge_of_its_own() -> None:
    target = build.sample().devices[0]
    below = replace(target, name="vda", role=Role.BELOW, above="loop7", write_bytes_s=1e6)
    shown = of(looked_at(full(devices=(target, replace(target, name="sdc"), below))))
    assert shown["write"].value == 2 * 410.2e6
    assert shown["vda"].value == 1e6


def test_dirty_memory_has_the_known_thresholds_marked_within_its_scale() -> None:
    dirty = of(looked_at(full()))["dirty RAM"]
    assert [(mark.name, mark.value) for mark in dirty.marks] == [("bg", 200 * MIB), ("limit 400 MiB", 400 * MIB)]
    assert dirty.maximum > 400 * MIB
    assert [part.kind for part in dirty.parts] == ["dirty", "writeback"]
    assert sum(part.value for part in dirty.parts) == dirty.value == 312 * MIB
    # Of all devices: it may be more than the target could ever hold.
    assert dirty.text == "lost if power fails now: 312 MiB"
    dirty = of(looked_at(full(writeback=Writeback(GIB, 0))))["dirty RAM"]
    assert dirty.marks == ()
    assert dirty.maximum > GIB


def test_cpu_writeback_and_pressure_are_told_by_kind() -> None:
    cpu = of(looked_at(full()))["CPU"]
    assert (cpu.value, cpu.maximum, cpu.text) == (30.0, 100.0, "user 10, system 20, iowait 30 %")
    assert {part.kind: part.value for part in cpu.parts}["iowait"] == 30.0
    shown = of(looked_at(full(), best=400e6))
    assert shown["writeback"].text == "200 MB/s bandwidth, inodes 12/3/1"
    assert shown["writeback"].maximum == 500e6
    assert shown["inodes"].text == "b_dirty 12, b_io 3, b_more_io 1"
    shown = of(looked_at(full()))
    assert shown["I/O wait"].text == "some 40.0 %, all 35.0 %"
    assert shown["CPU wait"].text == "some 11.0 %"


def test_24_lines_have_a_ranking_of_six_both_strips_and_the_gauges_that_matter_most() -> None:
    labels = [gauge.label for gauge in gauges(looked_at(full()))[:7]]
    assert labels == ["dirty RAM", "CPU", "busy", "I/O wait", "write", "read", "writeback"]
    room = room_for(24 - 6, rows=24, gauges=14, plot=True)
    assert (room.rows, room.plot) == (7, 8)
    assert room.gauges == 3


def loading(*, alike: bool = True) -> RunSnapshot:
    """A cell in its load, which began 2 s after the cell, with a ghost."""
    cells = (build.cell(0), build.cell(1, build.EXT4 if alike else build.XFS))
    running = build.running(1, StepKind.WORKLOAD)
    state = build.run(cells, (build.done(0), running), status=RunStatus.RUNNING)
    points = tuple((at / 2, (at * 1e6, at * 3e6, at * MIB, 10.0)) for at in range(20))
    load = LoadProgress(1, 1, 1, 1, 57e6)
    shown = build.snapshot(state, replace(full(), load=load, step="workload", cell=1))
    return replace(shown, history=History(Trace(1, 0.5, points), Trace(0, 0.5, points), (shown.sample,)))


def test_80_columns_have_one_curve_each_of_throughput_and_dirty_memory_and_120_the_app_and_the_ghost() -> None:
    moved, dirty = strips(loading(), Plotted.MOVED, last_minute=False, width=80).plots
    assert [series.name for series in moved.series] == ["disk 410 MB/s (app 57.0 MB/s)"]
    assert [series.name for series in dirty.series] == ["dirty 312 MiB"]
    assert (moved.x_min, moved.x_max) == (dirty.x_min, dirty.x_max) == (0, 10)
    moved, _ = strips(loading(), Plotted.MOVED, last_minute=False, width=120).plots
    assert [(one.name, one.behind) for one in moved.series] == [
        ("disk 410 MB/s", False),
        ("app 57.0 MB/s", False),
        ("disk, cell 1", True),
    ]
    assert moved.y_text == "60.0 MB/s"


def test_a_cell_and_its_ghost_begin_at_their_loads_and_the_axis_has_the_steps_since() -> None:
    moved = strips(loading(), Plotted.MOVED, last_minute=False, width=120).plots[0]
    assert [one.points[0] for one in moved.series] == [(0.0, 4e6), (0.0, 12e6), (0.0, 4e6)]
    assert [(mark.name, mark.value) for mark in moved.steps][-1] == ("workload", 0.0)
    # A slot that begins before the load has the rates of the step before it, unless nothing else is known.
    for first in (1.5, 1.75):
        points = ((first, (90e6, None, 0.0, 1.0)), (first + 0.5, (7e6, None, 0.0, 1.0)))
        for known, expected in ((points, (first - 1.5, 7e6)), (points[:1], (0.0, 90e6))):
            shown = replace(loading(), history=History(Trace(1, 0.5, known)))
            found = strips(shown, Plotted.MOVED, last_minute=False, width=80).plots[0].series[0].points
            assert found == ((expected,) if first > 1.5 or len(known) > 1 else ()), (first, found)
    longer = tuple((at / 2, (1e6, None, 0.0, 1.0)) for at in range(100))
    shown = replace(loading(), history=History(Trace(1, 0.5, longer)))
    assert strips(shown, Plotted.MOVED, last_minute=False, width=80).plots[0].x_max == 80


def test_the_last_minute_is_a_ring_whose_figures_stay_where_they_are() -> None:
    def seconds(newest: int) -> dict[float, float]:
        recent = tuple(build.sample(at * build.SECOND_NS) for at in range(max(0, newest - 59), newest + 1))
        shown = replace(loading(), history=History(recent=recent))
        (series,) = strips(shown, Plotted.MOVED, last_minute=True, width=80).plots[0].series
        return dict(series.points)

    before, after = seconds(130), seconds(131)
    assert set(after) - set(before) == {131 % 60}
    assert len(set(before) - set(after)) == 1
    assert (132 % 60) not in after


def test_the_chart_of_the_cpu_is_in_percent_and_what_is_drawn_goes_around() -> None:
    (cpu,) = strips(loading(), Plotted.CPU, last_minute=False, width=80).plots
    assert (cpu.y_max, cpu.y_text) == (100.0, "100 %")
    for last_minute in (False, True):
        for value in strips(looked_at(None), Plotted.MOVED, last_minute=last_minute, width=80).plots:
            assert value.x_max > value.x_min
            assert value.y_max > 0
    assert Plotted.MOVED.following.following.following is Plotted.MOVED


def test_gauges_have_the_last_minute_and_a_temperature_where_a_sensor_tells_it() -> None:
    hot = full(temperature=Temperature(45.0, 62.0), monotonic_ns=71 * build.SECOND_NS)
    minute = Minute()
    for sample in (full(monotonic_ns=70 * build.SECOND_NS), hot):
        minute.add(sample)
    shown = of(replace(looked_at(hot), history=History(minute=minute.rings())))
    assert (shown["temp"].text, shown["temp"].value) == ("disk 45 C, machine 62 C", 62.0)
    for label, value in (("CPU", 30.0), ("busy", 98.2), ("I/O wait", 40.0)):
        ring = shown[label].history
        assert ring is not None
        assert ring.slots[10:12] == (value, value), label
        assert ring.at == 11
    assert shown["temp"].history.slots[10:12] == (None, 62.0)
    assert "temp" not in of(looked_at(full()))


def test_the_parts_never_take_more_lines_than_there_are() -> None:
    for cells in (0, 1, 6, 10_000):
        for wanted in (True, False):
            for lines in range(60):
                room = room_for(lines, rows=cells, gauges=14, plot=wanted)
                assert room.rows + room.gauges + room.plot <= max(lines, 1), (cells, wanted)
                assert min(room.rows, room.gauges, room.plot) >= 0, (cells, wanted)
                assert wanted or room.plot == 0, (cells, wanted)


@pytest.mark.parametrize(
    ("step", "shown"), [("cell 7, cold mount, 42 %", "cell 7, cold mount, 42 %"), ("", "starting")]
)
def test_an_answer_of_the_engine_is_told_with_its_step(step: str, shown: str) -> None:
    told = answer_words(Verb.PAUSE, ControlAnswer(accepted=True, step=step, why=""), RunFolder("/srv/runs/living"))
    assert f"({shown})." in told


def test_a_stop_names_the_command_that_resumes_this_run() -> None:
    words = answer_words(
        Verb.STOP_NOW, ControlAnswer(accepted=True, step="cell 7, mkfs", why=""), RunFolder("/srv/my runs/killed")
    )
    assert (
        words == "Stopping now (cell 7, mkfs). `fsconsole resume killed --runs '/srv/my runs'` finishes the run later."
    )
