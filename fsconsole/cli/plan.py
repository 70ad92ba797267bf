"""fsconsole plan: everything that a run would do, and to what, before anything is done."""

from __future__ import annotations

from typing import Annotated

import typer

from fsconsole.errors import Misused
from fsconsole.errors.targets import PlanMissing
from fsconsole.model import DEFAULT_RUNS_DIR


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("plan")(plan)


def plan(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A plan file, or the name of a shipped plan (see --list).")
    ] = "",
    device: Annotated[
        list[str] | None,
        typer.Option("--device", "-d", metavar="DEV", help="A device to be wiped; may be given again."),
    ] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    list_plans: Annotated[bool, typer.Option("--list", help="List the shipped plans and end.")] = False,
    commands: Annotated[
        bool, typer.Option("--commands", help="Print the commands of every cell, not of one alone.")
    ] = False,
    cell: Annotated[
        str,
        typer.Option("--cell", metavar="N", help="In JSON give this cell alone, counted from 1; 0: none."),
    ] = "",
    runs: Annotated[
        str, typer.Option("--runs", metavar="DIR", help="Where runs are kept; its disk is never wiped.")
    ] = DEFAULT_RUNS_DIR,
) -> None:
    """Show what a run would do: cells, exact commands, what would be lost, and the consent code.

    Nothing is touched. With --device the devices are read, which needs root, and the code for
    `fsconsole run --consent` is printed; without it the commands have the word DEVICE.

    Checks are forced and full: `e2fsck -f -y`, which repairs what it finds; `xfs_repair -n` and
    `btrfs check --readonly`, which report. Filesystem UUIDs are new for every run.
    """
    from fsconsole.cli import plan_show  # here, so that --help stays fast

    number = _number(cell) if cell else None
    if list_plans:
        plan_show.show_list(as_json=as_json)
    elif not file:
        raise PlanMissing("(none)", "no plan file was named")
    elif device:
        plan_show.show_on_devices(file, device, runs, as_json=as_json, every=commands, cell=number)
    else:
        plan_show.show(file, as_json=as_json, every=commands, cell=number)


def _number(word: str) -> int:
    # A word, not a number of typer's: those load a library of 70 ms, and the console asks this again and again.
    if not (word.isascii() and word.isdecimal()):
        raise Misused(
            what=f"--cell takes the number of a cell, not '{word}'", nearest="", command="fsconsole plan"
        )
    return int(word)
