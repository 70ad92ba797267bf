"""What the machine, its kernel or its programs refuse."""

from __future__ import annotations

from dataclasses import dataclass

from fsconsole.errors.base import ExitCode, FsconsoleError


@dataclass(eq=False)
class SystemRefused(FsconsoleError):
    """A system call that failed where no room of fsconsole expected it; what names the file and the reason."""

    what: str
    sentence = "The system refused a request: {what}."
    advice = "`fsconsole doctor` looks at this machine's rights, disks and tools."


@dataclass(eq=False)
class NotRoot(FsconsoleError):
    """Needs root."""

    what: str
    exit_code = ExitCode.NOT_ROOT
    sentence = "{what} needs root."
    advice = "Run it again with sudo."


@dataclass(eq=False)
class NotPrivate(FsconsoleError):
    """An engine in the host's own mount namespace, where its mounts would be everybody's."""

    sentence = "The engine has no mount namespace of its own; nothing was mounted."
    advice = "Start it by `fsconsole run`, which gives it one."


@dataclass(eq=False)
class SettingsLocked(FsconsoleError):
    """Another run varies settings of the whole machine."""

    exit_code = ExitCode.SETTINGS_LOCKED
    sentence = "Another run varies the machine's dirty limits (vm.dirty_*), and so would this one."
    advice = "`fsconsole runs` shows living runs; wait for it or stop it, or leave these settings out of this plan."


@dataclass(eq=False)
class ToolMissing(FsconsoleError):
    """A program that isn't installed."""

    tool: str
    package: str
    exit_code = ExitCode.TOOL_MISSING
    sentence = "The program {tool} is not installed."
    advice = "Install the package {package} and try again; `fsconsole doctor` lists all that is missing."


@dataclass(eq=False)
class ToolFailed(FsconsoleError):
    """A program that ended with a failure where none is a result."""

    command: str
    exit_status: int
    said: str
    exit_code = ExitCode.TOOL_FAILED
    sentence = "`{command}` failed with exit code {exit_status}: {said}"
    advice = "The words after the colon are the tool's own; `fsconsole doctor` checks what is installed."


@dataclass(eq=False)
class GeneratorFailed(FsconsoleError):
    """A load generator that ended before its writers could begin."""

    why: str
    exit_code = ExitCode.TOOL_FAILED
    sentence = "The load generator could not begin: {why}."
    advice = "`fsconsole doctor` checks what a generator needs: bubblewrap, memory, a limit on threads."


@dataclass(eq=False)
class NoSpace(FsconsoleError):
    """Not enough room on a filesystem of the host."""

    path: str
    needed: str
    free: str
    exit_code = ExitCode.NO_SPACE
    sentence = "{path} has {free} free; {needed} would be needed."
    advice = "Choose a smaller size, or another directory with --dir or --runs."


@dataclass(eq=False)
class NoRoomToTry(FsconsoleError):
    """The images on which options are tried found no room."""

    where: str
    exit_code = ExitCode.NO_SPACE
    sentence = "{where} is full; no option was judged by that."
    advice = "Free memory, or without root the directory for temporary files ($TMPDIR), and try again."


@dataclass(eq=False)
class KernelLacks(FsconsoleError):
    """Something that this kernel doesn't offer."""

    what: str
    why: str
    remedy: str
    exit_code = ExitCode.KERNEL_LACKS
    sentence = "This kernel does not offer {what}: {why}."
    advice = "{remedy}"


@dataclass(eq=False)
class KernelUnreadable(FsconsoleError):
    """A kernel file whose text is not understood; whoever guards disks must not guess."""

    path: str
    line: str
    exit_code = ExitCode.KERNEL_UNREADABLE
    sentence = "{path} has a line that is not understood: {line}"
    advice = "Send that file's text with a bug report; nothing was touched."


@dataclass(eq=False)
class ExtentsUnreadable(FsconsoleError):
    """A file whose extents can't be counted, or would be counted wrongly."""

    path: str
    why: str
    sentence = "The extents of {path} can't be counted: {why}."
    advice = "The figures of the steps before are kept; `fsconsole doctor` says what this machine offers."
