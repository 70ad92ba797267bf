"""Changes and verdicts in words: "-15 [-19..-10]", "6.6 x [5.9..7.4]", "slower", "undecided +6"."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fsconsole.model.metrics import Metric, Unit
from fsconsole.model.verdicts import LEAST_ROUNDS, LEAST_STEPS, MOST_MORE, Compared, Scale, Verdict
from fsconsole.results.content import MISSING, scale_for
from fsconsole.units import fixed


def verdict_words(compared: Compared, same: float) -> str:
    """Return a verdict as a cell has it: "slower", "slower <10", "undecided +6", "undecided >30", "n 2", "unresolved"."""
    if compared.verdict is None:
        return f"n {compared.n}" if compared.n < LEAST_ROUNDS else "unresolved"
    if compared.verdict is Verdict.UNDECIDED:
        return f"undecided {f'>{MOST_MORE}' if compared.more is None else f'+{compared.more}'}"
    return f"{compared.verdict.value}{f' <{100 * same:g}' if compared.is_small else ''}"


def verdict_legend(found: Sequence[Compared], limit: float) -> tuple[str, ...]:
    """Return what the words and intervals of these verdicts mean, in sentences; only those that occur.

    limit is the share within which a difference is the same.
    """
    if not found:
        return ()
    same = f"{100 * limit:g} %"
    words = {one.verdict for one in found}
    said = [
        "Changes are in per cent of the baseline (3 x: three times), and 95 % intervals hold for all rows of a table together."
    ]
    if Verdict.SAME in words:
        said.append(f"same: certainly within {same}.")
    if any(one.is_small for one in found):
        said.append(f"<{100 * limit:g}: the difference is certain, and smaller than {same}.")
    more = [one.more for one in found if one.verdict is Verdict.UNDECIDED]
    if any(one is not None for one in more):
        said.append("undecided +6: six more rounds would decide it with a chance of 80 %.")
    if any(one is None for one in more):
        said.append(f"undecided >{MOST_MORE}: more rounds than that, not worth it.")
    if any(one.verdict is None and one.n < LEAST_ROUNDS for one in found):
        said.append(f"n 2: fewer than {LEAST_ROUNDS} rounds that both rows finished give no verdict.")
    if any(one.verdict is None and one.n >= LEAST_ROUNDS for one in found):
        said.append(f"unresolved: below {LEAST_STEPS} times what can be told apart; of a rate: the load was too short.")
    return tuple(said)


def verdict_terms(limit: float) -> dict[str, str]:
    """Return what stands in a table of verdicts, explained; limit is the share within which a difference is the same."""
    same = f"{100 * limit:g}"
    return {
        "slower, faster (more, less)": f"the interval of the change lies beyond 0; <{same}: it lies inside +-{same} %",
        "same": f"the interval lies inside +-{same} %",
        "undecided": "neither: the order of these rows may be chance",
        "n": "rounds that the row and the baseline finished",
        "[=*=]": "the interval, * the change, | the baseline; < and > are cut off",
    }


# Changes in words: "-15 [-19..-10]", "6.6 x [5.9..7.4]", "+8 [+2..+14] ms".

_LEAST_TIMES, _MOST_PERCENT = 3.0, 999
_MOST_TIMES = 99_999


def change_text(compared: Compared, metric: Metric) -> str:
    """Return a change with its interval: in per cent of the baseline, from three times on as a factor, else in its unit."""
    parts, unit = _change_parts(compared, metric)
    return _joined(parts, unit)


def change_texts(found: Sequence[Compared], metric: Metric) -> list[str]:
    """Return changes with the figures of those in per cent in line."""
    parts = [_change_parts(one, metric) for one in found]
    in_line = [one for one, unit in parts if not unit]
    widths = [max((len(one[place]) for one in in_line if place < len(one)), default=0) for place in range(3)]
    return [
        _joined([text.rjust(widths[place]) for place, text in enumerate(one)] if not unit else one, unit)
        for one, unit in parts
    ]


def _joined(parts: Sequence[str], unit: str) -> str:
    estimate, *bounds = parts
    of_interval = f" [{'..'.join(bounds)}]" if bounds else ""
    return f"{estimate} x{of_interval}" if unit == "x" else f"{estimate}{of_interval}{f' {unit}' if unit else ''}"


def _change_parts(compared: Compared, metric: Metric) -> tuple[list[str], str]:
    """Return estimate and bounds as texts, and their unit: none for per cent, "x" for a factor."""
    if compared.verdict is None and compared.n >= LEAST_ROUNDS:
        return [MISSING], ""
    values = [compared.change]
    values += [compared.low, compared.high] if compared.low is not None and compared.high is not None else []
    if compared.scale is Scale.DIFFERENCE:
        return _difference_parts(values, metric)
    if 1 + compared.change >= _LEAST_TIMES or 100 * max(values) > _MOST_PERCENT:
        return [_times(1 + value) for value in values], "x"
    decimals = _decimals([100 * value for value in values])
    return [_signed(100 * value, decimals) for value in values], ""


def _decimals(values: Sequence[float]) -> int:
    """Return how many digits per cent need: enough that the nearer bound of a decided difference is not 0."""
    nearest = min(map(abs, values))
    is_decided = all(value > 0 for value in values) or all(value < 0 for value in values)
    return 0 if not is_decided or nearest >= 0.5 or not nearest else min(2, max(1, -math.floor(math.log10(nearest))))


def _signed(value: float, decimals: int) -> str:
    text = f"{value:+.{decimals}f}"
    return text if text.strip("+-0.") else fixed(0.0, decimals)


def _times(ratio: float) -> str:
    if ratio > _MOST_TIMES:
        return f"{ratio:.0e}"
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}" if ratio >= 0.1 else f"{ratio:.2g}"


_SMALLER_UNITS = {Unit.SECONDS: ("ms", 1e-3), Unit.MILLISECONDS: ("us", 1e-3)}


def _difference_parts(values: Sequence[float], metric: Metric) -> tuple[list[str], str]:
    largest = max(map(abs, values))
    scale = scale_for(metric, (largest,))
    unit, factor = ("%pt" if metric.unit is Unit.PERCENT else scale.unit), scale.factor
    if largest < 1 and metric.unit in _SMALLER_UNITS:
        unit, factor = _SMALLER_UNITS[metric.unit]
    half = (max(values) - min(values)) / factor / 2 or largest / factor
    decimals = max(0, min(3, 1 - math.floor(math.log10(half)))) if 0 < half < math.inf else 0
    texts = [_signed(value / factor, decimals) for value in values]
    return [
        text if len(text) < 10 else f"{value / factor:+.0e}" for text, value in zip(texts, values, strict=True)
    ], unit
