"""How often verdicts err, and what they find, by simulated grids: `python -m tests.simulate [--grids 20000]`.

Needs NumPy and SciPy (tests/simulate/requirements.lock). README.md beside it has the figures that chose the method.
Exits with 1 where the method of fsconsole/model/verdicts.py breaks its promise: a false winner in more than 5 % of
grids, a true 10 % at a spread of 5 % found in less than 80 % of them within 12 rounds, or the truly best row missing on
advice's list in more than 5 %.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Variant
from fsconsole.model.resolution import Reading
from fsconsole.model.statistics import ALPHA, LOOK_ALPHAS, LOOKS, POWER, detectable
from fsconsole.model.verdicts import DEFAULT_SAME, Verdict, compared
from fsconsole.results.advice import Safety, advise
from fsconsole.results.grid import build_grid
from tests.unit.results import build

Logs = NDArray[np.float64]
"""Logarithms of figures: grids x rows x rounds; row 0 is the baseline."""
Flags = NDArray[np.bool_]
ROWS = 13
SPREAD = 0.05
_HELD_AGAINST, _ADVISED = 300, 5
"""Grids that fsconsole itself judges, and advises on, too."""


# Grids without a true difference.


def equal(draw: np.random.Generator, grids: int, rounds: int) -> Logs:
    """Every row as noisy as the others."""
    return draw.normal(0, SPREAD, (grids, ROWS, rounds))


def noisy_baseline(draw: np.random.Generator, grids: int, rounds: int) -> Logs:
    """The baseline three times noisier."""
    logs = equal(draw, grids, rounds)
    logs[:, 0] *= 3
    return logs


def noisy_row(draw: np.random.Generator, grids: int, rounds: int) -> Logs:
    """One row four times noisier."""
    logs = equal(draw, grids, rounds)
    logs[:, 1] *= 4
    return logs


def _moments(draw: np.random.Generator, grids: int, rounds: int) -> Logs:
    """Return when each cell runs, from 0 to 1: round by round, each shuffled."""
    places = draw.permuted(np.broadcast_to(np.arange(ROWS), (grids, rounds, ROWS)), axis=2)
    return ((places + ROWS * np.arange(rounds)[:, None]) / (ROWS * rounds)).transpose(0, 2, 1)


def drift(draw: np.random.Generator, grids: int, rounds: int) -> Logs:
    """The disk becomes 30 % slower from the first cell to the last."""
    return equal(draw, grids, rounds) - 0.36 * _moments(draw, grids, rounds)


def jump(draw: np.random.Generator, grids: int, rounds: int) -> Logs:
    """From some moment on everything is 30 % slower."""
    return equal(draw, grids, rounds) - 0.36 * (_moments(draw, grids, rounds) > draw.random((grids, 1, 1)))


def slow_rounds(draw: np.random.Generator, grids: int, rounds: int) -> Logs:
    """Each round has its own speed, with a spread of 20 %."""
    return equal(draw, grids, rounds) + draw.normal(0, 0.2, (grids, 1, rounds))


def heavy_tails(draw: np.random.Generator, grids: int, rounds: int) -> Logs:
    """Scatter of Student's t with 3 degrees of freedom."""
    return SPREAD * draw.standard_t(3, (grids, ROWS, rounds))


def outliers(draw: np.random.Generator, grids: int, rounds: int) -> Logs:
    """One cell in ten is slower by up to a half."""
    hit = draw.random((grids, ROWS, rounds)) < 0.1
    return equal(draw, grids, rounds) + np.where(hit, np.log(draw.uniform(0.5, 1, hit.shape)), 0)


NULLS = (equal, noisy_baseline, noisy_row, drift, jump, slow_rounds, heavy_tails, outliers)


# Methods: differences from the baseline and half the width of their intervals.

Intervals = tuple[Logs, Logs]


def _family(logs: Logs) -> int:
    return logs.shape[1] - 1


def paired(logs: Logs, alpha: float = ALPHA) -> Intervals:
    """Student's t of the differences round by round, Bonferroni: what fsconsole does."""
    apart = logs[:, 1:] - logs[:, :1]
    n = logs.shape[2]
    return apart.mean(2), stats.t.isf(alpha / 2 / _family(logs), n - 1) * apart.std(2, ddof=1) / math.sqrt(n)


def moderated(logs: Logs, alpha: float = ALPHA) -> Intervals:
    """The same, each spread drawn halfway to the rows' mean one, as if that were known from as many rounds (Smyth 2004)."""
    apart = logs[:, 1:] - logs[:, :1]
    n = logs.shape[2]
    own = apart.var(2, ddof=1)
    both = (own + own.mean(1, keepdims=True)) / 2
    return apart.mean(2), stats.t.isf(alpha / 2 / _family(logs), 2 * (n - 1)) * np.sqrt(both / n)


def welch(logs: Logs, alpha: float = ALPHA) -> Intervals:
    """Welch's t, rounds left aside, Bonferroni."""
    n = logs.shape[2]
    of = logs.var(2, ddof=1) / n
    own, other = of[:, 1:], of[:, :1]
    freedom = (n - 1) * (own + other) ** 2 / (own**2 + other**2)
    return logs[:, 1:].mean(2) - logs[:, :1].mean(2), stats.t.isf(alpha / 2 / _family(logs), freedom) * np.sqrt(
        own + other
    )


def dunnett(logs: Logs, alpha: float = ALPHA) -> Intervals:
    """Dunnett's test with one spread pooled from all rows, rounds left aside."""
    n = logs.shape[2]
    pooled = logs.var(2, ddof=1).mean(1, keepdims=True)
    half = _dunnett_quantile(_family(logs), logs.shape[1] * (n - 1), alpha) * np.sqrt(2 * pooled / n)
    return logs[:, 1:].mean(2) - logs[:, :1].mean(2), np.broadcast_to(half, (len(logs), _family(logs)))


def pooled_pairs(logs: Logs, alpha: float = ALPHA) -> Intervals:
    """Dunnett's test after each round's mean is taken away: two-way analysis of variance."""
    n = logs.shape[2]
    rest = logs - logs.mean(1, keepdims=True)
    rest = rest - rest.mean(2, keepdims=True)
    freedom = _family(logs) * (n - 1)
    half = _dunnett_quantile(_family(logs), freedom, alpha) * np.sqrt(2 * (rest**2).sum((1, 2)) / freedom / n)
    return logs[:, 1:].mean(2) - logs[:, :1].mean(2), np.broadcast_to(half[:, None], (len(logs), _family(logs)))


@lru_cache
def _dunnett_quantile(family: int, freedom: int, alpha: float) -> float:
    """Return the two-sided quantile of the largest t of a family with one baseline (Dunnett 1955), by 400,000 draws."""
    draw = np.random.default_rng(1955)
    means, squares = draw.normal(size=(400_000, family + 1)), draw.chisquare(freedom, 400_000)
    apart = np.abs(means[:, 1:] - means[:, :1]).max(1) / math.sqrt(2)
    return float(np.quantile(apart / np.sqrt(squares / freedom), 1 - alpha))


METHODS: dict[str, Callable[..., Intervals]] = {
    "paired": paired, "moderated": moderated, "Welch": welch, "Dunnett": dunnett, "two-way": pooled_pairs,
}  # fmt: skip


def winners(found: Intervals) -> Flags:
    """Return which rows differ from the baseline."""
    means, halves = found
    return np.abs(means) > halves


def decided(found: Intervals) -> Flags:
    """Return which rows have a verdict: another figure, or the same within 10 %."""
    means, halves = found
    is_inside = (means - halves >= math.log1p(-DEFAULT_SAME)) & (means + halves <= math.log1p(DEFAULT_SAME))
    return winners(found) | is_inside


def differs_from_product(logs: Logs, alpha: float = ALPHA) -> int:
    """Return in how many rows fsconsole's own verdict is another one than that of paired() and decided()."""
    found = paired(logs, alpha)
    expected = np.where(winners(found), 2, np.where(decided(found), 1, 0))
    wrong = 0
    for grid, words in zip(np.exp(logs), expected, strict=True):
        base = {number: Reading(float(value)) for number, value in enumerate(grid[0])}
        for row, word in zip(grid[1:], words, strict=True):
            own = {number: Reading(float(value)) for number, value in enumerate(row)}
            pair = compared(own, base, Metric.DURABLE, family=_family(logs), alpha=alpha)
            assert pair is not None
            wrong += {Verdict.UNDECIDED: 0, Verdict.SAME: 1}.get(pair.verdict or Verdict.SAME, 2) != word
    return wrong


def is_listed(logs: Logs, row: int) -> Flags:
    """Return in which grids advice lists a row: no other, the baseline among them, is decidedly better."""
    means, halves = paired(np.concatenate([logs[:, row : row + 1], np.delete(logs, row, axis=1)], axis=1))
    return ~(means > halves).any(1)


def listed(logs: Logs) -> Flags:
    """Return which rows advice lists, for each grid."""
    return np.stack([is_listed(logs, row) for row in range(logs.shape[1])], axis=1)


def listed_otherwise(logs: Logs) -> int:
    """Return of how many rows fsconsole's own advice says otherwise than listed()."""
    wrong = 0
    for grid, expected in zip(1e8 * np.exp(logs), listed(logs), strict=True):
        variants = [
            Variant(f"row {number}", "ext4", mount_words=(f"commit={number + 5}",)) for number in range(len(grid))
        ]
        cells, states = [], []
        for variant, figures in zip(variants, grid, strict=True):
            for repeat, figure in enumerate(figures, start=1):
                more = {Metric.DURABLE: float(figure), Metric.WRITTEN: 1e13, Metric.LAST_DONE: 1e4}
                states.append(build.done(len(cells), more=more))
                cells.append(build.cell(len(cells), variant, repeat=repeat))
        state = build.run(cells, states)
        said = advise(state, build_grid(state), lambda _: Safety(), {Metric.DURABLE: 1.0})
        titles = {one.candidate.variant.label for one in said.best}
        wrong += sum(
            (variant.label in titles) != is_listed for variant, is_listed in zip(variants, expected, strict=True)
        )
    return wrong


# Reports.


def false_winners(draw: np.random.Generator, grids: int, rows: int) -> tuple[float, int]:
    """Print the share of grids with a false winner, by method; return the largest of paired(), and the differences."""
    print(f"\nfalse winners, % of {grids} grids of {rows} equal rows")
    print(f"{'':30}" + "".join(f"{name:>16}" for name in METHODS))
    print(f"{'rounds':30}" + f"{'5':>9}{'12':>7}" * len(METHODS))
    worst, wrong = 0.0, 0
    for null in NULLS:
        line = f"{null.__name__.replace('_', ' '):30}"
        shares = {n: dict.fromkeys(METHODS, 0.0) for n in (5, 12)}
        for n, of in shares.items():
            logs = null(draw, grids, n)[:, :rows]
            wrong += differs_from_product(logs[:_HELD_AGAINST])
            for name, method in METHODS.items():
                of[name] = 100 * float(winners(method(logs)).any(1).mean())
            worst = max(worst, of["paired"])
        print(line + "".join(f"{shares[5][name]:9.1f}{shares[12][name]:7.1f}" for name in METHODS))
    return worst, wrong


def power(draw: np.random.Generator, grids: int) -> float:
    """Print how often one row that is truly 10 % faster is found, and what is found in 80 %; return that of 12 rounds."""
    print(
        f"\na row 10 % faster at a spread of 5 % is found in % of {grids} grids of {ROWS}; least difference found in 80 %"
    )
    print(f"{'rounds':>8}" + "".join(f"{name:>10}" for name in METHODS) + "    at spreads of 5, 10, 25 % (paired)")
    share = 0.0
    for n in (5, 8, 10, 12, 20):
        logs = equal(draw, grids, n)
        logs[:, 1] += math.log(1.1)
        found = {name: 100 * float(winners(method(logs))[:, 0].mean()) for name, method in METHODS.items()}
        least = "".join(f"{100 * detectable(n, ROWS - 1, spread):7.0f} %" for spread in (0.05, 0.10, 0.25))
        print(f"{n:8}" + "".join(f"{value:10.1f}" for value in found.values()) + least)
        share = found["paired"] if n == LOOKS[-1] else share
    return share


def auto(logs: Logs, alphas: tuple[float, ...] = LOOK_ALPHAS) -> tuple[Flags, NDArray[np.int64]]:
    """Return the winners of runs that end at the first look at which all rows are decided, and their rounds."""
    last = np.zeros(len(logs), dtype=np.int64)
    won = np.zeros((len(logs), _family(logs)), dtype=np.bool_)
    for n, alpha in zip(LOOKS, alphas, strict=True):
        found = paired(logs[:, :, :n], alpha)
        ends = (last == 0) & (decided(found).all(1) | (n == LOOKS[-1]))
        won[ends], last[ends] = winners(found)[ends], n
    return won, last


def looks(draw: np.random.Generator, grids: int) -> tuple[float, float]:
    """Print what `repeats = "auto"` does; return its largest share of false winners, and how often it finds 10 %."""
    print(f"\nrepeats = auto: looks after rounds {LOOKS}, error shared out as {LOOK_ALPHAS}, % of {grids} grids")
    worst = 0.0
    for null in NULLS:
        won, _ = auto(null(draw, grids, LOOKS[-1]))
        share = 100 * float(won.any(1).mean())
        worst = max(worst, share)
        print(f"  false winners, {null.__name__.replace('_', ' '):20}{share:6.1f}")
    logs = equal(draw, grids, LOOKS[-1])
    logs[:, 1] += math.log(1.1)
    share = 100 * float(auto(logs)[0][:, 0].mean())
    print(f"  a row 10 % faster at a spread of 5 % found  {share:6.1f}")
    for spread in (0.003, 0.005, 0.01, 0.02):
        logs = equal(draw, grids, LOOKS[-1]) * spread / SPREAD
        # Half the rows are equal, the others 30 % faster.
        logs[:, 1::2] += math.log(1.3)
        ends = [100 * float((auto(logs)[1] == n).mean()) for n in LOOKS]
        told = ", ".join(f"{value:.0f} after {n}" for value, n in zip(ends, LOOKS, strict=True))
        print(f"  runs that end at a spread of {100 * spread:.1f} %: {told}")
    logs = equal(draw, grids, 20)
    seen = np.zeros(grids, dtype=np.bool_)
    for n in range(3, 21):
        seen |= winners(paired(logs[:, :, :n])).any(1)
    print(f"  false winners of a look after each round from 3 to 20, error not shared out: {100 * seen.mean():.1f}")
    return worst, share


def advice(draw: np.random.Generator, grids: int) -> tuple[float, int]:
    """Print how often advice leaves the truly best row out; return the largest share, and rows of which fsconsole says otherwise."""
    print(f"\nthe truly best row is not on advice's list, % of {grids} grids of {ROWS}; rows on it, mean")
    print(f"{'':30}{'all equal':>16}{'2 % better':>16}{'10 % better':>16}")
    print(f"{'rounds':30}" + f"{'5':>9}{'12':>7}" * 3 + f"{'5':>9}{'12':>7}")
    worst, wrong = 0.0, 0
    for null in NULLS:
        line, lengths = f"{null.__name__.replace('_', ' '):30}", ""
        for ahead in (0.0, 0.02, 0.1):
            for n, width in ((5, 9), (12, 7)):
                logs = null(draw, grids, n)
                logs[:, 1] += math.log1p(ahead)
                out = 100 * float((~is_listed(logs, 1)).mean())
                worst = max(worst, out)
                line += f"{out:{width}.1f}"
                lengths += f"{listed(logs[:2000]).sum(1).mean():{width}.1f}" if ahead == 0.1 else ""
                wrong += listed_otherwise(logs[:_ADVISED]) if ahead else 0
        print(line + lengths)
    return worst, wrong


def main() -> int:
    """Simulate, print, judge."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--grids", type=int, default=20_000)
    words = parser.parse_args()
    draw = np.random.default_rng(16)
    worst, wrong = false_winners(draw, words.grids, ROWS)
    _, wrong_of_few = false_winners(draw, words.grids, 3)
    wrong += wrong_of_few
    found = power(draw, words.grids)
    worst_auto, found_auto = looks(draw, words.grids)
    left_out, advised_otherwise = advice(draw, words.grids)
    wrong += advised_otherwise
    print(f"\nrows in which fsconsole's verdict, or its advice, is another one than this program's: {wrong}")
    holds = not wrong and max(worst, worst_auto, left_out) <= 100 * ALPHA and min(found, found_auto) >= 100 * POWER
    print("what is promised holds" if holds else "what is promised DOES NOT HOLD")
    return int(not holds)


if __name__ == "__main__":
    sys.exit(main())
