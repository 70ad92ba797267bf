"""fsconsole readtest: a few seconds of buffered reading, as hdparm -t, with the read-ahead in force."""

from __future__ import annotations

import json
from typing import Annotated

import typer

_LONGEST_S = 3600.0


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command(name="readtest")(readtest)


def readtest(
    device: Annotated[str, typer.Argument(metavar="DEV", help="A block device; it may be in use.")],
    *,
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="S", min=0.1, max=_LONGEST_S, help="How long to read.")
    ] = 3.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    is_watched: Annotated[
        bool, typer.Option("--watched", hidden=True, help="Whoever calls it has a limit of his own.")
    ] = False,
) -> None:
    """Read a device from its beginning through the page cache, as `hdparm -t`, and print the throughput.

    It is opened for reading only and may be in use; what is dirty on it is written out first. A device that is
    read to its end is read again from the beginning, with an empty cache.
    """
    from fsconsole.devices.answering import require_answer
    from fsconsole.devices.discovery import find_device
    from fsconsole.devices.readtest import read_test
    from fsconsole.plaintext import printable
    from fsconsole.system.command import RealExecutor
    from fsconsole.units import format_bytes, format_rate, format_seconds

    found = find_device(device)
    if not is_watched:
        require_answer(found.path, found.size_bytes, RealExecutor())
    result = read_test(found, seconds)
    if as_json:
        document = {
            "device": found.path,
            "read_bytes": result.read_bytes,
            "elapsed_s": result.elapsed_s,
            "bytes_per_s": result.bytes_per_s,
            "passes": result.passes,
            "read_ahead_bytes": found.read_ahead_bytes,
            "scheduler": found.scheduler,
        }
        typer.echo(json.dumps(document))
        return
    moved = f"{format_bytes(result.read_bytes)} in {format_seconds(result.elapsed_s)}"
    line = (
        f"{found.path}: {format_rate(result.bytes_per_s)} read through the page cache ({moved});"
        f" read-ahead {format_bytes(found.read_ahead_bytes)}, scheduler {found.scheduler or 'none'}"
    )
    typer.echo(printable(line))
