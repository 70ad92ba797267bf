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


@dataclass(eq=False)
class DumbTerminal(FsconsoleError):
    """The console on a terminal that can't place a cursor."""

    term: str
    exit_code = ExitCode.TERMINAL_DUMB
    sentence = "This terminal (TERM={term}) can't show the console."
    advice = "`fsconsole run` and `fsconsole results` need nothing but lines."


@dataclass(eq=False)
class NoTerminal(FsconsoleError):
    """The console without a terminal to show it on."""

    exit_code = ExitCode.TERMINAL_DUMB
    sentence = "The console needs a terminal for its input and its output."
    advice = "`fsconsole --help` lists the commands that need none."


@dataclass(eq=False)
class ConsoleFailed(FsconsoleError):
    """The console ended by a fault of its own, which it has shown."""

    sentence = "The console ended by a fault of its own, shown above; a run that it showed goes on."
    advice = (
        "`fsconsole` shows it again, `fsconsole attach` follows a run without it; report what stands above."
    )


@dataclass(eq=False)
class ChildFailed(FsconsoleError):
    """A command that the console started has failed; said and advice are its own."""

    words: str
    said: str
    hint_given: str = ""
    sentence = "{said}"
    advice = "{hint_given}"
