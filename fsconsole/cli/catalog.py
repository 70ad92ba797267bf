"""`fsconsole catalog`: filesystems and options, and what this machine supports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from fsconsole.preflight.catalog_survey import CatalogSurvey


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command(name="catalog")(catalog)


def catalog(
    filesystem: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FS]...", help="Filesystems to show in full; default: a summary of all."),
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
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list with all fields.")] = False,
) -> None:
    """List filesystems and options: values, help, kernel and tool support, and refusals in their own words.

    --probe results are cached, also for `fsconsole plan`, until kernel, tools or catalog change. Without root only
    mkfs is tried, and nothing is cached.
    """
    from fsconsole.cli.complaint import say
    from fsconsole.preflight import catalog_survey
    from fsconsole.text import printable

    if arrays:
        _print_levels(as_json=as_json)
        return
    survey = catalog_survey.take(tuple(filesystem or ()), probe=probe)
    if as_json:
        typer.echo(catalog_survey.as_json(survey))
    else:
        _print(survey, every=bool(filesystem))
    for note in survey.notes:
        say(f"note: {printable(note)}")


def _print_levels(*, as_json: bool) -> None:
    from fsconsole.cli.results import terminal_width
    from fsconsole.preflight.machine import every_level
    from fsconsole.show import catalog

    told = every_level()
    typer.echo(catalog.levels_as_json(told) if as_json else "\n".join(catalog.lines(told, terminal_width())))


def _print(survey: CatalogSurvey, *, every: bool) -> None:
    from fsconsole.cli.results import terminal_width
    from fsconsole.show.catalog import filesystem_lines, overview_lines

    width = terminal_width()
    lines = overview_lines(survey, width)
    if every:
        lines = (line for entry in survey.entries for line in filesystem_lines(entry, width))
    typer.echo("\n".join(lines))
