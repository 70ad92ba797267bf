"""The base of all errors, their exit codes, and errors of the command line and the console."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import IntEnum
from typing import TYPE_CHECKING, ClassVar

from fsconsole.text import printable

if TYPE_CHECKING:
    from typing_extensions import Self, dataclass_transform
else:

    def dataclass_transform(**_options):
        """Do nothing: typing has it since Python 3.11, and only type checkers need it."""
        return lambda cls: cls


class ExitCode(IntEnum):
    """Exit codes, as scripts see them.

    2 is the command line parser's own; 130 is what a shell says of a program ended by Ctrl-C.
    """

    OK = 0
    FAILURE = 1
    USAGE = 2
    CELLS_FAILED = 3
    STOPPED = 4
    REQUIREMENTS_MISSED = 5
    REQUIREMENTS_UNDECIDED = 6
    PLAN_MISSING = 10
    PLAN_NOT_TOML = 11
    PLAN_UNKNOWN_KEY = 12
    PLAN_BAD_VALUE = 13
    UNKNOWN_FILESYSTEM = 14
    OPTION_REFUSED = 15
    DEVICE_MISSING = 20
    NOT_A_BLOCK_DEVICE = 21
    DEVICE_MOUNTED = 22
    DEVICE_REFUSED = 23
    DEVICE_TOO_SMALL = 24
    DEVICE_CHANGED = 25
    DEVICE_LOCKED = 26
    CONSENT_MISSING = 27
    CONSENT_STALE = 28
    DEVICE_UNREADABLE = 29
    NOT_ROOT = 30
    TOOL_MISSING = 31
    TOOL_FAILED = 32
    NO_SPACE = 33
    RUNS_READ_ONLY = 34
    KERNEL_LACKS = 35
    KERNEL_UNREADABLE = 36
    SETTINGS_LOCKED = 37
    DEVICE_HANGS = 38
    RUN_MISSING = 40
    RUN_LIVES = 41
    JOURNAL_FULL = 42
    JOURNAL_UNUSABLE = 43
    JOURNAL_NEWER = 44
    ENGINE_DIED = 45
    RUN_OVER = 46
    RUN_COMPLETE = 47
    ENGINE_NOT_STARTED = 48
    ENGINE_SILENT = 49
    SCRATCH_MISSING = 50
    SCRATCH_IN_USE = 51
    SCRATCH_IMPOSSIBLE = 52
    NOT_AS_SHOWN = 53
    RUN_EXISTS = 54
    RUN_IMPORTED = 55
    ARCHIVE_REFUSED = 56
    EXPORT_FAILED = 57
    KIT_DIFFERS = 58
    KIT_UNREADABLE = 59
    TERMINAL_DUMB = 60
    INTERRUPTED = 130


@dataclass_transform(eq_default=False)
@dataclass(eq=False)
class FsconsoleError(Exception):
    """Base of all errors that a user can meet; each subclass is a dataclass as soon as there is one.

    sentence and advice are templates over its fields. Text from outside is made printable when it is put in, so an
    error is safe on any terminal.
    """

    exit_code: ClassVar[ExitCode] = ExitCode.FAILURE
    sentence: ClassVar[str] = "Something failed."
    advice: ClassVar[str] = "Run `fsconsole doctor`."

    def __init_subclass__(cls, exit_code: ExitCode | None = None) -> None:
        if exit_code is not None:
            cls.exit_code = exit_code

    def __new__(cls, *values: object, **named: object) -> Self:
        """Make the class a dataclass first: it takes a millisecond, and a program meets few of a hundred errors."""
        for one in reversed(cls.__mro__):
            if issubclass(one, FsconsoleError) and "__dataclass_fields__" not in vars(one):
                dataclass(eq=False)(one)
        return super().__new__(cls, *values, **named)

    def __str__(self) -> str:
        return self._worded(self.sentence)

    @property
    def hint(self) -> str:
        """Hint: the remedy, in one sentence."""
        return self._worded(self.advice)

    @property
    def each(self) -> tuple[FsconsoleError, ...]:
        """The errors that it stands for: itself, or several of one plan file."""
        return (self,)

    def _worded(self, template: str) -> str:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return template.format(
            **{name: printable(value) if isinstance(value, str) else value for name, value in values.items()}
        )


class Misused(FsconsoleError, exit_code=ExitCode.USAGE):
    """An unknown option, a missing word, a bad value; nearest is empty, or what may have been meant."""

    what: str
    nearest: str
    command: str
    sentence = "{what}"
    advice = "{nearest}See `{command} --help`."


class UnknownCommand(FsconsoleError, exit_code=ExitCode.USAGE):
    """A command that there isn't; nearest is empty, or what may have been meant."""

    name: str
    group: str
    nearest: str
    sentence = "There is no command '{name}'."
    advice = "{nearest}`{group} --help` lists all."


class DumbTerminal(FsconsoleError, exit_code=ExitCode.TERMINAL_DUMB):
    term: str
    sentence = "This terminal (TERM={term}) can't show the console."
    advice = "`fsconsole run PLAN --device DEV` and `fsconsole results` work on any terminal."


class NoTerminal(FsconsoleError, exit_code=ExitCode.TERMINAL_DUMB):
    sentence = "The console needs a terminal for its input and its output."
    advice = "`fsconsole --help` lists the commands that need none."


class OutputLost(FsconsoleError):
    """Standard output takes no more."""

    why: str
    sentence = "Standard output can't be written: {why}."
    advice = "Send it to a file on a disk with free space, or to another program."


class ReaderGone(OutputLost):
    """Of a pipe."""


class ConsoleFailed(FsconsoleError):
    sentence = "The console crashed with the error above; a run that it showed goes on."
    advice = "`fsconsole` opens it again, `fsconsole attach` follows a run without it; report the error above."


class ChildFailed(FsconsoleError):
    """A command that the console started has failed; said and advice are its own."""

    words: str
    said: str
    hint_given: str = ""
    sentence = "{said}"
    advice = "{hint_given}"
