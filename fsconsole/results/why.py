"""Sentences on one row: what reached the disk against what the application saw, and counters that set it apart."""

from __future__ import annotations

from fsconsole.model.metrics import Metric
from fsconsole.model.verdicts import LEAST_ROUNDS, Verdict
from fsconsole.results.blocks import BlockRow
from fsconsole.results.content import scale_for

_COUNTERS = (
    (Metric.EXTENTS_MEAN, "extents per file"),
    (Metric.DEVICE_FLUSHES, "flushes of the device"),
    (Metric.WRITE_AMPLIFICATION, "write amplification"),
    (Metric.CPU_PER_GIB, "CPU seconds per GiB"),
)
_LEAST_TIMES = 1.2
"""Factor between two figures below which a counter explains nothing."""
_MOST = 3
_UNDECIDED = (None, Verdict.SAME, Verdict.UNDECIDED)


def reached_words(row: BlockRow) -> str:
    """Return "xfs: 1345 MB/s reached the disk; the app saw 1416."; empty for a row that wrote nothing."""
    durable, write = row.row.estimate(Metric.DURABLE), row.row.estimate(Metric.WRITE)
    if durable is None or write is None:
        return ""
    scale = scale_for(Metric.DURABLE, (durable, write))
    return f"{row.name}: {scale.text(durable)} {scale.unit} reached the disk; the app saw {scale.text(write)}."


def why_words(row: BlockRow, other: BlockRow | None) -> str:
    """Return the counters of a decided row that lie beyond the spread of both rows' rounds, the largest factor first.

    Empty where the verdict is open, a row has fewer than LEAST_ROUNDS rounds, or no counter stands apart.
    """
    if other is None or row.compared is None or row.compared.verdict in _UNDECIDED:
        return ""
    apart = sorted((found for metric, name in _COUNTERS if (found := _apart(row, other, metric, name))), reverse=True)
    parts = [words for _, words in apart[:_MOST]]
    return f"Why: {', '.join(parts)} (of {other.name})." if parts else ""


def _apart(row: BlockRow, other: BlockRow, metric: Metric, name: str) -> tuple[float, str] | None:
    """Return the factor between two rows' counters and its words; None where their rounds overlap."""
    figures = row.row.figure(metric), other.row.figure(metric)
    if figures[0] is None or figures[1] is None:
        return None
    own, base = figures[0].values, figures[1].values
    if min(len(own), len(base)) < LEAST_ROUNDS or (min(own) <= max(base) and min(base) <= max(own)):
        return None
    # As the table has them.
    mine, theirs = row.row.estimate(metric), other.row.estimate(metric)
    if mine is None or theirs is None:
        return None
    least, most = sorted((mine, theirs))
    if least <= 0 or most < _LEAST_TIMES * least:
        return None
    scale = scale_for(metric, (mine, theirs))
    return most / least, f"{name} {scale.text(mine)} against {scale.text(theirs)}"
