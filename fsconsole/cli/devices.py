"""`fsconsole devices`, `readtest` and `scratch`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from fsconsole.cli.app import AsJson, Group, RunsDir, by_path, show_help_for_nothing
from fsconsole.cli.complaint import need_root, require_agreement, terminal_width
from fsconsole.model import DEFAULT_RUNS_DIR, DEFAULT_SCRATCH_DIR
from fsconsole.text import cells_of, printable
from fsconsole.units import (
    format_bytes,
    format_elapsed,
    format_percent,
    format_rate,
    format_seconds,
    parse_bytes,
)

if TYPE_CHECKING:
    from rich.text import Text

    from fsconsole.devices.scratch import Scratch
    from fsconsole.devices.state import ListedDevice


def devices(
    device: Annotated[
        list[str] | None, typer.Argument(metavar="DEV", callback=by_path, help="Only these devices; default: all.")
    ] = None,
    *,
    as_json: AsJson = False,
    runs: RunsDir = DEFAULT_RUNS_DIR,
) -> None:
    """List disks, partitions, arrays, volumes and loop devices as a tree, with their state.

    State: free, in use (by what) or hazardous (why). Read-only. Without root no device is opened and none is
    called free. Devices that don't answer are skipped with a note. For devices given by name, RAID stripes are shown
    too. Columns that don't fit the terminal are left out; --json has them all. Signatures are read on all
    devices, sampled blocks on those that nothing uses.
    """
    from fsconsole.cli.complaint import say
    from fsconsole.devices.state import DevicesAnswer
    from fsconsole.model.contract import document_text
    from fsconsole.preflight import device_survey

    survey = device_survey.take(tuple(device or ()), runs)
    if as_json:
        typer.echo(document_text(DevicesAnswer(survey.devices, survey.notes), indent=2))
    else:
        from rich.console import Console

        console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
        for line in table_lines(survey.devices, terminal_width(), ascii_only=console.options.ascii_only):
            console.print(line)
    if device and not as_json:
        for sentence in dict.fromkeys(sentence for one in survey.devices for sentence in one.stripes):
            typer.echo(printable(sentence))
    for note in survey.notes:
        say(f"note: {printable(note)}")


def table_lines(devices: Sequence[ListedDevice], width: int, *, ascii_only: bool) -> Iterator[Text]:
    """Yield the table of devices; a state that is too long goes on in the next line."""
    from rich.text import Text

    from fsconsole.show.devices import entries_of, lay_out
    from fsconsole.show.terminal import ASCII, SAFE
    from fsconsole.text import pad_right, wrap

    sheet = lay_out(entries_of(devices), None, width, ASCII if ascii_only else SAFE)
    *columns, (title, room) = sheet.columns
    yield Text("".join(pad_right(*column) for column in columns) + title, "bold")
    for row in sheet.rows:
        *cells, (state, style) = row.cells
        lead = "".join(pad_right(text, size) for (text, _), (_, size) in zip(cells, columns, strict=True))
        for part in wrap(state, room, max_lines=_STATE_LINES):
            yield Text.assemble(lead, (part, style))
            lead = " " * cells_of(lead)


# fsconsole readtest

_STATE_LINES = 100


def readtest(
    device: Annotated[str, typer.Argument(metavar="DEV", callback=by_path, help="Block device; may be in use.")],
    *,
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="S", min=0.1, max=3600.0, help="How long to read.")
    ] = 3.0,
    as_json: AsJson = False,
    is_watched: Annotated[bool, typer.Option("--watched", hidden=True, help="The caller has its own timeout.")] = False,
) -> None:
    """Read a device from its start through the page cache, as `hdparm -t`, and print the throughput.

    The device is opened read-only and may be in use; its dirty pages are written out first. At the device's end,
    reading starts over with an empty cache.
    """
    from fsconsole.devices.ask import read_test, require_answer
    from fsconsole.devices.snapshot import find_device
    from fsconsole.model.answers import ReadTestAnswer
    from fsconsole.model.contract import document_text
    from fsconsole.system.run import RealExecutor

    found = find_device(device)
    if not is_watched:
        require_answer(found.path, found.size_bytes, RealExecutor())
    result = read_test(found, seconds)
    if as_json:
        answer = ReadTestAnswer(
            device=found.path,
            read_bytes=result.read_bytes,
            elapsed_s=result.elapsed_s,
            bytes_per_s=result.bytes_per_s,
            passes=result.passes,
            read_ahead_bytes=found.read_ahead_bytes,
            scheduler=found.scheduler,
        )
        typer.echo(document_text(answer))
        return
    moved = f"{format_bytes(result.read_bytes)} in {format_seconds(result.elapsed_s)}"
    line = (
        f"{found.path}: {format_rate(result.bytes_per_s)} read through the page cache ({moved});"
        f" read-ahead {format_bytes(found.read_ahead_bytes)}, scheduler {found.scheduler or 'none'}"
    )
    typer.echo(printable(line))


# fsconsole scratch

scratch = typer.Typer(
    help="Create and remove scratch devices: loop devices over marked files, safe to wipe.",
    cls=Group,
    invoke_without_command=True,
    rich_markup_mode=None,
)
scratch.callback()(show_help_for_nothing)

_Directory = Annotated[
    str, typer.Option("--dir", metavar="DIR", help="Directory of scratch files; its disk sets the speed.")
]
_PROGRESS_S = 0.5


def _as_named(word: str) -> str:
    return str(by_path(word)) if word.startswith("loop") else word


_Name = Annotated[str, typer.Argument(metavar="NAME", callback=_as_named, help="Its device, id or file.")]


@scratch.command(short_help="Create a scratch device.")
def create(
    *,
    size: Annotated[str, typer.Option("--size", metavar="SIZE", help="Such as 512MiB or 4GiB.")] = "4GiB",
    directory: _Directory = DEFAULT_SCRATCH_DIR,
    as_json: AsJson = False,
) -> None:
    """Create a marked file, write it in full, and attach a loop device with direct I/O.

    Leaves 1 GiB or 5 % of the filesystem free, whichever is more.
    """
    import signal

    need_root("A scratch device")
    # Who ends this command (the console, a service manager) gets back what was made so far, as with Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    _tell_one(make_scratch(parse_bytes(size), directory), as_json=as_json)


def make_scratch(size_bytes: int, directory: str, *, purpose: str = "") -> Scratch:
    """Create a scratch device; its progress is shown on a terminal, and the time that it took is told.

    Raises ScratchFolderMissing, and what scratch.create() raises; only the default directory is made where it is missing.
    """
    import time

    from fsconsole.devices import scratch
    from fsconsole.errors.targets import ScratchFolderMissing

    if directory != DEFAULT_SCRATCH_DIR and not os.path.exists(directory):
        raise ScratchFolderMissing(path=directory)
    begun_s, is_shown, shown_s = time.monotonic(), sys.stderr.isatty(), 0.0

    def show(written_bytes: int) -> None:
        nonlocal shown_s
        if is_shown and time.monotonic() >= shown_s + _PROGRESS_S:
            shown_s = time.monotonic()
            done = format_percent(100 * written_bytes / size_bytes)
            typer.echo(f"\rWriting the scratch file: {done} ", err=True, nl=False)

    made = scratch.create(size_bytes, directory, purpose=purpose, progress=show)
    took = f"scratch file of {format_bytes(size_bytes)} written in {format_elapsed(time.monotonic() - begun_s)}"
    typer.echo(f"\r{took:<40}" if is_shown else took, err=True)
    return made


@scratch.command("list", short_help="List scratch devices and detached files.")
def list_(*, directory: _Directory = DEFAULT_SCRATCH_DIR, as_json: AsJson = False) -> None:
    """List scratch devices, and files in DIR that are detached (after a reboot)."""
    from fsconsole.devices import scratch
    from fsconsole.model.contract import document_text

    need_root("The list of scratch devices")
    found = scratch.listing(directory)
    if as_json:
        typer.echo(document_text(scratch.ScratchListAnswer(tuple(found)), indent=2))
    elif found:
        _tell_all(found)
    else:
        typer.echo("No scratch devices; `fsconsole scratch create` makes one.", err=True)


@scratch.command()
def attach(name: _Name, *, directory: _Directory = DEFAULT_SCRATCH_DIR, as_json: AsJson = False) -> None:
    """Reattach a scratch file after a reboot."""
    from fsconsole.devices import scratch

    need_root("A scratch device")
    _tell_one(scratch.attach(scratch.find(name, directory).path), as_json=as_json)


@scratch.command(short_help="Detach a scratch device and delete its file.")
def remove(
    name: _Name,
    *,
    directory: _Directory = DEFAULT_SCRATCH_DIR,
    yes: Annotated[bool, typer.Option("--yes", help="Even if it holds files, or a run can be resumed on it.")] = False,
    as_json: AsJson = False,
    runs: RunsDir = DEFAULT_RUNS_DIR,
) -> None:
    """Detach a scratch device and delete its file. Refused while it is in use.

    Asks first, or wants --yes, if it holds what no run left there, if a run in the runs folder (--runs) can be resumed on it,
    or if it was made for a run that is not there.
    """
    from fsconsole.client.engine import purpose_of
    from fsconsole.devices import scratch
    from fsconsole.engine.cleanup import resumable_on
    from fsconsole.journal.store import list_runs
    from fsconsole.preflight.prepare import kept_on

    need_root("Removing a scratch device")
    found = scratch.find(name, directory)
    if not yes:
        needs = [kept_on(found)]
        needs += [f"run {run} can be resumed on it" for run in resumable_on(found.scratch_id, runs)]
        if found.purpose.startswith(purpose_of("")) and found.purpose not in {
            purpose_of(folder.name) for folder in list_runs(runs)
        }:
            needs.append(f"it was made for {found.purpose}, which is not in {runs} and may be resumed elsewhere")
        require_agreement(printable(found.path), "; ".join(filter(None, needs)), yes=yes)
    scratch.remove(found)
    if as_json:
        from fsconsole.model.contract import document_text

        typer.echo(document_text(scratch.ScratchAnswer.of(found), indent=2))
    else:
        typer.echo(f"removed {printable(found.path)}", err=True)


def _tell_one(made: Scratch, *, as_json: bool) -> None:
    """Print the device alone to standard output, for scripts, and the rest beside it."""
    from fsconsole.devices.scratch import ScratchAnswer
    from fsconsole.model.contract import document_text

    typer.echo(document_text(ScratchAnswer.of(made), indent=2) if as_json else made.device)
    if not made.direct_io:
        below = printable(os.path.dirname(made.path))
        typer.echo(f"warning: no direct I/O in {below}: the host's cache will flatter the figures", err=True)
    if not as_json:
        from fsconsole.catalog.loader import load_catalog

        catalog = load_catalog()
        fitting = [name for name in ("ext4", "xfs", "btrfs") if catalog.get(name).min_bytes <= made.size_bytes][:2]
        is_roomy = len(fitting) > 1
        typer.echo(
            f"{format_bytes(made.size_bytes)} in {printable(made.path)}\n"
            + (f"use it:    fsconsole quick -d {made.device} {' '.join(fitting)}\n" if is_roomy else "")
            + (f"or:        fsconsole run demo --device {made.device}\n" if "xfs" in fitting else "")
            + f"remove it: fsconsole scratch remove {made.scratch_id}"
            + ("" if is_roomy else "\nwarning: too small to compare filesystems on it: make one of 1GiB or more"),
            err=True,
        )


def _tell_all(found: Sequence[Scratch]) -> None:
    typer.echo(f"{'id':<8}  {'device':<12}  {'size':>10}  file")
    for one in found:
        size, device = format_bytes(one.size_bytes), one.device or "detached"
        lead = f"{one.scratch_id}  {device:<12}  {size:>10}"
        file = printable(f"{one.path}  {one.purpose}".rstrip())
        # A path stays whole, to be copied.
        fits = len(lead) + 2 + cells_of(file) <= terminal_width()
        typer.echo(f"{lead}  {file}" if fits else f"{lead}\n    {file}")
