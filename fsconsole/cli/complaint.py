"""Errors and notes on stderr, wrapped to the terminal; commands that hints name."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import textwrap
from collections.abc import Collection, Iterable, Sequence
from typing import TextIO

import typer
from typer import TyperException

from fsconsole.errors import Misused
from fsconsole.errors.runs import NotRoot, StillNeeded
from fsconsole.model import DEFAULT_RUNS_DIR

_UNBROKEN = "\0"
"""Stands for a space at which no line may end; printable text doesn't hold it."""


def complain(sentence: str, hint: str) -> None:
    """Write an error to stderr, a line each; on a terminal broken between words. Both texts are printable."""
    say(f"fsconsole: {sentence}")
    say(f"hint: {hint}")


def say(line: str) -> None:
    """Write a line to stderr, on a terminal broken between words."""
    sys.stderr.write((fitted(line) if sys.stderr.isatty() else line) + "\n")
    sys.stderr.flush()


def is_live(stream: TextIO) -> bool:
    """Tell whether a stream is a terminal that can be painted on."""
    return stream.isatty() and os.environ.get("TERM", "dumb") not in {"dumb", "unknown"}


def fitted(line: str) -> str:
    """Return a line broken between words; commands in backquotes that fit a line stay whole, to be copied."""
    width = shutil.get_terminal_size().columns
    short_command = f"`[^`]{{0,{max(0, width - len('``.'))}}}`"
    kept = re.sub(short_command, lambda command: command[0].replace(" ", _UNBROKEN), line)
    return textwrap.fill(kept, width, break_long_words=False, break_on_hyphens=False).replace(_UNBROKEN, " ")


# Usage errors of the parser, worded as all other errors: a sentence and a hint.

_OF_PYDANTIC = "Value error, "
"""Prefix of the parser's value errors, which tells an operator nothing."""


def misuse(error: TyperException, words: Sequence[str], commands: Collection[str]) -> Misused:
    """Return the parser's complaint as an error; words are those of the command line, without the program."""
    said = error.format_message().replace(_OF_PYDANTIC, "")
    # The parser puts what it would rather have had into brackets behind its sentence.
    said, _, possible = said.partition(" (Possible options: ")
    nearest = f"Did you mean {possible.removesuffix(')')}? " if possible else ""
    line = " ".join(said.split())
    sentence = f"{line[:1].upper()}{line[1:].rstrip('.')}."
    # The parser doesn't tell the command of every mistake.
    named = " ".join(["fsconsole", *[word for word in words[:1] if word in commands]])
    context = getattr(error, "ctx", None)
    command = str(context.command_path) if context is not None else named
    return Misused(what=sentence, nearest=nearest, command=command)


def need_root(what: str) -> None:
    """Raise NotRoot unless run by root."""
    if os.geteuid() != 0:
        raise NotRoot(what)


def require_targets(command: str, devices: Collection[str] | None, directories: Collection[str] | None) -> bool:
    """Return whether directories are the targets; raises Misused unless there are devices or directories, not both."""
    if bool(devices) != bool(directories):
        return bool(directories)
    what = "--device and --directory exclude each other." if devices else "Missing option '--device' or '--directory'."
    raise Misused(what=what, nearest="", command=f"fsconsole {command}")


def need_root_unless_own(what: str, folders: Iterable[str]) -> None:
    """Raise NotRoot unless run by root, or by the user to whom all these folders of runs belong.

    A user's own runs are in directories, and changed nothing that only root may.
    """
    if any(os.stat(folder).st_uid != os.geteuid() for folder in folders):
        need_root(what)


def require_agreement(what: str, why: str, *, yes: bool) -> None:
    """Raise StillNeeded unless why is empty, --yes was given, or the operator confirms."""
    if not why or yes:
        return
    if (
        sys.stdin.isatty()
        and sys.stderr.isatty()
        and typer.confirm(f"{what} is still needed: {why}. Go ahead?", err=True)
    ):
        return
    raise StillNeeded(what, why)


def command_line(
    *words: str, runs: str, devices: Sequence[str] = (), directories: Sequence[str] = (), more: Sequence[str] = ()
) -> str:
    """Return a command of fsconsole for a shell; --runs is left out where it is the default."""
    named = [word for device in devices for word in ("--device", device)]
    named += [word for directory in directories for word in ("--directory", directory)]
    kept = ["--runs", runs] if runs != DEFAULT_RUNS_DIR else []
    return shlex.join(["fsconsole", *words, *named, *kept, *more])
