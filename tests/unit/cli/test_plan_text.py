from __future__ import annotations

import shlex
import subprocess
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.model.plan import Variant
from fsconsole.show.plan_text import plan_lines
from fsconsole.text import cells_of, printable
from tests.unit.results import build

CELLS = [build.cell(0), build.cell(1, build.EXT4_OTHER), build.cell(2, build.XFS, unavailable="no mkfs.xfs")]
PLAN = build.request(CELLS).plan


def _lines(*, every: bool = False, width: int = 80) -> list[str]:
    return list(plan_lines(PLAN, (), "", every=every, width=width))


def test_what_all_cells_share_is_left_out() -> None:
    lines = _lines()
    at = lines.index("Cells, numbered in run order:")
    assert lines[at + 1 : at + 5] == [
        "  1  ext4 data=ordered",
        "  2  ext4 data=writeback,nodelalloc",
        "  3  xfs",
        "       cannot run: no mkfs.xfs",
    ]


def test_what_cells_differ_in_has_a_column_and_repeats_share_a_line() -> None:
    other = replace(CELLS[1], target="/dev/loop8")
    cells = (CELLS[0], other, replace(CELLS[0], index=2, repeat=2), replace(other, index=3, repeat=2))
    lines = list(plan_lines(replace(PLAN, cells=cells), (), "", every=False, width=80))
    at = lines.index("Cells, numbered in run order:")
    assert lines[at + 1 : at + 3] == [
        "  1 3  ext4 data=ordered               /dev/loop7",
        "  2 4  ext4 data=writeback,nodelalloc  /dev/loop8",
    ]


def test_as_printed_is_said_where_the_label_says_it_in_other_words() -> None:
    printed = replace(build.EXT4, as_printed="ext4 -I 256")
    cells = (build.cell(0, printed), build.cell(1, replace(printed, label="ext4 -I 256")))
    lines = list(plan_lines(replace(PLAN, cells=cells), (), "", every=False, width=80))
    assert sum("as printed: ext4 -I 256" in line for line in lines) == 1


def test_one_cell_is_shown_in_full_or_every_one_with_commands_whole_on_a_narrow_terminal() -> None:
    assert sum(", step by step" in line for line in _lines()) == 1
    assert sum(", step by step" in line for line in _lines(every=True)) == 3
    for width in (20, 40, 80):
        assert "    $ mkfs.ext4 /dev/loop7" in _lines(width=width)
    assert "Nothing was touched." in plan_lines(replace(PLAN, cells=()), (), "", every=True, width=80)


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
