"""Sentences about a run in rounds: its largest differences, each no larger than its interval allows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

from fsconsole.model.metrics import Metric, Unit
from fsconsole.model.state import RunState
from fsconsole.model.verdicts import Verdict
from fsconsole.results.compare import Comparison, comparisons_of
from fsconsole.results.grid import Grid
from fsconsole.text import hanging, printable, wrap
from fsconsole.units import format_rate, format_seconds, significant

_MOST = 3
_POOL = 30
"""Strongest comparisons among which the sentences are chosen."""
_OTHER_DAYS = 1.25
"""Safety factor on each interval: another run has other neighbours and other blocks of the disk."""
_LEAST_TIMES, _MOST_TIMES = 1.2, 10
_MOST_SAME = 30
"""Per cent: limit within which two figures are called the same."""

_DIFFERENT = {
    Metric.CHECK: "{more}'s check took at least {times} times as long as {less}'s.",
    Metric.DELETE_DURABLE: "{more}'s durable delete took at least {times} times as long as {less}'s.",
    Metric.DURABLE: "{more} wrote {load} at least {times} times as fast as {less}, drain included.",
    Metric.READ: "{more} read {load} at least {times} times as fast as {less}.",
    Metric.FSYNC_MEAN: "{more}'s mean {sync} took at least {times} times as long as {less}'s with {load}.",
    Metric.EXTENTS_MEAN: "{more}'s {load} have at least {times} times as many extents as {less}'s.",
}
_SAME = {
    Metric.CHECK: "{more}'s check took as long as {less}'s within {share} %.",
    Metric.DELETE_DURABLE: "{more}'s durable delete took as long as {less}'s within {share} %.",
    Metric.DURABLE: "{more} wrote {load} as fast as {less} within {share} %, drain included.",
    Metric.READ: "{more} read {load} as fast as {less} within {share} %.",
    Metric.FSYNC_MEAN: "{more}'s mean {sync} took as long as {less}'s within {share} % with {load}.",
    Metric.EXTENTS_MEAN: "{more}'s {load} have as many extents as {less}'s within {share} %.",
}


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence, the figures behind it as text, and the range of row / baseline that it allows. All printable."""

    text: str
    figures: str
    of: Comparison
    least: float
    most: float | None
    """None: no upper limit is stated."""


@dataclass(frozen=True, slots=True)
class RunFindings:
    """At most three sentences about a run's comparisons, with a heading; empty if nothing was compared."""

    heading: str = ""
    sentences: tuple[Statement, ...] = ()
    family: int = 0
    """Number of comparisons that the intervals hold for together, those with too few or too coarse figures included."""
    pairs: tuple[Comparison, ...] = ()


def findings_of(state: RunState, grid: Grid) -> RunFindings:
    """Return a run's sentences."""
    return findings_from(*comparisons_of(state, grid))


def findings_from(family: int, pairs: tuple[Comparison, ...]) -> RunFindings:
    """Return sentences about comparisons.

    The largest differences first, by the interval's end nearer to 1, over as many rows and metrics as possible. If there
    are fewer than three, figures that are the same.
    """
    if not pairs:
        return RunFindings(family=family)
    different = sorted((pair for pair in pairs if _bound(pair) >= _LEAST_TIMES), key=_bound, reverse=True)
    # Not where a verdict may say otherwise: what is surely 15 % slower is not the same within 20 %.
    equal = (pair for pair in pairs if pair.compared.verdict is Verdict.SAME)
    same = sorted((pair for pair in equal if _share(pair) <= _MOST_SAME), key=_share)
    chosen = _diverse((), different, lambda pair: math.log(_bound(pair)))
    sentences = [_difference(pair) for pair in chosen]
    sentences += [_equality(pair) for pair in _diverse(chosen, same, lambda pair: -_share(pair))]
    counts = [pair.compared.n for pair in pairs]
    rounds = " to ".join(map(str, sorted({min(counts), max(counts)})))
    baselines = printable(", ".join(dict.fromkeys(pair.baseline for pair in pairs)))
    factor = f", with a safety factor of {_OTHER_DAYS:g}" if chosen else ""
    heading = (
        f"What {rounds} rounds show{factor}; 95 % intervals for all {family} comparisons with {baselines} together:"
    )
    if not sentences:
        least = f"{_LEAST_TIMES * _OTHER_DAYS:g} times"
        heading = f"After {rounds} rounds no difference of {least} or more is sure; see the verdicts."
    return RunFindings(heading, tuple(sentences), family, pairs)


def findings_lines(findings: RunFindings, width: int) -> list[str]:
    """Return heading, sentences and their figures in lines of at most width cells."""
    lines = wrap(findings.heading, width) if findings.heading else []
    for sentence in findings.sentences:
        lines += (*hanging("  ", sentence.text, width), *hanging("    ", sentence.figures, width))
    return lines


def _diverse(
    chosen: tuple[Comparison, ...], pairs: Sequence[Comparison], strength: Callable[[Comparison], float]
) -> tuple[Comparison, ...]:
    """Return comparisons to add to the chosen ones: the most metrics and rows, among these the strongest."""
    best: dict[tuple[Metric, str], Comparison] = {}
    for pair in pairs:
        best.setdefault((pair.metric, pair.row), pair)
    pool = list(best.values())[:_POOL]

    def worth(some: tuple[Comparison, ...]) -> tuple[int, float]:
        told = (*chosen, *some)
        return len({pair.metric for pair in told}) + len({pair.row for pair in told}), sum(map(strength, some))

    return max(combinations(pool, min(_MOST - len(chosen), len(pool))), key=worth)


def _bound(pair: Comparison) -> float:
    """Return the least factor between the figures: the interval's end nearer to 1, with the safety factor."""
    return max(pair.low, 1 / pair.high) / _OTHER_DAYS


def _share(pair: Comparison) -> float:
    """Return the largest difference that the interval allows, in per cent, rounded up to tens."""
    furthest = max(pair.high, 1 / pair.low) - 1
    return 10 * math.ceil(10 * furthest) if furthest < 1 else math.inf


def _rounded_down(times: float) -> float:
    """Return a bound rounded down for print: 1.2 to 1.9, then whole numbers up to 10.

    No more is said than ten times: on a busy machine 20 times were 5, and two runs would contradict each other.
    """
    return math.floor(10 * times) / 10 if times < 2 else float(min(_MOST_TIMES, math.floor(times)))


def _difference(pair: Comparison) -> Statement:
    times = _rounded_down(_bound(pair))
    is_more = pair.low > 1
    more, less = (pair.row, pair.baseline) if is_more else (pair.baseline, pair.row)
    bounds = (times, None) if is_more else (0.0, 1 / times)
    text = _worded(_DIFFERENT, pair, more, less, times=f"{times:g}")
    return Statement(text, _figures(pair, is_inverse=not is_more), pair, *bounds)


def _equality(pair: Comparison) -> Statement:
    share = _share(pair)
    text = _worded(_SAME, pair, pair.row, pair.baseline, share=f"{share:.0f}")
    return Statement(text, _figures(pair), pair, 1 / (1 + share / 100), 1 + share / 100)


def _worded(forms: dict[Metric, str], pair: Comparison, more: str, less: str, **amounts: str) -> str:
    said = {"more": more, "less": less, "load": f"'{pair.load}'", "sync": pair.sync, **amounts}
    return printable(forms[pair.metric].format(**said))


def _figures(pair: Comparison, *, is_inverse: bool = False) -> str:
    """Return row, baseline and their ratio; is_inverse: baseline, row and baseline / row, in the order of the sentence."""
    own, other = (_amount(pair.metric.unit, value) for value in (pair.compared.own, pair.compared.other))
    first, second = f"{printable(pair.row)} {own}", f"{printable(pair.baseline)} {other}"
    values = (pair.ratio, pair.low, pair.high)
    if is_inverse:
        first, second = second, first
        values = (1 / pair.ratio, 1 / pair.high, 1 / pair.low)
    ratio, low, high = map(significant, values)
    return f"{first}, {second}: ratio {ratio}, 95 % interval {low} to {high}, n = {pair.compared.n}"


def _amount(unit: Unit, value: float) -> str:
    if unit is Unit.BYTES_PER_S:
        return format_rate(value)
    if unit is Unit.SECONDS:
        return format_seconds(value)
    return significant(value) if unit is Unit.COUNT else f"{significant(value)} {unit.value}"
