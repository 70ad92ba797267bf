"""Cells in their order, with the steps of each: nothing in here has happened yet."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from fsconsole.model.metrics import Metric
from fsconsole.model.verdicts import DEFAULT_SAME
from fsconsole.model.wire import Wire
from fsconsole.model.workload import Workload
from fsconsole.text import counted
from fsconsole.units import format_bytes_exact

# One thing that a cell does, as a value that can be listed before it is done.


class StepKind(str, Enum):
    """The kinds of steps in a cell's life, in the order of measurement.md; values are printed and stored."""

    GATE = "gate"
    SETTINGS = "settings"
    EQUALISE = "equalise"
    ARRAY = "array"
    ARRAY_SYNC = "array-sync"
    MKFS = "mkfs"
    FEATURES = "features"
    CHECK_EMPTY = "check-empty"
    MOUNT = "mount"
    AGE = "age"
    QUIESCE = "quiesce"
    COLD = "cold"
    WARM = "warm"
    PILOT = "pilot"
    WORKLOAD = "workload"
    DRAIN = "drain"
    SETTINGS_BACK = "settings-back"
    REMOUNT = "remount"
    EXTENTS = "extents"
    UNMOUNT = "unmount"
    QUICK_CHECK = "quick-check"
    EXTENT_LISTS = "extent-lists"
    CHECK = "check"
    CRASH_LOAD = "crash-load"
    RECOVER = "recover"
    CRASH_VERIFY = "crash-verify"
    COLD_MOUNT = "cold-mount"
    DELETE = "delete"
    DELETE_UNMOUNT = "delete-unmount"
    RAW_PILOT = "raw-pilot"
    RAW_WRITE = "raw-write"
    RAW_READ = "raw-read"
    READTEST = "readtest"
    ARRAY_STOP = "array-stop"
    RELEASE = "release"

    @property
    def words(self) -> str:
        """The same for a screen; exports and journals have the value."""
        return _STEP_WORDS.get(self.value, self.value.replace("-", " "))


_STEP_WORDS = {
    "gate": "device check",
    "equalise": "prepare device",
    "age": "age filesystem",
    "quiesce": "wait for idle disk",
    "cold": "drop caches",
    "warm": "fill caches",
    "settings-back": "restore settings",
}

CLOSED_BY = {StepKind.WORKLOAD: StepKind.DRAIN, StepKind.DELETE: StepKind.DELETE_UNMOUNT}
"""Steps that flush to the device what the step before may have done in memory only."""


class Write(Wire, frozen=True):
    """A setting that the engine's own code writes: name as the plan calls it, value as the kernel's file takes it."""

    name: str
    path: str
    value: str


class Step(Wire, frozen=True, omit_defaults=True):
    """A step with the commands it runs; a step without commands is done by the engine's own code.

    Paths are already filled in: what is listed is what is executed.
    """

    kind: StepKind
    title: str
    commands: tuple[tuple[str, ...], ...] = ()
    changes: str = ""
    """Its changes, for the list of commands: "formats /dev/loop0"; empty for a step that only reads."""
    undo: str = ""
    workload: int | None = None
    """Index of the cell's workload, for workload and drain steps."""
    writes: tuple[Write, ...] = ()
    """Settings in the order in which they are written; restored in reverse."""
    device: str = ""
    """The one that it wipes, where that is a member of the cell's array; empty: the cell's target."""
    least_s: float = 0.0
    """Least seconds, for the estimate, of a step whose time doesn't follow from its bytes."""


# A filesystem with one choice of options.

RAW = "raw"
DIRECTORY = "directory"


class Variant(Wire, frozen=True):
    """One row of the grid. mkfs_words and mount_words have passed the catalog's allow-list.

    filesystem is a catalog name, RAW for no filesystem at all, or DIRECTORY for whatever a directory lies on.
    """

    label: str
    filesystem: str
    mkfs_words: tuple[str, ...] = ()
    mount_words: tuple[str, ...] = ()
    tune_words: tuple[str, ...] = ()
    as_printed: str = ""
    """The words of whoever published it, where today others mean the same."""
    hidden_words: tuple[str, ...] | None = None
    """Words whose effect nothing that is read back would show: where these differ, or aren't known (None, as in
    older journals), variants are never called equal."""
    is_control: bool = False
    """True for the baseline's second row, under a name of its own, which shows the noise of this machine."""

    @property
    def is_lazy(self) -> bool:
        """True if mke2fs leaves inode tables to the kernel's thread ext4lazyinit (man 8 mke2fs)."""
        return "lazy_itable_init=1" in " ".join(self.mkfs_words)

    @property
    def is_raw(self) -> bool:
        """True for the row without a filesystem."""
        return self.filesystem == RAW

    @property
    def is_directory(self) -> bool:
        """True for a row that is a directory of a mounted filesystem."""
        return self.filesystem == DIRECTORY


class Order(str, Enum):
    """In which order the cells run (measurement: drift must favour no variant)."""

    ROUNDS = "rounds"
    """Round by round, each shuffled: a round has every cell once."""
    SHUFFLED = "shuffled"
    AS_LISTED = "as-listed"

    @classmethod
    def _missing_(cls, value: object) -> Order | None:
        # Journals of older runs; their rounds were not shuffled.
        return cls.ROUNDS if value == "interleaved" else None


class Equalise(str, Enum):
    """Preparation of every target before each cell, so that no variant gets a fresher device."""

    DISCARD = "discard"
    ZERO = "zero"
    PRECONDITION = "precondition"
    NONE = "none"


class Keep(str, Enum):
    """Quantity that scaling leaves as written."""

    THREADS = "threads"
    """Threads, number of files and blocks; files get smaller, down to a block."""
    FILE_SIZE = "file-size"
    """File sizes; threads get fewer."""
    FILES = "files"
    """Number of files; they get smaller, below a block too."""
    FILL = "fill"
    """File sizes and the share of the device that they fill; files get fewer."""
    DATA_TO_RAM = "data-to-ram"
    """Ratio of all data to memory; files get smaller or larger."""


class Scaling(Wire, frozen=True):
    """By which factor a run's loads were scaled: bytes that a cell writes / bytes that its plan file says."""

    keep: Keep = Keep.THREADS
    least: float = 1.0
    """Over all choices of threads and settings."""
    most: float = 1.0
    is_scaled: bool = False
    threads: tuple[tuple[int, int], ...] = ()
    """Numbers of threads as planned, and as scaled."""


class DeleteWith(str, Enum):
    """Ways of removing the tree at the end of a cell."""

    RM = "rm"
    BUILT_IN = "built-in"
    NONE = "none"


class Setting(Wire, frozen=True):
    """Device and kernel settings of a cell as (name, value) pairs; empty: as the machine has them."""

    values: tuple[tuple[str, str], ...] = ()


class ArraySpec(Wire, frozen=True):
    """An md array to be made of the targets, with md's own knobs (man 8 mdadm, Documentation/admin-guide/md.rst)."""

    level: str
    """linear, raid0, raid1, raid4, raid5, raid6 or raid10."""
    chunk_bytes: int = 0
    """0: as mdadm chooses."""
    members: int = 0
    """Number of targets, the first ones; 0: all."""
    stripe_cache_size: int = 0
    """Pages per member that raid4, raid5 and raid6 keep; 0: as it is."""
    group_thread_count: int = -1
    """Threads that raid4, raid5 and raid6 handle stripes with, 0 is the one of the array itself; -1: as it is."""
    bitmap: str = ""
    """The write-intent bitmap: "none" or "internal"; empty: as mdadm chooses."""
    consistency_policy: str = ""
    """One of "resync", "bitmap" and "ppl"; empty: as mdadm chooses."""
    assume_clean: bool = False
    """True if the first resync is left out: redundant blocks are not what they should be, and figures say so."""


class After(Wire, frozen=True):
    """Steps after a filesystem's workloads."""

    check: bool = True
    crash: bool = False
    delete: DeleteWith = DeleteWith.RM
    extents: bool = True
    quick_check: bool = False


class Age(Wire, frozen=True):
    """Ageing of a new filesystem before its first load."""

    cycles: int
    """In each it is filled with files of mixed sizes, and half of their bytes is removed."""
    fill: float
    """Share of the device's size that files take when a cycle has filled it."""

    @property
    def words(self) -> str:
        """Cycles and fill: "3 cycles to 70 %"."""
        return f"{counted(self.cycles, 'cycle')} to {100 * self.fill:g} %"


class Cell(Wire, frozen=True, omit_defaults=True):
    """One filesystem's life: (target or array, setting, variant, repeat) with its workloads in order."""

    index: int
    """Position in the plan's order, from 0."""
    target: str
    """Path of the device, or of the array that is made of the members."""
    array: ArraySpec | None
    setting: Setting
    variant: Variant
    repeat: int
    """From 1."""
    workloads: tuple[Workload, ...]
    after: After
    equalise: Equalise
    uuid: str
    """The filesystem's UUID that this run assigns: the gate's proof that a signature is ours."""
    steps: tuple[Step, ...]
    members: tuple[str, ...] = ()
    """Paths of the devices that the array is made of, in their order; empty where there is no array."""
    unavailable: str = ""
    """Why this cell can't run here, in words; empty where it can."""
    redo: int = 0
    """0 for a planned cell; from 1 for one of a repeated round, in which the repeat stays the same."""

    age: Age | None = None
    """None: the loads find the filesystem as mkfs made it."""

    @property
    def devices(self) -> tuple[str, ...]:
        """Paths of all devices that the cell wipes: the members of its array, or its target."""
        return self.members or (self.target,)

    @property
    def writes(self) -> tuple[Write, ...]:
        """Every setting that the cell writes, its workloads' own ones too."""
        return tuple(write for step in self.steps for write in step.writes)

    @property
    def raw_parts(self) -> tuple[int | None, ...]:
        """Of a raw row: the first workload of each choice of own settings, under which its streams run too."""
        first: dict[object, int] = {}
        for number, workload in enumerate(self.workloads):
            first.setdefault(workload.settings, number)
        return tuple(first.values()) or (None,)

    def is_closed_by_next(self, number: int) -> bool:
        """Return whether the step after that one brings to the device what that one has done."""
        kinds = [step.kind for step in self.steps[number : number + 2]]
        return len(kinds) > 1 and CLOSED_BY.get(kinds[0]) is kinds[1]


Loads = frozenset[tuple[str, str, int, int]]
"""Names, kinds, threads and block sizes of a plan's loads: figures of one run tell how those of another vary if these are the same."""


class RateFrom(str, Enum):
    """Source of the write rate in an estimate; values are printed and stored."""

    ASSUMED = "assumed"
    FILE = "scratch file"
    """As the file of a scratch device was written when it was made."""
    RUN = "last run"
    """As the last run on the device measured."""

    @property
    def words(self) -> str:
        """The same, behind a rate."""
        return {
            "assumed": "assumed",
            "scratch file": "as the scratch file was written",
            "last run": "as its last run measured",
        }[self.value]


class Estimate(Wire, frozen=True):
    """Cost of a plan: upper limit of bytes written to targets, seconds, and the assumed rate."""

    bytes_to_write: int
    elapsed_s: float
    assumed_bytes_per_s: float
    likely_bytes: int = 0
    """Likely bytes at that rate if a pilot sizes loads; 0: as bytes_to_write."""
    timed_bytes: int = 0
    """Of bytes_to_write, what loads with a time limit write at most, at that rate: how much it is shows when they run."""
    timed_s: float = 0.0
    """Seconds of these loads, if the bytes of any of them have no limit but the rate; else 0."""
    rate_from: RateFrom = RateFrom.ASSUMED


class Plan(Wire, frozen=True):
    """A plan file applied to devices: every cell with the exact commands that will be executed."""

    title: str
    source: str
    """The plan file's text, kept with the run."""
    seed: int
    order: Order
    repeats: int
    targets: tuple[str, ...]
    cells: tuple[Cell, ...]
    estimate: Estimate
    baseline: str = ""
    """Label of the variant that verdicts compare with, and whose pilot sizes the loads. Empty in older journals."""
    against: str = ""
    """An axis with the value that verdicts compare with, "read_ahead=128KiB"; empty: the baseline."""
    notes: tuple[str, ...] = ()
    """Sentences on what the plan left out or could not do, and why: dropped combinations, duplicates."""
    same: float = DEFAULT_SAME
    """Share of the baseline's figure within which a difference is called the same."""
    primary: Metric | None = None
    """The column that verdicts are on; None, or where a block lacks it: as the block's load suggests."""
    is_auto: bool = False
    """True if the run may end early, after the round of a look (model.statistics.LOOKS); repeats is the most."""
    scaling: Scaling | None = None
    """None in older journals, where a note tells of it."""
    device_bytes: int = 0
    """Of its smallest device, or array; 0: unknown, as in older journals, or directories."""

    @property
    def loads(self) -> Loads:
        """Name, kind, threads and block size of each load: two plans with the same ones have the same loads."""
        loads = (load for cell in self.cells for load in cell.workloads)
        return frozenset((load.name, load.kind.value, load.threads, load.block_size_bytes) for load in loads)

    @property
    def is_scaled(self) -> bool:
        """True if its loads are not of the size that the plan file says."""
        if self.scaling is None:
            return any(note.startswith(_OLD_SCALING_NOTE) for note in self.notes)
        return self.scaling.is_scaled


_OLD_SCALING_NOTE = "file sizes were scaled down"
"""Of runs before Plan.scaling."""


# An array in words, the same wherever a cell is named: "raid5 64KiB, 4 members, assume-clean".


def array_words(spec: ArraySpec, members: int) -> str:
    """Return all that is known of an array; members is their number, 0 where it isn't known."""
    return ", ".join(filter(None, array_aspects(spec, members)))


def cell_array_words(cell: Cell) -> str:
    """Return the array of a cell in words; empty where it has none."""
    return array_words(cell.array, len(cell.members)) if cell.array is not None else ""


def array_aspects(spec: ArraySpec | None, members: int) -> tuple[str, ...]:
    """Return level and chunk, what stands in no name unless it tells arrays apart, and whether it was never synced.

    Each is empty where nothing is to be said of it; of no array nothing is.
    """
    if spec is None:
        return ("",) * 7
    number = spec.members or members
    threads = spec.group_thread_count
    chunk = f" {format_bytes_exact(spec.chunk_bytes)}" if spec.chunk_bytes else ""
    return (
        f"{spec.level}{chunk}",
        f"{number} members" if number else "",
        f"stripe cache {spec.stripe_cache_size}" if spec.stripe_cache_size else "",
        counted(threads, "stripe thread") if threads >= 0 else "",
        f"bitmap {spec.bitmap}" if spec.bitmap else "",
        f"policy {spec.consistency_policy}" if spec.consistency_policy else "",
        ASSUME_CLEAN if spec.assume_clean else "",
    )


ASSUME_CLEAN = "assume-clean"
"""Stands with every figure of an array that was never synced."""


def arrays_in_words(cells: Sequence[Cell]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return each array of a plan's cells once, in words, with the paths of its members."""
    told = ((cell_array_words(cell), cell.members) for cell in cells if cell.array is not None)
    return tuple(dict.fromkeys(told))
