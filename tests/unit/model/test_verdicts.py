"""Verdicts: a row against its baseline, round by round."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fsconsole.model.metrics import Metric, Unit
from fsconsole.model.resolution import Reading, is_difference, reading
from fsconsole.model.statistics import ALPHA
from fsconsole.model.verdicts import Compared, Scale, Verdict, compared, figure_of

NEAR = [1.0, 1.01, 0.99, 1.0, 1.01]


def row(values: Sequence[float], resolution: float = 0.0) -> dict[int, Reading]:
    return {number: Reading(value, resolution) for number, value in enumerate(values, 1)}


def judged(own: Sequence[float], other: Sequence[float], metric: Metric = Metric.DURABLE, **how: float) -> Compared:
    resolution = how.pop("resolution", 0.0)
    found = compared(row(own, resolution), row(other, resolution), metric, family=int(how.pop("family", 1)), **how)
    assert found is not None
    return found


def times(factor: float, values: Sequence[float] = NEAR) -> list[float]:
    return [factor * value for value in values]


def test_a_difference_comes_before_the_same_and_the_same_before_undecided() -> None:
    scattered = [0.9, 1.0, 1.12, 1.05, 0.95]
    found = [
        judged(times(0.8, [1.0, 1.0, 1.0, 1.01, 1.0]), NEAR),
        judged(times(0.95, [1.0, 1.01, 0.99, 1.0, 1.011]), NEAR),
        judged([1.01, 1.0, 1.0, 0.99, 1.0], NEAR),
        judged(scattered, NEAR),
    ]
    assert [(one.verdict, one.is_small) for one in found] == [
        (Verdict.SLOWER, False), (Verdict.SLOWER, True), (Verdict.SAME, False), (Verdict.UNDECIDED, False),
    ]  # fmt: skip
    assert found[3].more is not None
    assert judged(times(1.2, scattered), times(1, scattered), same=0.3).is_small


@pytest.mark.parametrize(
    ("metric", "word"),
    [
        (Metric.DURABLE, Verdict.FASTER), (Metric.OPS_PER_S, Verdict.FASTER), (Metric.CHECK, Verdict.SLOWER),
        (Metric.FSYNC_P99, Verdict.SLOWER), (Metric.EXTENTS_MEAN, Verdict.MORE), (Metric.CPU, Verdict.MORE),
        (Metric.CPU_PER_GIB, Verdict.MORE), (Metric.STALLS, Verdict.MORE), (Metric.USED, Verdict.MORE),
    ],
)  # fmt: skip
def test_a_longer_time_is_slower_a_higher_rate_faster_and_all_else_more(metric: Metric, word: Verdict) -> None:
    assert judged(times(2000), times(1000), metric).verdict is word


def test_only_rounds_that_both_finished_count_and_under_three_there_is_no_verdict() -> None:
    own, other = row(times(2)), row(NEAR)
    del own[2], other[4]
    found = compared(own, other, Metric.DURABLE, family=1)
    assert found is not None
    assert (found.n, found.verdict) == (3, Verdict.FASTER)
    assert found.own == pytest.approx(2 * math.prod((1.0, 0.99, 1.01)) ** (1 / 3))
    del own[5]
    found = compared(own, other, Metric.DURABLE, family=1)
    assert found is not None
    assert (found.n, found.change, found.low, found.high, found.verdict) == (2, pytest.approx(1), None, None, None)
    assert compared(own, {}, Metric.DURABLE, family=1) is None


def test_each_figure_of_a_ratio_is_twenty_times_its_resolution_else_differences_are_compared_or_nothing() -> None:
    fine = judged(times(0.04), times(0.02, [1.0] * 5), Metric.MOUNT, resolution=0.001)
    assert (fine.scale, fine.verdict) == (Scale.RATIO, Verdict.SLOWER)
    coarse = judged(times(0.04), times(0.019), Metric.MOUNT, resolution=0.001)
    assert (coarse.scale, coarse.verdict, coarse.below) == (Scale.DIFFERENCE, Verdict.SLOWER, None)
    assert coarse.change == pytest.approx(0.0211, abs=1e-4)
    # Both are below: no verdict, however different they are.
    none = judged(times(0.019), times(0.002), Metric.MOUNT, resolution=0.001)
    assert (none.verdict, none.below) == (None, 0.02)
    zero = judged([0.0] * 5, [0.0] * 5, Metric.LOST_SYNCED)
    assert (zero.scale, zero.verdict) == (Scale.DIFFERENCE, Verdict.SAME)
    assert judged([3.0] * 5, [0.0] * 5, Metric.LOST_SYNCED).verdict is Verdict.MORE
    # Equal figures in all rounds are equal as far as they can be told apart.
    assert judged([0.0209] * 5, [0.02] * 5, Metric.MOUNT, resolution=0.001).verdict is Verdict.SAME
    assert judged([50.0] * 5, [40.0] * 5, Metric.CPU, resolution=0.1).scale is Scale.DIFFERENCE


def test_undecided_tells_the_rounds_that_would_decide_it_or_that_it_is_not_worth_it() -> None:
    scatter = [1.0, 1.1, 0.9, 1.05, 0.96]
    more = [judged(times(factor, scatter), [1.0] * 5, family=12).more for factor in (1.2, 1.1, 1.05, 1.0)]
    assert more == [2, 9, 19, 11]
    assert judged([1.0, 3.0, 0.3, 2.0, 0.5], [1.0] * 5, family=12).more is None


def test_a_smaller_share_of_the_error_decides_less() -> None:
    own = times(1.1, [1.0, 1.02, 0.98, 1.01, 0.99])
    assert judged(own, [1.0] * 5, family=2).verdict is Verdict.FASTER
    assert judged(own, [1.0] * 5, family=2, alpha=0.0001).verdict is Verdict.UNDECIDED


def test_every_metric_declares_a_resolution_in_its_own_unit() -> None:
    figures = {Metric.WRITTEN: 1e9, Metric.READ_BYTES: 1e9, Metric.LAST_DONE: 10.0, Metric.FILES_MAPPED: 50.0}
    steps = {}
    for metric in Metric:
        found = reading(metric, lambda of, own=metric: 1e8 if of is own else figures.get(of))
        assert found is not None
        assert found.resolution >= 0
        steps[metric] = found.resolution / 1e8
        assert is_difference(metric) == (metric.unit is Unit.PERCENT)
    # 1 ms of 10 s; one extent in one of 50 files; half a bucket.
    assert steps[Metric.DURABLE] == steps[Metric.OPS_PER_S] == steps[Metric("read_ops_per_s")] == 1e-4
    assert steps[Metric.EXTENTS_MEAN] == 0.02 / 1e8
    assert steps[Metric.FSYNC_P99] == 1 / 32
    assert steps[Metric.LOST_SYNCED] == 0
    # Of a rate without its time nothing is known.
    unknown = reading(Metric.DURABLE, lambda of: 5.0 if of is Metric.DURABLE else None)
    assert unknown == Reading(5.0, 5.0)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 1e200, None])
def test_what_is_no_figure_is_no_reading(value: float | None) -> None:
    assert reading(Metric.CHECK, lambda _: value) is None


FIGURES = st.floats(1e-3, 1e6)
ANY = st.one_of(FIGURES, st.sampled_from([0.0, -1.0, 1e-90, 1e-120, 1e99, 5e-324]), st.floats(-1e3, 1e3))
METRICS = st.sampled_from([Metric.DURABLE, Metric.CHECK, Metric.CPU, Metric.EXTENTS_MEAN])


def sides(of: st.SearchStrategy[float]) -> st.SearchStrategy[list[tuple[float, float]]]:
    return st.lists(st.tuples(of, of), min_size=3, max_size=8)


@given(sides(ANY), METRICS, st.sampled_from([0.0, 1e-3, 1.0]), st.integers(1, 100))
def test_estimate_interval_and_verdict_never_disagree(
    pairs: list[tuple[float, float]], metric: Metric, resolution: float, family: int
) -> None:
    own, other = zip(*pairs, strict=True)
    found = judged(own, other, metric, resolution=resolution, family=family)
    assert found.low is not None
    assert found.high is not None
    assert all(map(math.isfinite, (found.own, found.other, found.low, found.high)))
    assert found.low <= found.change <= found.high
    if found.scale is Scale.RATIO:
        assert found.own / found.other == pytest.approx(1 + found.change, rel=1e-9)
    else:
        assert found.own - found.other == pytest.approx(
            found.change, rel=1e-9, abs=1e-9 * max(map(abs, (*own, *other)))
        )
    assert found.verdict is not None or found.below is not None
    if found.verdict in (Verdict.SAME, Verdict.UNDECIDED):
        assert found.low <= 0 <= found.high
    elif found.verdict is not None:
        is_more = found.verdict in (Verdict.MORE, Verdict.FASTER if metric is Metric.DURABLE else Verdict.SLOWER)
        assert (found.low > 0) if is_more else (found.high < 0)
    if found.scale is Scale.RATIO and (found.verdict is Verdict.SAME or found.is_small):
        assert max(found.high, -found.low) <= 0.1 + 1e-12


OPPOSITE = {
    Verdict.FASTER: Verdict.SLOWER, Verdict.SLOWER: Verdict.FASTER, Verdict.MORE: Verdict.LESS,
    Verdict.LESS: Verdict.MORE, Verdict.SAME: Verdict.SAME, Verdict.UNDECIDED: Verdict.UNDECIDED, None: None,
}  # fmt: skip


@given(sides(FIGURES), METRICS, st.sampled_from([0.0, 1e-3, 1.0]))
def test_swapping_the_rows_mirrors_all(pairs: list[tuple[float, float]], metric: Metric, resolution: float) -> None:
    own, other = zip(*pairs, strict=True)
    one, back = (judged(*both, metric, resolution=resolution) for both in ((own, other), (other, own)))
    assert (back.own, back.other, back.n, back.scale) == (one.other, one.own, one.n, one.scale)
    assert back.below == one.below
    # 10 % of one row are not 10 % of the other.
    undecided = {Verdict.SAME, Verdict.UNDECIDED}
    assert back.verdict is OPPOSITE[one.verdict] or {one.verdict, back.verdict} == undecided
    assert one.low is not None
    assert back.high is not None
    if one.scale is Scale.RATIO:
        # Nearer to -100 % a share has lost its digits.
        if one.low > -0.999:
            assert (1 + one.change) * (1 + back.change) == pytest.approx(1)
            assert (1 + one.low) * (1 + back.high) == pytest.approx(1)
    else:
        assert (back.change, back.high) == (-one.change, -one.low)


@given(sides(FIGURES), METRICS, st.integers(-20, 20))
def test_scaling_both_rows_changes_no_share_and_no_verdict(
    pairs: list[tuple[float, float]], metric: Metric, power: int
) -> None:
    own, other = zip(*pairs, strict=True)
    scale = 2.0**power
    plain = judged(own, other, metric, resolution=0.5)
    scaled = judged(times(scale, own), times(scale, other), metric, resolution=0.5 * scale)
    unit = 1.0 if plain.scale is Scale.RATIO else scale
    near = {"rel": 1e-6, "abs": 1e-9 * unit}
    assert scaled.change == pytest.approx(plain.change * unit, **near)
    assert plain.low is not None
    assert plain.high is not None
    assert (scaled.low, scaled.high) == (
        pytest.approx(plain.low * unit, **near),
        pytest.approx(plain.high * unit, **near),
    )
    # A bound that is just at a limit may fall on either side of it by rounding.
    limit = 0.1 if plain.scale is Scale.RATIO else 0.1 * plain.other
    assume(all(abs(abs(bound) - edge) > 1e-6 for bound in (plain.low, plain.high) for edge in (0, limit)))
    assert (scaled.verdict, scaled.is_small) == (plain.verdict, plain.is_small)


def test_a_row_alone_has_the_figure_that_it_is_compared_by() -> None:
    assert figure_of([Reading(1.0), Reading(4.0)], Metric.DURABLE) == pytest.approx(2)
    assert figure_of([Reading(1.0), Reading(4.0)], Metric.CPU) == pytest.approx(2.5)
    assert figure_of([Reading(1.0, 1.0), Reading(4.0, 1.0)], Metric.MOUNT) == pytest.approx(2.5)


@pytest.mark.parametrize(("noisy", "factor"), [(0, 3.0), (1, 4.0)])
def test_a_noisy_baseline_or_row_makes_hardly_more_false_winners_than_alpha_says(noisy: int, factor: float) -> None:
    # tests/simulate counts them exactly; with a pooled spread they would be 16 to 28 %.
    draw = random.Random(16)  # noqa: S311
    missed = 0
    for _ in range(300):
        spreads = [0.05 * (factor if number == noisy else 1) for number in range(13)]
        rows = [row([math.exp(draw.gauss(0, spread)) for _ in range(5)]) for spread in spreads]
        words = {found.verdict for one in rows[1:] if (found := compared(one, rows[0], Metric.DURABLE, family=12))}
        missed += bool(words & {Verdict.FASTER, Verdict.SLOWER})
    assert missed / 300 <= 1.5 * ALPHA


def test_the_simulation_that_chose_the_method_judges_as_the_product_does() -> None:
    simulation = pytest.importorskip("tests.simulate.__main__", reason="SciPy comes with `./bootstrap test`")
    draw = simulation.np.random.default_rng(1)
    for n in (3, 8):
        logs = simulation.noisy_row(draw, 20, n)
        logs[:, 2::2] *= 0.1
        logs[:, 3] += 0.2
        assert simulation.differs_from_product(logs) == 0
        assert simulation.listed_otherwise(logs[:3]) == 0
        found = simulation.paired(logs)
        assert simulation.winners(found).any() or n == 3
        assert simulation.decided(found).any()
        assert not simulation.decided(found).all()
