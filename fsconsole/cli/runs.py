"""`fsconsole runs`: what runs there are, and where each stands."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from fsconsole.model.places import DEFAULT_RUNS_DIR
from fsconsole.plaintext import printable
from fsconsole.report.cells import pad_left, pad_right, wrap

if TYPE_CHECKING:
    from fsconsole.client.looking import Listed

WIDTH = 80


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("runs")(runs)


def runs(
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
    runs_dir: Annotated[
        str, typer.Option("--runs", metavar="DIR", help="Where runs are kept.")
    ] = DEFAULT_RUNS_DIR,
) -> None:
    """List all runs, the newest first."""
    from fsconsole.client.looking import look_at
    from fsconsole.journal.store import list_runs

    listed = [look_at(folder) for folder in list_runs(runs_dir)]
    text = runs_json(listed) if as_json else runs_text(listed, runs_dir)
    sys.stdout.write(text)
    sys.stdout.flush()


def runs_text(listed: Sequence[Listed], directory: str) -> str:
    """Return the list as text of 80 columns: a line of facts per run, its title and standing below."""
    from fsconsole.report.about import instant

    if not listed:
        return printable(f"There are no runs in {directory}.") + "\n"
    names = [printable(run.run_id) for run in listed]
    widest = max(map(len, names))
    lines = [f"{pad_right('run', widest)}  {'begun':<20}  {'cells':>7}"]
    for name, run in zip(names, listed, strict=True):
        begun = instant(run.created_wall_ns) if run.created_wall_ns is not None else "-"
        cells = f"{run.cells_over}/{run.cells}" if run.created_wall_ns is not None else "-"
        lines.append(f"{pad_right(name, widest)}  {begun:<20}  {pad_left(cells, 7)}")
        for text in (run.title, run.standing):
            lines += [f"    {part}" for part in wrap(printable(text), WIDTH - 4) if part]
    return "\n".join(lines) + "\n"


def runs_json(listed: Sequence[Listed]) -> str:
    """Return the list as JSON, with keys as the fields of Listed; created_wall_ns null: unknown."""
    from fsconsole.journal.codec import encode
    from fsconsole.report.json import ascii_json

    return ascii_json(encode(tuple(listed)), indent=2) + "\n"
