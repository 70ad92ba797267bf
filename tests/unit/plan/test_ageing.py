"""`age` of a plan: read and written, counted in space and estimate, a step of its own after the mount."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fsconsole.catalog.loader import load_catalog
from fsconsole.errors import FsconsoleError
from fsconsole.model.plan import Age, StepKind
from fsconsole.plan.ageing import aged_bytes, full_bytes, left_bytes
from fsconsole.plan.draft import Draft, plan_to_toml, with_key
from fsconsole.plan.expand import build_plan
from fsconsole.plan.planfile import TargetSpec
from fsconsole.plan.sizing import pilot_steps
from fsconsole.results.block_tables import block_title
from fsconsole.results.blocks import AS_PLANNED, blocks_of
from fsconsole.results.environment import differences
from fsconsole.results.grid import build_grid
from fsconsole.results.text import ReportPage, render_text
from fsconsole.show import plan_forms
from fsconsole.text import GIB, MIB
from tests.unit.plan.examples import DEVICE, SMALLEST, WORKLOAD, build, parse
from tests.unit.results import build as made

AGED = SMALLEST.replace("schema = 1", "schema = 1\nage = { cycles = 3, fill = 0.7 }")


def test_the_key_is_read_written_and_bounded() -> None:
    plan = parse(AGED)
    assert plan.age == Age(3, 0.7)
    assert parse(plan_to_toml(plan)) == plan
    assert parse(SMALLEST).age is None
    assert parse(SMALLEST.replace("schema = 1", "schema = 1\nage = {}")).age is None
    for wrong in (
        "{ cycles = 3 }", "{ fill = 0.7 }", "{ cycles = 0, fill = 0.7 }", "{ cycles = 101, fill = 0.7 }", "0.7", "true",
        "{ cycles = 3, fill = 0 }", "{ cycles = 3, fill = 0.95 }", "{ cycles = 3, fill = nan }", "[3, 0.7]",
        "{ cycles = 3, fill = 0.7, seed = 1 }", "{ cycles = 1.5, fill = 0.7 }", "{ cycles = true, fill = 0.7 }",
    ):  # fmt: skip
        with pytest.raises(FsconsoleError, match="age"):
            parse(SMALLEST.replace("schema = 1", f"schema = 1\nage = {wrong}"))


def test_a_cell_is_aged_once_between_its_mount_and_its_first_load_and_a_raw_row_never() -> None:
    plan = build("raw = true\n" + AGED)
    for cell in plan.cells:
        kinds = [step.kind for step in cell.steps]
        assert kinds.count(StepKind.AGE) == (not cell.variant.is_raw)
        if not cell.variant.is_raw:
            assert kinds[kinds.index(StepKind.AGE) - 1 :][:3] == [StepKind.MOUNT, StepKind.AGE, StepKind.QUIESCE]
    assert "aged: 3 cycles to 70 % of its device" in " ".join(plan.notes)
    sized = build(AGED.replace('file_size = "1MiB"', ""))
    assert StepKind.AGE in [step.kind for _, step in pilot_steps(sized.cells[0])]


def test_what_is_written_and_left_is_in_the_estimate_and_in_the_space() -> None:
    age, size = Age(3, 0.7), 4 * GIB
    assert full_bytes(age, size) == int(0.7 * size)
    assert left_bytes(age, size) == pytest.approx(0.35 * size, abs=1)
    assert aged_bytes(age, size) == pytest.approx(1.4 * size, abs=2)
    assert (left_bytes(None, size), aged_bytes(None, size)) == (0, 0)
    new, aged = build(SMALLEST), build(AGED)
    assert aged.estimate.bytes_to_write - new.estimate.bytes_to_write == aged_bytes(age, size)
    assert aged.estimate.elapsed_s > new.estimate.elapsed_s
    large = WORKLOAD.replace('"1MiB"', '"700MiB"')
    assert not build(SMALLEST.replace(WORKLOAD, large)).cells[0].unavailable
    assert "of which ageing leaves 1.4 GiB taken" in build(AGED.replace(WORKLOAD, large)).cells[0].unavailable
    fitted = build("scale = 'fit'\n" + AGED.replace(WORKLOAD, large))
    assert not fitted.cells[0].unavailable
    assert fitted.cells[0].workloads[0].total_bytes <= 0.6 * 0.65 * size


def test_a_share_that_the_filesystem_has_no_room_for_makes_the_cell_unavailable() -> None:
    plan_file = replace(parse(AGED), age=Age(1, 0.99))
    plan = build_plan(plan_file, (TargetSpec(DEVICE.path, 100 * MIB),), load_catalog(), run_id="run")
    assert {cell.unavailable for cell in plan.cells} == {
        "ageing fills 99.0 MiB, /dev/loop7 has 100.0 MiB: set a smaller fill"
    }


def test_the_console_sets_and_clears_it() -> None:
    typed = plan_forms.typed_run_value("age", "cycles=2, fill=0.5")
    draft = with_key(Draft(parse(SMALLEST)), "age", typed)
    assert draft.plan.age == Age(2, 0.5)
    assert plan_forms.run_texts(draft.plan)["age"] == "cycles=2, fill=0.5"
    assert with_key(draft, "age", plan_forms.typed_run_value("age", "")).plan.age is None


def test_the_grid_says_that_its_filesystems_were_aged() -> None:
    aged = made.run([replace(made.cell(0), age=Age(3, 0.7))], [made.done(0)])
    new = made.run([made.cell(0)], [made.done(0)])
    for state, wanted in ((aged, True), (new, False)):
        titles = [block_title(block) for block in blocks_of(state, build_grid(state))]
        assert [title.endswith(", aged: 3 cycles to 70 %") for title in titles] == [wanted] * 2
        text = render_text(state, build_grid(state), standing="", choice=AS_PLANNED, page=ReportPage(80, explain=False))
        assert ("aged: 3 cycles to 70 %" in text) == wanted


def test_runs_that_differ_in_ageing_differ_in_their_plans() -> None:
    new = made.run([made.cell(0)], [made.done(0)])
    cell = replace(made.cell(0), age=Age(3, 0.7))
    found = [one for one in differences([new, made.run([cell], [made.done(0)])]) if one.name == "age"]
    assert [one.values for one in found] == [("new filesystems", "3 cycles to 70 %")]
