"""Sizing of loads with size = "auto": bounds, the pilot's steps, and the sizes computed from its figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fsconsole.model.events import Settled
from fsconsole.model.plan import Cell, Plan, Step, StepKind
from fsconsole.model.workload import Layout, SizedBy, Workload, WorkloadKind
from fsconsole.plan.kinds import MAX_FILE_SIZE_BYTES, MAX_FILES
from fsconsole.plan.planfile import FIT_SHARE, unsized, written_bytes
from fsconsole.plan.read_workload import MAX_DIRECTORIES
from fsconsole.plan.steps import workload_title
from fsconsole.text import MIB
from fsconsole.units import format_bytes

BUFFERED_SHARE = 1 / 3
"""Share of the free space that one buffered load may write: ext4 stops delaying allocation when dirty data comes near
the free space (ext4_nonda_switch, fs/ext4/inode.c)."""
MARGIN = 1.2
"""Factor on load_time: the pilot's second is only a sample."""
PILOT_S = 1.0
_FIRST_BYTES, _FIRST_FILES = MIB, 16
_MOST_GROWTH = 8.0
"""Limit from one try of a pilot to the next: random writes may take 100 times as long to drain as to write."""
_THIRD = "it may write at most a third of the free space (delayed allocation)"
_SHARE = f"all loads may fill at most {100 * FIT_SHARE:.0f} % of the filesystem"
_INODES = f"it may use at most {100 * FIT_SHARE:.0f} % of the inodes"
_ALL = "it reached the end of its files"


@dataclass(frozen=True, slots=True)
class Room:
    """Free space of a new filesystem; 0 bytes: unknown; 0 inodes: limited by space only."""

    free_bytes: int
    free_inodes: int = 0


def amount(load: Workload) -> int:
    """Return the amount that the pilot of a load chooses: bytes of each file, files, or bytes in all."""
    return int(getattr(load, load.sizing.chooses.value)) if load.sizing is not None else 0


def with_amount(load: Workload, wanted: float, least: int = 0) -> Workload:
    """Return a load with another amount, rounded down to whole blocks: at least a call, or a file, of each thread."""
    if load.sizing is None:
        return load
    chooses, block = load.sizing.chooses, load.block_size_bytes
    unit = 1 if chooses is SizedBy.FILES else block
    floor = {SizedBy.FILE_SIZE: max(block, least), SizedBy.FILES: load.threads, SizedBy.BYTES: block * load.threads}
    most = {SizedBy.FILES: _most_files(load), SizedBy.FILE_SIZE: MAX_FILE_SIZE_BYTES}.get(chooses, wanted)
    changes: dict[str, Any] = {chooses.value: max(floor[chooses], int(min(wanted, most)) // unit * unit)}
    return replace(load, **changes)


def least_of(loads: Sequence[Workload], number: int) -> int:
    """Return the bytes that each file of a load has at least: a block of whatever works on it."""
    return max((load.block_size_bytes for load in loads if load.source == number), default=0)


def _most_files(load: Workload) -> int:
    is_counted = load.directories.layout is Layout.PER_COUNT
    return min(MAX_FILES, MAX_DIRECTORIES * load.directories.files_per_directory if is_counted else MAX_FILES)


def bounded(loads: Sequence[Workload], room: Room) -> tuple[Workload, ...]:
    """Return one cell's loads with the most that a pilot may choose; unchanged if the free space is unknown."""
    return _limited(loads, {}, room)[0] if room.free_bytes else tuple(loads)


def settle(loads: Sequence[Workload], tried: Mapping[int, tuple[int, float]], room: Room) -> tuple[Settled, ...]:
    """Return the amounts with which every load lasts load_time, limited by free space and inodes.

    tried maps a load's number to the amount tried (its own, or that of the create whose files it uses once) and the
    seconds that took, drain included.
    """
    wanted: dict[int, float] = {}
    for number, (tried_amount, took_s) in tried.items():
        load = loads[number]
        of = number if load.sizing is not None else load.source
        if of is None or (sizing := loads[of].sizing) is None:
            continue
        needed = tried_amount * MARGIN * sizing.load_time_s / max(took_s, 1e-6)
        wanted[of] = max(needed, wanted.get(of, 0.0))
    sized, why = _limited(loads, wanted, room)
    return tuple(
        Settled(load.sizing.chooses.value, amount(load), number, why.get(number, ""))
        for number, load in enumerate(sized)
        if load.sizing is not None
    )


def _limited(
    loads: Sequence[Workload], wanted: Mapping[int, float], room: Room
) -> tuple[tuple[Workload, ...], dict[int, str]]:
    """Return the loads with the wanted amounts, or the most allowed, and the limit that reduced each, by number."""
    sized = list(loads)
    why: dict[int, str] = {}
    autos = [number for number, load in enumerate(loads) if load.sizing is not None]
    fixed = written_bytes([unsized(load) for load in loads])
    left = max(0, room.free_bytes - fixed)
    adding = [number for number in autos if _adds(loads[number])]
    for number in autos:
        load, source = loads[number], loads[number].source
        bounds: list[tuple[float, str]] = []
        if number in adding:
            of_all = left * FIT_SHARE / len(adding)
            bounds.append((of_all / _adds(load), _SHARE))
            if not load.direct:
                bounds.append((left * BUFFERED_SHARE / _adds(load), _THIRD))
            if load.sizing and load.sizing.chooses is SizedBy.FILES and room.free_inodes and load.creates:
                bounds.append((room.free_inodes * FIT_SHARE / len(adding), _INODES))
        elif load.sizing and load.sizing.chooses is SizedBy.BYTES and source is not None:
            bounds.append((sized[source].files * sized[source].mean_file_bytes, _ALL))
        most, reason = min(bounds, default=(float(MAX_FILES), ""))
        most = min(most, amount(load) or most)
        if wanted.get(number, most) > most:
            why[number] = reason
        sized[number] = with_amount(load, min(most, wanted.get(number, most)), least_of(loads, number))
    return _fitting(sized, fixed, left), why


def _fitting(sized: Sequence[Workload], fixed: int, left: int) -> tuple[Workload, ...]:
    """Return the loads, smaller where what is appended to their files would fill the filesystem."""
    total = written_bytes(sized) - fixed
    share = left * FIT_SHARE / total if total > left * FIT_SHARE else 1.0
    return tuple(with_amount(load, amount(load) * share) if _adds(load) and share < 1 else load for load in sized)


def _adds(load: Workload) -> float:
    """Return by how many bytes the filesystem gets fuller for each unit of the amount; 0 for what has its own size."""
    if load.sizing is None or load.sizing.chooses is SizedBy.BYTES:
        return 0.0
    of = 2**20
    changes: dict[str, Any] = {load.sizing.chooses.value: of}
    return replace(load, **changes).added_bytes / of


def likely(loads: Sequence[Workload], bytes_per_s: float) -> tuple[Workload, ...]:
    """Return loads as a pilot would size them if a disk took so many bytes per second."""
    wanted = {
        number: bytes_per_s * load.sizing.load_time_s / _adds(load)
        for number, load in enumerate(loads)
        if load.sizing is not None and load.is_open and _adds(load)
    }
    return tuple(
        with_amount(load, min(wanted[number], amount(load) or wanted[number])) if number in wanted else load
        for number, load in enumerate(loads)
    )


def follows(loads: Sequence[Workload], number: int) -> bool:
    """Return whether a load's time grows with the files of its create, because it works on each once.

    Not so for reads from the page cache, nor for stats and deletes when the files only get larger.
    """
    load = loads[number]
    if load.sizing is not None or load.source is None or load.files or load.limit_bytes or load.duration_s:
        return False
    sizing = loads[load.source].sizing
    if sizing is None or (load.kind is WorkloadKind.READ and not (load.cold or load.direct)):
        return False
    return sizing.chooses is SizedBy.FILES or (load.kind is WorkloadKind.READ and not load.file_size_bytes)


# The pilot: the steps of a cell, with loads that last about a second.

_KEPT = frozenset({
    StepKind.GATE, StepKind.SETTINGS, StepKind.ARRAY, StepKind.ARRAY_SYNC, StepKind.MKFS,
    StepKind.MOUNT, StepKind.AGE, StepKind.UNMOUNT, StepKind.ARRAY_STOP, StepKind.RELEASE,
})  # fmt: skip
_OF_LOADS = frozenset({StepKind.QUIESCE, StepKind.COLD, StepKind.WORKLOAD, StepKind.SETTINGS, StepKind.SETTINGS_BACK})


def is_open(loads: Sequence[Workload]) -> bool:
    """Return whether a pilot must still choose the size of a load."""
    return any(load.is_open for load in loads)


def pilot_of(cell: Cell, cells: Sequence[Cell], baseline: str) -> Cell:
    """Return the cell whose variant runs the pilot for a cell's loads: the baseline's first one.

    Preferably on the cell's own devices: if those are lost, the cell is too. Directories are rows: theirs is the baseline's.
    """
    able = [one for one in cells if one.workloads == cell.workloads and not one.unavailable and not one.variant.is_raw]
    return max(
        able, key=lambda one: (one.devices == cell.devices or one.variant.is_directory, one.variant.label == baseline)
    )


def pilots(plan: Plan) -> Iterator[Cell]:
    """Yield the cells of a plan that have a pilot, in the order in which it runs."""
    of: dict[tuple[Workload, ...], Cell] = {}
    for cell in plan.cells:
        if is_open(cell.workloads) and not cell.unavailable and not cell.variant.is_raw:
            of.setdefault(cell.workloads, cell)
    return (pilot_of(cell, plan.cells, plan.baseline) for cell in of.values())


def sizes_in_words(plan: Plan) -> Iterator[str]:
    """Yield a sentence for each load sized by a pilot, with its upper limit."""
    told: dict[str, None] = {}
    for cell in pilots(plan):
        for load in cell.workloads:
            if (sizing := load.sizing) is None:
                continue
            bound = ""
            if _adds(load) and amount(load):
                why = f"{100 * FIT_SHARE:.0f} % of the filesystem, with the other loads"
                alone = sum(bool(_adds(other)) for other in cell.workloads) * BUFFERED_SHARE < FIT_SHARE
                bound = f", at most {format_bytes(load.added_bytes)}: " + (
                    "a third of the free space" if alone and not load.direct else why
                )
            told[f"'{load.name}': size auto, {sizing.load_time_s:g} s on {plan.baseline}{bound}"] = None
    return iter(told)


def pilot_steps(cell: Cell) -> Iterator[tuple[int, Step]]:
    """Yield the steps of a cell that its pilot runs, with their numbers in the cell."""
    loads = cell.workloads
    tried = {number for number, load in enumerate(loads) if load.sizing is not None or follows(loads, number)}
    for number, step in enumerate(cell.steps):
        if step.kind is StepKind.WORKLOAD and step.workload in tried:
            title = f"{loads[step.workload].name}: as much as takes about a second, drain included"
            yield number, replace(step, kind=StepKind.PILOT, title=title)
        elif (step.workload in tried and step.kind in _OF_LOADS) or (step.workload is None and step.kind in _KEPT):
            yield number, step


def first_try(loads: Sequence[Workload], number: int) -> Workload:
    """Return a load with the amount of the pilot's first try."""
    load = loads[number]
    if load.sizing is None:
        return load
    files = max(load.files, 1) if load.sizing.chooses is SizedBy.FILE_SIZE else 1
    first = _FIRST_FILES * load.threads if load.sizing.chooses is SizedBy.FILES else _FIRST_BYTES / files
    return with_amount(load, min(first, amount(load)), least_of(loads, number))


def next_try(load: Workload, most: int, took_s: float) -> Workload | None:
    """Return the next, larger try; None if the last one was long enough or as large as allowed."""
    if load.sizing is None or amount(load) >= most or took_s >= min(PILOT_S, load.sizing.load_time_s):
        return None
    growth = min(_MOST_GROWTH, 1.2 * PILOT_S / max(took_s, 1e-3))
    return with_amount(load, min(most, amount(load) * max(2.0, growth)))


def with_titles(cell: Cell) -> Cell:
    """Return a cell whose step titles have the sizes that a pilot chose."""
    steps = tuple(
        replace(step, title=workload_title(cell.workloads[step.workload]))
        if step.kind is StepKind.WORKLOAD and step.workload is not None
        else step
        for step in cell.steps
    )
    return replace(cell, steps=steps)
