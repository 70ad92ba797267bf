"""fsconsole scratch: safe devices to try things on, made of files."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from fsconsole.cli.app import Group, show_help_for_nothing
from fsconsole.errors import NotRoot
from fsconsole.model.places import DEFAULT_SCRATCH_DIR
from fsconsole.plaintext import printable
from fsconsole.units import format_bytes, parse_bytes

if TYPE_CHECKING:
    from fsconsole.devices.scratch import Scratch

_Directory = Annotated[
    str, typer.Option("--dir", metavar="DIR", help="Where scratch files lie; its disk sets the speed.")
]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
_Name = Annotated[str, typer.Argument(metavar="NAME", help="Its device, its id, or its file.")]


def register(app: typer.Typer) -> None:
    """Add the group of commands to the command line."""
    group = typer.Typer(
        help="Make and remove scratch devices: loop devices over marked files, safe to wipe.",
        cls=Group,
        invoke_without_command=True,
        rich_markup_mode=None,
    )
    group.callback()(show_help_for_nothing)
    group.command(name="create", short_help="Make a scratch device of a file, allocated and marked.")(create)
    group.command(name="list", short_help="List scratch devices, and files without one.")(list_)
    group.command(name="attach")(attach)
    group.command(name="remove", short_help="Detach a scratch device and delete its file.")(remove)
    app.add_typer(group, name="scratch")


def create(
    *,
    size: Annotated[str, typer.Option("--size", metavar="SIZE", help="Such as 512MiB or 4GiB.")] = "4GiB",
    directory: _Directory = DEFAULT_SCRATCH_DIR,
    as_json: _Json = False,
) -> None:
    """Make a file, allocate it wholly, mark it, and attach a loop device with direct I/O.

    1 GiB or 5 % of the filesystem below, whichever is more, is left free.
    """
    import signal

    from fsconsole.devices import scratch

    _need_root("A scratch device")
    # Who ends this command (the console, a service manager) gets back what was made so far, as with Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    made = scratch.create(parse_bytes(size), directory)
    _tell_one(made, as_json=as_json)


def list_(*, directory: _Directory = DEFAULT_SCRATCH_DIR, as_json: _Json = False) -> None:
    """List attached scratch devices, and the files in DIR that lost theirs in a reboot."""
    from fsconsole.devices import scratch

    _need_root("The list of scratch devices")
    found = scratch.listing(directory)
    if as_json:
        typer.echo(json.dumps([asdict(one) for one in found], indent=1))
    elif found:
        _tell_all(found)
    else:
        typer.echo("No scratch devices; `fsconsole scratch create` makes one.", err=True)


def attach(name: _Name, *, directory: _Directory = DEFAULT_SCRATCH_DIR, as_json: _Json = False) -> None:
    """Attach a scratch file again, after a reboot."""
    from fsconsole.devices import scratch

    _need_root("A scratch device")
    _tell_one(scratch.attach(scratch.find(name, directory).path), as_json=as_json)


def remove(name: _Name, *, directory: _Directory = DEFAULT_SCRATCH_DIR) -> None:
    """Detach a scratch device and delete its file; refused while anything uses it."""
    from fsconsole.devices import scratch

    _need_root("Removing a scratch device")
    found = scratch.find(name, directory)
    scratch.remove(found)
    typer.echo(f"removed {printable(found.path)}", err=True)


def _need_root(what: str) -> None:
    if os.geteuid() != 0:
        raise NotRoot(what)


def _tell_one(made: Scratch, *, as_json: bool) -> None:
    """Print the device alone to standard output, for scripts, and the rest beside it."""
    typer.echo(json.dumps(asdict(made), indent=1) if as_json else made.device)
    if not made.direct_io:
        below = printable(os.path.dirname(made.path))
        typer.echo(f"warning: no direct I/O in {below}: the host's cache will flatter the figures", err=True)
    if not as_json:
        typer.echo(
            f"{format_bytes(made.size_bytes)} in {printable(made.path)}\n"
            f"use it:    fsconsole run demo --device {made.device}\n"
            f"remove it: fsconsole scratch remove {made.scratch_id}",
            err=True,
        )


def _tell_all(found: Sequence[Scratch]) -> None:
    typer.echo(f"{'id':<8}  {'device':<12}  {'size':>10}  file")
    for one in found:
        size, device = format_bytes(one.size_bytes), one.device or "detached"
        purpose = f"  {one.purpose}" if one.purpose else ""
        typer.echo(f"{one.scratch_id}  {device:<12}  {size:>10}  {printable(one.path + purpose)}")
