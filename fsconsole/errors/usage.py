"""Words on the command line that say nothing to fsconsole."""

from __future__ import annotations

from dataclasses import dataclass

from fsconsole.errors.base import ExitCode, FsconsoleError


@dataclass(eq=False)
class Misused(FsconsoleError):
    """An unknown option, a missing word, a bad value; nearest is empty, or what may have been meant."""

    what: str
    nearest: str
    command: str
    exit_code = ExitCode.USAGE
    sentence = "{what}"
    advice = "{nearest}`{command} --help` says how it is used."


@dataclass(eq=False)
class UnknownCommand(FsconsoleError):
    """A command that there isn't; nearest first."""

    name: str
    group: str
    nearest: str
    exit_code = ExitCode.USAGE
    sentence = "There is no command '{name}'."
    advice = "Nearest first: {nearest}; `{group} --help` lists all."
