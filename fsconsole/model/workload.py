"""A named load with its parameters."""

from __future__ import annotations

from enum import Enum

from fsconsole.model.thresholds import Requirement
from fsconsole.model.wire import Wire


class WorkloadKind(str, Enum):
    """Loads that a plan may name; the values are the plan file's words."""

    CREATE = "create"
    APPEND = "append"
    READ = "read"
    RANDOM_READ = "random-read"
    RANDOM_WRITE = "random-write"
    STAT = "stat"
    DELETE = "delete"
    MIX = "mix"
    FIO = "fio"
    BONNIE = "bonnie"
    FFSB = "ffsb"
    COMMAND = "command"
    COPY = "copy"


class Generator(str, Enum):
    """Programs that can make a load of a built-in kind; the values are the plan file's words."""

    BUILT_IN = "built-in"
    FIO = "fio"
    DD = "dd"
    """One dd for each file, one after another."""


OPERATIONS = (
    WorkloadKind.CREATE,
    WorkloadKind.APPEND,
    WorkloadKind.READ,
    WorkloadKind.RANDOM_READ,
    WorkloadKind.RANDOM_WRITE,
    WorkloadKind.STAT,
    WorkloadKind.DELETE,
)
"""Operations of the built-in generator on one file, of which a mix is made."""
BUILT_IN = frozenset({*OPERATIONS, WorkloadKind.MIX})
"""Kinds that the built-in generator does."""
PROGRAMS: frozenset[WorkloadKind | Generator] = frozenset({
    WorkloadKind.COMMAND, WorkloadKind.COPY, WorkloadKind.FIO, WorkloadKind.BONNIE, Generator.DD, Generator.FIO,
})  # fmt: skip
"""Kinds, and generators of built-in kinds, that workloads.program has programs for."""
_ADDING = frozenset({WorkloadKind.CREATE, WorkloadKind.APPEND})
_WRITING = _ADDING | {WorkloadKind.RANDOM_WRITE}
_READING = frozenset({WorkloadKind.READ, WorkloadKind.RANDOM_READ})
_CHANGING = _WRITING | {WorkloadKind.DELETE}


class DataKind(str, Enum):
    """Content of written files."""

    RANDOM = "random"
    ZERO = "zero"
    COMPRESSIBLE = "compressible"
    """A share of every 4 KiB is zeros, the rest random; a plan names the share itself."""


class Layout(str, Enum):
    """Directory layouts of a workload's files."""

    ONE = "one"
    PER_THREAD = "per-thread"
    PER_COUNT = "per-count"


class End(str, Enum):
    """Points at which a limit by time or bytes ends a load: after the current file, as FFSB, or in the middle of it."""

    BETWEEN_OPERATIONS = "between-operations"
    AT_ONCE = "at-once"


class SyncAt(str, Enum):
    """When a load syncs the files that it writes."""

    WRITES = "writes"
    """After every so many writes of a thread, the file written last."""
    EACH_FILE = "each-file"
    """Before a file is closed."""
    END = "end"
    """After a thread's last operation, every file that it wrote, as fio's end_fsync."""


class SyncCall(str, Enum):
    """System call that a load syncs with (man 2 fsync)."""

    FSYNC = "fsync"
    FDATASYNC = "fdatasync"


class Directories(Wire, frozen=True):
    """Layout with, for PER_COUNT, the number of files in each directory."""

    layout: Layout = Layout.ONE
    files_per_directory: int = 0


class SizedBy(str, Enum):
    """Field of a workload that its pilot chooses."""

    FILE_SIZE = "file_size_bytes"
    FILES = "files"
    BYTES = "limit_bytes"


class Sizing(Wire, frozen=True):
    """Sizing by a pilot: until it has ended, the field named by chooses holds the most that the load may get."""

    chooses: SizedBy
    load_time_s: float
    """Least time of the load on the baseline, drain included."""
    is_settled: bool = False
    why: str = ""
    """The limit that keeps it shorter, as a clause; empty if none does."""


WHOLE_FILE = 2**62
"""More bytes than a file has: reads go on to its end."""
AS_CREATE = (0,)
"""Thread counts of a plan's workload that has as many threads as the create whose files it uses."""


class Workload(Wire, frozen=True):
    """One load: threads do operations on files in calls of block_size_bytes."""

    name: str
    kind: WorkloadKind
    threads: int
    files: int
    """Operations on files in all, over all threads; of a create, thread i makes files i, i + threads, ...

    0: a create, and a mix, go on until their limit; others work on each file of their source once, or with a limit
    over and over."""
    file_size_bytes: int
    """Of a new file; bytes to append to each; else the bytes to move in each file, 0: as many as it holds."""
    block_size_bytes: int
    directories: Directories = Directories()
    data: DataKind = DataKind.RANDOM
    cold: bool = False
    file_size_max_bytes: int = 0
    """Above file_size_bytes: the size of each file is drawn evenly between the two."""
    zero_share: float = 0.0
    """Of COMPRESSIBLE data."""
    direct: bool = False
    """O_DIRECT."""
    size_weights: tuple[tuple[int, int], ...] = ()
    """Sizes of new files in bytes, and how often each is drawn; empty: file_size_bytes."""
    operation_bytes: int = 0
    """Of a mix: bytes that an operation moves in a file that is there; WHOLE_FILE; 0: file_size_bytes, or all."""
    picks_all: bool = False
    """Of a mix: each thread draws from all files of its source, as FFSB; else from a share of its own."""
    ftruncate: bool = False
    """New files get their size by ftruncate(2) before their first write, as tiobench's."""
    fsync_every: int = 0
    """Of SyncAt.WRITES: after so many writes of a thread, over all its files; 0: never."""
    sync_at: SyncAt = SyncAt.WRITES
    sync_call: SyncCall = SyncCall.FSYNC
    limit_bytes: int = 0
    duration_s: float = 0.0
    end: End = End.BETWEEN_OPERATIONS
    weights: tuple[tuple[WorkloadKind, int], ...] = ()
    """Of a mix: operations, and how often each is drawn."""
    source: int | None = None
    """Index, among the cell's workloads, of the create whose files this one works on."""
    seed: int = 0
    """Seed of sizes, offsets and draws of a mix."""
    settings: tuple[tuple[str, str], ...] = ()
    """(name, value) pairs of device and kernel settings that hold for this workload alone."""
    thread_counts: tuple[int, ...] = ()
    """Of a plan's workload: the axis, whose first value is threads; AS_CREATE; empty in a cell."""
    block_sizes: tuple[int, ...] = ()
    """Of a plan's workload: the axis, in bytes, whose first value is block_size_bytes; empty in a cell."""
    trace: bool = False
    """Writeback and requests are traced while it runs."""
    require: tuple[Requirement, ...] = ()
    """Limits that its figures must keep in a row that meets the plan's requirements."""
    sizing: Sizing | None = None
    """None: its size is the plan's own."""
    size: str = ""
    """Of a plan's workload: "auto" where a pilot sizes it; empty in a cell."""
    total_size_bytes: int = 0
    """Of a plan's create: what all its files hold together, each an equal share in whole blocks; 0 in a cell."""
    profile: str = ""
    """Of a plan's ffsb table alone: the profile that loads are read from; empty in a plan and in its cells."""
    of: str = ""
    """Of a plan's workload: name of the create whose files it uses, by default the nearest before it; empty in a cell."""
    generator: Generator = Generator.BUILT_IN
    """Of a built-in kind."""
    argv: tuple[str, ...] = ()
    """Of a command."""
    sources: tuple[str, ...] = ()
    """Absolute paths that a command may read beside the system's programs, and that a copy copies."""
    copy_with: str = ""
    """Of a copy: the flags of cp, "-r" or "-a", with "--reflink=never" or not."""
    at_most_bytes: int = 0
    """Of a copy: only the first files of its sources, in sorted order, up to so many bytes; 0: all."""
    sources_bytes: int = 0
    """Of a copy: bytes of the files that it copies, counted when the plan was made."""
    sources_files: int = 0
    """Of a copy: their number, symbolic links included."""
    job: str = ""
    """Text of a fio job file: what was agreed to is what runs, whatever becomes of the file."""

    @property
    def is_built_in(self) -> bool:
        """True if the built-in generator makes it, False for a program."""
        return self.kind in BUILT_IN and self.generator is Generator.BUILT_IN

    @property
    def can_run(self) -> bool:
        """True if this version has a generator for it."""
        return self.is_built_in or self.kind in PROGRAMS or self.generator in PROGRAMS

    @property
    def copy_flags(self) -> str:
        """Flags that a copy gives to cp."""
        return self.copy_with or "-r"

    @property
    def keeps_links(self) -> bool:
        """True for a copy that links hard links again, where `cp -r` makes files of their own."""
        return "-a" in self.copy_flags.split()

    @property
    def is_open(self) -> bool:
        """True until a pilot has chosen the size."""
        return self.sizing is not None and not self.sizing.is_settled

    @property
    def largest_file_bytes(self) -> int:
        """The upper end of the range of file sizes."""
        return max(self.file_size_bytes, self.file_size_max_bytes, *(size for size, _ in self.size_weights))

    @property
    def mean_file_bytes(self) -> int:
        """The middle of the range of file sizes, or the mean of those that are drawn by weight."""
        if self.size_weights:
            drawn = sum(weight for _, weight in self.size_weights)
            return sum(size * weight for size, weight in self.size_weights) // drawn
        return (self.file_size_bytes + self.largest_file_bytes) // 2

    @property
    def operations(self) -> tuple[tuple[WorkloadKind, int], ...]:
        """Its operations on files, with weights."""
        return self.weights if self.kind is WorkloadKind.MIX else ((self.kind, 1),)

    @property
    def total_bytes(self) -> int:
        """Bytes that the load moves if nothing stops it; 0 where only its end can tell."""
        if self.kind is WorkloadKind.COPY:
            return self.sources_bytes or self.at_most_bytes
        moved = int(self.files * self.mean_file_bytes * self._share(_WRITING | _READING))
        return min(filter(None, (moved, self.limit_bytes)), default=0)

    @property
    def added_bytes(self) -> int:
        """Bytes by which the load makes its filesystem fuller, as far as can be told beforehand."""
        if self.kind is WorkloadKind.COPY:
            return self.sources_bytes or self.at_most_bytes
        if self.kind is WorkloadKind.BONNIE:
            # Each copy has data first, then files, and removes both.
            return self.threads * max(self.limit_bytes, self.files * self.mean_file_bytes)
        added = int(self.files * self.mean_file_bytes * self._share(_ADDING))
        moved = self._share(_WRITING | _READING)
        most = int(self.limit_bytes * self._share(_ADDING) / moved) if moved else 0
        return min(filter(None, (added, most)), default=0)

    @property
    def creates(self) -> bool:
        """True if it makes files, in a directory of its own."""
        return self._does(frozenset({WorkloadKind.CREATE}))

    @property
    def deletes(self) -> bool:
        """True if it removes files."""
        return self._does(frozenset({WorkloadKind.DELETE}))

    @property
    def reads(self) -> bool:
        """True if it reads what files hold."""
        return self._does(_READING)

    @property
    def writes(self) -> bool:
        """True if it hands data to the kernel."""
        return self._does(_WRITING)

    @property
    def syncs(self) -> bool:
        """True if the load calls fsync or fdatasync itself, before the drain."""
        return self.sync_at is not SyncAt.WRITES or self.fsync_every > 0

    @property
    def changes(self) -> bool:
        """True if something of it has to be brought to the device afterwards; of other generators: always."""
        return self.kind not in BUILT_IN or self._does(_CHANGING)

    def _does(self, kinds: frozenset[WorkloadKind]) -> bool:
        return any(kind in kinds for kind, _ in self.operations)

    def _share(self, kinds: frozenset[WorkloadKind]) -> float:
        weights = sum(weight for _, weight in self.operations)
        return sum(weight for kind, weight in self.operations if kind in kinds) / max(1, weights)
