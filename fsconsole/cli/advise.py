"""`fsconsole advise`: the rows that may be the best, and why."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from fsconsole.cli.app import AsJson, RunsDir
from fsconsole.journal.folder import LATEST
from fsconsole.model import DEFAULT_RUNS_DIR

EPILOG = (
    "Example: `fsconsole advise latest --weights durable=3,check=2`. Advice needs a finished run in rounds, at least 3, with two "
    "rows that have all weighed columns."
)
"""Below the help of the command."""


def advise(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Name of a run, or a prefix of it.")] = LATEST,
    *,
    weights: Annotated[
        str,
        typer.Option(
            metavar="A=3,B=1",
            help="Columns with their weights. Default: the column of the verdicts 3; check, durable delete 1.",
        ),
    ] = "",
    as_json: AsJson = False,
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
) -> None:
    """Say which rows of a run may be its best, and what speaks against each."""
    from fsconsole.cli.complaint import terminal_width
    from fsconsole.client.runs import look
    from fsconsole.journal.store import open_run
    from fsconsole.results import advice
    from fsconsole.results.advice_text import Place, advice_json, advice_text
    from fsconsole.results.grid import build_grid
    from fsconsole.show.apply import safety_of

    chosen = advice.parse_weights(weights) if weights else None
    folder = open_run(runs_dir, run)
    state = look(folder).state
    grid = build_grid(state)
    found = advice.advise(state, grid, safety_of, chosen)
    place = Place(folder.name, runs_dir)
    sys.stdout.write(
        advice_json(state, grid, found, place)
        if as_json
        else advice_text(state, grid, found, place, width=terminal_width())
    )
