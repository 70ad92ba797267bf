"""The answers of `fsconsole plan|catalog|readtest|run ... --json`: encoded by the commands, decoded by the console.

Scripts read them too, by the schema of model.contract.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from fsconsole.model.contract import Document
from fsconsole.model.device import DeviceKind, Hazard, Identity, Verdict
from fsconsole.model.place import Place
from fsconsole.model.plan import (
    After,
    ArraySpec,
    Cell,
    Equalise,
    Order,
    Plan,
    RateFrom,
    StepKind,
    Variant,
    Write,
    arrays_in_words,
)
from fsconsole.model.wire import Wire
from fsconsole.model.workload import (
    DataKind,
    End,
    Generator,
    Layout,
    Sizing,
    SyncAt,
    SyncCall,
    Workload,
    WorkloadKind,
)

Value = TypeVar("Value", bound=Wire)


class StepAnswer(Wire, frozen=True):
    """One step with its exact commands."""

    kind: StepKind
    title: str
    commands: tuple[tuple[str, ...], ...]
    changes: str
    undo: str
    writes: tuple[Write, ...]
    workload: int | None


class VariantAnswer(Wire, frozen=True):
    """A filesystem with its options."""

    label: str
    filesystem: str
    mkfs: tuple[str, ...]
    mount: tuple[str, ...]
    tune: tuple[str, ...]
    as_printed: str


class WorkloadAnswer(Wire, frozen=True):
    """A workload with all defaults filled in."""

    name: str
    kind: WorkloadKind
    threads: int
    files: int
    file_size_bytes: int
    block_size_bytes: int
    directories: int | Layout
    data: DataKind
    zero_share: float
    file_size_max_bytes: int
    direct: bool
    fsync_every: int
    sync_at: SyncAt
    sync_call: SyncCall
    limit_bytes: int
    duration_s: float
    end: End
    weights: dict[WorkloadKind, int]
    of: int | None
    cold: bool
    settings: dict[str, str] = msgspec.field(name="with")
    total_bytes: int | None
    sizing: Sizing | None
    """Size auto: load_time and limits of the pilot; until it has run, sizes are upper limits. Null: fixed by the plan."""
    generator: Generator
    argv: tuple[str, ...]
    sources: tuple[str, ...]
    job: str
    trace: bool


class CellAnswer(Wire, frozen=True):
    """One cell of a plan; its number counts from 1."""

    number: int = msgspec.field(name="cell")
    target: str
    array: ArraySpec | None
    members: tuple[str, ...]
    setting: dict[str, str]
    variant: VariantAnswer
    raw: bool
    repeat: int
    workloads: tuple[WorkloadAnswer, ...]
    equalise: Equalise
    after: After
    uuid: str
    unavailable: str
    steps: tuple[StepAnswer, ...]


class ArrayAnswer(Wire, frozen=True):
    """An array in words, with the paths of its members."""

    words: str
    members: tuple[str, ...]


class TargetAnswer(Wire, frozen=True):
    """One device that would be wiped, and what would be lost with it."""

    path: str
    name: str
    identity: Identity
    seen: str
    """The code of what was shown of it; empty where no start is bound to it."""
    stands_on: str
    """The file below a loop device, the name of an LV and what it is on; empty for a device of its own."""
    kind: DeviceKind
    model: str
    serial: str
    size_bytes: int
    scratch: bool
    loss: str
    hazards: tuple[Hazard, ...]
    place: str = ""
    """Its slot, or its name in /dev/disk/by-path; empty where neither is known."""
    lookalike: str = ""
    """A disk of the same model and size; empty where there is none."""
    mark: str = ""
    """Text that tells it from that one, typed beside its name: the end of its serial number, or its place."""
    changed: str = ""
    """Of a device whose run is to be resumed: why it is not as the run left it."""
    files: tuple[str, ...] = ()
    """Likewise: what its filesystems hold, a sentence each."""

    @property
    def refused(self) -> bool:
        """True if it is never wiped."""
        return any(hazard.verdict is not Verdict.ASKED for hazard in self.hazards)

    @property
    def to_type(self) -> str:
        """Text to type as consent: its name, and what tells it from a disk that looks the same."""
        name = self.path.rpartition("/")[2]
        return f"{name} {self.mark}".rstrip()


class DirectoryAnswer(Wire, frozen=True):
    """One directory in which a run would make files, and delete them."""

    label: str
    path: str
    place: Place
    writes: str
    """Sentence on what is written where, how much, and what is deleted."""
    allowed_bytes: int


class Findable(Wire, frozen=True):
    """A difference that a plan finds with a chance of 80 % where rows scatter so far; both as shares."""

    spread: float
    """Standard deviation of a row's figures over the rounds."""
    difference: float


class PowerAnswer(Wire, frozen=True):
    """Smallest differences that the plan can find; with `repeats = "auto"` in the most rounds."""

    rounds: int
    row_count: int
    """Rows of each block that can run, without raw ones."""
    findable: tuple[Findable, ...]
    """At usual spreads; empty where there are no verdicts."""
    last: Findable | None
    """At the spread of the last run on this machine; None where none is known."""
    round_s: float
    """Estimated seconds of one round."""
    is_auto: bool = False
    no_verdicts: str = ""
    """Why no row gets a verdict, as a sentence; empty where rows can."""


class DeviceProof(Wire, frozen=True):
    """A device's identity at the moment of a proof, and the proof's outcome.

    Scripts compare the identity with the device that they are about to write to.
    """

    number: str
    """Major and minor number, "8:16"."""
    diskseq: int
    """The kernel's count of disks (Documentation/ABI/testing/sysfs-block); 0 before Linux 5.15."""
    size_bytes: int
    start_bytes: int
    """Offset of a partition on its disk; 0 for any other device."""
    loop_offset_bytes: int
    loop_limit_bytes: int
    """0: up to the end of the file."""
    is_free: bool
    is_blank: bool
    """False also for a device in use, whose content is not looked at, and for one on a disk of the system."""


class ProvedDevice(Wire, frozen=True):
    """One device with its proof, and the reasons why it is not free or not blank."""

    device: str
    proof: DeviceProof
    hazards: tuple[Hazard, ...]
    loss: str
    """Content that would be lost, in words that complete "holds ..."."""


class ProveAnswer(Document, frozen=True):
    """Devices in the order in which they were named."""

    devices: tuple[ProvedDevice, ...]


class PlanAnswer(Document, frozen=True):
    """A plan on its targets, with the code that agrees to the loss of what is on them."""

    title: str
    order: Order
    seed: int
    repeats: int
    arrays: tuple[ArrayAnswer, ...]
    """Made of targets together, one in each cell; empty where each target is tested alone."""
    targets: tuple[TargetAnswer, ...]
    cell_count: int
    runnable: int
    unavailable: tuple[str, ...]
    """Why cells can't run here, each reason once."""
    cells: tuple[CellAnswer, ...]
    notes: tuple[str, ...]
    bytes_to_write: int
    estimate_s: float
    assumed_bytes_per_s: float
    consent: str
    seen: str
    """Codes of the plan and of each target, to which a start is bound; empty for a run that is resumed."""
    source_sha256: str
    uuids: str = "new for every run"
    likely_bytes: int = 0
    """To write where a pilot sizes loads; bytes_to_write is the most then. 0: as bytes_to_write."""
    timed_bytes: int = 0
    """Of bytes_to_write, what loads with a time limit write at most at the assumed rate."""
    timed_s: float = 0.0
    """Seconds of these loads, if the bytes of any of them have no limit but the rate; else 0."""
    rate_from: RateFrom = RateFrom.ASSUMED
    """Source of assumed_bytes_per_s: "assumed", "scratch file" (as it was written), "last run" (on the device)."""
    power: PowerAnswer | None = None
    """None of a run that is resumed."""
    directories: tuple[DirectoryAnswer, ...] = ()
    """Of --directory: nothing is formatted, and targets are none."""
    rows: tuple[str, ...] = ()
    """Labels of the variants that have a cell which can run, the baseline's first."""
    resumes: tuple[str, ...] = ()
    """Of a run that is resumed: what was interrupted, what is lost and what is kept, in sentences."""

    @property
    def refused(self) -> bool:
        """True if a target is one that is never wiped."""
        return any(target.refused for target in self.targets)

    @property
    def to_type(self) -> str:
        """Text to type as consent for all targets but scratch devices; empty where none is needed."""
        return " ".join(target.to_type for target in self.targets if not target.scratch)

    @property
    def members(self) -> frozenset[str]:
        """Paths of the targets that are a member of an array."""
        return frozenset(path for array in self.arrays for path in array.members)


def _answer(kind: type[Value], source: object, **others: object) -> Value:
    """Return an answer with what its source calls by the same names, and others."""
    names = {name for name in kind.__struct_fields__ if name not in others}
    return kind(**{name: getattr(source, name) for name in names}, **others)


def cell_answer(cell: Cell) -> CellAnswer:
    """Return a cell as an answer tells it."""
    return _answer(
        CellAnswer,
        cell,
        number=cell.index + 1,
        setting=dict(cell.setting.values),
        variant=variant_answer(cell.variant),
        raw=cell.variant.is_raw,
        workloads=tuple(map(workload_answer, cell.workloads)),
        steps=tuple(_answer(StepAnswer, step) for step in cell.steps),
    )


def array_answers(plan: Plan) -> tuple[ArrayAnswer, ...]:
    """Return the arrays of a plan, each once."""
    return tuple(ArrayAnswer(words, members) for words, members in arrays_in_words(plan.cells))


def variant_answer(variant: Variant) -> VariantAnswer:
    """Return a variant with the words of its tools."""
    words = {"mkfs": variant.mkfs_words, "mount": variant.mount_words, "tune": variant.tune_words}
    return _answer(VariantAnswer, variant, **words)


def workload_answer(workload: Workload) -> WorkloadAnswer:
    """Return a workload with all that its plan says of it, and what that leaves to defaults."""
    return _answer(
        WorkloadAnswer,
        workload,
        directories=workload.directories.files_per_directory or workload.directories.layout,
        file_size_max_bytes=workload.largest_file_bytes,
        weights=dict(workload.weights),
        of=workload.source,
        settings=dict(workload.settings),
    )


class ToolAnswer(Wire, frozen=True):
    """A program of a filesystem; path is empty where it isn't installed."""

    name: str
    path: str
    version: str


class ProbeAnswer(Wire, frozen=True):
    """The result of trying an option with one value."""

    value: str
    verdict: str
    words: str


class OptionAnswer(Wire, frozen=True):
    """An option of the catalog, with the results of trying it."""

    name: str
    group: str
    kind: str
    values: tuple[str, ...]
    takes: str
    words: tuple[str, ...]
    help: str
    since: str
    until: str
    tools_since: str
    old_names: tuple[str, ...]
    refusals: dict[str, str]
    without_effect: bool
    depends: str
    probe: tuple[ProbeAnswer, ...]


class RuleAnswer(Wire, frozen=True):
    """Words that go with no others, or only with others."""

    when: str
    excludes: tuple[str, ...]
    needs: tuple[str, ...]
    why: str


class CatalogAnswer(Wire, frozen=True):
    """A filesystem of the catalog as this machine has it."""

    filesystem: str
    title: str
    driver: str
    driver_in_use: str
    kernel: str
    package: str
    tools: tuple[ToolAnswer, ...]
    unavailable: str
    check: str
    since: str
    until: str
    probed: bool
    trouble: str
    options: tuple[OptionAnswer, ...]
    rules: tuple[RuleAnswer, ...]


class FilesystemsAnswer(Document, frozen=True):
    """Filesystems of the catalog."""

    filesystems: tuple[CatalogAnswer, ...]


class LevelAnswer(Wire, frozen=True):
    """A level of [[array]] as this machine has it."""

    level: str
    about: str
    unavailable: str
    remedy: str


class LevelsAnswer(Document, frozen=True):
    """Levels of [[array]]."""

    levels: tuple[LevelAnswer, ...]


class ReadTestAnswer(Document, frozen=True):
    """The throughput of `fsconsole readtest`."""

    device: str
    read_bytes: int
    elapsed_s: float
    bytes_per_s: float
    passes: int
    read_ahead_bytes: int
    scheduler: str


class KitWritten(Document, frozen=True):
    """The answer of `fsconsole apply-kit`: what was written, for which devices, and what is not as it was measured."""

    directory: str
    files: tuple[str, ...]
    run_id: str
    row: str
    filesystem: str
    uuid: str
    array_uuid: str
    """Empty without an array."""
    mount_point: str
    devices: tuple[str, ...]
    differing: tuple[str, ...]
    unsafe: tuple[str, ...]
    """Risks of the row, in clauses; what the catalog can't tell is one of them."""


class KitCheckAnswer(Wire, frozen=True):
    """One thing that a kit says of a machine, and the machine's state; found is empty where it isn't there."""

    what: str
    wanted: str
    found: str
    verdict: str
    """"same", "differs", or "not known" where it can't be read."""


class KitVerified(Document, frozen=True):
    """The answer of `fsconsole verify-kit`."""

    directory: str
    run_id: str
    row: str
    differences: int
    not_known: int
    checks: tuple[KitCheckAnswer, ...]
