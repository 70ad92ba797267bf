"""Errors of the machine, of runs, their folders, journals and engines."""

from __future__ import annotations

from fsconsole.errors import ExitCode, FsconsoleError
from fsconsole.text import did_you_mean


class SystemRefused(FsconsoleError):
    """An unexpected OSError; what names the file and the reason."""

    what: str
    sentence = "A system call failed: {what}."
    advice = "`fsconsole doctor` checks this machine's permissions, disks and tools."


class NotRoot(FsconsoleError, exit_code=ExitCode.NOT_ROOT):
    what: str
    sentence = "{what} needs root."
    advice = "Run it again with sudo."


class StillNeeded(FsconsoleError, exit_code=ExitCode.CONSENT_MISSING):
    what: str
    why: str
    sentence = "{what} can't be brought back once it is gone: {why}."
    advice = "Add --yes if nobody needs it."


class NotPrivate(FsconsoleError):
    """An engine in the host's own mount namespace, where its mounts would be everybody's."""

    sentence = "The engine has no mount namespace of its own; nothing was mounted."
    advice = "Start it with `fsconsole run`, which creates one."


class SettingsLocked(FsconsoleError, exit_code=ExitCode.SETTINGS_LOCKED):
    sentence = "Another run varies the machine's dirty limits (vm.dirty_*), and this one would, too."
    advice = "`fsconsole runs` shows active runs; wait for it or stop it, or leave these settings out of this plan."


class ToolMissing(FsconsoleError, exit_code=ExitCode.TOOL_MISSING):
    tool: str
    package: str
    sentence = "The program {tool} is not installed."
    advice = "Install the package {package} and try again; `fsconsole doctor` lists all that is missing."


class CommandMissing(ToolMissing):
    """The program of a plan's command; key is that of its words."""

    path: str
    key: str
    sentence = "{path}: {key}: there is no program {tool} on this machine."
    advice = "The first word of argv is the program; correct it, or install the package that brings it."


class ToolFailed(FsconsoleError, exit_code=ExitCode.TOOL_FAILED):
    command: str
    exit_status: int
    said: str
    sentence = "`{command}` failed with exit code {exit_status}: {said}"
    advice = "The text after the colon is the tool's own message; `fsconsole doctor` checks what is installed."


class ToolIsScript(FsconsoleError, exit_code=ExitCode.TOOL_FAILED):
    program: str
    sentence = "{program} is a script: a device can't be proved once more when the program that it starts has it open."
    advice = "Have the tool itself come first in PATH: the script's name must lead to the program."


class GeneratorFailed(FsconsoleError, exit_code=ExitCode.TOOL_FAILED):
    why: str
    sentence = "The load generator could not start: {why}."
    advice = "`fsconsole doctor` checks what a generator needs: bubblewrap, memory, a limit on threads."


class NoSpace(FsconsoleError, exit_code=ExitCode.NO_SPACE):
    path: str
    needed: str
    free: str
    sentence = "{path} has {free} free; {needed} needed."
    advice = "Choose a smaller size, or another directory with --dir or --runs."


class NoRoomToTry(FsconsoleError, exit_code=ExitCode.NO_SPACE):
    where: str
    sentence = "{where} is full: options could not be tried."
    advice = "Free memory, or without root the directory for temporary files ($TMPDIR), and try again."


class KernelLacks(FsconsoleError, exit_code=ExitCode.KERNEL_LACKS):
    what: str
    why: str
    remedy: str
    sentence = "This kernel does not offer {what}: {why}."
    advice = "{remedy}"


class KernelUnreadable(FsconsoleError, exit_code=ExitCode.KERNEL_UNREADABLE):
    """A kernel file whose text is not understood; whoever guards disks must not guess."""

    path: str
    line: str
    sentence = "{path} has a line of unknown format: {line}"
    advice = "Send that file's text with a bug report; nothing was touched."


class ExtentsUnreadable(FsconsoleError):
    path: str
    why: str
    sentence = "The extents of {path} can't be counted: {why}."
    advice = "The figures of the steps before are kept; `fsconsole doctor` says what this machine offers."


class RunNotDeleted(FsconsoleError, exit_code=ExitCode.RUNS_READ_ONLY):
    run: str
    why: str
    sentence = "Run {run} can't be deleted: {why}."
    advice = "All of it is still there: put that right, and delete it again."


class RunsReadOnly(FsconsoleError, exit_code=ExitCode.RUNS_READ_ONLY):
    path: str
    why: str
    sentence = "Runs can't be kept in {path}: {why}."
    advice = "Choose another directory with --runs DIR."


class UnknownColumn(FsconsoleError, exit_code=ExitCode.USAGE):
    name: str
    nearest: str
    sentence = "There is no column '{name}'."
    advice = "`fsconsole results --help` lists all columns."

    @property
    def hint(self) -> str:
        """Hint: names that are near, or else the command that lists all."""
        near = did_you_mean(self.name, self.nearest.split(", "))
        return f"{near} `fsconsole results --help` lists all." if near else self._worded(self.advice)


class UnknownBaseline(FsconsoleError, exit_code=ExitCode.USAGE):
    name: str
    known: str
    sentence = "This run has no baseline '{name}'."
    advice = "Choose a variant, or an axis with a value: {known}."


class TooManyPairs(FsconsoleError, exit_code=ExitCode.USAGE):
    block: str
    rows: int
    most: int
    sentence = "'{block}' has {rows} rows; all pairs are compared for at most {most}."
    advice = "Compare with one baseline: --baseline LABEL."


class RequirementsMissed(FsconsoleError, exit_code=ExitCode.REQUIREMENTS_MISSED):
    """No row of a run meets all that its plan requires; each misses a limit."""

    sentence = "No row meets the plan's requirements: each misses one."
    advice = "`fsconsole results` shows each row's bound beside the limit."


class RequirementsUndecided(FsconsoleError, exit_code=ExitCode.REQUIREMENTS_UNDECIDED):
    """No row of a run certainly meets all that its plan requires, and at least one may."""

    sentence = "No row certainly meets the plan's requirements, but not every row misses them."
    advice = "`fsconsole results` shows why: too few rounds, too few calls, or bounds on both sides of a limit. Run more rounds."


class RunsDiffer(FsconsoleError, exit_code=ExitCode.USAGE):
    """Runs that differ in what --vary does not name; vary is all that it would have to name."""

    said: str
    vary: str
    sentence = "These runs differ in {said}."
    advice = "To compare them all the same, add --vary {vary}; all differences are listed above the figures."


class NothingToCompare(FsconsoleError, exit_code=ExitCode.USAGE):
    why: str
    sentence = "There is nothing to compare: {why}."
    advice = (
        "Name other runs, or a published table (`fsconsole compare --list`); `fsconsole results RUN` shows one run."
    )


class NothingToAdvise(FsconsoleError):
    why: str
    sentence = "No advice on this run: {why}."
    advice = "`fsconsole results` shows its figures; `fsconsole advise --help` says what advice needs."


class NothingToApply(FsconsoleError):
    why: str
    sentence = "No kit can be made: {why}."
    advice = "`fsconsole results` shows the run's rows; `fsconsole apply-kit --help` says what a kit needs."


class UnknownRow(FsconsoleError, exit_code=ExitCode.USAGE):
    row: str
    why: str
    nearest: str
    sentence = "'{row}' {why} of this run."
    advice = "Rows by name (or number): {nearest}. `fsconsole advise` has the same names."


class KitExists(FsconsoleError, exit_code=ExitCode.EXPORT_FAILED):
    directory: str
    sentence = "{directory} has a kit already, or other files: nothing was written."
    advice = "Name a directory that doesn't exist yet: a kit's UUIDs are those of one filesystem."


class KitUnreadable(FsconsoleError, exit_code=ExitCode.KIT_UNREADABLE):
    path: str
    why: str
    sentence = "{path} is no kit that can be read: {why}."
    advice = "Name the directory that `fsconsole apply-kit` wrote."


class NoCurves(FsconsoleError, exit_code=ExitCode.USAGE):
    why: str
    sentence = "There is no curve to draw: {why}."
    advice = (
        "A curve needs a plan with an axis of three or more numbers, such as threads = [1, 4, 16]; "
        "`fsconsole results RUN` shows the figures."
    )


class RunMissing(FsconsoleError, exit_code=ExitCode.RUN_MISSING):
    run: str
    runs_dir: str
    sentence = "There is no run '{run}' in {runs_dir}."
    advice = "`fsconsole runs` lists all runs."


class NoRuns(RunMissing):
    sentence = "There are no runs in {runs_dir}."
    advice = "`fsconsole demo` makes one; --runs DIR names another directory."


class NoRunsMadeHere(RunMissing):
    """Only runs that were imported, or whose folders were copied here."""

    others: str
    sentence = "No run in {runs_dir} was made on this machine, so none is the latest."
    advice = "Name one of the others: {others}."


class NoRunsDirectory(NoRuns):
    sentence = "There is no directory {runs_dir}."


class RunAmbiguous(FsconsoleError, exit_code=ExitCode.RUN_MISSING):
    """A beginning that several runs have; candidates are the newest of them."""

    run: str
    candidates: str
    sentence = "Several runs begin with '{run}'."
    advice = "Give more of the name; the newest are: {candidates}."


class RunLives(FsconsoleError, exit_code=ExitCode.RUN_LIVES):
    run: str
    sentence = "Run {run} is running."
    advice = "`fsconsole attach {run}` shows it; `fsconsole stop {run}` stops it after the current cell."


class RunOver(FsconsoleError, exit_code=ExitCode.RUN_OVER):
    run: str
    sentence = "Run {run} is not running."
    advice = "`fsconsole results {run}` shows its results; `fsconsole resume {run}` finishes an incomplete one."


class NoneLives(FsconsoleError, exit_code=ExitCode.RUN_OVER):
    runs_dir: str
    sentence = "No run in {runs_dir} is running."
    advice = "`fsconsole runs` lists all runs with their state."


class SeveralLive(FsconsoleError, exit_code=ExitCode.USAGE):
    """A command for the one run that is running, where there are several; run is one of them."""

    count: int
    names: str
    command: str
    run: str
    sentence = "{count} runs are running: {names}."
    advice = "Name one: `{command} {run}`."


class EngineNotListening(FsconsoleError, exit_code=ExitCode.ENGINE_SILENT):
    run: str
    sentence = "The engine of run {run} takes no requests now."
    advice = "It is starting or ending: ask again in a moment."


class EngineBusy(FsconsoleError, exit_code=ExitCode.ENGINE_SILENT):
    run: str
    waited_s: float
    sentence = "The engine of run {run} is alive, but took no request within {waited_s:g} s."
    advice = "Others wait for its answer: ask again in a moment; `dmesg` shows whether a disk hangs."


class EngineSilent(FsconsoleError, exit_code=ExitCode.ENGINE_SILENT):
    run: str
    waited_s: float
    sentence = "The engine of run {run} is alive, but gave no answer within {waited_s:g} s."
    advice = "The request is queued; `fsconsole runs` shows the run's state, `dmesg` whether a disk hangs."


class RequestRefused(FsconsoleError):
    run: str
    why: str
    sentence = "The engine of run {run} refused the request: {why}."
    advice = "Use the fsconsole version that started the run; `fsconsole results {run}` names its version."


class CellNotSkipped(FsconsoleError):
    run: str
    cell: int
    why: str
    sentence = "Cell {cell} of run {run} is not skipped: {why}."
    advice = "`fsconsole stop --skip {run}` skips the cell that runs now."


class NothingToSkip(FsconsoleError):
    run: str
    sentence = "Run {run} is between cells: there is nothing to skip."
    advice = "`fsconsole attach {run}` shows when the next cell begins."


class RunComplete(FsconsoleError, exit_code=ExitCode.RUN_COMPLETE):
    run: str
    sentence = "Run {run} has nothing left to do."
    advice = "`fsconsole results {run}` shows it; `fsconsole run` starts another."


class JournalFull(FsconsoleError, exit_code=ExitCode.JOURNAL_FULL):
    path: str
    sentence = "The journal {path} can't grow: its disk is full; the run stopped, all cells reported done are kept."
    advice = "Free some space there, then `fsconsole resume`."


class JournalUnusable(FsconsoleError, exit_code=ExitCode.JOURNAL_UNUSABLE):
    path: str
    why: str
    sentence = "The journal {path} can't be used: {why}."
    advice = "Copy the folder somewhere safe; its raw outputs are plain files."


class JournalNewer(FsconsoleError, exit_code=ExitCode.JOURNAL_NEWER):
    path: str
    version: int
    sentence = "The journal {path} has schema {version}, made by a newer fsconsole."
    advice = "Open it with that version."


class JournalOlder(JournalUnusable):
    """Written before events had one table; no version with that format was released."""

    why: str = "it was written by a version before 0.1.0, which kept events in other tables"
    advice = "Check out commit d807a7d, the last that reads it, and run `fsconsole cleanup` there; or delete the run."


class RunImported(JournalUnusable, exit_code=ExitCode.RUN_IMPORTED):
    """Something that only a run of this machine may be asked for; path is that of its journal."""

    why: str = "it was imported"
    sentence = "The run of {path} was imported: it can be shown, compared and deleted, nothing else."
    advice = "To measure here, run its plan: `fsconsole run PLAN --device DEV`."


class RunExists(FsconsoleError, exit_code=ExitCode.RUN_EXISTS):
    run: str
    runs_dir: str
    sentence = "There is a run {run} in {runs_dir} already."
    advice = "Import into another directory with --runs DIR, or delete that run first: `fsconsole runs delete {run}`."


class ArchiveRefused(FsconsoleError, exit_code=ExitCode.ARCHIVE_REFUSED):
    path: str
    why: str
    sentence = "{path} can't be imported: {why}."
    advice = "Copy the file again and compare `sha256sum` on both machines, or export the run again."


class NoRunFile(ArchiveRefused):
    sentence = "{path} is no run file of fsconsole: {why}."
    advice = "`fsconsole export RUN` writes one."


class ArchiveUnreadable(ArchiveRefused):
    sentence = "{path} can't be read: {why}."
    advice = "Check the path and its permissions."


class ArchiveNewer(FsconsoleError, exit_code=ExitCode.JOURNAL_NEWER):
    path: str
    version: str
    sentence = "{path} was exported by a newer fsconsole, {version}."
    advice = "Import it with that version or a later one."


class ExportFailed(FsconsoleError, exit_code=ExitCode.EXPORT_FAILED):
    path: str
    why: str
    sentence = "{path} can't be written: {why}."
    advice = "Give the path of a file that does not exist yet, on a disk with room."


class LayoutMissing(FsconsoleError):
    run: str
    of: str
    """Cells that were asked for, in words; empty for all."""
    sentence = "Run {run} has no layout map{of}."
    advice = "Maps are kept by runs of this version on, once extents were counted, of filesystems with FIEMAP."


class ExportThere(ExportFailed):
    why: str = ""
    sentence = "{path} exists already."
    advice = "Give another name, or replace it with --force."


class EngineDied(FsconsoleError, exit_code=ExitCode.ENGINE_DIED):
    run: str
    sentence = "The engine of run {run} died without a message."
    advice = "`fsconsole cleanup` cleans up after it; `fsconsole resume {run}` finishes the plan."


class EngineNotStarted(FsconsoleError, exit_code=ExitCode.ENGINE_NOT_STARTED):
    run: str
    said: str
    folder: str
    sentence = "The engine of run {run} did not start: {said}"
    advice = "Nothing was touched; {folder}/engine.log has its full output; `fsconsole doctor` checks requirements."
