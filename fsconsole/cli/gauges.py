"""fsconsole gauges: what devices, CPUs and dirty pages do right now, without a run."""

from __future__ import annotations

from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("gauges")(gauges)


def gauges(
    device: Annotated[
        list[str] | None,
        typer.Option("--device", metavar="DEV", help="Watch this device; any number of times."),
    ] = None,
    *,
    hz: Annotated[float, typer.Option("--hz", min=0.5, max=10.0, help="Samples per second.")] = 2.0,
    count: Annotated[
        int | None, typer.Option("--count", min=1, metavar="N", help="End after so many samples.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a line of JSON for each sample.")] = False,
) -> None:
    """Show live what devices, CPUs, dirty pages and waiting tasks do, until Ctrl-C.

    An array or volume is followed by its members, a loop device by the disk below it; their bytes are the same
    ones again. Nothing is opened but files of the kernel. The writeback of a device (bdi) is shown to root where
    debugfs is mounted. Without a terminal each sample is printed below the one before.
    """
    from fsconsole.cli.gauge_watch import Wanted, gauge_view, watch

    wanted = Wanted(tuple(device or ()), hz, count)
    with gauge_view(wanted.title, as_json=as_json) as view:
        watch(wanted, view)
