"""What can be wrong with a run, its folder, its journal and its engine."""

from __future__ import annotations

from dataclasses import dataclass

from fsconsole.errors import ExitCode, FsconsoleError

# What the machine, its kernel or its programs refuse.


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


@dataclass(eq=False)
class RunsReadOnly(FsconsoleError):
    """The run folder can't be written."""

    path: str
    why: str
    exit_code = ExitCode.RUNS_READ_ONLY
    sentence = "Runs can't be kept in {path}: {why}."
    advice = "Choose another place with --runs DIR."


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
class EngineNotListening(FsconsoleError):
    """An engine that lives, and does not take requests yet, or any more."""

    run: str
    exit_code = ExitCode.ENGINE_SILENT
    sentence = "The engine of run {run} takes no requests at this moment."
    advice = "It is just beginning or ending: ask again in a moment."


@dataclass(eq=False)
class EngineSilent(FsconsoleError):
    """An engine that lives, and gave no answer that can be read."""

    run: str
    waited_s: float
    exit_code = ExitCode.ENGINE_SILENT
    sentence = "The engine of run {run} is alive, but gave no answer within {waited_s:g} s."
    advice = (
        "It takes the request when it comes to itself; `fsconsole runs` shows where it stands, "
        "`dmesg` whether a disk hangs."
    )


@dataclass(eq=False)
class RequestRefused(FsconsoleError):
    """A request that the engine did not take."""

    run: str
    why: str
    sentence = "The engine of run {run} did not take the request: {why}."
    advice = "Ask with the fsconsole that began the run; `fsconsole results {run}` names its version."


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
class JournalOlder(JournalUnusable):
    """Written before events had one table; no version with that format was released."""

    why: str = "it was written by a version before 0.1.0, which kept events in other tables"
    advice = "Check out commit 5f86c80, the last that reads it, and run `fsconsole cleanup` there; or delete the run."


@dataclass(eq=False)
class ExportFailed(FsconsoleError):
    """A copy of a journal that can't be written."""

    path: str
    why: str
    sentence = "The copy {path} can't be written: {why}."
    advice = "Give the path of a file that does not exist yet, on a disk with room."


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
