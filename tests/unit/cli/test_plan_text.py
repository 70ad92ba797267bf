"""A plan as text and as JSON: its cells, its arrays, and the command that agrees to it."""

from __future__ import annotations

import json
import shlex
import subprocess
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from fsconsole.cli.app import build_app
from fsconsole.cli.plan_show import plan_answer
from fsconsole.errors import Misused
from fsconsole.model.plan import ArraySpec, Equalise, Plan, Step, StepKind, Variant
from fsconsole.show.plan_text import plan_lines, renewal_lines
from fsconsole.text import KIB, cells_of, printable
from tests.unit.results import build
from tests.unit.results.test_arrays import MEMBERS, RAID5, RAID10, on_array

CELLS = [build.cell(0), build.cell(1, build.EXT4_OTHER), build.cell(2, build.XFS, unavailable="no mkfs.xfs")]
PLAN = build.request(CELLS).plan


def lines_of(plan: Plan = PLAN, *, every: bool = False, width: int = 80) -> list[str]:
    return list(plan_lines(plan, (), "", every=every, width=width))


def test_what_all_cells_share_is_left_out() -> None:
    lines = lines_of()
    at = lines.index("Cells, numbered in run order:")
    assert lines[at + 1 : at + 5] == [
        "  1  ext4 data=ordered",
        "  2  ext4 data=writeback,nodelalloc",
        "  3  xfs",
        "       cannot run: no mkfs.xfs",
    ]


def test_without_a_device_it_says_that_what_clears_one_depends_on_it_and_nothing_where_it_does_not() -> None:
    told = "What clears DEVICE before a cell depends on it: a disk with discard is shown, a scratch device is zeroed."
    for equalise, is_told in ((Equalise.DISCARD, True), (Equalise.ZERO, True), (Equalise.NONE, False)):
        cells = tuple(replace(cell, equalise=equalise) for cell in CELLS)
        found = " ".join(" ".join(lines_of(replace(PLAN, cells=cells))).split())
        assert "commands show the word DEVICE." in found
        assert (told in found) == is_told


def test_what_cells_differ_in_has_a_column_and_repeats_share_a_line() -> None:
    other = replace(CELLS[1], target="/dev/loop8")
    cells = (CELLS[0], other, replace(CELLS[0], index=2, repeat=2), replace(other, index=3, repeat=2))
    lines = lines_of(replace(PLAN, cells=cells))
    at = lines.index("Cells, numbered in run order:")
    assert lines[at + 1 : at + 3] == [
        "  1 3  ext4 data=ordered               /dev/loop7",
        "  2 4  ext4 data=writeback,nodelalloc  /dev/loop8",
    ]


def test_as_printed_is_said_where_the_label_says_it_in_other_words() -> None:
    printed = replace(build.EXT4, as_printed="ext4 -I 256")
    cells = (build.cell(0, printed), build.cell(1, replace(printed, label="ext4 -I 256")))
    lines = lines_of(replace(PLAN, cells=cells))
    assert sum("as printed: ext4 -I 256" in line for line in lines) == 1


def test_one_cell_is_shown_in_full_or_every_one_with_commands_whole_on_a_narrow_terminal() -> None:
    assert sum(", step by step" in line for line in lines_of()) == 1
    assert sum(", step by step" in line for line in lines_of(every=True)) == 3
    for width in (20, 40, 80):
        assert "    $ mkfs.ext4 /dev/loop7" in lines_of(width=width)
    assert "Nothing was touched." in plan_lines(replace(PLAN, cells=()), (), "", every=True, width=80)


def test_steps_have_their_plain_names_as_on_every_other_screen_and_a_gap_behind_the_longest() -> None:
    steps = tuple(Step(kind, f"what {kind.value} does") for kind in StepKind)
    lines = lines_of(replace(PLAN, cells=(replace(CELLS[0], steps=steps),)), width=200)
    for kind in StepKind:
        (line,) = [line for line in lines if line.endswith(f"  what {kind.value} does")]
        assert line.split("what ")[0].strip() == kind.words
    assert {"device check", "prepare device", "wait for idle disk"} <= {kind.words for kind in StepKind}
    assert len({line.index("what ") for line in lines if "what " in line and " does" in line}) == 1


@pytest.mark.parametrize(
    "words",
    [
        ["run", "demo", "--device", "/dev/sdb", "--consent", "1234"],
        ["run", "/srv/my plans/a'b.toml", "--device", "/dev/disk/by-id/wwn-0x5000c500a1b2c3d4", "--device",
         "/dev/sdc", "--runs", "/srv/runs of 2026", "--consent", "7K2QX-9M4PT-0ABCD"],
    ],
)  # fmt: skip
@pytest.mark.parametrize("width", [30, 80, 200])
def test_the_command_that_agrees_can_be_pasted_into_a_shell(words: list[str], width: int) -> None:
    lines = list(plan_lines(PLAN, (), shlex.join(["fsconsole", *words]), every=False, width=width))
    begin = next(number for number, line in enumerate(lines) if line.startswith("    fsconsole run"))
    pasted = "\n".join(lines[begin : lines.index("Nothing was touched.")])
    script = f'fsconsole() {{ printf "%s\\n" "$@"; }}\n{pasted}\n'
    done = subprocess.run(["sh", "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines() == words
    if width == 80:
        assert [line for line in pasted.splitlines() if len(line) > width] == []


@given(st.text(max_size=80), st.text(max_size=80), st.integers(40, 120))
def test_no_label_makes_a_line_wider_or_acts_on_the_terminal(label: str, title: str, width: int) -> None:
    plan = replace(PLAN, title=title, cells=(build.cell(0, Variant(label, "ext4")), *CELLS[1:]))
    lines = list(plan_lines(plan, (), "", every=True, width=width))
    assert all(cells_of(line) <= width for line in lines if "$ " not in line)
    assert all(printable(line) == line for line in lines)


def plan_of(*specs: ArraySpec) -> Plan:
    return build.request([on_array(number, spec) for number, spec in enumerate(specs)]).plan


def test_every_array_is_told_once_with_its_members() -> None:
    lines = list(renewal_lines(plan_of(RAID5, RAID10, RAID5), (), "resume", width=80))
    named = " ".join(MEMBERS)
    text = " ".join(" ".join(lines).split())
    assert text.count(f"raid5 64KiB, 4 members, assume-clean: {named}") == 1
    assert text.count(f"raid10 64KiB, 4 members, assume-clean: {named}") == 1
    assert max(map(len, lines)) <= 80


def test_members_are_named_with_devices_alone_and_cells_have_a_column_for_their_arrays() -> None:
    lines = lines_of(plan_of(RAID5, RAID10))
    assert "  raid5 64KiB, assume-clean" in lines
    assert MEMBERS[0] not in " ".join(lines)
    lines = lines_of(plan_of(RAID5, ArraySpec("raid5", 512 * KIB)))
    assert "  1  ext4 data=ordered  raid5 64KiB   assume-clean" in lines
    assert "  2  ext4 data=ordered  raid5 512KiB" in lines
    plan = build.request([build.cell(0)]).plan
    assert not any("rray" in line for line in lines_of(plan))
    assert plan_answer(plan, (), "").arrays == ()


def test_the_rows_that_will_run_are_told_once_each_the_baseline_s_first_though_no_cell_is_shown() -> None:
    twice = replace(PLAN, cells=(*CELLS[::-1], replace(CELLS[1], index=3, repeat=2)))
    told = plan_answer(twice, (), "", (), 0)
    assert (told.cells, told.rows) == ((), ("ext4 data=ordered", "ext4 data=writeback,nodelalloc"))
    other = plan_answer(replace(twice, baseline="ext4 data=writeback,nodelalloc"), (), "")
    assert other.rows == told.rows[::-1]


def test_programs_are_told_of_each_array_and_of_the_members_of_each_cell() -> None:
    told = plan_answer(plan_of(RAID5, RAID10), (), "")
    assert [(array.words, array.members) for array in told.arrays] == [
        (f"{level} 64KiB, 4 members, assume-clean", MEMBERS) for level in ("raid5", "raid10")
    ]
    assert told.cells[0].members == MEMBERS
    assert told.cells[0].array == RAID5


def asked(*words: str) -> dict[str, object]:
    done = CliRunner().invoke(build_app(), ["plan", "demo", "--json", *words])
    assert done.exit_code == 0
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_one_cell_is_given_alone_or_none_and_without_the_option_all() -> None:
    for words, indices in [
        (["--cell", "0"], []),
        (["--cell", "25"], [24]),
        ([], range(25)),
    ]:
        found = asked(*words)
        cells = found["cells"]
        assert isinstance(cells, list)
        assert [cell["cell"] - 1 for cell in cells] == [*indices]
        assert (found["cell_count"], found["runnable"], found["unavailable"]) == (25, 25, [])


def test_what_is_no_number_of_a_cell_is_refused() -> None:
    for word in ("-1", "x", "1.5", "²", " 1", "26", "999"):
        done = CliRunner().invoke(build_app(), ["plan", "demo", "--json", f"--cell={word}"])
        assert isinstance(done.exception, Misused)
