"""State of a run and of a cell during execution; runs and journals a step's commands."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field

from fsconsole.devices.claims import other_engines
from fsconsole.engine.control import Requests
from fsconsole.engine.hangs import HangDetector
from fsconsole.engine.proof import Prover
from fsconsole.engine.wipe import wipe
from fsconsole.errors.runs import ToolFailed
from fsconsole.inspect.checks import is_of_the_device, naming, worth_a_warning
from fsconsole.journal.folder import RawOutputs
from fsconsole.journal.seal import Seals
from fsconsole.journal.writer import JournalWriter
from fsconsole.model.command import Command, CommandResult, Executor, Watch
from fsconsole.model.events import CommandFinished, Outcome, PilotFinished, WarningKind, WarningRaised
from fsconsole.model.figures import Measurement
from fsconsole.model.place import Place
from fsconsole.model.plan import Cell, Step
from fsconsole.model.run import RunRequest
from fsconsole.model.sample import Sample
from fsconsole.model.state import HeldSetting
from fsconsole.plan.sizing import Room
from fsconsole.plan.steps import TREE
from fsconsole.system.kmsg import KernelLog
from fsconsole.system.mounts import PrivatePlaces
from fsconsole.system.processes import own_pid_in_host_proc
from fsconsole.telemetry.heat import Heat
from fsconsole.telemetry.machine import CpuTimes
from fsconsole.telemetry.others import Processes
from fsconsole.telemetry.page_reporting import ReportedMemory
from fsconsole.telemetry.sampler import Sampler
from fsconsole.telemetry.traffic import TrafficWindow
from fsconsole.telemetry.writeback import WritebackWatch
from fsconsole.units import format_seconds
from fsconsole.workloads.manifest import Manifest
from fsconsole.workloads.protocol import Load, LoadResult
from fsconsole.workloads.run_directory import RunDirectory
from fsconsole.workloads.stamps import Found, Struck
from fsconsole.workloads.tree import SourceFiles

SourceKey = tuple[tuple[str, ...], int]
"""Sources of a workload, and at_most_bytes."""
GAP_HINT = "Run these cells again: their times include the pause. Keep the machine awake, and stop no process of a run."
KERNEL_LOG_HINT = "Look at the device's health (smartctl, dmesg) before you trust this figure."

NO_NAME = "no-device"
"""In the place of a device's name: sysfs has none of it, so nothing of it is counted."""
_ADVICE = "dmesg(1) may have more information"


class StepFailed(Exception):
    """A step failed, for the reason in its text: its cell ends, the run goes on."""


class Interrupted(Exception):
    """The operator asked to end the current cell."""


@dataclass(frozen=True, slots=True)
class StepResult:
    """Outcome and figures of a step."""

    measurements: tuple[Measurement, ...] = ()
    verdict: str = ""
    reason: str = ""
    outcome: Outcome = Outcome.DONE


class EnginesBeside:
    """Detects other engines on this machine during a cell: looks at each sample before it passes it on to sink."""

    def __init__(self, sink: Callable[[Sample], None]) -> None:
        self._own, self._sink = own_pid_in_host_proc(), sink
        self.seen: dict[str, int] = {}
        """Engine pids by the kernel name of the disk that each has locked."""

    def take(self, sample: Sample) -> None:
        """Pass on a sample, and look for other engines."""
        self._sink(sample)
        self.look()

    def look(self) -> None:
        """Add the engines that run now."""
        self.seen = self.seen | other_engines(self._own)

    def cell_begins(self) -> None:
        """Start a new cell: forget the engines seen so far."""
        self.seen = {}
        self.look()


@dataclass(frozen=True, slots=True)
class RunWork:
    """State shared by all cells of a run."""

    request: RunRequest
    folder_path: str
    journal: JournalWriter
    raw: RawOutputs
    executor: Executor
    sampler: Sampler
    places: PrivatePlaces
    requests: Requests
    attempt: int
    prover: Prover
    detector: HangDetector
    seals: Seals
    beside: EnginesBeside
    reported: ReportedMemory = field(default_factory=ReportedMemory)
    pilots: list[PilotFinished] = field(default_factory=list)
    """Pilots in order of running, earlier attempts included."""
    ended: dict[int, Outcome] = field(default_factory=dict)
    """Cells that ended because their pilot failed."""
    manifests: dict[SourceKey, Manifest] = field(default_factory=dict)
    """Of sources that were read in this attempt."""
    manifests_before: dict[int, str] = field(default_factory=dict)
    """By a workload's number: the verdict of its last reading in an earlier attempt."""
    cells: tuple[Cell, ...] = ()
    """Cells open when the attempt started, in order."""
    known_of_all: frozenset[str] = frozenset()
    """Texts of the run's own warnings: cells don't repeat them."""


@dataclass(slots=True)
class LoadWindow:
    """A workload between its first write and the end of its drain."""

    handle: Load
    """Its writers have ended; the process may still be exiting."""
    step: int
    result: LoadResult
    begin: ClockAndCpu
    end: ClockAndCpu
    """Right after the last writer's end."""
    dirty_bytes: int
    """The load's data, dirty or in writeback right after the last writer's end."""
    device_read_bytes: int | None
    """Bytes that the target read during the load; None where the kernel doesn't count them."""
    processes: Processes
    """All processes of the machine, right before begin."""
    traffic: TrafficWindow
    """I/O on the target's disks since then."""
    gauged: tuple[Measurement, ...]
    """Figures from samples of the load."""
    watch: WritebackWatch | None = None
    """Of a load with `trace = true`."""


@dataclass(frozen=True, slots=True)
class ClockAndCpu:
    """An instant with the CPU time that the machine and the engine had used until then."""

    monotonic_ns: int
    cpu: CpuTimes
    engine_s: float


@dataclass(slots=True)
class Pilot:
    """A pilot's measurements so far."""

    room: Room | None = None
    """Of the new filesystem."""
    tried: dict[int, tuple[int, float]] = field(default_factory=dict)
    """By workload number: amount of its last try, or of the create whose files it used, and the seconds it took."""
    measurements: list[Measurement] = field(default_factory=list)
    """Rates and drains of these tries."""


@dataclass(slots=True)
class CellWork:
    """State of one cell; its stack releases in reverse order."""

    run: RunWork
    cell: Cell
    stack: ExitStack
    kernel_log: KernelLog
    """Kernel messages since the cell's start, also those between commands."""
    step_number: int = 0
    mounted_device: int | None = None
    """st_dev of the mounted filesystem, checked right after mounting; None while nothing is mounted."""
    usable_bytes: float = 0.0
    """Free space of the new filesystem."""
    window: LoadWindow | None = None
    pilot: Pilot | None = None
    """None in the cell itself."""
    made: dict[int, SourceFiles] = field(default_factory=dict)
    """The files that workloads have made, by the workload's index."""
    sampled: dict[int | None, tuple[int, ...]] = field(default_factory=dict)
    """Inode numbers of some surveyed files, by the workload's index; None: of all files."""
    delete_began_s: float = 0.0
    """time.monotonic() at the delete's start; its clock runs until the end of the unmount after it."""
    features: dict[str, str] = field(default_factory=dict)
    """Effective features and mount options, as they were read back."""
    settings: list[HeldSetting] = field(default_factory=list)
    """Settings not yet restored, in the order of setting."""
    struck: Struck | None = None
    """The load of the last crash test."""
    found: Found = field(default_factory=Found)
    """Sum of the file counts of all crash tests so far."""
    expected_log: list[slice] = field(default_factory=list)
    """Parts of the kernel log that the crash test itself caused."""
    traffic: TrafficWindow | None = None
    """I/O of the current step; None in loads, which have their own window."""
    heat: dict[str, Heat] = field(default_factory=dict)
    """Sensors at or above their limit, each with its highest temperature."""
    own: RunDirectory | None = None
    """The directory that the run has made, where its target is one; None for a device."""
    looks_at_space_s: float = 0.0
    """time.monotonic() of the next look at the free space of a directory."""
    short_of_space: str = ""
    """Why a load in a directory was stopped, as a clause: others need the space that was left."""
    _kept: list[tuple[int, CommandResult]] = field(default_factory=list)
    """Steps and results whose raw output must not be written while a clock runs."""

    @property
    def mount_point(self) -> str:
        """Mount point of the cell's filesystem, in the engine's own mount namespace; in a directory the run's own one."""
        return self.own.path if self.own is not None else self.run.places.mount_point

    @property
    def tree(self) -> str:
        """Path of the tree that generators are confined to."""
        return self.own.tree if self.own is not None else TREE

    @property
    def place(self) -> Place | None:
        """The directory that is the target; None for a device."""
        places = {target.path: target.place for target in self.run.request.targets}
        return places.get(self.cell.target)

    @property
    def device_names(self) -> tuple[str, ...]:
        """Kernel names of the cell's devices: of a directory the device below it, none where that is not known."""
        place = self.place
        paths = self.cell.devices if place is None else filter(None, (place.device,))
        return tuple(os.path.basename(os.path.realpath(path)) for path in paths)

    @property
    def device_name(self) -> str:
        """Kernel name of the target, or of the device below a directory; NO_NAME where that is not known."""
        if self.place is not None:
            return next(iter(self.device_names), NO_NAME)
        return os.path.basename(os.path.realpath(self.cell.target))

    def command(
        self,
        argv: tuple[str, ...],
        *,
        accept_failure: bool = False,
        clock_runs_on: bool = False,
        stdin: bytes = b"",
        watch: Watch | None = None,
    ) -> CommandResult:
        """Run one command of the current step, journal it with its raw output, and return its result.

        With clock_runs_on, journalling waits for write_kept(). Raises Interrupted on skip or stop-now, StepFailed if
        the command failed.
        """
        if self.run.requests.interrupting:
            raise Interrupted
        for path in self.cell.devices:
            # A program is given a name: it must still lead to the device that was proved.
            if path in argv and (why := self.run.prover.absence(path)):
                raise StepFailed(f"{path} {why}")
        result = self.run.executor.run(Command(argv, stdin=stdin, watch=watch))
        self.keep(self.step_number, result)
        if not clock_runs_on:
            self.write_kept()
        if self.run.requests.interrupting:
            raise Interrupted
        if result.exit_code != 0 and not accept_failure:
            raise StepFailed(failure_words(result))
        return result

    def wipe(self, argv: tuple[str, ...], devices: tuple[str, ...] = ()) -> CommandResult:
        """Run a command that writes to the target, or to the given members of its array.

        Raises what command() and wipe() raise.
        """

        def run(watch: Watch) -> CommandResult:
            return self.command(argv, accept_failure=True, watch=watch)

        result = wipe(self.run.prover, self.cell, argv, run, devices)
        if result.exit_code != 0:
            raise StepFailed(failure_words(result))
        return result

    def release_command(self, argv: tuple[str, ...], watch: Watch | None = None) -> None:
        """Run a command that releases something, however the cell ends. Raises ToolFailed, and what watch raises."""
        result = self.run.executor.run(Command(argv, watch=watch))
        self.keep(self.step_number, result)
        self.write_kept()
        if result.exit_code != 0:
            raise ToolFailed(" ".join(argv), result.exit_code, result.err.strip())

    def keep(self, step: int, result: CommandResult) -> None:
        """Queue a command's output for write_kept(); warn if it was stopped for as long as a gap."""
        stopped_s = result.usage.stopped_s
        if stopped_s and stopped_s > self.run.sampler.gap_s:
            name = os.path.basename(result.argv[0])
            self.warn(WarningKind.GAP, f"{name} was stopped (SIGSTOP) for {format_seconds(stopped_s)}", GAP_HINT)
        self._kept.append((step, result))

    def write_kept(self) -> None:
        """Write queued outputs and journal their commands."""
        while self._kept:
            step, result = self._kept.pop(0)
            name = os.path.basename(result.argv[0])
            finished = CommandFinished(
                cell=self.cell.index,
                attempt=self.run.attempt,
                step=step,
                argv=result.argv,
                exit_code=result.exit_code,
                elapsed_s=result.usage.elapsed_s,
                user_s=result.usage.user_s,
                system_s=result.usage.system_s,
                max_rss_bytes=result.usage.max_rss_bytes,
                output=self.run.raw.write(self.cell.index, step, name, result.stdout + result.stderr),
                kernel_log=result.kernel_log,
            )
            self.run.journal.record(finished, durable=False)

    def warn(self, kind: WarningKind, reason: str, hint: str) -> None:
        """Put a warning on the cell; ignored in a pilot, whose figures are in no row."""
        if self.pilot is not None:
            return
        self.run.journal.record(WarningRaised(self.cell.index, self.run.attempt, kind, reason, hint), durable=False)

    def keep_kernel_log(self) -> None:
        """Keep the cell's kernel log, and warn once of device errors in it."""
        lines = self.kernel_log.lines()
        if lines:
            text = "".join(f"{line}\n" for line in lines)
            self.run.raw.write(self.cell.index, self.step_number, "kernel-log", text.encode())
        of_cell = (self.device_name, *(os.path.basename(os.path.realpath(path)) for path in self.cell.members))
        expected = {number for part in self.expected_log for number in range(len(lines))[part]}
        told = [line for number, line in enumerate(lines) if number not in expected or is_of_the_device(line)]
        names = list(dict.fromkeys(of_cell))
        errors = [line for name in names for line in worth_a_warning(told, name)]
        if errors:
            # A message about the target itself tells more than one about a disk below it.
            said = (*naming(errors, names[0]), *errors)[0]
            self.warn(WarningKind.KERNEL_LOG, f"the kernel logged: {said}", KERNEL_LOG_HINT)


Handler = Callable[[CellWork, Step], StepResult]


def failure_words(result: CommandResult) -> str:
    """Return a failed command's exit code with its last message and the kernel's."""
    said = result.err.strip() or result.out.strip()
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    # mount(8) ends with advice, not with the reason.
    told = [line for line in lines if not line.startswith(_ADVICE)] or lines
    words = told[-1:] + list(result.kernel_log[-1:])
    what = os.path.basename(result.argv[0])
    ending = f"exit code {result.exit_code}" if result.exit_code >= 0 else f"signal {-result.exit_code}"
    return f"{what} failed with {ending}: " + ("; ".join(words) if words else "no output")
