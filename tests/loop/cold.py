"""Cold means cold: what a cell reads from its device, here on a loop device and in the lab's guests on arrays."""

from __future__ import annotations

from math import comb

from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Cell, StepKind
from fsconsole.model.state import CellState
from fsconsole.model.workload import Workload, WorkloadKind

READ_BY_BTRFS_MOUNT = 74
"""A mount of btrfs reads the first leaf of the tree of files (the root directory's) and the last (where orphans would be). A leaf
has 16 KiB, a file at least 440 bytes in it: with so many files or fewer nothing may be left that an rm has to read."""
READERS = {"viewers": 12}
"""Loads whose threads share files, and how many read each: what one has read the others find in memory. 48 viewers of 4 videos."""
REWRITTEN = {"page cache"}
"""Mixes of reads and writes through the page cache: a block that was written whole is read from memory, not from the device."""
READ_BY_COMMANDS = {"unpack": "layers", "untar": "tar", "git clone": "", "make again": ""}
"""Commands, and the one whose files they read whole, an archive. A clone leaves out what `git init` has put beside the objects, and make
reads its Makefile and stats the rest: of them something."""
RARELY = 1e-6
"""Probability at which a draw may turn out otherwise than a test says."""


def device_moved(
    cell: CellState, planned: Cell, metric: Metric = Metric.DEVICE_READ
) -> dict[tuple[StepKind, int | None], float]:
    """Return what the device read, or moved by another metric, in each kind of step, of loads in each load with its drain."""
    found: dict[tuple[StepKind, int | None], float] = {}
    for step in cell.steps:
        kind = StepKind.WORKLOAD if step.kind is StepKind.DRAIN else step.kind
        of = kind, planned.steps[step.number].workload
        found[of] = sum((one.value for one in step.measurements if one.metric is metric), found.get(of, 0))
    return found


def drawn_at_least(draws: float, of: float) -> int:
    """Return how many different ones of so many are met in so many draws, but RARELY fewer."""
    count, different = int(draws), 0
    # All draws meet the same few: as many choices of them as there are, each with the same probability.
    while different < min(count, of) and comb(int(of), different) * (different / of) ** count < RARELY:
        different += 1
    return different


def least_read(cell: CellState, planned: Cell, number: int) -> float:
    """Return how many bytes of files a load that begins cold can't have got without its device: each one once, if at all."""

    def of_load(metric: Metric, other: int | None) -> float:
        return device_moved(cell, planned, metric).get((StepKind.WORKLOAD, other), 0)

    load = planned.workloads[number]
    if load.kind is WorkloadKind.COMMAND:
        made_by = READ_BY_COMMANDS[load.name]
        return sum(of_load(Metric.MADE, at) for at, one in enumerate(planned.workloads) if one.name == made_by)
    if load.kind is WorkloadKind.COPY:
        return of_load(Metric.WRITTEN, load.source)
    if not load.reads:
        return 0
    got = of_load(Metric.READ_BYTES, number)
    assert got, load.name
    if load.direct or load.kind is WorkloadKind.READ:
        # The first direct read of a thread has a buffer without pages: btrfs reads it through the page cache, which may hold it.
        first = 0 if load.cold else load.threads * load.block_size_bytes
        return got / READERS.get(load.name, 1) - first
    if load.name in REWRITTEN:
        return load.block_size_bytes
    assert load.source is not None
    return least_drawn(load, got, of_load(Metric.WRITTEN, load.source), planned.workloads[load.source].files)


def least_drawn(load: Workload, got: float, written: float, files: int) -> float:
    """Return how many bytes a load that draws blocks, or files, has got at least that it had not got before."""
    block, file_bytes = load.block_size_bytes, written / files
    if load.kind is WorkloadKind.RANDOM_READ:
        # Each thread draws in a file of its own.
        return load.threads * block * drawn_at_least(got / block / load.threads, file_bytes // block)
    # A mix: each operation draws a file, then blocks in it unless it reads it whole.
    each = min(load.operation_bytes or file_bytes, got)
    if WorkloadKind.READ in dict(load.weights):
        each = min(each, file_bytes)
        return each * drawn_at_least(got / each, files)
    return block * drawn_at_least(got / each, files) * drawn_at_least(each / block, file_bytes // block)


def assert_cold(cell: CellState, planned: Cell) -> None:
    """Prove that the device was read in all that began with cold caches: in loads all that they read, in the rm at the end something."""
    read = device_moved(cell, planned)
    for number, load in enumerate(planned.workloads):
        if load.cold or (load.direct and load.reads):
            least = max(1, least_read(cell, planned, number))
            assert read[StepKind.WORKLOAD, number] >= least, (planned.variant.label, load.name)
    if (StepKind.DELETE, None) in read:
        files = sum(one.value for step in cell.steps for one in step.measurements if one.metric is Metric.FILES_MAPPED)
        is_with_mount = planned.variant.filesystem == "btrfs" and files <= READ_BY_BTRFS_MOUNT
        of = StepKind.COLD_MOUNT if is_with_mount else StepKind.DELETE
        assert read[of, None] > 0, (planned.variant.label, of)
