"""What a device that slows down does to a comparison, by the order of cells: `python -m tests.bench.drift`.

Simulated: each figure is the variant's true rate, times what is left of the device's speed at that place of the run,
times a scatter of its own, which is the same in all orders. Compared by the product's own statistics. The figures of
docs/why-rounds.md are what it prints; tests/unit/results/test_drift.py holds them to it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Order
from fsconsole.model.resolution import Reading
from fsconsole.model.statistics import ALPHA, interval
from fsconsole.model.verdicts import Compared, compared

VARIANTS = ("ext4", "ext4 data=writeback", "xfs", "btrfs")
REPEATS = 5
SPREAD, DRIFT = 0.04, 0.30
FASTEST_MB_S = 1500.0
XFS_SLOWER = (1.0, 1.0, 0.85, 1.0)
RUNS = 1000
SHOWN = 0
"""The seed of the run that is shown whole."""
ORDERS = (Order.AS_LISTED, Order.SHUFFLED, Order.ROUNDS)


def places(order: Order, seed: int) -> list[tuple[int, int]]:
    """Return variant and repeat (from 1) of each cell, in the order in which a plan has them."""
    cells = [(variant, repeat) for variant in range(len(VARIANTS)) for repeat in range(1, REPEATS + 1)]
    if order is not Order.AS_LISTED:
        random.Random(seed).shuffle(cells)  # noqa: S311 (an order, not a secret)
    if order is Order.ROUNDS:
        cells.sort(key=lambda cell: cell[1])
    return cells


def measured(order: Order, seed: int, truths: Sequence[float] = (1.0,) * 4) -> list[dict[int, Reading]]:
    """Return the durable figures of each variant by repeat, in bytes/s."""
    scatter = random.Random(f"scatter {seed}")  # noqa: S311 (noise)
    noise = {cell: scatter.gauss(0, SPREAD) for cell in places(Order.AS_LISTED, seed)}
    found: list[dict[int, Reading]] = [{} for _ in VARIANTS]
    cells = places(order, seed)
    for place, (variant, repeat) in enumerate(cells):
        left = 1 - DRIFT * place / (len(cells) - 1)
        rate = FASTEST_MB_S * 1e6 * truths[variant] * left * math.exp(noise[variant, repeat])
        found[variant][repeat] = Reading(rate)
    return found


def verdicts(order: Order, seed: int, truths: Sequence[float] = (1.0,) * 4) -> list[Compared]:
    """Return each variant but the first against the first, as the grid compares rows."""
    base, *others = measured(order, seed, truths)
    told = (compared(one, base, Metric.DURABLE, family=len(others)) for one in others)
    return [one for one in told if one is not None]


def signs(order: Order, seed: int, truths: Sequence[float] = (1.0,) * 4) -> list[int]:
    """Return of each variant but the first: -1 slower, 1 faster, 0 not told apart; as verdicts(), in less time."""
    base, *others = measured(order, seed, truths)
    found = []
    for one in others:
        ratios = [math.log(one[number].value / base[number].value) for number in base]
        of = interval(ratios, ALPHA / len(others))
        found.append((of.low > 0) - (of.high < 0))
    return found


def text(runs: int = RUNS) -> str:
    """Return one run in two orders, and how often such runs are right."""
    columns = [verdicts(order, SHOWN) for order in (Order.AS_LISTED, Order.ROUNDS)]
    lines = [
        f"four equal variants, {REPEATS} repeats each, spread {100 * SPREAD:.0f} %; the device loses {100 * DRIFT:.0f} % of its speed",
        "",
        f"{'':<21}{'as listed':<31}rounds",
        f"{'variant':<21}{'MB/s  vs ext4, 95 %':<31}MB/s  vs ext4, 95 %",
        f"{VARIANTS[0]:<21}"
        + f"{_figure(columns[0][0].other)}  {'baseline':<25}"
        + f"{_figure(columns[1][0].other)}  baseline",
    ]
    for name, *pair in zip(VARIANTS[1:], *columns, strict=True):
        lines.append((f"{name:<21}" + "".join(f"{_told(one):<31}" for one in pair)).rstrip())
    lines += ["", f"{f'of {runs:,} such runs':<43}as listed  shuffled  rounds"]
    for what, shares in (
        ("equal variants called different", [_share(order, runs, (1.0,) * 4) for order in ORDERS]),
        ("a 15 % slower xfs is found, and only that", [_share(order, runs, XFS_SLOWER) for order in ORDERS]),
    ):
        listed, shuffled, rounds = (f"{share:.1f} %" for share in shares)
        lines.append(f"{what:<43}{listed:>9}  {shuffled:>8}  {rounds:>6}")
    return "\n".join(lines) + "\n"


def _share(order: Order, runs: int, truths: Sequence[float]) -> float:
    """Return the per cent of runs in which equal variants are told apart, or else the slower one is, and no other one."""
    right = [-1 if truth < 1 else 0 for truth in truths[1:]]
    found = [signs(order, seed, truths) for seed in range(runs)]
    return 100 * sum(one == right if any(right) else any(one) for one in found) / runs


def _figure(bytes_s: float) -> str:
    return f"{bytes_s / 1e6:4.0f}"


def _told(one: Compared) -> str:
    low, high = (100 * (bound or 0.0) for bound in (one.low, one.high))
    word = one.verdict.value if one.verdict else ""
    return f"{_figure(one.own)}  {100 * one.change:+.0f} [{low:+.0f}..{high:+.0f}] {word}"


if __name__ == "__main__":
    print(text(), end="")
