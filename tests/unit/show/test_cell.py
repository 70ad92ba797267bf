"""What the Cell screen says of steps, options, arrays and the machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fsconsole.catalog.loader import load_catalog
from fsconsole.journal.past import Point, read_state
from fsconsole.model.events import LayoutSeen, Outcome
from fsconsole.model.figures import Measurement
from fsconsole.model.layout import SizeAtOffset
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import StepKind
from fsconsole.model.state import CellState, CellStatus, StepState
from fsconsole.results.content import fact_words
from fsconsole.results.layout_map import PlacedMap
from fsconsole.show import cell as view
from fsconsole.show.cell import environment_lines, option_lines, steps_in_words
from fsconsole.show.terminal import ASCII
from fsconsole.text import MIB
from fsconsole.tui.widgets.drawing import histogram_lines
from tests.tui.recorded import imported
from tests.unit.results import build
from tests.unit.results.test_arrays import MEMBERS, RAID5, on_array


def test_the_options_of_a_cell_tell_of_its_array_with_all_knobs_and_members_and_of_no_other() -> None:
    spec = replace(RAID5, stripe_cache_size=4096, bitmap="none")
    lines = [line.text for line in option_lines(on_array(0, spec), CellState(0), load_catalog(), 80)]
    at = lines.index("The array of this cell")
    assert lines[at + 1] == "  raid5 64KiB, 4 members, stripe cache 4096, bitmap none, assume-clean"
    assert lines[at + 2] == f"  of {', '.join(MEMBERS)}"
    without = option_lines(build.cell(0), CellState(0), load_catalog(), 80)
    assert not any("array" in line.text for line in without)


def test_every_member_is_told_with_who_it_is() -> None:
    state = build.run([on_array(0, RAID5)], [build.done(0)])
    (known,) = state.request.targets
    targets = tuple(replace(known, path=path) for path in MEMBERS)
    state = replace(state, request=replace(state.request, targets=targets))
    lines = [line.text for line in environment_lines(state, state.request.plan.cells[0], 80)]
    assert {f"Device {path}" for path in MEMBERS} <= set(lines)


def test_steps_that_find_no_room_go_whole_the_shortest_first() -> None:
    cell = build.done(0)
    all_of_them, fewer = steps_in_words(cell, 1000), steps_in_words(cell, 60)
    assert "..." not in fewer
    assert 0 < len(fewer) <= 60 < len(all_of_them)
    assert set(fewer.split(", ")) < set(all_of_them.split(", "))


def test_the_time_axis_of_the_curves_names_its_end() -> None:
    cell = build.done(0)
    assert {plot.x_text for plot in view.curves(cell, ())} == {"0 ... 7.0 s"}
    lasts_1000_s = replace(cell, steps=(replace(cell.steps[0], elapsed_s=1000.0),))
    assert {plot.x_text for plot in view.curves(lasts_1000_s, ())} == {"0 ... 16 min 40 s"}


def test_a_cells_status_stands_whole_below_its_name() -> None:
    reason = "mkfs.btrfs ended with exit code 1: ERROR: the device is too small for the metadata of a raid1 profile"
    state = build.run([build.cell(0)], [replace(build.done(0), status=CellStatus.FAILED, reason=reason)])
    name, *lines = view.title_lines(state, state.request.plan.cells[0], "btrfs", (1, 3), 80)
    assert name == "btrfs"
    assert f"failed: {reason}; left and right: 1 of 3 in this row" in " ".join(lines)
    assert max(map(len, lines)) <= 80


def test_that_zeroing_counts_twice_is_said_once_where_it_does() -> None:
    steps = [
        StepState(n, kind, kind.value, 0, Outcome.DONE, 1.0, "", "", (), (Measurement(Metric.DEVICE_WRITTEN, value),))
        for n, (kind, value) in enumerate(((StepKind.GATE, 0.0), (StepKind.EQUALISE, 4e9), (StepKind.MKFS, 1e6)))
    ]
    lines = [line.text for line in view.figure_lines(CellState(0, steps=tuple(steps)), 80)]
    at = next(place for place, line in enumerate(lines) if "A request to zero" in line)
    assert lines[at - 1].split()[:2] == ["device", "written"]
    assert lines[at - 2].startswith("prepare device: ")
    assert "request to zero" not in Metric.DEVICE_WRITTEN.help
    assert " ".join(" ".join(lines).split()).count("zero that the device refused counts as well as") == 1


def test_facts_of_the_machine_are_told_with_units() -> None:
    assert fact_words("memory_bytes", "25276502016") == ("memory", "23.5 GiB")
    assert fact_words("read_ahead_bytes /dev/loop1", "2621440") == ("read ahead /dev/loop1", "2.5 MiB")
    assert fact_words("dirty_background_limit", "10 %") == ("dirty background limit", "10 %")
    assert fact_words("odd_bytes", "many") == ("odd", "many")


def test_the_curves_of_a_cell_begin_in_one_column_and_those_of_two_cells_have_one_scale() -> None:
    points = [Point(build.SECOND_NS * at, 0, 9e6 * at, 0.0, 5e8, 40.0, background_bytes=1e9) for at in range(1, 5)]
    slow, fast = (build.done(0), build.done(0, factors={Metric.WRITE: 2.0}))
    own, other = view.curves(slow, points), view.curves(fast, [replace(one, write_bytes_s=9e9) for one in points])
    for plots in (own, *view.on_one_scale(own, other)):
        assert {plot.gutter for plot in plots} == {len("background")}
    mine, theirs = view.on_one_scale(own, other)
    assert [one.y_max for one in mine] == [one.y_max for one in theirs]
    assert mine[0].y_max == 9e9


def test_a_step_s_figures_are_of_that_step_and_extents_are_without_what_counting_them_read(tmp_path: Path) -> None:
    cell = read_state(imported("mail", tmp_path)).cells[0]
    figures, extents = ([line.text for line in told(cell, 200)] for told in (view.figure_lines, view.extent_lines))
    told_of = [line for line in figures if "device read " in line]
    assert len(told_of) > 1
    assert ["bytes that the device read in this step" in line for line in told_of] == [True] + [False] * (
        len(told_of) - 1
    )
    assert any("extents/file" in line for line in extents)
    assert not any("device" in line for line in extents)


def test_extent_sizes_of_two_cells_are_drawn_on_one_scale() -> None:
    layouts = [
        LayoutSeen(
            device_bytes=1,
            unit_bytes=1,
            files=1,
            extent_count=1,
            names=("f",),
            extents=(),
            sizes=(SizeAtOffset(0, 1, size),),
            cell=0,
            attempt=1,
            step=1,
        )
        for size in (MIB, 4 * MIB)
    ]
    (_, small), (title, large) = view.extents_over_offset(
        [PlacedMap("xfs", "files", one, build.cell(0)) for one in layouts]
    )
    assert title == "xfs, files: median extent size over the offset in the file"
    bars = ["".join(text for text, _ in histogram_lines(one, 60, ASCII)[0]).count("#") for one in (small, large)]
    assert bars[1] == pytest.approx(4 * bars[0], abs=2)
