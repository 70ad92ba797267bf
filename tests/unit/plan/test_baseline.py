"""A plan names what its verdicts compare with: a variant's label, or the value of an axis."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fsconsole.catalog.loader import load_catalog
from fsconsole.errors.targets import PlanBadValue
from fsconsole.plan.draft import plan_to_toml
from fsconsole.plan.expand import build_plan
from fsconsole.plan.planfile import NO_DEVICE
from fsconsole.plan.read import parse_plan
from fsconsole.results.blocks import BlockKind, blocks_of
from fsconsole.results.grid import build_grid
from tests.unit.results.test_blocks import AXIS

PLAN = """
schema = 1
baseline = "WANTED"
control = true
[settings]
read_ahead = ["128KiB", "2MiB"]
[[filesystem]]
type = "ext4"
[[filesystem]]
type = "xfs"
[[workload]]
kind = "create"
file_size = "1MiB"
threads = [1, 4]
"""


def planned(wanted: str):
    return build_plan(parse_plan(PLAN.replace("WANTED", wanted), "plan.toml"), [NO_DEVICE], load_catalog(), run_id="r")


@pytest.mark.parametrize(
    ("wanted", "label", "against"),
    [
        ("", "ext4", ""),
        ("xfs", "xfs", ""),
        ("read_ahead=128KiB", "ext4", "read_ahead=128KiB"),
        ("read-ahead = 131072", "ext4", "read-ahead = 131072"),
        ("threads=4", "ext4", "threads=4"),
    ],
)
def test_a_label_or_the_value_of_an_axis_is_the_baseline_and_the_control_is_its_copy(wanted, label, against) -> None:
    plan = planned(wanted)
    assert (plan.baseline, plan.against) == (label, against)
    assert {cell.variant.label for cell in plan.cells} == {"ext4", "xfs", f"{label} (control)"}


@pytest.mark.parametrize("wanted", ["btrfs", "threads=8", "block_size=64KiB", "=", "read_ahead"])
def test_what_is_neither_is_an_error_with_its_line_and_what_there_is(wanted: str) -> None:
    with pytest.raises(PlanBadValue, match=r"^plan\.toml:3: baseline = .*: no variant has this label") as caught:
        planned(wanted)
    assert "xfs" in caught.value.hint


def test_a_baseline_is_written_back() -> None:
    read = parse_plan(PLAN.replace("WANTED", "xfs"), "plan.toml")
    assert parse_plan(plan_to_toml(read), "plan.toml").baseline == "xfs"


def test_the_grid_compares_with_what_the_plan_names_unless_another_is_chosen() -> None:
    state = replace(AXIS, request=replace(AXIS.request, plan=replace(AXIS.request.plan, against="read_ahead=2MiB")))
    grid = build_grid(state)
    (block,) = (one for one in blocks_of(state, grid) if one.kind is BlockKind.LOAD)
    assert block.baseline == "read_ahead=2MiB"
    assert {row.axes for row in block.rows if row.is_baseline} == {("2MiB",)}
    # As long as no row with that value has run, it is the variant.
    other = replace(state, request=replace(state.request, plan=replace(state.request.plan, against="read_ahead=8MiB")))
    (block,) = (one for one in blocks_of(other, grid) if one.kind is BlockKind.LOAD)
    assert block.baseline != "read_ahead=8MiB"
