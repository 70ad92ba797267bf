"""The command fsconsole: its commands, and the one place where errors meet the operator."""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated

import typer

from fsconsole import __version__
from fsconsole.cli import control, devices, doctor, plan, results, resume, run, runs, scratch
from fsconsole.cli.complaint import complain
from fsconsole.errors import ExitCode, FsconsoleError
from fsconsole.system.refusal import system_refusal

_GROUPS = (devices, scratch, plan, run, resume, control, runs, results, doctor)


def build_app() -> typer.Typer:
    """Return the command line with all its commands, in the order in which help lists them."""
    app = typer.Typer(
        help="Compare filesystems on your own disks, with figures you can trace.",
        epilog="Nothing is wiped without your consent: `fsconsole plan` shows what would be lost.",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    for group in _GROUPS:
        group.register(app)
    return app


def main() -> int:
    """Carry out the command line and return its exit code (errors.ExitCode; 130 after Ctrl-C)."""
    _make_output_total()
    try:
        return _carry_out()
    except BrokenPipeError:
        _forget_output()
        return ExitCode.FAILURE
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except FsconsoleError as error:
        return _report(error)
    except OSError as error:
        return _report(system_refusal(error))


def _carry_out() -> int:
    try:
        build_app()(prog_name="fsconsole")
    except SystemExit as ending:
        sys.stdout.flush()
        return ending.code if isinstance(ending.code, int) else ExitCode.OK
    return ExitCode.OK


def _report(error: FsconsoleError) -> int:
    complain(str(error), error.hint)
    return error.exit_code


def _make_output_total() -> None:
    """Let no character of a label or a path fail on a terminal whose encoding lacks it."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _forget_output() -> None:
    """Point stdout away from the closed pipe, or Python complains of it once more when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fsconsole {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and end."),
    ] = False,
) -> None:
    """Options of fsconsole itself."""
