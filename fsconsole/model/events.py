"""Observations, which the journal holds in order: things that were seen to happen, never a state that could be wrong.

A step that has StepStarted and no StepFinished is unknown, not failed: whoever wrote it may have died.
"""

from __future__ import annotations

from enum import Enum

from fsconsole.model.device import Fingerprint, Hazard, Identity
from fsconsole.model.figures import Measurement
from fsconsole.model.layout import Layout
from fsconsole.model.load import Latencies
from fsconsole.model.plan import Cell, StepKind
from fsconsole.model.run import RunRequest
from fsconsole.model.wire import Wire


class Outcome(str, Enum):
    """Endings of steps, cells and runs."""

    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    STOPPED = "stopped"
    UNAVAILABLE = "unavailable"
    PENDING = "pending"
    """Only of a cell: its pilot has ended, the cell itself has not run yet."""


class WarningKind(str, Enum):
    """Warnings on a cell; each has a sentence and a hint in the observation."""

    CACHED = "cached"
    NOT_COLD = "not-cold"
    """Of reads in a directory: nothing shows that they came from the storage."""
    SHORT = "short"
    NOT_COMPARABLE = "not-comparable"
    ASSUMED_CLEAN = "assumed-clean"
    KERNEL_LOG = "kernel-log"
    CHECK = "check"
    NEARLY_FULL = "nearly-full"
    TARGET_FULL = "target-full"
    JOURNAL_SHARED_DISK = "journal-shared-disk"
    SHARED_DISK = "shared-disk"
    DRIVER = "driver"
    OBSERVER = "observer"
    OTHER_IO = "other-io"
    OTHERS_CPU = "others-cpu"
    FOREIGN_IO = "foreign-io"
    ENGINE_BESIDE = "engine-beside"
    THROTTLED = "throttled"
    HOT = "hot"
    GAP = "gap"
    """The engine, its generator or the whole machine did not run for a while."""
    MEMORY_COLD = "memory-cold"
    NOT_COUNTED = "not-counted"
    NOT_IN_EFFECT = "not-in-effect"
    LOST_DATA = "lost-data"
    GAVE_UP = "gave-up"
    """e2fsck -p, as run at boot, gave up: an administrator must repair the filesystem."""
    POWER_LOSS = "power-loss"
    """No crash was tested, or the test doesn't stand for a power loss."""
    FRESH_FLASH = "fresh-flash"
    FASTER_THAN_LINK = "faster-than-link"
    CPU_BOUND = "cpu-bound"
    GOVERNOR = "governor"
    COMPRESSIBLE = "compressible"
    SOURCES = "sources"
    LAZY_INIT = "lazy-init"
    UNSAFE_SIDE = "unsafe-side"
    """Never journalled: computed by the grid for rows without barriers or journal, if other rows have them."""
    ROUND_REPEATED = "round-repeated"
    """Never journalled: computed from the event of a repeated round."""
    EQUAL = "equal-variant"
    """Never journalled: the grid raises it over rows of which the same was read back."""
    SPREAD = "spread"
    """Never journalled: the grid raises it over a row's repeats."""

    @property
    def words(self) -> str:
        """Its name on screens and in texts; the value is that of journals, JSON and CSV."""
        return _PLAIN.get(self.value, self.value.replace("-", " "))


_PLAIN = {
    "other-io": "not quiet",
    "others-cpu": "other CPU use",
    "foreign-io": "other disk I/O",
    "engine-beside": "another fsconsole run",
}
"""Names of warnings whose value doesn't say it."""


class Verb(str, Enum):
    """Requests to a living engine through its control socket."""

    PAUSE = "pause"
    CONTINUE = "continue"
    SKIP = "skip"
    STOP_AFTER = "stop-after"
    STOP_NOW = "stop-now"
    STATUS = "status"


class RunStarted(Wire, frozen=True):
    """An engine has started (or, with attempt > 1, resumed) this run."""

    attempt: int
    version: str
    boot_id: str
    kernel: str
    hostname: str
    facts: tuple[tuple[str, str], ...] = ()
    """Rare, open-ended facts of the machine: CPUs, RAM, tool versions."""


class TargetAccepted(Wire, frozen=True):
    """A device passed the gate, with what was shown on it: the ground for the next cells and for resume."""

    path: str
    identity: Identity
    hazards: tuple[Hazard, ...]
    consent: str


class InCell(Wire, frozen=True):
    """Something of one attempt at a cell; attempts count from 1 over resumes."""

    cell: int
    attempt: int


class InStep(InCell, frozen=True):
    """Something of one step of it."""

    step: int


class RequestRenewed(Wire, frozen=True):
    """Request that holds from the next attempt on: devices found again, or consented to again."""

    attempt: int
    request: RunRequest
    seal: str = ""


class CellStarted(InCell, frozen=True):
    """A cell begins."""


class StepStarted(InStep, frozen=True, omit_defaults=True):
    """Durable before the step's first command is executed."""

    kind: StepKind
    title: str
    commands: tuple[tuple[str, ...], ...] = ()


class CommandFinished(InStep, frozen=True, omit_defaults=True):
    """One command of a step, with where its raw output lies (relative to the run folder)."""

    argv: tuple[str, ...]
    exit_code: int
    elapsed_s: float
    user_s: float
    system_s: float
    max_rss_bytes: int
    output: str
    kernel_log: tuple[str, ...] = ()


class StepFinished(InStep, frozen=True, omit_defaults=True):
    """A step ended; verdict is its word ("clean", "repaired", ...) where it has one."""

    outcome: Outcome
    elapsed_s: float
    reason: str = ""
    verdict: str = ""
    measurements: tuple[Measurement, ...] = ()


class FeatureSeen(InCell, frozen=True, array_like=True):
    """One effective feature or mount option, read back: ("mkfs", "has_journal", "on"); a list, since cells have many."""

    scope: str
    name: str
    value: str


class LatencySeen(Latencies, frozen=True, kw_only=True):
    """Latencies of one kind of operation of a load, over all its threads."""

    cell: int
    attempt: int
    step: int


class LayoutSeen(Layout, frozen=True, kw_only=True):
    """Layout of the files that a step has surveyed."""

    cell: int
    attempt: int
    step: int


class SettingTaken(InStep, frozen=True):
    """A setting of device or kernel is about to be written; durable before it is.

    What was in force may stand in another file than what is written: dirty_ratio is 0 once dirty_bytes is set.
    """

    name: str
    path: str
    new: str
    """Empty: kept aside, since the kernel resets it with the setting that is written next."""
    old_path: str
    old: str
    device_number: int = 0
    """makedev(major, minor) of the disk; 0 for a setting of the whole machine."""
    diskseq: int = 0


class SettingSeen(InStep, frozen=True):
    """Value of a setting, read back after it was written (step is the same) or before a load."""

    path: str
    value: str


class SettingReturned(InStep, frozen=True):
    """A setting is no longer the run's; why_left says why it was not written back, empty: it is as it was before."""

    path: str
    why_left: str = ""


class RoundRepeated(Wire, frozen=True):
    """A disturbed round runs again: its cells are appended to the plan; durable before the first one starts."""

    attempt: int
    repeat: int
    """The round, from 1."""
    reason: str
    cells: tuple[Cell, ...]
    seal: str = ""


DECIDED = "decided after round"
"""Beginning of the reason of a cell that was skipped because all verdicts were decided."""


class LookTaken(Wire, frozen=True):
    """`repeats = "auto"` has looked at the verdicts; durable, and never taken again. Decided: all open cells are skipped."""

    attempt: int
    round: int
    """All rounds up to this one were over, their repetitions too."""
    decided: bool
    """True if every planned pair of every block had a verdict other than undecided."""
    cells: int
    """Cells that the run had by then: a repeated round with lower indexes ran before the look."""
    seal: str = ""

    @property
    def words(self) -> str:
        """Why the cells after it are skipped."""
        return f"{DECIDED} {self.round}"


class DeviceLeft(InCell, frozen=True):
    """A cell left a device of its own, counted from 0, unmounted and flushed; what differs later is somebody else's."""

    device: int
    fingerprint: Fingerprint
    seal: str = ""


class Settled(Wire, frozen=True):
    """One amount chosen by a pilot; name is a field of Workload, or the direction of a raw row's depth."""

    name: str
    value: int
    workload: int | None = None
    """Index of the workload in the cell."""
    why: str = ""
    """The limit that kept it smaller, as a clause; empty if none did."""


class PilotFinished(InCell, frozen=True):
    """Sizes or depths that a pilot chose for all cells with the same loads; durable, and kept by resume."""

    settled: tuple[Settled, ...]
    measurements: tuple[Measurement, ...] = ()


class WarningRaised(Wire, frozen=True):
    """Something a reader of the figures must know, with what to do about it; cell None: the whole run."""

    cell: int | None
    attempt: int
    kind: WarningKind
    reason: str
    hint: str


class CellFinished(InCell, frozen=True):
    """Durable together with everything of the cell before it: what has this is never lost."""

    outcome: Outcome
    reason: str = ""


class ControlRequested(Wire, frozen=True, omit_defaults=True):
    """Somebody asks the engine for something: a line on its socket, and an observation."""

    verb: Verb
    in_cell: InCell | None = None
    """The cell that the operator saw running; only a skip depends on it. None: between cells, or not known."""


class RunInterrupted(Wire, frozen=True):
    """Written by cleanup: the engine had died without a word, and nothing of it is left."""

    reason: str


class RunFinished(Wire, frozen=True):
    """The engine's last word."""

    outcome: Outcome
    reason: str = ""
    hint: str = ""
    exit_code: int = 0


Observation = (
    RunStarted
    | RequestRenewed
    | TargetAccepted
    | CellStarted
    | StepStarted
    | CommandFinished
    | StepFinished
    | FeatureSeen
    | LatencySeen
    | LayoutSeen
    | SettingTaken
    | SettingSeen
    | SettingReturned
    | RoundRepeated
    | LookTaken
    | DeviceLeft
    | PilotFinished
    | WarningRaised
    | CellFinished
    | ControlRequested
    | RunInterrupted
    | RunFinished
)


# What passes through a run's control socket: one request line, one answer line.


class ControlAnswer(Wire, frozen=True, omit_defaults=True):
    """Answer of the engine to a request: accepted or not, the current step, and why not."""

    accepted: bool
    step: str
    why: str
    is_over: bool = False
    """True if a skip was refused because its cell no longer runs. Left out if False: older clients know no such field."""
