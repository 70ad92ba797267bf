"""Plans in directories: rows, what is refused, and what fits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fsconsole.catalog.loader import load_catalog
from fsconsole.errors.targets import PlanBadValue
from fsconsole.model.place import Place
from fsconsole.model.plan import Plan, StepKind
from fsconsole.plan.directory import Row, directory_plan, lacks
from fsconsole.plan.expand import rebuilt_steps, repeated_cells
from fsconsole.plan.planfile import TargetSpec, written_bytes
from fsconsole.plan.read import parse_plan
from fsconsole.text import GIB, MIB

RUN = "20261123-000000-abcd"
LOAD = '{ kind = "create", threads = 2, file_size = "64MiB" }'


def a_row(path: str = "/a", free: int = 10 * GIB, inodes: int = 0, number: int = 1, device: str = "") -> Row:
    return Row(path, path, Place(number, 2, "ext4", "/dev/x", "/", 10 * GIB, free, inodes, device))


def planned(*rows: Row, text: str = "", loads: str = LOAD, is_root: bool = True) -> Plan:
    whole = f"schema = 1\nrepeats = 2\nworkload = [{loads}]\n{text}"
    plan_file = parse_plan(whole, "p.toml", needs_rows=False)
    return directory_plan(plan_file, rows, load_catalog(), run_id=RUN, is_root=is_root, memory_bytes=GIB)


def test_each_directory_is_a_row_in_every_round() -> None:
    plan = planned(a_row("/a"), a_row("/b", number=2))
    assert [cell.repeat for cell in plan.cells] == [1, 1, 2, 2]
    assert sorted(cell.variant.label for cell in plan.cells[:2]) == ["/a", "/b"]
    assert plan.baseline == "/a"
    assert plan.targets == ("/a", "/b")


def test_no_step_has_a_command_and_resume_builds_the_same() -> None:
    plan = planned(a_row(), loads=f'{LOAD}, {{ kind = "read", cold = true }}, {{ kind = "command", argv = ["ls"] }}')
    for cell in plan.cells:
        assert not any(step.commands for step in cell.steps)
        assert cell.steps == rebuilt_steps(cell, (), None, RUN)
    kinds = [step.kind for step in plan.cells[0].steps]
    assert kinds[0] is StepKind.GATE
    assert kinds[-2:] == [StepKind.DELETE, StepKind.RELEASE]
    assert not {StepKind.MKFS, StepKind.MOUNT, StepKind.UNMOUNT, StepKind.CHECK} & set(kinds)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('filesystem = [{ type = "ext4" }]', "filesystem"),
        ('variant = [{ type = "xfs" }]', "variant"),
        ('array = [{ level = ["raid0"] }]', "array"),
        ("raw = true", "raw"),
        ('settings = { read_ahead = ["1MiB"] }', "settings"),
        ("after = { crash = true }", "after.crash"),
        ("age = { cycles = 1, fill = 0.1 }", "age"),
    ],
)
def test_what_needs_a_device_is_refused_with_the_reason(text: str, key: str) -> None:
    with pytest.raises(PlanBadValue) as caught:
        planned(a_row(), text=text)
    assert caught.value.key == key
    assert caught.value.path == "p.toml:4"
    assert "--device" in caught.value.hint


def test_settings_of_a_workload_are_refused_too() -> None:
    with pytest.raises(PlanBadValue, match="need a device of its own, and root"):
        planned(a_row(), loads=LOAD.replace(" }", ', with = { read_ahead = "1MiB" } }'))


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (a_row(free=600 * MIB), "and of 600.0 MiB free on /a a run may use"),
        (a_row(inodes=4), "of 4 free inodes on /a"),
        (a_row(inodes=100), ""),
    ],
)
def test_what_does_not_fit_is_said_of_each_cell(row: Row, why: str) -> None:
    for cell in planned(row, loads=LOAD.replace("threads = 2", "threads = 4")).cells:
        assert why in cell.unavailable
        assert bool(cell.unavailable) == bool(why)


def test_sizes_fit_the_share_of_the_smallest_directory() -> None:
    rows = (a_row("/a"), a_row("/b", free=1100 * MIB, number=2))
    allowed = min(row.place.allowed_bytes for row in rows)
    for loads, text in (
        (LOAD.replace("threads = 2", "threads = 64"), 'scale = "fit"'),
        ('{ kind = "create", threads = 2, size = "auto", file_size = "1MiB" }', ""),
        ('{ kind = "create", threads = 2, file_size = "1MiB", duration = "1h" }', ""),
    ):
        for cell in planned(*rows, loads=loads, text=text).cells:
            assert not cell.unavailable
            assert 0 < written_bytes(cell.workloads) <= allowed
            # Others write there, too, before the cell begins.
            later = replace(rows[1].place, free_bytes=rows[1].place.free_bytes * 19 // 20)
            assert list(lacks(cell.workloads, later, "/b")) == []


def test_a_repeated_round_has_the_same_steps() -> None:
    plan = planned(a_row("/a"), a_row("/b", number=2))
    known = {path: TargetSpec(path, 10 * GIB, is_directory=True) for path in ("/a", "/b")}
    again = repeated_cells(plan, (0, 1), known, load_catalog(), RUN)
    assert [cell.redo for cell in again] == [1, 1]
    assert [cell.steps for cell in again] == [cell.steps for cell in plan.cells[:2]]


def test_notes_say_what_is_missing_without_root_and_what_reads_prove() -> None:
    cold = f'{LOAD}, {{ kind = "read", cold = true }}'
    said = " ".join(planned(a_row("/a"), a_row("/b"), loads=cold, is_root=False).notes)
    assert "without root: caches are not dropped" in said
    assert "reads in /a can't be shown to be cold" in said
    assert "/a and /b are on one filesystem" in said
    assert planned(a_row(device="/dev/sda1"), loads=cold).notes == ()
