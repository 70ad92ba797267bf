"""`fsconsole gauges`: options and help."""

from __future__ import annotations

from typing import Annotated

import typer

from fsconsole.cli.app import JsonLines, by_path


def gauges(
    device: Annotated[
        list[str] | None,
        typer.Option("--device", "-d", metavar="DEV", callback=by_path, help="Device to watch; repeatable."),
    ] = None,
    *,
    hz: Annotated[float, typer.Option("--hz", metavar="HZ", min=0.5, max=10.0, help="Samples per second.")] = 2.0,
    count: Annotated[int | None, typer.Option("--count", min=1, metavar="N", help="Exit after N samples.")] = None,
    as_json: JsonLines = False,
) -> None:
    """Show live gauges of devices, CPUs, dirty pages and pressure, until Ctrl-C.

    Members of an array or volume, and the disk below a loop device, are listed below it; they carry the same bytes
    again. Only kernel files are opened. Writeback of a device (bdi) needs root and a mounted debugfs. Without a
    terminal, each sample is printed below the one before.
    """
    from fsconsole.cli.gauge_watch import gauge_view, watch
    from fsconsole.text import printable

    paths = device or []
    title = printable(f"gauges of {', '.join(paths) or 'this machine'}, {hz:g} per second")
    with gauge_view(title, as_json=as_json) as view:
        watch(paths, hz, count, view)
