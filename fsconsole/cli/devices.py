"""fsconsole devices: every block device as a tree, with how it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fsconsole.model.places import DEFAULT_RUNS_DIR
from fsconsole.plaintext import printable

if TYPE_CHECKING:
    from fsconsole.cli.device_survey import Survey


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("devices")(devices)


def devices(
    device: Annotated[
        list[str] | None, typer.Argument(metavar="DEV", help="Only these devices; all without it.")
    ] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list with all fields.")] = False,
    runs: Annotated[
        str, typer.Option("--runs", metavar="DIR", help="Where runs are kept; its disk is never wiped.")
    ] = DEFAULT_RUNS_DIR,
) -> None:
    """Show disks, partitions, arrays, volumes and loop devices as a tree, and how each stands.

    A state is free, in use and by what, or hazardous and why. Nothing is written. Without root the devices
    aren't opened and nothing is called free. A device that gives no answer is named, and not waited for. Of devices
    that are named, their stripes are told too. On a terminal, columns that find no room are left out; --json has
    them all. What is on a device beside signatures is sampled by `fsconsole plan`.
    """
    from fsconsole.cli import device_survey
    from fsconsole.cli.complaint import say

    survey = device_survey.take(tuple(device or ()), runs)
    if as_json:
        typer.echo(device_survey.as_json(survey))
    else:
        _print_table(survey)
    for sentence in () if as_json or not device else device_survey.stripes_told(survey):
        typer.echo(printable(sentence))
    for note in survey.notes:
        say(f"note: {printable(note)}")


def _print_table(survey: Survey) -> None:
    from fsconsole.cli.device_table import print_table

    print_table(survey.rows)
