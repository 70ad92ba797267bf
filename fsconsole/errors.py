"""Every error of fsconsole: its data, its exit code, its sentence and its hint, in one place.

An error class carries values; the sentence and the hint are templates over them. Whatever text comes
from outside is made printable when it is put into the sentence, so an error is safe on any terminal.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import IntEnum
from typing import ClassVar

from fsconsole.plaintext import printable


class ExitCode(IntEnum):
    """What each ending of the program means to a script.

    2 is the command line parser's own; 130 is what a shell says of a program ended by Ctrl-C.
    """

    OK = 0
    FAILURE = 1
    USAGE = 2
    CELLS_FAILED = 3
    STOPPED = 4
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
    NOT_ROOT = 30
    TOOL_MISSING = 31
    TOOL_FAILED = 32
    NO_SPACE = 33
    RUNS_READ_ONLY = 34
    KERNEL_LACKS = 35
    KERNEL_UNREADABLE = 36
    RUN_MISSING = 40
    RUN_LIVES = 41
    JOURNAL_FULL = 42
    JOURNAL_UNUSABLE = 43
    JOURNAL_NEWER = 44
    ENGINE_DIED = 45
    RUN_OVER = 46
    RUN_COMPLETE = 47
    ENGINE_NOT_STARTED = 48
    SCRATCH_MISSING = 50
    SCRATCH_IN_USE = 51
    SCRATCH_IMPOSSIBLE = 52
    INTERRUPTED = 130


@dataclass(eq=False)
class FsconsoleError(Exception):
    """Base of all errors that a user can meet; subclasses are dataclasses over their data."""

    exit_code: ClassVar[ExitCode] = ExitCode.FAILURE
    sentence: ClassVar[str] = "Something failed."
    advice: ClassVar[str] = "Run `fsconsole doctor`."

    def __str__(self) -> str:
        return self._worded(self.sentence)

    @property
    def hint(self) -> str:
        """What to do about it, in one sentence."""
        return self._worded(self.advice)

    def _worded(self, template: str) -> str:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return template.format(**{name: _safe(value) for name, value in values.items()})


def _safe(value: object) -> object:
    return printable(value) if isinstance(value, str) else value


@dataclass(eq=False)
class BadQuantity(FsconsoleError):
    """A size or a duration that can't be read."""

    text: str
    wanted: str
    examples: str
    exit_code = ExitCode.PLAN_BAD_VALUE
    sentence = "'{text}' is not {wanted}."
    advice = "Write it like one of: {examples}."


@dataclass(eq=False)
class PlanMissing(FsconsoleError):
    """A plan file that can't be read."""

    path: str
    why: str
    exit_code = ExitCode.PLAN_MISSING
    sentence = "The plan file {path} can't be read: {why}."
    advice = "Give a path, or the name of a shipped plan: `fsconsole plan --list`."


@dataclass(eq=False)
class PlanNotToml(FsconsoleError):
    """A plan file with a syntax error; where is the TOML reader's own words, with line and column."""

    path: str
    where: str
    exit_code = ExitCode.PLAN_NOT_TOML
    sentence = "{path} is not TOML: {where}."
    advice = "Mend that line; strings need quotes, lists need brackets."


@dataclass(eq=False)
class PlanUnknownKey(FsconsoleError):
    """A key that the schema doesn't know."""

    path: str
    key: str
    nearest: str
    exit_code = ExitCode.PLAN_UNKNOWN_KEY
    sentence = "{path}: the key {key} is not known."
    advice = "Valid here, nearest first: {nearest}."


@dataclass(eq=False)
class PlanBadValue(FsconsoleError):
    """A known key with a value that can't be."""

    path: str
    key: str
    value: str
    why: str
    wanted: str
    exit_code = ExitCode.PLAN_BAD_VALUE
    sentence = "{path}: {key} = {value}: {why}."
    advice = "Wanted: {wanted}."


@dataclass(eq=False)
class UnknownFilesystem(FsconsoleError):
    """A filesystem that the catalog doesn't hold."""

    path: str
    key: str
    name: str
    nearest: str
    exit_code = ExitCode.UNKNOWN_FILESYSTEM
    sentence = "{path}: {key}: there is no filesystem '{name}' in the catalog."
    advice = "Known, nearest first: {nearest}."


@dataclass(eq=False)
class OptionRefused(FsconsoleError):
    """An mkfs or mount word that the allow-list doesn't hold, or that the rules between options exclude."""

    path: str
    key: str
    word: str
    why: str
    nearest: str
    exit_code = ExitCode.OPTION_REFUSED
    sentence = "{path}: {key}: '{word}' is refused: {why}."
    advice = "Allowed, nearest first: {nearest}."


@dataclass(eq=False)
class DeviceMissing(FsconsoleError):
    """No such path."""

    device: str
    exit_code = ExitCode.DEVICE_MISSING
    sentence = "There is no {device}."
    advice = "`fsconsole devices` lists what is there."


@dataclass(eq=False)
class NotABlockDevice(FsconsoleError):
    """A path that is something else."""

    device: str
    what: str
    exit_code = ExitCode.NOT_A_BLOCK_DEVICE
    sentence = "{device} is {what}, not a block device."
    advice = "For a load on a file, make a scratch device: `fsconsole scratch create`."


@dataclass(eq=False)
class DeviceMounted(FsconsoleError):
    """Refused: mounted somewhere."""

    device: str
    reason: str
    remedy: str
    exit_code = ExitCode.DEVICE_MOUNTED
    sentence = "{device} {reason}; nothing was touched."
    advice = "{remedy}"


@dataclass(eq=False)
class DeviceRefused(FsconsoleError):
    """Refused by the wipe gate for any other reason."""

    device: str
    reason: str
    remedy: str
    exit_code = ExitCode.DEVICE_REFUSED
    sentence = "{device} {reason}; nothing was touched."
    advice = "{remedy}"


@dataclass(eq=False)
class DeviceTooSmall(FsconsoleError):
    """Less room than the plan or a filesystem needs."""

    device: str
    reason: str
    remedy: str
    exit_code = ExitCode.DEVICE_TOO_SMALL
    sentence = "{device} {reason}; nothing was touched."
    advice = "{remedy}"


@dataclass(eq=False)
class DeviceChanged(FsconsoleError):
    """Vanished, replaced or written to by somebody else since it was agreed upon."""

    device: str
    difference: str
    exit_code = ExitCode.DEVICE_CHANGED
    sentence = "{device} is not what was agreed upon: {difference}."
    advice = "Look at it with `fsconsole devices`, then plan again: `fsconsole plan FILE --device {device}`."


@dataclass(eq=False)
class DeviceLocked(FsconsoleError):
    """Another run holds the device's lock."""

    device: str
    exit_code = ExitCode.DEVICE_LOCKED
    sentence = "{device} is locked by another run or tool."
    advice = "`fsconsole runs` shows living runs; wait, or stop the other one with `fsconsole stop`."


@dataclass(eq=False)
class ConsentMissing(FsconsoleError):
    """A run would wipe something and nobody agreed to it."""

    device: str
    loss: str
    exit_code = ExitCode.CONSENT_MISSING
    sentence = "{device} would be wiped, and holds {loss}; nobody has consented to that."
    advice = (
        "`fsconsole plan FILE --device {device}` shows what would be lost and prints the code for --consent."
    )


@dataclass(eq=False)
class ConsentStale(FsconsoleError):
    """A consent code that doesn't fit the devices as they are now."""

    device: str
    exit_code = ExitCode.CONSENT_STALE
    sentence = "The consent code does not fit {device} as it is now: it was given for another device or other contents."
    advice = "Look again and take the new code: `fsconsole plan FILE --device {device}`."


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
class RunsReadOnly(FsconsoleError):
    """The run folder can't be written."""

    path: str
    why: str
    exit_code = ExitCode.RUNS_READ_ONLY
    sentence = "Runs can't be kept in {path}: {why}."
    advice = "Choose another place with --runs DIR."


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
class UnknownColumn(FsconsoleError):
    """A column name that no measurement has."""

    name: str
    nearest: str
    exit_code = ExitCode.USAGE
    sentence = "There is no column '{name}'."
    advice = "Nearest first: {nearest}; `fsconsole results --help` lists all."


@dataclass(eq=False)
class RunMissing(FsconsoleError):
    """No run of that name."""

    run: str
    runs_dir: str
    exit_code = ExitCode.RUN_MISSING
    sentence = "There is no run '{run}' in {runs_dir}."
    advice = "`fsconsole runs` lists what there is."


@dataclass(eq=False)
class RunAmbiguous(FsconsoleError):
    """A beginning that several runs have; candidates are the newest of them."""

    run: str
    candidates: str
    exit_code = ExitCode.RUN_MISSING
    sentence = "Several runs begin with '{run}'."
    advice = "Give more of the name; the newest are: {candidates}."


@dataclass(eq=False)
class RunLives(FsconsoleError):
    """An act that needs a dead run."""

    run: str
    exit_code = ExitCode.RUN_LIVES
    sentence = "Run {run} is being carried out right now."
    advice = "`fsconsole attach {run}` shows it; `fsconsole stop {run}` ends it after the cell at hand."


@dataclass(eq=False)
class RunOver(FsconsoleError):
    """An act that needs a living run."""

    run: str
    exit_code = ExitCode.RUN_OVER
    sentence = "Run {run} is not being carried out."
    advice = (
        "`fsconsole results {run}` shows what it found; `fsconsole resume {run}` finishes an incomplete one."
    )


@dataclass(eq=False)
class RunComplete(FsconsoleError):
    """A run with no cell left to do."""

    run: str
    exit_code = ExitCode.RUN_COMPLETE
    sentence = "Run {run} has nothing left to do."
    advice = "`fsconsole results {run}` shows it; `fsconsole run` starts another."


@dataclass(eq=False)
class JournalFull(FsconsoleError):
    """The disk of the run folder ran full."""

    path: str
    exit_code = ExitCode.JOURNAL_FULL
    sentence = (
        "The journal {path} can't grow: its disk is full; the run stopped, all cells reported done are kept."
    )
    advice = "Free some room there, then `fsconsole resume`."


@dataclass(eq=False)
class JournalUnusable(FsconsoleError):
    """Damaged, locked or unreadable."""

    path: str
    why: str
    exit_code = ExitCode.JOURNAL_UNUSABLE
    sentence = "The journal {path} can't be used: {why}."
    advice = "Copy the folder somewhere safe; its raw outputs are plain files."


@dataclass(eq=False)
class JournalNewer(FsconsoleError):
    """Written by a later fsconsole."""

    path: str
    version: int
    exit_code = ExitCode.JOURNAL_NEWER
    sentence = "The journal {path} has schema {version}, made by a newer fsconsole."
    advice = "Open it with that version."


@dataclass(eq=False)
class ExportFailed(FsconsoleError):
    """A copy of a journal that can't be written."""

    path: str
    why: str
    sentence = "The copy {path} can't be written: {why}."
    advice = "Give the path of a file that does not exist yet, on a disk with room."


@dataclass(eq=False)
class ExtentsUnreadable(FsconsoleError):
    """A file whose extents can't be counted, or would be counted wrongly."""

    path: str
    why: str
    sentence = "The extents of {path} can't be counted: {why}."
    advice = "The figures of the steps before are kept; `fsconsole doctor` says what this machine offers."


@dataclass(eq=False)
class EngineDied(FsconsoleError):
    """The engine is gone without a word."""

    run: str
    exit_code = ExitCode.ENGINE_DIED
    sentence = "The engine of run {run} died without a word."
    advice = "`fsconsole cleanup` gives back what it left; `fsconsole resume {run}` finishes the plan."


@dataclass(eq=False)
class EngineNotStarted(FsconsoleError):
    """An engine that ended before it had taken its run."""

    run: str
    said: str
    folder: str
    exit_code = ExitCode.ENGINE_NOT_STARTED
    sentence = "The engine of run {run} did not start: {said}"
    advice = "Nothing was touched; {folder}/engine.log has all of its words, `fsconsole doctor` may know why."


@dataclass(eq=False)
class ScratchMissing(FsconsoleError):
    """No scratch device of that name."""

    name: str
    exit_code = ExitCode.SCRATCH_MISSING
    sentence = "{name} is not a scratch device of fsconsole."
    advice = "`fsconsole scratch list` shows them."


@dataclass(eq=False)
class ScratchInUse(FsconsoleError):
    """A scratch device that something still uses."""

    name: str
    why: str
    exit_code = ExitCode.SCRATCH_IN_USE
    sentence = "{name} is in use: {why}."
    advice = "Stop or unmount what uses it, then try again."


@dataclass(eq=False)
class ScratchImpossible(FsconsoleError):
    """A directory in which no scratch file can be made or attached."""

    path: str
    why: str
    exit_code = ExitCode.SCRATCH_IMPOSSIBLE
    sentence = "{path} can't hold a scratch device: {why}."
    advice = "Choose a directory on a local disk filesystem with --dir."
