"""fsconsole catalog: the filesystems and options that there are, and what this machine takes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from fsconsole.preflight.catalog_survey import Survey


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command(name="catalog")(catalog)


def catalog(
    filesystem: Annotated[
        list[str] | None, typer.Argument(metavar="[FS]...", help="Only these; without it one line for each.")
    ] = None,
    *,
    probe: Annotated[
        bool,
        typer.Option("--probe", help="Try every option now, on a small image in memory; nothing is left."),
    ] = False,
    arrays: Annotated[
        bool,
        typer.Option("--arrays", help="The levels of [[array]] instead: which of them this machine makes."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list with all fields.")] = False,
) -> None:
    """Show filesystems and options: values, help, what kernel and tools take, and refusals in their own words.

    What --probe finds out is kept for later calls, and for `fsconsole plan`, as long as kernel, tools and catalog
    stay what they are. Without root mkfs alone can be tried, and nothing is kept.
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


def _print(survey: Survey, *, every: bool) -> None:
    from fsconsole.cli.results import terminal_width
    from fsconsole.show.catalog import filesystem_lines, overview_lines

    width = terminal_width()
    lines = overview_lines(survey, width)
    if every:
        lines = (line for entry in survey.entries for line in filesystem_lines(entry, width))
    typer.echo("\n".join(lines))
