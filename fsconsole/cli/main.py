"""Entry point, and the one place that reports errors.

Nothing is loaded here that a help text doesn't need: neither the commands nor the errors.
"""

from __future__ import annotations

import gc
import io
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fsconsole.errors import FsconsoleError


COLLECT_AFTER = (50_000, 20, 50)
"""Thresholds of the cycle collector (docs.python.org/3/library/gc.html), raised: by default it takes a tenth of a
command's time, and a third of the time in which a large run is read."""


def main() -> int:
    """Run the command line and return its exit code (errors.ExitCode; 130 after Ctrl-C)."""
    gc.set_threshold(*COLLECT_AFTER)
    try:
        if isinstance(sys.stdout, io.TextIOWrapper):
            # No character of a label or a path may fail on a terminal whose encoding lacks it.
            sys.stdout.reconfigure(errors="backslashreplace")
        return _run_command()
    except BrokenPipeError:
        # Point stdout away from the closed pipe, or Python complains of it once more when it ends.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        return 1
    except KeyboardInterrupt:
        return 130
    except _known() as error:
        return _report(error)
    except OSError as error:
        from fsconsole.system.run import system_refusal

        return _report(system_refusal(error))


def _run_command() -> int:
    """Parse the command line and run its command; what a command returns is no exit code, but for that of typer.Exit."""
    from typer import TyperException

    from fsconsole.cli import app

    try:
        ending = app.build_app()(prog_name="fsconsole", standalone_mode=False)
    except TyperException as error:
        from fsconsole.cli.complaint import misuse

        raise misuse(error, sys.argv[1:], [name for name, _, _ in app.COMMANDS]) from error
    except SystemExit as end:
        ending = end.code
    sys.stdout.flush()
    return ending if isinstance(ending, int) else 0


def _known() -> type[FsconsoleError]:
    """Return the base of all errors that a user can meet; it is loaded when there is one."""
    from fsconsole.errors import FsconsoleError

    return FsconsoleError


def _report(error: FsconsoleError) -> int:
    from fsconsole.cli.complaint import complain

    complain(str(error), error.hint)
    return error.exit_code
