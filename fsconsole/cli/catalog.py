"""`fsconsole catalog`: filesystems and options, and what this machine supports."""

from __future__ import annotations

from typing import Annotated

import typer

from fsconsole.cli.app import AsJson


def catalog(
    filesystem: Annotated[
        list[str] | None,
        typer.Argument(metavar="FS", help="Filesystems to show in full; default: a summary of all."),
    ] = None,
    *,
    probe: Annotated[
        bool,
        typer.Option("--probe", help="Try every option on a small image in memory."),
    ] = False,
    arrays: Annotated[
        bool,
        typer.Option("--arrays", help="Show the RAID levels of [[array]] that this machine supports."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List filesystems and options: values, help, kernel and tool support, and refusals in their own words.

    --probe results are cached, also for `fsconsole plan`, until kernel, tools or catalog change. Without root only
    mkfs is tried, and nothing is cached.
    """
    from fsconsole.cli.complaint import refuse_idle, say, terminal_width
    from fsconsole.model.answers import FilesystemsAnswer, LevelsAnswer
    from fsconsole.model.contract import document_text
    from fsconsole.preflight import catalog_survey
    from fsconsole.preflight.machine import every_level
    from fsconsole.show import catalog as show
    from fsconsole.text import printable

    width = terminal_width()
    if arrays:
        refuse_idle({"FS": filesystem, "--probe": probe}, "--arrays", "fsconsole catalog")
        told = every_level()
        typer.echo(document_text(LevelsAnswer(told), indent=2) if as_json else "\n".join(show.lines(told, width)))
        return
    survey = catalog_survey.take(tuple(filesystem or ()), probe=probe)
    if as_json:
        typer.echo(document_text(FilesystemsAnswer(survey.entries), indent=2))
    elif filesystem:
        typer.echo("\n".join(line for entry in survey.entries for line in show.filesystem_lines(entry, width)))
    else:
        typer.echo("\n".join(show.overview_lines(survey, width)))
    for note in survey.notes:
        say(f"note: {printable(note)}")
