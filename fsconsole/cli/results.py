"""`fsconsole results`: the grid of a run."""

from __future__ import annotations

import shutil
import sys
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from fsconsole.cli.app import RunsDir
from fsconsole.errors import Misused
from fsconsole.journal.folder import LATEST
from fsconsole.model import DEFAULT_RUNS_DIR
from fsconsole.model.metrics import Metric, column_named
from fsconsole.text import printable

if TYPE_CHECKING:
    from fsconsole.journal.folder import RunFolder
    from fsconsole.model.state import RunState


_WIDEST = 200
_COLUMNS = ", ".join(
    # A name with a comma could not be given to --columns.
    definition.value if "," in definition.column else definition.column
    for definition in Metric
)
EPILOG = f"Columns: {_COLUMNS}."
"""Below the help of the command."""


class Format(str, Enum):
    """How results are printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MD = "md"


def results(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Name of a run, or a prefix of it.")] = LATEST,
    *,
    output: Annotated[Format, typer.Option("--format", help="Output format.")] = Format.TABLE,
    sort: Annotated[
        str,
        typer.Option(metavar="COL", help="Sort column; rates: highest first, others: lowest first."),
    ] = "durable",
    columns: Annotated[
        str,
        typer.Option(metavar="A,B,C", help="Columns to show; default: those that fit 80 columns."),
    ] = "",
    summary: Annotated[bool, typer.Option("--summary", help="With csv: one line per row of the grid.")] = False,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="With table: explain columns and warnings."),
    ] = False,
    beside: Annotated[
        str,
        typer.Option("--with", metavar="NAME", help="Add published figures: bull-2008. Not with csv."),
    ] = "",
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
) -> None:
    """Print the results of a finished or running run.

    Exit code where the plan requires figures, as that of `fsconsole run`: 0: a row meets all requirements; 5: every row
    misses one; 6: undecided, also while the run goes on; 3 or another of the run's own where it ended by that.
    """
    from fsconsole.client.runs import look
    from fsconsole.journal.store import open_run
    from fsconsole.results.requirements import has_requirements

    if beside and output is Format.CSV:
        what = "A table for programs holds a run's own figures only: --with does not go with csv."
        raise Misused(what=what, nearest="`--format json` has both; ", command="fsconsole results")
    folder = open_run(runs_dir, run)
    text = report(
        folder,
        output,
        sort=sort,
        columns=columns,
        summary=summary,
        explain=explain,
        width=terminal_width(),
        beside=beside,
    )
    sys.stdout.write(text)
    sys.stdout.flush()
    state = look(folder).state
    if has_requirements(state):
        raise typer.Exit(ending_code(state))


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
    error = ending_of(requirements_of(state, build_grid(state)), state.request.run_id)
    if error is None:
        return 0
    complain(str(error), error.hint)
    return error.exit_code


def report(
    folder: RunFolder,
    output: Format = Format.TABLE,
    *,
    sort: str = "durable",
    columns: str = "",
    summary: bool = False,
    explain: bool = False,
    width: int = 80,
    beside: str = "",
) -> str:
    """Return a run's figures; no columns: the format's own choice. beside names a shipped publication.

    Raises UnknownColumn, and whatever the journal's reader raises.
    """
    from fsconsole.client.runs import look
    from fsconsole.plan.publications import find_publication
    from fsconsole.results.csv import cells_csv, summary_csv
    from fsconsole.results.grid import build_grid, columns_for, columns_named
    from fsconsole.results.json import render_json
    from fsconsole.results.markdown import render_markdown
    from fsconsole.results.text import ReportPage, render_text

    sort_by = column_named(sort)
    chosen = columns_named(columns) if columns else ()
    seen = look(folder)
    publication = find_publication(beside) if beside else None
    grid = build_grid(seen.state, sort_by=sort_by, publication=publication)
    if output is Format.JSON:
        return render_json(seen.state, grid, standing=seen.standing)
    if output is Format.CSV:
        lines = summary_csv if summary else cells_csv
        return lines(seen.state, grid, chosen or tuple(Metric))
    chosen = chosen or columns_for(grid)
    if output is Format.MD:
        return render_markdown(seen.state, grid, standing=seen.standing, columns=chosen)
    page = ReportPage(width, explain)
    return render_text(seen.state, grid, standing=seen.standing, columns=chosen, page=page)


def terminal_width() -> int:
    """Return the terminal's width; 80 where the output goes elsewhere."""
    return min(_WIDEST, shutil.get_terminal_size().columns) if sys.stdout.isatty() else 80
