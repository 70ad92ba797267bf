"""What is said of one row: what reached the disk, and why it differs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from fsconsole.cli.console import RECORDED
from fsconsole.journal.importing import import_run
from fsconsole.journal.past import read_state
from fsconsole.model.verdicts import Verdict
from fsconsole.results.blocks import Block, blocks_of
from fsconsole.results.grid import build_grid
from fsconsole.results.why import Tells, counters_of, reached_words, why_words
from fsconsole.show.results_row import baseline_of
from tests.tui.recorded import imported


def test_a_decided_row_says_what_reached_the_disk_and_only_counters_beyond_both_spreads(tmp_path: Path) -> None:
    state = read_state(imported("demo", tmp_path))
    loads = blocks_of(state, build_grid(state))[:3]
    said = {(block.name, row.name): why_words(row, baseline_of(row, block)) for block in loads for row in block.rows}
    assert "extents per file 159.20 against 9.87" in said["direct streams", "btrfs"]
    assert said["direct streams", "ext3"] == "Why: CPU seconds per GiB 1.449 against 0.400 (of ext4)."
    assert "write amplification 2.42 against 1.68 (of ext4)." in said["small files", "btrfs"]
    for block in loads:
        for row in block.rows:
            if row.compared is None or row.compared.verdict is Verdict.UNDECIDED:
                assert not said[block.name, row.name]
    assert reached(loads[0], "xfs") == "xfs: 2984 MB/s reached the disk; the app saw 3083."


def reached(block: Block, name: str) -> str:
    return next(reached_words(row) for row in block.rows if row.name == name)


def test_each_counter_says_what_it_tells_and_a_decided_row_without_any_says_which_were_looked_at(
    tmp_path: Path,
) -> None:
    state = read_state(imported("demo", tmp_path))
    rows = {row.name: row for row in blocks_of(state, build_grid(state))[1].rows}
    tells = {one.name: one for one in counters_of(rows["btrfs"], rows["ext4"])}
    assert tells["flushes of the device"].tells is Tells.APART
    assert tells["flushes of the device"].figures == "571 against 843"
    assert tells["extents per file"].tells is Tells.NEAR
    assert all((one.tells is Tells.APART) == bool(one.figures) for one in tells.values())
    alike = replace(rows["btrfs"], row=rows["ext4"].row)
    assert all(one.tells in (Tells.OVERLAPS, Tells.NOT_KEPT) for one in counters_of(alike, rows["ext4"]))
    said = why_words(alike, rows["ext4"])
    assert said.startswith("Why: not told by ")
    assert "flushes of the device (its rounds overlap)" in said


def test_a_counter_that_costs_the_faster_row_more_is_no_cause(tmp_path: Path) -> None:
    state = read_state(import_run(RECORDED, str(tmp_path)))
    block = blocks_of(state, build_grid(state))[0]
    rows = {row.name: row for row in block.rows}
    assert rows["ext3"].compared is not None
    assert rows["ext3"].compared.verdict is Verdict.SLOWER
    flushes = next(one for one in counters_of(rows["ext3"], rows["ext4"]) if one.name == "flushes of the device")
    assert flushes.times < 1
    assert "flushes of the device (points the other way)" in why_words(rows["ext3"], rows["ext4"])
    assert why_words(rows["btrfs"], rows["ext4"]) == "Why: CPU seconds per GiB 28.4 against 15.0 (of ext4)."
