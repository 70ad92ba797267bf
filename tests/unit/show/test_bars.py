"""Bars and tones of rows: better and worse by sign, bar and tone alike."""

from __future__ import annotations

from fsconsole.model.metrics import Metric
from fsconsole.results.blocks import BlockKind, blocks_of
from fsconsole.results.grid import build_grid
from fsconsole.show.bars import Standing, bar_lines, standing_of
from fsconsole.show.results import Choice, arranged
from fsconsole.show.terminal import ASCII, SAFE
from fsconsole.text import cells_of
from tests.unit.results import build
from tests.unit.results.test_compare import rounds

STEP = [1.0, 1.02, 0.97, 1.01, 0.99]
FACTORS = {
    "xfs": STEP,
    "ext4": [0.5 * one for one in STEP],
    "ext3": [1.6 * one for one in STEP],
    "btrfs": STEP,
    "jfs": [1.3, 0.7, 0.9, 1.2, 0.8],
}
RATES, TIMES = (rounds(FACTORS, metric=metric) for metric in (Metric.DURABLE, Metric.CHECK))


def test_sign_bar_and_tone_of_a_row_say_the_same() -> None:
    view = arranged(RATES, build_grid(RATES), Choice(), SAFE, 100)
    rows = {row.name: row for row in view.table.rows}
    at = view.sorts.index("durable") + 1
    assert [(rows[name].tone, rows[name].cells[at][0]) for name in ("xfs", "ext3", "ext4", "btrfs", "jfs")] == [
        ("strong", "█"),
        ("good", "█"),
        ("bad", "▒"),
        ("", "█"),
        ("faint", "░"),
    ]
    assert rows["ext3"].cells[at + 1].strip().startswith("+60")
    assert rows["ext4"].cells[at + 1].strip().startswith("-50")
    lengths = {name: len(row.cells[at].strip()) for name, row in rows.items()}
    assert lengths["ext3"] == max(lengths.values())
    assert 0.28 < lengths["ext4"] / lengths["ext3"] < 0.35
    assert view.table.columns[at].name.startswith("0 ")
    assert len(view.sorts) == len(view.table.columns)


def test_more_time_is_worse_though_its_bar_is_longer() -> None:
    block = next(one for one in blocks_of(TIMES, build_grid(TIMES)) if one.kind is BlockKind.LIFE)
    standings = {row.name: standing_of(row, block.metric) for row in block.rows}
    assert standings["ext3"] is Standing.WORSE
    assert standings["ext4"] is Standing.BETTER


def test_without_room_or_verdicts_there_is_no_bar_or_no_tone() -> None:
    narrow = arranged(RATES, build_grid(RATES), Choice(), SAFE, 60)
    assert not any(column.name.startswith("0 ") for column in narrow.table.columns)
    plain = build.demo()
    view = arranged(plain, build_grid(plain), Choice(), ASCII, 200)
    assert {row.tone for row in view.table.rows} <= {"", "strong"}


def test_bars_of_other_metrics_fit_the_width_and_leave_out_what_has_no_figures() -> None:
    block = next(one for one in blocks_of(TIMES, build_grid(TIMES)) if one.kind is BlockKind.LIFE)
    lines = bar_lines(block, (Metric.RECOVER, Metric.CHECK), 50, ASCII)
    texts = ["".join(text for text, _ in line) for line in lines]
    assert all(cells_of(text) <= 50 for text in texts)
    assert texts[0] == "check, s"
    assert len(texts) == 1 + len(block.rows)
    assert max(text.count("#") for text in texts) > 3 * min(text.count("#") for text in texts[1:])
