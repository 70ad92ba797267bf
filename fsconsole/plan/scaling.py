"""Scales a plan's loads to its devices; `keep` says what stays as printed, because the finding hangs on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fsconsole.errors.targets import BadQuantity
from fsconsole.model.plan import Keep, Scaling, Setting
from fsconsole.model.workload import Workload, WorkloadKind
from fsconsole.plan.kinds import MAX_FILE_SIZE_BYTES, MAX_FILES
from fsconsole.plan.planfile import FIT_SHARE, PlanFile, ScaleKind, written_bytes
from fsconsole.text import KIB
from fsconsole.units import format_bytes, parse_bytes, significant

LEAST_FILE_BYTES = 4 * KIB
"""A smaller file takes a whole block of most filesystems all the same."""
_NEAR_IN_BLOCKS = 0.25
"""The same of a fill that many small files, in whole blocks, are to reach."""
_NEAR = 0.05
"""Share by which whole files and blocks may miss a ratio that is to be kept."""

Loads = tuple[Workload, ...]


@dataclass(frozen=True, slots=True)
class Ground:
    """Sizes to scale loads to, in bytes; 0: unknown."""

    usable: int = 0
    """Least that one of the plan's filesystems offers on its smallest device."""
    device: int = 0
    """Of the device, or array, itself."""
    memory: int = 0
    """Memory for the load's page cache: of this machine, or of the cell's memory cgroup."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The workloads of a cell, scaled; planned: those that came out as these, as written."""

    planned: tuple[Loads, ...]
    loads: Loads
    why: str = ""
    """Why they can't keep what the plan says; empty where they do."""

    @property
    def factors(self) -> tuple[float, ...]:
        """Bytes that the loads write, as shares of the planned ones; 1 where nothing tells how many they are."""
        written = [written_bytes(loads) for loads in (self.loads, *self.planned)]
        return tuple(written[0] / planned if planned else 1.0 for planned in written[1:])

    @property
    def is_scaled(self) -> bool:
        """True if one of the planned ones had other sizes or threads."""
        return self.planned != (self.loads,)


def scaled_choices(plan: PlanFile, choices: Sequence[Loads], ground: Ground) -> tuple[Choice, ...]:
    """Return the choices scaled; those that came out equal are one."""
    found: dict[Loads, Choice] = {}
    for choice, factor in zip(choices, _factors(plan, choices, ground), strict=True):
        loads = tuple(_less_of_sources(_SCALED[plan.keep](choice, factor), factor)) if factor != 1 else choice
        before = found[loads].planned if loads in found else ()
        found[loads] = Choice((*before, choice), loads, _why_not(plan, choice, loads, factor, ground))
    return tuple(found.values())


def memory_of(setting: Setting, memory_bytes: int) -> int:
    """Return the memory of a cell's load: its cgroup's where the plan sets one, else the machine's."""
    try:
        own = parse_bytes(dict(setting.values)["memory"])
    except (KeyError, BadQuantity):
        return memory_bytes
    return min(own, memory_bytes) if memory_bytes else own


def scaling_of(plan: PlanFile, choices: Sequence[Choice]) -> Scaling:
    """Return what a run's journal says of the scaling."""
    factors = [factor for one in choices for factor in one.factors] or [1.0]
    is_scaled = any(one.is_scaled for one in choices)
    return Scaling(plan.keep, min(factors), max(factors), is_scaled, _threads_of(choices))


def _factors(plan: PlanFile, choices: Sequence[Loads], ground: Ground) -> Iterator[float]:
    """Yield by which factor the bytes of each choice are to be multiplied."""
    kind, most = plan.scale.kind, max(map(written_bytes, choices), default=0)
    fits = ground.usable * FIT_SHARE
    for choice in choices:
        # Thread counts keep their ratios: the largest choice sets the factor of all.
        wanted = most if plan.keep is Keep.FILE_SIZE else written_bytes(choice)
        if kind is ScaleKind.NONE:
            yield 1.0
        elif kind is ScaleKind.FACTOR:
            yield plan.scale.factor
        elif plan.keep is Keep.FILL or _keeps_fill_too(plan):
            yield ground.device / plan.published_device_bytes if ground.device else 1.0
        elif plan.keep is Keep.DATA_TO_RAM:
            yield ground.memory / plan.published_memory_bytes if ground.memory else 1.0
        else:
            yield min(1.0, fits / wanted) if wanted and ground.usable else 1.0


def _keeps_fill_too(plan: PlanFile) -> bool:
    """Return True where files keep their number and the filesystem its fill: a check's time hangs on both."""
    return plan.keep is Keep.FILES and plan.published_device_bytes > 0


# What each keeps.


def _less_of_sources(loads: Loads, factor: float) -> Iterator[Workload]:
    """Yield loads whose copies take the first files of their sources alone; one without at_most takes all, as it says."""
    for load in loads:
        if not load.at_most_bytes:
            yield load
            continue
        found = min(load.at_most_bytes, load.sources_bytes or load.at_most_bytes)
        # The first files of so many bytes aren't counted yet: the warming step does that.
        yield replace(load, at_most_bytes=max(1, int(found * factor)), sources_bytes=0, sources_files=0)


def _blocks(size_bytes: int, factor: float, block: int) -> int:
    """Return a size times the factor, in whole blocks; what is one block at most stays as it is."""
    wanted = int(min(size_bytes * factor, MAX_FILE_SIZE_BYTES))
    return size_bytes if size_bytes <= block else max(1, wanted // block) * block


def _resized(loads: Loads, factor: float) -> Loads:
    return tuple(
        replace(
            load,
            file_size_bytes=_blocks(load.file_size_bytes, factor, load.block_size_bytes),
            file_size_max_bytes=_blocks(load.file_size_max_bytes, factor, load.block_size_bytes),
            size_weights=tuple(
                (_blocks(size, factor, load.block_size_bytes), weight) for size, weight in load.size_weights
            ),
            limit_bytes=_blocks(load.limit_bytes, factor, load.block_size_bytes),
        )
        for load in loads
    )


_AT_PLACES = frozenset({WorkloadKind.RANDOM_READ, WorkloadKind.RANDOM_WRITE})


def _smaller_files(loads: Loads, factor: float) -> Loads:
    """Return loads with as many files, smaller ones; blocks are no larger than the files that they are of."""
    made: list[Workload] = []
    for load in loads:
        size, largest = (
            _blocks(bytes_, factor, LEAST_FILE_BYTES) for bytes_ in (load.file_size_bytes, load.file_size_max_bytes)
        )
        is_at_places = any(kind in _AT_PLACES for kind, _ in load.operations)
        of = made[load.source].file_size_bytes if load.source is not None and is_at_places else 0
        block = min(filter(None, (load.block_size_bytes, size, of)))
        made.append(
            replace(
                load,
                file_size_bytes=size,
                file_size_max_bytes=largest if largest > size else 0,
                size_weights=tuple(
                    (_blocks(one, factor, LEAST_FILE_BYTES), weight) for one, weight in load.size_weights
                ),
                block_size_bytes=block,
                limit_bytes=_blocks(load.limit_bytes, factor, block),
            )
        )
    return tuple(made)


def _fewer_files(loads: Loads, factor: float) -> Loads:
    """Return loads with fewer files, or more, of the same size; none has more threads than files."""
    made: list[Workload] = []
    for load in loads:
        files = min(MAX_FILES, max(1, int(load.files * factor))) if load.files else 0
        of = files if load.kind is WorkloadKind.CREATE else 0
        made.append(
            replace(
                load,
                files=files,
                threads=min(load.threads, of) if of else load.threads,
                limit_bytes=_blocks(load.limit_bytes, factor, load.block_size_bytes),
            )
        )
    return tuple(made)


def _fewer_threads(loads: Loads, factor: float) -> Loads:
    """Return loads with fewer files of the same size, and no more threads than that; those of a create follow it."""
    made: list[Workload] = []
    for load in loads:
        files = max(1, int(load.files * factor)) if load.files else 0
        if load.source is not None:
            before, after = loads[load.source].threads, made[load.source].threads
            threads = max(1, load.threads * after // before)
        else:
            threads = load.threads if files else max(1, int(load.threads * factor))
        made.append(
            replace(
                load,
                threads=min(threads, files or threads),
                files=files,
                limit_bytes=_blocks(load.limit_bytes, factor, load.block_size_bytes),
            )
        )
    return tuple(made)


_SCALED = {
    Keep.THREADS: _resized,
    Keep.FILE_SIZE: _fewer_threads,
    Keep.FILES: _smaller_files,
    Keep.FILL: _fewer_files,
    Keep.DATA_TO_RAM: _resized,
}


def _why_not(plan: PlanFile, planned: Loads, loads: Loads, factor: float, ground: Ground) -> str:
    """Return why the loads can't keep what the plan says, as a clause; empty where they do."""
    if plan.keep is Keep.THREADS or plan.scale.kind is ScaleKind.NONE:
        return ""
    lead, written = f'keep = "{plan.keep.value}"', written_bytes(loads)
    fits = int(ground.usable * FIT_SHARE)
    if plan.keep in (Keep.FILL, Keep.DATA_TO_RAM) or _keeps_fill_too(plan):
        wanted = written_bytes(planned) * factor
        near = _NEAR_IN_BLOCKS if plan.keep is Keep.FILES else _NEAR
        if wanted and abs(written / wanted - 1) > near:
            return f"{lead}: the loads would write {format_bytes(written)} instead of {format_bytes(wanted)}"
    if plan.keep is Keep.FILL or not ground.usable or written <= fits:
        return ""
    offered = f"more than {100 * FIT_SHARE:.0f} % of the {format_bytes(ground.usable)} that the smallest device offers"
    if plan.keep is Keep.DATA_TO_RAM:
        return (
            f"{lead}: the data of {significant(_to_memory(plan, planned))} x memory is {format_bytes(written)}, {offered}: "
            "name a larger device, or limit the memory of the loads ([settings] memory)"
        )
    least = {Keep.FILES: "files of 4 KiB", Keep.FILE_SIZE: "one file"}[plan.keep]
    return f"{lead}: even with {least} the loads write {format_bytes(written)}, {offered}"


def _to_memory(plan: PlanFile, planned: Loads) -> float:
    return written_bytes(planned) / max(1, plan.published_memory_bytes)


# In words.

_CHANGED_SOURCES = "fewer files of the copy's sources, the first in sorted order"
_CHANGED = {
    Keep.THREADS: "smaller files; their number, threads and blocks as written",
    Keep.FILE_SIZE: "fewer files, and threads where each has one; file sizes as written",
    Keep.FILES: "smaller files, as many as written",
    Keep.FILL: "number of files; their size, and the share of the device, as written",
    Keep.DATA_TO_RAM: "file sizes; the ratio of data to memory as written",
}


def scaling_notes(plan: PlanFile, choices: Sequence[Choice]) -> Iterator[str]:
    """Yield what was scaled and by which factor."""
    factors = sorted(factor for one in choices if one.is_scaled for factor in one.factors)
    if not factors:
        return
    planned, loads = max(
        ((planned, one.loads) for one in choices for planned in one.planned), key=lambda pair: written_bytes(pair[0])
    )
    sizes = f"{format_bytes(written_bytes(planned))} -> {format_bytes(written_bytes(loads))} a cell"
    by = " to ".join(dict.fromkeys(significant(factor) for factor in (factors[0], factors[-1])))
    of_files = f"{_CHANGED[plan.keep]}{_ratio(plan, planned)}"
    is_copied = [bool(load.at_most_bytes) for load in planned]
    changed = [*([] if all(is_copied) else [of_files]), *([_CHANGED_SOURCES] if any(is_copied) else [])]
    yield f"loads scaled by {by} ({sizes}): {'; '.join(changed)}"
    if plan.keep is Keep.FILE_SIZE and (threads := _threads_in_words(choices)):
        count = sum(len(one.planned) for one in choices)
        merged = f"; {count} choices of threads became {len(choices)}" if count > len(choices) else ""
        yield f"threads: {threads}{merged}"


def _ratio(plan: PlanFile, planned: Loads) -> str:
    if plan.keep is Keep.FILL or _keeps_fill_too(plan):
        full = f"{100 * written_bytes(planned) / plan.published_device_bytes:.0f} %"
        return f", and as full: {full}" if _keeps_fill_too(plan) else f" ({full})"
    return f" ({significant(_to_memory(plan, planned))})" if plan.keep is Keep.DATA_TO_RAM else ""


def _threads_of(choices: Sequence[Choice]) -> tuple[tuple[int, int], ...]:
    """Return the numbers of threads that changed, as planned and as scaled."""
    pairs = {
        (before.threads, load.threads)
        for one in choices
        for planned in one.planned
        for before, load in zip(planned, one.loads, strict=True)
        if before.threads != load.threads
    }
    return tuple(sorted(pairs))


def _threads_in_words(choices: Sequence[Choice]) -> str:
    return ", ".join(f"{before} -> {after}" for before, after in _threads_of(choices))


# What a plan file may say together.


def wrong_keep(plan: PlanFile) -> Iterator[tuple[str, str, str]]:
    """Yield a key, what is wrong with it, and what is wanted instead."""
    device, memory = plan.published_device_bytes, plan.published_memory_bytes
    if plan.keep is not Keep.THREADS and plan.scale.kind is ScaleKind.NONE:
        yield "keep", "nothing is scaled", 'scale = "fit" beside it'
    if plan.keep in (Keep.FILL, Keep.DATA_TO_RAM) and plan.scale.kind is ScaleKind.FACTOR:
        yield "scale", f'keep = "{plan.keep.value}" computes the factor itself', 'scale = "fit"'
    if plan.keep is Keep.FILL and not device:
        yield "published", 'keep = "fill" needs the size of the printed device', 'published = { device = "10TB" }'
    if plan.keep is Keep.DATA_TO_RAM and not memory:
        yield "published", 'keep = "data-to-ram" needs the printed memory', 'published = { memory = "2GiB" }'
    is_idle = device and plan.keep not in (Keep.FILL, Keep.FILES)
    if is_idle or (memory and plan.keep is not Keep.DATA_TO_RAM):
        of = "fill" if is_idle else "data-to-ram"
        yield "published", "nothing is computed from it", f'keep = "{of}" beside it'
