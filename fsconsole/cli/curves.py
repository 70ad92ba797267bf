"""Curves of runs on the terminal, or in a file as SVG: `results --curves` and `compare --curves`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from fsconsole.cli.drawings import has_colours, painted
from fsconsole.errors import Misused
from fsconsole.text import printable

if TYPE_CHECKING:
    from fsconsole.model.state import RunState
    from fsconsole.results.curves import CurveChart

WithCurves = Annotated[
    bool,
    typer.Option(
        "--curves",
        help="Draw each block's primary column, or those of --columns, over an axis with three or more numbers.",
    ),
]
Axis = Annotated[
    str, typer.Option("--axis", metavar="NAME", help="With --curves: threads, block_size, read_ahead, ...")
]
OfVariant = Annotated[str, typer.Option("--variant", metavar="NAME", help="With --curves: of this variant alone.")]
Svg = Annotated[
    str, typer.Option("--svg", metavar="FILE", help="Write the drawing of --map or --curves to FILE as SVG.")
]


def draw_curves(
    runs: Sequence[tuple[str, RunState]], *, columns: str, axis: str, variant: str, svg: str, width: int
) -> None:
    """Print the curves of runs, each with its label, or write them to a file. Raises NoCurves, UnknownColumn, ExportFailed."""
    from fsconsole.client.runs import save
    from fsconsole.results.curves import CurveChoice, charts_of
    from fsconsole.results.grid import columns_named

    chosen = columns_named(columns) if columns else ()
    charts = charts_of(runs, CurveChoice(chosen, axis, variant))
    if svg:
        from fsconsole.results.curves_svg import charts_svg

        save(svg, charts_svg(charts), overwrite=False)
        typer.echo(f"Written: {printable(svg)}", err=True)
        return
    sys.stdout.write("\n".join(charts_text(charts, width, colours=has_colours())))
    sys.stdout.flush()


def check_curves(*, curves: bool, needs: Mapping[str, object], idle: Mapping[str, object], command: str) -> None:
    """Raise Misused for an option of needs that was given without --curves, or one of idle beside them."""
    given = next((name for name, said in (idle if curves else needs).items() if said), "")
    if given:
        what = f"{given} does not go with --curves." if curves else f"{given} goes with --curves."
        raise Misused(what=what, nearest="", command=command)


def charts_text(charts: Sequence[CurveChart], width: int, *, colours: bool) -> list[str]:
    """Return each chart as lines that end with a newline."""
    from fsconsole.results.curves_text import chart_lines

    return [
        "".join(f"{line.rstrip()}\n" for line in painted(chart_lines(chart, width), has_colours=colours))
        for chart in charts
    ]
