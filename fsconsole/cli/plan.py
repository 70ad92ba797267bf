"""`fsconsole plan`: options and help."""

from __future__ import annotations

from typing import Annotated

import typer

from fsconsole.cli.app import AsJson, Devices, Directories, RunsDir
from fsconsole.cli.complaint import refuse_idle, require_targets
from fsconsole.errors import Misused
from fsconsole.errors.targets import PlanMissing
from fsconsole.model import DEFAULT_RUNS_DIR


def plan(
    file: Annotated[
        str, typer.Argument(metavar="PLAN", help="Plan file, name of a shipped plan (see --list), or - for stdin.")
    ] = "",
    device: Devices = None,
    directory: Directories = None,
    *,
    as_json: AsJson = False,
    list_plans: Annotated[bool, typer.Option("--list", help="List the shipped plans and exit.")] = False,
    commands: Annotated[
        bool, typer.Option("--commands", help="Print the commands of all cells, not just the first.")
    ] = False,
    cell: Annotated[
        str,
        typer.Option("--cell", metavar="N", help="With --json: only this cell, counted from 1; 0: no cells."),
    ] = "",
    runs: RunsDir = DEFAULT_RUNS_DIR,
) -> None:
    """Dry run: show cells, exact commands, what would be lost, and the consent code.

    Changes nothing. With --device (needs root) the devices are read and the code for `fsconsole run --consent` is
    printed; without it, commands show the word DEVICE. With --directory (needs no root) it says what would be written
    where, how much, and what is deleted: nothing is formatted, and no consent is needed.

    Checks are forced and full: `e2fsck -f -y` repairs what it finds; `xfs_repair -n` and `btrfs check --readonly`
    only report. Every run uses new filesystem UUIDs.
    """
    from fsconsole.cli import plan_show  # here, so that --help stays fast

    # A word, not a number of typer's: those load a library of 70 ms, and the console asks this again and again.
    if cell and not (cell.isascii() and cell.isdecimal()):
        what = f"--cell takes the number of a cell, not '{cell}'."
        raise Misused(what=what, nearest="", command="fsconsole plan")
    shown = {"--commands": commands}
    if list_plans:
        idle = {"PLAN": file, "--device": device, "--directory": directory, "--cell": cell, **shown}
        refuse_idle(idle, "--list", "fsconsole plan")
    if cell and not as_json:
        raise Misused(what="--cell goes with --json only.", nearest="", command="fsconsole plan")
    if as_json:
        refuse_idle(shown, "--json", "fsconsole plan")
    if list_plans:
        plan_show.show_list(as_json=as_json)
        return
    if not file:
        raise PlanMissing("(none)", "no plan file was named")
    number = int(cell) if cell else None
    if directory and require_targets("plan", device, directory):
        plan_show.show_directories(file, directory, runs, as_json=as_json, every=commands, cell=number)
        return
    plan_show.show(file, device or [], runs, as_json=as_json, every=commands, cell=number)
