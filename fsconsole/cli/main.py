"""Entry point, and the one place that reports errors.

Nothing is loaded here that a help text doesn't need: neither the commands nor the errors.
"""

from __future__ import annotations

import codecs
import errno
import gc
import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

from fsconsole.system.isolation import search_path
from fsconsole.text import encoding_of, error_reason

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from fsconsole.errors import FsconsoleError


COLLECT_AFTER = (50_000, 20, 50)
"""Thresholds of the cycle collector (docs.python.org/3/library/gc.html), raised: by default it takes a tenth of a
command's time, and a third of the time in which a large run is read."""


_ASCII = "plain_ascii"
"""ASCII by another name: typer takes a stream in "ascii" for a mistake, and writes UTF-8 to it."""


class _Output(io.FileIO):
    """Standard output, whose failures are told apart from those of all other files."""

    def write(self, data: Buffer) -> int:
        """Write bytes. Raises OutputLost."""
        try:
            return super().write(data)
        except OSError as error:
            from fsconsole.errors import OutputLost, ReaderGone

            lost = ReaderGone if error.errno == errno.EPIPE else OutputLost
            raise lost("it is closed" if error.errno == errno.EBADF else error_reason(error)) from error


def main() -> int:
    """Run the command line and return its exit code (errors.ExitCode; 130 after Ctrl-C)."""
    gc.set_threshold(*COLLECT_AFTER)
    # Libraries start programs too: ctypes looks for a missing libudev by the first gcc of PATH.
    os.environ["PATH"] = search_path()
    try:
        _prepare_streams()
        return _run_command()
    except KeyboardInterrupt:
        return 130
    except _known() as error:
        return _report(error)
    except OSError as error:
        from fsconsole.system.run import system_refusal

        return _report(system_refusal(error))


def _prepare_streams() -> None:
    """Open the standard streams that are closed, so that no file takes their place; stdout fails as one sentence."""
    for number, mode in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            # A file for reading alone: what is written to a closed standard output must fail.
            os.open(os.devnull, mode)
    sys.stdin = sys.stdin or io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)))
    if type(sys.stderr) is io.TextIOWrapper and _encoding(sys.stderr) == _ASCII:
        sys.stderr.reconfigure(encoding=_ASCII, errors="backslashreplace")
    sys.stderr = sys.stderr or _text(io.FileIO(2, "w", closefd=False))
    # Not what a test, or a program that calls this one, has put there.
    if sys.stdout is None or (type(sys.stdout) is io.TextIOWrapper and sys.stdout.fileno() == 1):
        sys.stdout = _text(_Output(1, "w", closefd=False))


def _text(raw: io.FileIO) -> io.TextIOWrapper:
    """Return a stream in UTF-8, or in ASCII; no character of a label or a path fails where that lacks it."""
    encoding = _encoding(sys.stdout)
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding, "backslashreplace", line_buffering=raw.isatty())


def _encoding(stream: TextIO | None) -> str:
    """Return UTF-8 where the locale has it, else ASCII, in which trees and bars are drawn by other characters."""
    of_stream = stream.encoding if stream is not None else "utf-8"
    named = encoding_of(os.environ, of_stream, is_utf8_mode=bool(sys.flags.utf8_mode))
    return "utf-8" if named.lower().replace("-", "") == "utf8" else _ASCII


def _ascii_codec(name: str) -> codecs.CodecInfo | None:
    if name != _ASCII:
        return None
    codec = codecs.lookup("ascii")
    return codecs.CodecInfo(codec.encode, codec.decode, incrementalencoder=codec.incrementalencoder, name=_ASCII)


codecs.register(_ascii_codec)


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
    from fsconsole.cli.complaint import complain, mute
    from fsconsole.errors import OutputLost, ReaderGone

    if isinstance(error, OutputLost):
        mute()
    # Who closes a pipe (head, less) has seen what it wanted.
    if isinstance(error, ReaderGone):
        return error.exit_code
    for one in error.each:
        complain(str(one), one.hint)
    return error.exit_code
