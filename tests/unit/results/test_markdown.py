from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from fsconsole.model.plan import Variant
from fsconsole.model.state import RunState
from fsconsole.results.grid import build_grid
from fsconsole.results.markdown import escaped, render_markdown
from tests.unit.results import build


def _markdown(state: RunState) -> str:
    return render_markdown(state, build_grid(state), standing="finished")


def test_the_table_has_a_head_a_rule_and_a_line_per_row() -> None:
    lines = _markdown(build.demo()).splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert table[0].startswith(r"| variant | write \[MB/s\] | durable \[MB/s\] |")
    assert table[1].startswith("| --- | ---: |")
    assert len(table) == 2 + 4
    assert "| errors 3.120 |" in table[2]
    assert "failed: mkfs: mkfs.xfs failed" in table[4]


@given(st.text(max_size=60))
def test_no_label_changes_the_table_s_shape(label: str) -> None:
    state = build.run([build.cell(0, Variant(label, "ext4"))], [build.failed(0, label)])
    table = [line for line in _markdown(state).split("\n") if line.startswith("|")]
    bars = {len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in table}
    assert len(table) == 3
    assert len(bars) == 1


def test_markup_is_escaped() -> None:
    assert escaped("<b>|`*_[x](y)") == r"\<b\>\|\`\*\_\[x\](y)"
    assert escaped("https://example.org") == r"https\://example.org"
    assert escaped("a\nb\x1b") == r"a\\nb\\x1b"


def test_warnings_and_facts_stand_below() -> None:
    text = _markdown(build.demo())
    assert "- a **short** (cells 1-2): it took 3.1 s. Write more" in text
    assert "- Kernel 6.18.0 on box" in text
    assert "MB = 10^6 bytes" in text


def test_a_plan_without_cells_says_so() -> None:
    assert "The plan has no cells." in _markdown(build.run([], []))


def test_every_heading_stands_between_empty_lines() -> None:
    lines = ["", *_markdown(build.demo()).split("\n")]
    headings = [at for at, line in enumerate(lines) if line.startswith("#")]
    assert len(headings) == 3
    assert all(not lines[at - 1] and not lines[at + 1] for at in headings)


def test_notes_are_the_last_column() -> None:
    table = [line for line in _markdown(build.demo()).splitlines() if line.startswith("|")]
    assert table[0].endswith("| notes |")
    assert [line.count(" | ") for line in table] == [table[0].count(" | ")] * len(table)
    assert table[2].endswith("|  |")
    assert table[4].endswith("no room |")
