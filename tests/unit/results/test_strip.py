"""Strips: where an interval lies against its baseline."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsconsole.model.metrics import Metric
from fsconsole.model.resolution import Reading
from fsconsole.model.verdicts import Scale, Verdict, compared
from fsconsole.results.strip import CELLS, StripScale, strip_of, strip_scale

MIDDLE = CELLS // 2
FIGURES = st.one_of(st.floats(0.9, 1.1), st.floats(1e-3, 1e6), st.sampled_from([0.0, -1.0]))
PAIRS = st.lists(st.tuples(FIGURES, FIGURES), min_size=2, max_size=8)
NEAR, EXACT = st.sampled_from([0.97, 0.995, 0.999, 1.001, 1.005, 1.03]), st.floats(0.9999, 1.0001)


def scaled(of: tuple[float, list[float]]) -> list[tuple[float, float]]:
    return [(of[0] * each, 1.0) for each in of[1]]


@pytest.mark.parametrize("factor", [None, 0, 2, 100])
@given(
    pairs=st.one_of(PAIRS, st.tuples(NEAR, st.lists(EXACT, min_size=3, max_size=5)).map(scaled)),
    metric=st.sampled_from([Metric.DURABLE, Metric.CHECK, Metric.CPU]),
    resolution=st.sampled_from([0.0, 1e-3, 1.0]),
)
def test_strip_estimate_and_verdict_never_disagree(
    factor: int | None, pairs: list[tuple[float, float]], metric: Metric, resolution: float
) -> None:
    own, other = ({number: Reading(of[side], resolution) for number, of in enumerate(pairs)} for side in (0, 1))
    found = compared(own, other, metric, family=3)
    assert found is not None
    strip = strip_of(found, strip_scale([found]) if factor is None else StripScale(factor))
    assert len(strip) == CELLS
    left, right = strip[:MIDDLE].strip(), strip[MIDDLE + 1 :].strip()
    if found.verdict is None:
        assert strip.split() == ["|"]
    elif found.verdict in (Verdict.SAME, Verdict.UNDECIDED):
        # It begins at the baseline or before, and ends at it or behind; no gap on the way.
        assert " " not in strip.strip()
        assert strip.strip() != "|"
    else:
        assert strip[MIDDLE] == "|"
        is_more = found.change > 0
        assert (left, bool(right)) == ("", True) if is_more else (bool(left), right) == (True, "")
        is_faster = is_more == (metric is Metric.DURABLE)
        words = (Verdict.MORE, Verdict.LESS) if metric is Metric.CPU else (Verdict.FASTER, Verdict.SLOWER)
        assert found.verdict is words[0 if (is_more if metric is Metric.CPU else is_faster) else 1]
    at = strip.find("*")
    if at >= 0 and found.scale is Scale.RATIO:
        assert (at - MIDDLE) * found.change >= 0
