from __future__ import annotations

from dataclasses import replace

from fsconsole.journal.folder import RunFolder
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import RAW, Variant
from fsconsole.model.sample import BdiStats, Pressure, Role, Sample, Writeback
from fsconsole.model.state import CellState, CellStatus
from fsconsole.show.charts import GaugeValue
from fsconsole.show.gauges import TEXT_CELLS, gauges
from fsconsole.show.history import History, RunSnapshot, known_of, names_of
from fsconsole.show.run import Plotted, plot, room_for
from fsconsole.text import GIB, MIB
from tests.unit.results import build

BDI = BdiStats(0, 0, bandwidth_bytes_s=200_000_000, b_dirty=12, b_io=3, b_more_io=1)
PRESSURE = Pressure(40.0, 35.0, 11.0, 1.0, 0.5)


def snapshot(sample: Sample | None, *, raw: float = 0.0, best: float = 0.0) -> RunSnapshot:
    cells, states = [build.cell(0)], [build.running(0)]
    if raw:
        cells.append(build.cell(1, Variant(RAW, RAW)))
        steps = build.finished_steps({Metric.RAW_WRITE_N: raw})
        states.append(CellState(1, CellStatus.DONE, 1, "", steps))
    state = build.run(cells, states)
    history = History(best_write_bytes_s=best)
    names, known = names_of(state.request.plan), known_of(state)
    return RunSnapshot(RunFolder("/runs/r"), state, names, known, sample, history, alive=True)


def of(shown: RunSnapshot) -> dict[str, GaugeValue]:
    return {gauge.label: gauge for gauge in gauges(shown)}


def full(**how: object) -> Sample:
    return replace(build.sample(), bdi=BDI, pressure=PRESSURE, **how)


def test_what_this_machine_does_not_offer_has_no_value_which_is_not_zero() -> None:
    assert gauges(snapshot(None)) == ()
    shown = of(snapshot(replace(build.sample(), devices=())))
    for label in (
        "write",
        "read",
        "busy",
        "bdi",
        "I/O wait",
        "queue",
        "latency",
        "mem wait",
        "CPU wait",
        "inodes",
    ):
        assert shown[label].value is None, label
    idle = replace(build.sample().devices[0], write_bytes_s=0.0)
    assert of(snapshot(replace(build.sample(), devices=(idle,))))["write"].value == 0.0


def test_throughput_is_set_against_the_raw_row_where_there_is_one_else_against_the_peak() -> None:
    write = of(snapshot(full(), raw=500e6, best=410e6))["write"]
    assert (write.value, write.maximum, write.text) == (410.2e6, 500e6, "410 MB/s of raw 500")
    assert of(snapshot(full(), best=820e6))["write"].text == "410 MB/s of peak 820"
    assert of(snapshot(full(), raw=300e6, best=820e6))["write"].maximum == 820e6
    read = of(snapshot(full(), best=820e6))["read"]
    assert read.maximum == 820e6


def test_texts_fit_their_room_so_that_the_bars_of_all_gauges_are_equally_long() -> None:
    for bytes_s in (0.0, 51_700.0, 999_000.0, 1.3e6, 12.3e6, 1299e6):
        device = replace(build.sample().devices[0], write_bytes_s=bytes_s)
        text = of(snapshot(replace(build.sample(), devices=(device,)), best=1347e6))["write"].text
        assert len(text) <= TEXT_CELLS, text
    for factor in (1e-3, 1.0):
        device = build.sample().devices[0]
        rates = replace(device, write_bytes_s=9.99e9 * factor, in_flight=1023, latency_ms=1234.0 * factor)
        writeback = Writeback(int(1023.9 * MIB), int(1023.9 * MIB), 4 * GIB, 2 * GIB)
        shown = gauges(snapshot(full(devices=(rates,), writeback=writeback), best=9.99e9 * factor))
        assert {gauge.label: gauge.text for gauge in shown if len(gauge.text) > TEXT_CELLS} == {}, factor


def test_only_targets_are_added_up_and_what_is_below_has_a_gauge_of_its_own() -> None:
    target = build.sample().devices[0]
    below = replace(target, name="vda", role=Role.BELOW, above="loop7", write_bytes_s=1e6)
    shown = of(snapshot(full(devices=(target, replace(target, name="sdc"), below))))
    assert shown["write"].value == 2 * 410.2e6
    assert shown["vda"].value == 1e6


def test_dirty_memory_has_the_known_thresholds_marked_within_its_scale() -> None:
    dirty = of(snapshot(full()))["dirty"]
    assert [(mark.name, mark.value) for mark in dirty.marks] == [("bg", 200 * MIB), ("limit", 400 * MIB)]
    assert dirty.maximum > 400 * MIB
    assert [part.kind for part in dirty.parts] == ["dirty", "writeback"]
    assert sum(part.value for part in dirty.parts) == dirty.value == 312 * MIB
    dirty = of(snapshot(full(writeback=Writeback(GIB, 0))))["dirty"]
    assert dirty.marks == ()
    assert dirty.maximum > GIB


def test_cpu_writeback_and_pressure_are_told_by_kind() -> None:
    cpu = of(snapshot(full()))["CPU"]
    assert (cpu.value, cpu.maximum, cpu.text) == (30.0, 100.0, "user 10, system 20, iowait 30 %")
    assert {part.kind: part.value for part in cpu.parts}["iowait"] == 30.0
    shown = of(snapshot(full(), best=400e6))
    assert shown["bdi"].text == "200 MB/s bandwidth, inodes 12/3/1"
    assert shown["bdi"].maximum == 400e6
    assert shown["inodes"].text == "b_dirty 12, b_io 3, b_more_io 1"
    shown = of(snapshot(full()))
    assert shown["I/O wait"].text == "some 40.0 %, all 35.0 %"
    assert shown["CPU wait"].text == "some 11.0 %"


def test_24_lines_have_five_cells_seven_gauges_and_a_plot() -> None:
    labels = [gauge.label for gauge in gauges(snapshot(full()))[:7]]
    assert labels == ["write", "read", "dirty", "CPU", "busy", "bdi", "I/O wait"]
    room = room_for(24 - 6, cells=100, gauges=14, plot=True)
    assert room.cells >= 5
    assert room.gauges == 7
    assert room.plot >= 4


def test_a_plot_has_a_scale_and_dirty_memory_its_thresholds() -> None:
    for shown in Plotted:
        for last_minute in (False, True):
            value = plot(snapshot(None), shown, last_minute=last_minute)
            assert value.x_max > value.x_min
            assert value.y_max > 0
    value = plot(snapshot(full()), Plotted.DIRTY, last_minute=False)
    assert [mark.name for mark in value.marks] == ["background", "limit"]
    assert value.y_max == 400 * MIB
    assert Plotted.THROUGHPUT.following.following.following is Plotted.THROUGHPUT


def test_the_parts_never_take_more_lines_than_there_are() -> None:
    for cells in (0, 1, 6, 10_000):
        for wanted in (True, False):
            for lines in range(60):
                room = room_for(lines, cells=cells, gauges=14, plot=wanted)
                assert room.cells + room.gauges + room.plot <= max(lines, 1), (cells, wanted)
                assert min(room.cells, room.gauges, room.plot) >= 0, (cells, wanted)
                assert wanted or room.plot == 0, (cells, wanted)
