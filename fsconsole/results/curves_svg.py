"""Curves as SVG: one picture with the charts below each other, for any browser, without a library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from string import ascii_letters

from fsconsole.results.content import scale_for
from fsconsole.results.curves import Curve, CurveChart, is_cut, notes_of, positions, top_of
from fsconsole.units import significant

_WIDTH, _PLOT_HEIGHT = 860, 320
_LEFT, _RIGHT, _HEAD, _FOOT = 84, 24, 52, 54
_LEGEND_LINE, _PARTS = 18, 4
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#7a6a00", "#56b4e9", "#000000", "#e69f00")
"""Told apart by the colour-blind too (Okabe and Ito 2008; yellow darkened for white paper)."""
_DASHES = ("", "7 4", "2 4", "9 3 2 3", "1 2", "12 4", "4 2")
"""Of each further eight curves."""
_TEXT = 'font-family="sans-serif" font-size="13" fill="#222"'


def charts_svg(charts: Sequence[CurveChart]) -> str:
    """Return the picture; text from anywhere is escaped."""
    parts, y = [], 0.0
    for chart in charts:
        height = _height(chart)
        parts.append(f'<g transform="translate(0 {y:g})">\n{_chart(chart)}\n</g>')
        y += height
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{y:g}" viewBox="0 0 {_WIDTH} {y:g}">\n'
        f'<rect width="100%" height="100%" fill="#fff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _height(chart: CurveChart) -> float:
    return _HEAD + _PLOT_HEIGHT + _FOOT + _LEGEND_LINE * (len(chart.curves) + 1) + 16


def _chart(chart: CurveChart) -> str:
    scale = scale_for(chart.metric, [point.y for point in chart.points])
    top = top_of(chart, scale.factor)
    unit = f", {scale.unit}" if scale.unit else ""
    parts = [_words(_LEFT, 20, chart.title), _words(_LEFT, 40, f"{chart.metric.column}{unit}, over {chart.axis}")]
    for part in range(_PARTS + 1):
        y = _y(top * part / _PARTS, top)
        parts.append(f'<path d="M{_LEFT} {y:g}H{_WIDTH - _RIGHT}" stroke="#ddd"/>')
        parts.append(_words(_LEFT - 8, y + 4, significant(top * part / _PARTS / scale.factor), "end"))
    at = {x: _LEFT + 14 + place * (_WIDTH - _LEFT - _RIGHT - 28) for x, place in positions(chart).items()}
    for x, value in chart.values:
        parts.append(f'<path d="M{at[x]:g} {_HEAD + _PLOT_HEIGHT}v6" stroke="#222"/>')
        parts.append(_words(at[x], _HEAD + _PLOT_HEIGHT + 22, value, "middle"))
    parts.append(f'<path d="M{_LEFT} {_HEAD}V{_HEAD + _PLOT_HEIGHT}H{_WIDTH - _RIGHT}" fill="none" stroke="#222"/>')
    middle = (len(chart.curves) - 1) / 2
    apart = min(4.0, 24.0 / max(1, len(chart.curves)))
    for number, curve in enumerate(chart.curves):
        shift = (number - middle) * apart
        parts += _curve(curve, number, {x: place + shift for x, place in at.items()}, top)
        y = _HEAD + _PLOT_HEIGHT + _FOOT + _LEGEND_LINE * number
        parts.append(f'<path d="M{_LEFT} {y - 4:g}h34" {_line(number)}/>')
        parts.append(_words(_LEFT + 42, y, f"{ascii_letters[number]}  {curve.name}"))
    y = _HEAD + _PLOT_HEIGHT + _FOOT + _LEGEND_LINE * len(chart.curves)
    parts.append(_words(_LEFT, y, " ".join(notes_of(chart, top, mark="Bars:", cut="No cap:"))))
    return "\n".join(parts)


def _curve(curve: Curve, number: int, at: dict[float, float], top: float) -> Iterator[str]:
    """Yield the intervals, the line and its points; each point tells its figures to a pointer."""
    for point in curve.points:
        if point.low is not None and point.high is not None:
            x, low, high = at[point.x], _y(point.low, top), _y(point.high, top)
            cap = "" if is_cut(point, top) else f"M{x - 4:g} {high:g}h8"
            yield f'<path d="{cap}M{x:g} {high:g}V{low:g}M{x - 4:g} {low:g}h8" {_line(number, "1")}/>'
    path = "L".join(f"{at[point.x]:g} {_y(point.y, top):g}" for point in curve.points)
    yield f'<path d="M{path}" {_line(number)}/>'
    for point in curve.points:
        words = escape(f"{curve.name}, {point.value}: {point.y:g}")
        yield (
            f'<circle cx="{at[point.x]:g}" cy="{_y(point.y, top):g}" r="3.5" fill="{_COLOURS[number % len(_COLOURS)]}">'
            f"<title>{words}</title></circle>"
        )


def _line(number: int, width: str = "2") -> str:
    dash = _DASHES[number // len(_COLOURS) % len(_DASHES)]
    dashes = f' stroke-dasharray="{dash}"' if dash and width != "1" else ""
    return f'fill="none" stroke="{_COLOURS[number % len(_COLOURS)]}" stroke-width="{width}"{dashes}'


def _y(value: float, top: float) -> float:
    return _HEAD + _PLOT_HEIGHT * (1 - min(max(value / top, 0.0), 1.0))


def _words(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" {_TEXT}>{escape(text)}</text>'
