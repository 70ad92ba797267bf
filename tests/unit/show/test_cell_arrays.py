"""The Cell screen tells of the cell's array whole, and who its members are."""

from __future__ import annotations

from dataclasses import replace

from fsconsole.catalog.loader import load_catalog
from fsconsole.model.state import CellState
from fsconsole.show.cell import environment_lines, option_lines
from tests.unit.results import build
from tests.unit.results.test_arrays import MEMBERS, RAID5, on_array


def test_the_options_of_a_cell_tell_of_its_array_with_all_knobs_and_members() -> None:
    spec = replace(RAID5, stripe_cache_size=4096, bitmap="none")
    lines = [line.text for line in option_lines(on_array(0, spec), CellState(0), load_catalog(), 80)]
    at = lines.index("The array of this cell")
    assert lines[at + 1] == "  raid5 64KiB, 4 members, stripe cache 4096, bitmap none, assume-clean"
    assert lines[at + 2] == f"  of {', '.join(MEMBERS)}"


def test_a_cell_without_an_array_says_nothing_of_one() -> None:
    lines = option_lines(build.cell(0), CellState(0), load_catalog(), 80)
    assert not any("array" in line.text for line in lines)


def test_every_member_is_told_with_who_it_is() -> None:
    state = build.run([on_array(0, RAID5)], [build.done(0)])
    (known,) = state.request.targets
    targets = tuple(replace(known, path=path) for path in MEMBERS)
    state = replace(state, request=replace(state.request, targets=targets))
    lines = [line.text for line in environment_lines(state, state.request.plan.cells[0], 80)]
    for path in MEMBERS:
        assert f"Device {path}" in lines
