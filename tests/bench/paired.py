"""What measurements in pairs share: contestants in turn, what they cost, ratios with an interval, and the verdict."""

from __future__ import annotations

import ctypes
import math
import os
import resource
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from fsconsole.model import statistics as student

T = TypeVar("T")

_CLONE_NEWNS = 0x20000
"""include/uapi/linux/sched.h"""


@dataclass(frozen=True)
class Cost:
    """What a piece of work took: CPU time of this process and of the children that it waited for, and the clock."""

    cpu_s: float
    wall_s: float


@dataclass(frozen=True)
class Ratio:
    """Geometric mean of paired ratios, with the 95 % interval of their logarithms (Student's t)."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f}, 95 % interval {self.low:.3f} to {self.high:.3f}"


def cost_of(work: Callable[[], object]) -> Cost:
    """Do some work and return what it took."""
    before_s, begun_s = cpu_s(), time.monotonic()
    work()
    return Cost(cpu_s() - before_s, time.monotonic() - begun_s)


def in_turn(contestants: Mapping[str, Callable[[], T]], pairs: int) -> dict[str, list[T]]:
    """Let all take their turn, pairs times; who begins rotates, and a first round is thrown away."""
    names = list(contestants)
    found: dict[str, list[T]] = {name: [] for name in names}
    for number in range(pairs + 1):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            result = contestants[name]()
            if number:
                found[name].append(result)
    return found


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> Ratio:
    """Return ours / theirs, pair by pair. Without a second pair there is no interval: it is all numbers."""
    ratios = [one / other for one, other in zip(ours, theirs, strict=True)]
    return Ratio(statistics.geometric_mean(ratios), *interval(ratios))


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % interval of the geometric mean, by Student's t on the logarithms."""
    if len(values) < 2:
        return 0.0, math.inf
    of_logs = student.interval([math.log(value) for value in values], student.ALPHA)
    return math.exp(of_logs.low), math.exp(of_logs.high)


def judge(what: str, figure: float | Ratio, *, at_least: float | None = None, at_most: float | None = None) -> bool:
    """Print a figure beside its limit, and return whether it holds."""
    value = figure.value if isinstance(figure, Ratio) else figure
    limit = at_least if at_least is not None else at_most
    if limit is None:
        print(f"{what}: {figure if isinstance(figure, Ratio) else f'{figure:,.4g}'}", flush=True)
        return True
    holds = value >= limit if at_least is not None else value <= limit
    words = "at least" if at_least is not None else "at most"
    said = str(figure) if isinstance(figure, Ratio) else f"{figure:,.4g}"
    print(f"{what}: {said}; allowed {words} {limit:,g}: {'holds' if holds else 'DOES NOT HOLD'}", flush=True)
    return holds


def table(found: Mapping[str, Sequence[Cost]]) -> None:
    """Print medians of CPU and wall seconds of each contestant."""
    width = max(map(len, found))
    for name, costs in found.items():
        cpu, wall = (statistics.median(getattr(cost, key) for cost in costs) for key in ("cpu_s", "wall_s"))
        print(f"{name:<{width}} {cpu:9.3f} CPU s {wall:9.3f} s   median of {len(costs)}", flush=True)


def as_program(main: Callable[[], int], *, needs_root: bool = True) -> None:
    """Run a measurement as a program; Ctrl-C gives everything back and ends it with 130.

    One that needs root gets a mount namespace of its own: no other process can keep its filesystems busy by having
    copied them into a namespace of its own, and they vanish with it.
    """
    if needs_root:
        if os.geteuid() != 0:
            sys.exit("this needs root: it makes a scratch device")
        if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNS) != 0:
            sys.exit(f"no mount namespace of its own: {os.strerror(ctypes.get_errno())}")
        subprocess.run(("mount", "--make-rslave", "/"), check=True)
    # A shell's background job ignores Ctrl-C, and so would all that it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        code = main()
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


def cpu_s() -> float:
    """Return the CPU time that this process and the children it waited for have used."""
    usages = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
