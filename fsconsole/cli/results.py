"""`fsconsole results`: the grid of a run."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from fsconsole.cli.app import RunName, RunsDir
from fsconsole.cli.curves import Axis, OfVariant, Svg, WithCurves, check_curves, draw_curves
from fsconsole.errors import Misused
from fsconsole.journal.folder import LATEST
from fsconsole.model import DEFAULT_RUNS_DIR
from fsconsole.model.metrics import BDI_FIELDS, BONNIE_RATES, OF_BONNIE, OF_MIXES, OF_WRITEBACK, PILOTS, Metric
from fsconsole.model.verdicts import MOST_PAIRED
from fsconsole.text import printable

if TYPE_CHECKING:
    from fsconsole.client.runs import Look
    from fsconsole.journal.folder import RunFolder
    from fsconsole.model.state import RunState
    from fsconsole.results.blocks import GridChoice


_PEAKS = frozenset(peak for _, peak, _ in BDI_FIELDS)
_OF_FAMILIES = frozenset({*OF_MIXES, *PILOTS, *OF_BONNIE, *OF_WRITEBACK})


def _names(metrics: Iterable[Metric]) -> str:
    # A name with a comma could not be given to --columns.
    return ", ".join(metric.value if "," in metric.column else metric.column for metric in metrics)


EPILOG = (
    f"Columns: {_names(metric for metric in Metric if metric not in _OF_FAMILIES)}. Of a mix, for each operation (create, "
    "write, append, read, random-read, random-write, stat, delete): read ops/s, read mean, read calls, read p50, read p99, read "
    f"max. Of a raw row: {_names(PILOTS)}. Of bonnie++: write, read, "
    f"{_names(BONNIE_RATES[test] for test in BONNIE_RATES if BONNIE_RATES[test] in OF_BONNIE)}, each also with CPU and latency "
    f"(rewrite CPU). Of a load with trace = true: {_names(metric for metric in OF_WRITEBACK if metric not in _PEAKS)}; BDI fields "
    "also with peak (b_dirty peak)."
)
"""Below the help of the command."""


class Format(str, Enum):
    """Formats of results."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MD = "md"


ToFormat = Annotated[Format, typer.Option("--format", metavar="FORMAT", help="table, json, csv or md.")]
InJson = Annotated[bool, typer.Option("--json", help="The same as --format json.")]


def format_of(output: Format, *, as_json: bool, command: str = "fsconsole results") -> Format:
    """Return the format that is meant. Raises Misused for --json beside another one."""
    if as_json and output not in (Format.TABLE, Format.JSON):
        what = f"--json and --format {output.value} exclude each other."
        raise Misused(what=what, nearest="", command=command)
    return Format.JSON if as_json else output


Sort = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Sort by a column, an axis (threads, read_ahead, ...), variant, or change. Default: each block by its axes, then "
        "by the column of its verdicts, best first.",
    ),
]
Baseline = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Compare with a variant (xfs), at equal axis values, or with an axis value (read_ahead=128KiB), with all else "
        "equal. Default: the plan's.",
    ),
]
AllPairs = Annotated[
    bool, typer.Option("--all-pairs", help=f"Compare all rows of a block with each other, at most {MOST_PAIRED}.")
]
Columns = Annotated[
    str,
    typer.Option(
        "--columns",
        "--column",
        metavar="A,B,C",
        help="Columns to show, each in its block; default: those that fit 80 columns.",
    ),
]
WithRedone = Annotated[
    bool, typer.Option("--with-redone", help="Include rounds that were run again; no verdict uses them.")
]
Summary = Annotated[
    bool,
    typer.Option(
        "--summary",
        help="With --format csv: one line per row of each block, with its verdict, instead of one per cell.",
    ),
]
Spreadsheet = Annotated[
    bool,
    typer.Option(
        "--spreadsheet", help="With --format csv: an apostrophe before text that a spreadsheet takes for a formula."
    ),
]
Beside = Annotated[
    str, typer.Option("--with", metavar="NAME", help="Add a published table: bull-2008-patched. Not with csv.")
]
Explain = Annotated[
    bool, typer.Option("--explain", help="With --format table: explain columns, verdicts and warnings.")
]
Map = Annotated[
    bool,
    typer.Option(
        "--map",
        help="Draw which file owns which part of the device, for one cell of each row: long runs and interleaving. Lines of "
        "one letter are long runs.",
    ),
]
Cells = Annotated[
    str, typer.Option("--cells", metavar="3,7", help="With --map: draw these cells, numbered as in the console.")
]


def results(
    run: RunName = LATEST,
    *,
    output: ToFormat = Format.TABLE,
    as_json: InJson = False,
    sort: Sort = "",
    is_reversed: Annotated[bool, typer.Option("--reverse", help="Reverse the order.")] = False,
    baseline: Baseline = "",
    all_pairs: AllPairs = False,
    columns: Columns = "",
    with_redone: WithRedone = False,
    summary: Summary = False,
    spreadsheet: Spreadsheet = False,
    explain: Explain = False,
    beside: Beside = "",
    has_map: Map = False,
    cells: Cells = "",
    curves: WithCurves = False,
    axis: Axis = "",
    variant: OfVariant = "",
    svg: Svg = "",
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
) -> None:
    """Print the results of a finished or running run.

    Exit code where the plan requires figures, as that of `fsconsole run`: 0: a row meets all requirements; 5: every row
    misses one; 6: undecided, also while the run goes on; 3 or another of the run's own where it ended by that.
    """
    from fsconsole.cli.complaint import refuse_idle, terminal_width
    from fsconsole.client.runs import look
    from fsconsole.journal.store import open_run
    from fsconsole.results.requirements import has_requirements

    output = format_of(output, as_json=as_json)
    page = {"summary": summary, "explain": explain, "spreadsheet": spreadsheet}
    _check_goes_with(output, beside=beside, **page)
    order = {"--sort": sort, "--reverse": is_reversed, "--baseline": baseline, "--all-pairs": all_pairs,
             "--with-redone": with_redone}  # fmt: skip
    drawn = {"--map": has_map, "--cells": cells}
    idle = drawn | order | {"--explain": explain, "--with": beside, "--format": output is not Format.TABLE}
    check_curves(curves=curves, needs={"--axis": axis, "--variant": variant}, idle=idle, command="fsconsole results")
    folder = open_run(runs_dir, run)
    seen = look(folder)
    width = terminal_width()
    if curves:
        draw_curves([(folder.name, seen.state)], columns=columns, axis=axis, variant=variant, svg=svg, width=width)
        return
    if has_map or cells or svg:
        idle = {name: idle[name] for name in idle if name not in drawn} | {"--columns": columns}
        _print_map(folder, seen, cells, svg, has_map=has_map, idle=idle)
        return
    if output is Format.CSV and not summary:
        refuse_idle(order, "--format csv but for --summary", "fsconsole results")
    choice = _chosen(columns, sort, baseline, is_reversed=is_reversed, all_pairs=all_pairs, with_redone=with_redone)
    sys.stdout.write(report(folder, output, choice=choice, **page, width=width, beside=beside, seen=seen))
    sys.stdout.flush()
    if has_requirements(seen.state):
        raise typer.Exit(ending_code(seen.state))


def _print_map(
    folder: RunFolder, seen: Look, cells: str, svg: str, *, has_map: bool, idle: Mapping[str, object]
) -> None:
    from fsconsole.cli.complaint import terminal_width
    from fsconsole.cli.drawings import check_map, layout_map

    check_map(has_map=has_map, idle=idle)
    sys.stdout.write(layout_map(folder, seen, cells=cells, svg=svg, width=terminal_width()))


def _chosen(columns: str, sort: str, baseline: str, **flags: bool) -> GridChoice:
    from fsconsole.results.blocks import GridChoice
    from fsconsole.results.grid import columns_named

    return GridChoice(sort, baseline=baseline, columns=columns_named(columns) if columns else (), **flags)


def _check_goes_with(output: Format, *, beside: str, summary: bool, explain: bool, spreadsheet: bool) -> None:
    """Raise Misused for an option that this format would ignore."""
    what, nearest = "", ""
    if beside and output is Format.CSV:
        what = "A table for programs holds a run's own figures only: --with does not go with csv."
        nearest = "`--format json` has both; "
    elif summary and output is not Format.CSV:
        what = "--summary goes with --format csv only."
    elif spreadsheet and output is not Format.CSV:
        what = "--spreadsheet goes with --format csv only."
    elif explain and output is not Format.TABLE:
        what = "--explain goes with --format table only."
    if what:
        raise Misused(what=what, nearest=nearest, command="fsconsole results")


def ending_code(state: RunState) -> int:
    """Return the exit code of a run's end, with its reason on stderr: the engine's own, else that of its requirements."""
    from fsconsole.cli.complaint import complain
    from fsconsole.results.grid import build_grid
    from fsconsole.results.requirements import ending_of, has_requirements, requirements_of

    if state.exit_code:
        complain(printable(state.reason), printable(state.hint))
        return state.exit_code
    if not has_requirements(state):
        return 0
    error = ending_of(requirements_of(state, build_grid(state)))
    if error is None:
        return 0
    complain(str(error), error.hint)
    return error.exit_code


def report(
    folder: RunFolder,
    output: Format = Format.TABLE,
    *,
    choice: GridChoice | None = None,
    summary: bool = False,
    explain: bool = False,
    spreadsheet: bool = False,
    width: int = 80,
    beside: str = "",
    seen: Look | None = None,
) -> str:
    """Return a run's figures; beside names a shipped publication, seen is the run where it was read already.

    Raises what blocks_of() and the journal's reader raise.
    """
    from fsconsole.client.runs import look
    from fsconsole.results.blocks import GridChoice
    from fsconsole.results.grid import build_grid

    choice, seen, publication = choice or GridChoice(), seen or look(folder), None
    if beside:
        from fsconsole.plan.publications import find_publication

        publication = find_publication(beside)
    grid = build_grid(seen.state, publication=publication, with_redone=choice.with_redone)
    if output is Format.JSON:
        from fsconsole.results.json import render_json

        return render_json(seen.state, grid, standing=seen.standing, choice=choice)
    if output is Format.CSV:
        from fsconsole.results.csv import cells_csv, summary_csv

        if summary:
            return summary_csv(seen.state, grid, choice, for_spreadsheet=spreadsheet)
        return cells_csv(seen.state, grid, choice.columns, for_spreadsheet=spreadsheet)
    if output is Format.MD:
        from fsconsole.results.markdown import render_markdown

        return render_markdown(seen.state, grid, standing=seen.standing, choice=choice)
    from fsconsole.results.text import ReportPage, render_text

    return render_text(seen.state, grid, standing=seen.standing, choice=choice, page=ReportPage(width, explain))
