"""`fsconsole export` and `fsconsole import`: a run as one file."""

from __future__ import annotations

from typing import Annotated

import typer

from fsconsole.cli.app import AsJson, RunName, RunsDir
from fsconsole.model import DEFAULT_RUNS_DIR
from fsconsole.text import printable


def export(
    run: RunName,
    file: Annotated[str, typer.Argument(metavar="FILE", help="File to write, as RUN.fsrun.")],
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Replace FILE if it is a regular file; links are resolved first.")
    ] = False,
    as_json: AsJson = False,
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
) -> None:
    """Pack a run into one file, also while it is running.

    The file is a tar, compressed by gzip: a manifest with the sha256 of each part, the journal as it is at one
    instant, and the raw outputs that it names. It holds this host's name, serial numbers of the devices and kernel
    messages; only its owner can read it.
    """
    from fsconsole.journal.archive import export_run
    from fsconsole.journal.store import open_run
    from fsconsole.units import format_bytes

    folder = open_run(runs_dir, run)
    size_bytes = export_run(folder, file, overwrite=force)
    if as_json:
        from fsconsole.cli.answers import RunAnswer, tell

        tell(RunAnswer(run_id=folder.name, folder=folder.path, file=file, size_bytes=size_bytes))
        return
    typer.echo(f"exported run {printable(folder.name)} to {printable(file)} ({format_bytes(size_bytes)})", err=True)


def import_(
    file: Annotated[str, typer.Argument(metavar="FILE", help="File that `fsconsole export` wrote.")],
    *,
    as_json: AsJson = False,
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
) -> None:
    """Add a run of another machine from a file that `fsconsole export` wrote.

    The whole file is checked before the run appears. `runs` marks it as imported; `results` and `compare` show it,
    `runs delete` removes it. It is never resumed, and nothing in it is executed.
    """
    from fsconsole.cli.complaint import command_line
    from fsconsole.journal.importing import import_run

    folder = import_run(file, runs_dir)
    if as_json:
        from fsconsole.cli.answers import RunAnswer, tell

        tell(RunAnswer(run_id=folder.name, folder=folder.path, file=file))
        return
    show = command_line("results", folder.name, runs=runs_dir)
    typer.echo(f"imported run {printable(folder.name)}; `{printable(show)}` shows it", err=True)
