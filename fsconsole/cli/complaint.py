"""Errors and notes on stderr, wrapped to the terminal; commands that hints name."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from typing import TextIO

import typer
from typer import TyperException

from fsconsole.errors import Misused
from fsconsole.errors.runs import NotRoot, StillNeeded
from fsconsole.model import DEFAULT_RUNS_DIR, RUNS_VARIABLE
from fsconsole.text import printable

_UNBROKEN = "\0"
"""Stands for a space at which no line may end; printable text doesn't hold it."""


_WIDEST = 200
_COMMAND_NAMED = re.compile(r"`fsconsole(?: [^`]*)?`")
_WITHOUT_RUNS = re.compile(
    r"`fsconsole (?:readtest|gauges|catalog|scratch(?! remove)|completion|schema|tour|verify-kit)\b"
    r"|`fsconsole --|--(?:help|list|runs)\b"
)
"""Commands in hints that read no directory of runs, or name one."""


def complain(sentence: str, hint: str) -> None:
    """Write an error to stderr, a line each; on a terminal broken between words. Both texts are printable."""
    say(f"fsconsole: {sentence}")
    say(f"hint: {hint}")


def with_runs(text: str) -> str:
    """Return text whose commands in backquotes name the directory of runs, where it is not the default."""
    runs = os.environ.get(RUNS_VARIABLE, DEFAULT_RUNS_DIR)
    if runs == DEFAULT_RUNS_DIR:
        return text
    more = printable(f" --runs {shlex.quote(runs)}")

    def named(at: re.Match[str]) -> str:
        command, redirection, file = at[0][:-1].partition(" < ")
        return at[0] if _WITHOUT_RUNS.search(at[0]) else f"{command}{more}{redirection}{file}`"

    return _COMMAND_NAMED.sub(named, text)


def say(line: str) -> None:
    """Write a line to stderr, its commands with the directory of runs; on a terminal broken between words."""
    line = with_runs(line)
    # There is no other place to tell that this one is closed or full.
    with suppress(OSError):
        sys.stderr.write((fitted(line) if sys.stderr.isatty() else line) + "\n")
        sys.stderr.flush()


def mute() -> None:
    """Point standard output away from where it fails, or Python complains of it once more when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def is_live(stream: TextIO) -> bool:
    """Tell whether a stream is a terminal that can be painted on."""
    return stream.isatty() and os.environ.get("TERM", "") not in {"", "dumb", "unknown"}


def terminal_width() -> int:
    """Return the width of standard output: COLUMNS, or its terminal's, or 80."""
    is_known = sys.stdout.isatty() or "COLUMNS" in os.environ
    return min(_WIDEST, shutil.get_terminal_size().columns) if is_known else 80


def fitted(line: str) -> str:
    """Return a line broken between words; commands in backquotes that fit a line stay whole, to be copied."""
    width = shutil.get_terminal_size().columns
    short_command = f"`[^`]{{0,{max(0, width - len('``.'))}}}`"
    kept = re.sub(short_command, lambda command: command[0].replace(" ", _UNBROKEN), line)
    return textwrap.fill(kept, width, break_long_words=False, break_on_hyphens=False).replace(_UNBROKEN, " ")


# Usage errors of the parser, worded as all other errors: a sentence and a hint.

_OF_ALL = frozenset({"--runs", "--ascii", "--slow-link"})
"""Options of fsconsole itself, of which some commands have no use."""
_OF_PYDANTIC = "Value error, "
"""Prefix of the parser's value errors, which tells an operator nothing."""


def misuse(error: TyperException, words: Sequence[str], commands: Collection[str]) -> Misused:
    """Return the parser's complaint as an error; words are those of the command line, without the program."""
    said = error.format_message().replace(_OF_PYDANTIC, "")
    # The parser puts what it would rather have had into brackets behind its sentence.
    said, _, possible = said.partition(" (Possible options: ")
    near = _near(said.rpartition(" ")[2].rstrip("."), possible.removesuffix(")").split(", "))
    nearest = f"Did you mean {', '.join(near)}? " if near else ""
    line = " ".join(said.split())
    sentence = f"{line[:1].upper()}{line[1:].rstrip('.')}."
    # The parser doesn't tell the command of every mistake.
    named = " ".join(["fsconsole", *[word for word in words[:1] if word in commands]])
    context = getattr(error, "ctx", None)
    command = str(context.command_path) if context is not None else named
    if getattr(error, "option_name", "") in _OF_ALL:
        # As before the command, where the parser knows them.
        sentence, nearest = f"{error.option_name} has no effect on `{command}`.", ""  # type: ignore[attr-defined]
    return Misused(what=sentence, nearest=nearest, command=command)


def _near(option: str, others: Sequence[str]) -> list[str]:
    """Return those of other options whose names are near; the dashes, which all have, make none near."""
    names = {other.lstrip("-"): other for other in others if other}
    return [names[name] for name in get_close_matches(option.lstrip("-")[:100], names)]


def refuse_idle(given: Mapping[str, object], beside: str, command: str) -> None:
    """Raise Misused for the first option of given, by its name, that was given: beside another one it has no effect."""
    for name, said in given.items():
        if said:
            raise Misused(what=f"{name} has no effect with {beside}.", nearest="", command=command)


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
    if sys.stdin.isatty() and sys.stderr.isatty() and typer.confirm(f"{StillNeeded(what, why)} Go ahead?", err=True):
        return
    raise StillNeeded(what, why)


def choose(question: str, names: Sequence[str]) -> int | None:
    """Return the place of the name that the operator chooses; None where there is nobody to ask, or no such number."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    for number, name in enumerate(names, 1):
        sys.stderr.write(f"{number}  {printable(name)}\n")
    sys.stderr.write(f"{question} (1 to {len(names)}): ")
    sys.stderr.flush()
    said = sys.stdin.readline().strip()
    return int(said) - 1 if said in {str(number) for number in range(1, len(names) + 1)} else None


def command_line(
    *words: str, runs: str, devices: Sequence[str] = (), directories: Sequence[str] = (), more: Sequence[str] = ()
) -> str:
    """Return a command of fsconsole for a shell; --runs is left out where it is the default."""
    named = [word for device in devices for word in ("--device", device)]
    named += [word for directory in directories for word in ("--directory", directory)]
    kept = ["--runs", runs] if runs != DEFAULT_RUNS_DIR else []
    return shlex.join(["fsconsole", *words, *named, *kept, *more])
