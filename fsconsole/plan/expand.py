"""A plan file applied to devices: every cell, in the order in which they run."""

from __future__ import annotations

import math
import random
import uuid
from collections.abc import Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from itertools import chain, product
from typing import Any

from fsconsole import units
from fsconsole.catalog.filesystem import NOTHING_KNOWN, Catalog, Filesystem, Known
from fsconsole.errors.targets import NoCellRuns, PlanBadValue
from fsconsole.model.plan import (
    ArraySpec,
    Cell,
    Equalise,
    Estimate,
    Keep,
    Order,
    Plan,
    RateFrom,
    Setting,
    Step,
    StepKind,
)
from fsconsole.model.state import OPEN_STATUSES, RunState
from fsconsole.model.workload import BUILT_IN, Workload, WorkloadKind
from fsconsole.plan import arrays, planfile, raw
from fsconsole.plan.ageing import aged_bytes, full_bytes, left_bytes
from fsconsole.plan.arrays import EVERY_LEVEL, Lacking, Site
from fsconsole.plan.directory_steps import directory_steps
from fsconsole.plan.fio_load import objection_to_files as fio_objection_to_files
from fsconsole.plan.generators import with_data
from fsconsole.plan.inodes import SHIPPED, Mke2fsConf, inode_reasons
from fsconsole.plan.keys import ARRAY, Key
from fsconsole.plan.planfile import PlanFile, ScaleKind, TargetSpec, written_bytes
from fsconsole.plan.read_workload import axes_of, source_of, workload_of
from fsconsole.plan.requirements import columns_of
from fsconsole.plan.rows import Candidate, Rows, list_candidates, rows_of
from fsconsole.plan.scaling import Choice, Ground, Loads, memory_of, scaled_choices, scaling_notes, scaling_of
from fsconsole.plan.settings import objections
from fsconsole.plan.sizing import Room, bounded, is_open, likely
from fsconsole.plan.steps import CRASH_BYTES, cell_steps, crash_load, crash_objection


def workload_choices(plan: PlanFile) -> tuple[tuple[Workload, ...], ...]:
    """Return a tuple of workloads for every choice of threads and block sizes, in the plan's order. Raises PlanBadValue."""
    axes = [axes_of(workload) for workload in plan.workloads]
    sources = [source_of(plan.workloads, number) for number in range(len(axes))]
    _require_few(plan, "workload", _combinations(axes))
    return tuple(
        tuple(
            workload_of(plan.workloads, number, (threads or choice[source or 0][0], block), plan.seed, plan.load_time_s)
            for number, ((threads, block), source) in enumerate(zip(choice, sources, strict=True))
        )
        for choice in product(*axes)
    )


def setting_choices(plan: PlanFile) -> tuple[Setting, ...]:
    """Return every combination of the plan's settings; one empty setting where there are none. Raises PlanBadValue."""
    names = [name for name, _ in plan.settings]
    axes = [values for _, values in plan.settings]
    _require_few(plan, "settings", _combinations(axes))
    return tuple(Setting(tuple(zip(names, choice, strict=True))) for choice in product(*axes))


def array_choices(plan: PlanFile) -> tuple[ArraySpec | None, ...]:
    """Return every array that the plan asks for, none twice; or None alone: the targets as they are.

    A knob that a level lacks, such as the chunk of raid1, keeps its default, so that levels can share a table.
    Raises PlanBadValue.
    """
    tables = [[_values(axis, key, name) for key, name in _ARRAY_FIELDS] for axis in plan.arrays]
    _require_few(plan, "array", sum(map(_combinations, tables)))
    specs = (as_the_level_has_it(ArraySpec(*choice)) for table in tables for choice in product(*table))
    return tuple(dict.fromkeys(specs)) or (None,)


def as_the_level_has_it(spec: ArraySpec) -> ArraySpec:
    """Return the array with defaults for the knobs that its level lacks."""
    lacking = [name for key, name in _ARRAY_FIELDS if spec.level not in key.levels]
    return replace(spec, **{name: getattr(_AS_IT_COMES, name) for name in lacking})


_ARRAY_FIELDS = tuple((key, "chunk_bytes" if key.name == "chunk" else key.name) for key in ARRAY)
"""The keys in the order of the fields of ArraySpec, with their names."""
_AS_IT_COMES: Any = ArraySpec("")


def _values(axis: planfile.ArrayAxis, key: Key, name: str) -> tuple[Any, ...]:
    values = getattr(axis, key.attributes[0])
    return (values or (getattr(_AS_IT_COMES, name),)) if key.kind.is_axis else (values,)


def _combinations(axes: Sequence[Sized]) -> int:
    return math.prod(len(values) for values in axes)


def _require_few(plan: PlanFile, key: str, count: int) -> None:
    """Refuse what would take for ever to be counted out: more choices of one kind than a plan may have cells."""
    if count > planfile.MAX_CELLS:
        what = "cells" if key == "(all axes)" else "combinations"
        raise PlanBadValue(plan.path, key, str(count), f"too many {what}", f"at most {planfile.MAX_CELLS} {what}")


ROTATING_BYTES_PER_S = 150e6
FLASH_BYTES_PER_S = 500e6
"""Rates assumed for a disk that turns and for one that doesn't: the orders of today's disks, no promise."""
FIXED_CELL_S = 3.0
"""mkfs, mounts, check and delete of a small cell, taken together; a strike with its recovery, taken together."""

_PASSES = {Equalise.DISCARD: 0, Equalise.NONE: 0, Equalise.ZERO: 1, Equalise.PRECONDITION: 2}
"""Passes of writes over the whole target that make cells equal."""


def estimate(cells: Sequence[Cell], sizes: dict[str, int], catalog: Catalog, assumed_bytes_per_s: float) -> Estimate:
    """Return bytes and seconds of all cells that can run; sizes maps paths of targets, or of members, to bytes."""
    running = [cell for cell in cells if not cell.unavailable]
    is_sized = any(load.sizing is not None for cell in running for load in cell.workloads)
    rate = assumed_bytes_per_s
    sized = {loads: likely(loads, rate) for loads in {one.workloads for one in running}} if is_sized else {}
    likely_cells = [replace(one, workloads=sized[one.workloads]) for one in running] if is_sized else running
    streams = _raw_bytes(running, sizes, assumed_bytes_per_s)
    most, total = (
        streams + sum(_cell_bytes(cell, sizes, catalog) for cell in cells) for cells in (running, likely_cells)
    )
    loads = [load for cell in likely_cells if not cell.variant.is_raw for load in cell.workloads]
    limited_s = sum(load.duration_s for load in loads)
    # What adds nothing is not in the bytes.
    limited_s += sum(load.sizing.load_time_s for load in loads if load.sizing is not None and not load.added_bytes)
    piloted = {cell.workloads for cell in running if is_open(cell.workloads)}
    # What raw streams write is read back.
    moved = total + streams + sum(_checked_bytes(cell, sizes, catalog) for cell in running)
    limited_s += sum(step.least_s for cell in running for step in cell.steps)
    fixed = len(running) + len(piloted) + sum(map(_strikes, running))
    elapsed_s = moved / assumed_bytes_per_s + FIXED_CELL_S * fixed + limited_s
    timed = [load for load in loads if load.duration_s and load.writes]
    timed_bytes = int(sum(_timed_bytes(load, rate) for load in timed))
    ends_by_bytes = all(0 < load.limit_bytes <= load.duration_s * rate for load in timed)
    timed_s = 0.0 if ends_by_bytes else sum(load.duration_s for load in timed)
    return Estimate(most + timed_bytes, elapsed_s, rate, total + timed_bytes, timed_bytes, timed_s)


def _timed_bytes(load: Workload, bytes_per_s: float) -> float:
    """Return what a load with a time limit writes at most beside what it adds for certain, at that rate."""
    most = load.duration_s * bytes_per_s
    return max(0.0, min(most, load.limit_bytes or most) - load.added_bytes)


def _estimate_on(
    targets: Sequence[TargetSpec], cells: Sequence[Cell], sizes: dict[str, int], catalog: Catalog
) -> Estimate:
    """Return the cost at the rate of the slowest target."""
    slowest = min(targets, key=_assumed_bytes_per_s)
    return replace(estimate(cells, sizes, catalog, _assumed_bytes_per_s(slowest)), rate_from=_rate_from(slowest))


def _rate_from(target: TargetSpec) -> RateFrom:
    return RateFrom.RUN if target.is_measured else RateFrom.FILE if target.bytes_per_s else RateFrom.ASSUMED


def _assumed_bytes_per_s(target: TargetSpec) -> float:
    return target.bytes_per_s or (ROTATING_BYTES_PER_S if target.is_rotating else FLASH_BYTES_PER_S)


def _raw_bytes(cells: Sequence[Cell], sizes: dict[str, int], bytes_per_s: float) -> int:
    """Return the bytes that raw streams write, with a pilot for each device or array."""
    written, piloted = 0, set[object]()
    for cell in cells:
        if cell.variant.is_raw:
            size_bytes, place = _size_bytes(cell, sizes), (cell.target, cell.array, cell.members)
            written += raw.raw_bytes(cell, size_bytes, bytes_per_s)
            written += 0 if place in piloted else raw.pilot_bytes(size_bytes, bytes_per_s)
            piloted.add(place)
    return written


def _checked_bytes(cell: Cell, sizes: dict[str, int], catalog: Catalog) -> int:
    """Return the bytes that the full checks of a cell's filesystem read, its files apart."""
    strikes = _strikes(cell) if cell.after.check else 0
    checks = strikes + sum(step.kind in (StepKind.CHECK, StepKind.CHECK_EMPTY) for step in cell.steps)
    return int(checks * catalog.get(cell.variant.filesystem).check_share * _size_bytes(cell, sizes)) if checks else 0


def _size_bytes(cell: Cell, sizes: dict[str, int]) -> int:
    of_devices = [sizes[path] for path in cell.devices]
    return arrays.usable_bytes(cell.array, of_devices) if cell.array else of_devices[0]


def equalise_bytes(cell: Cell, sizes: Mapping[str, int]) -> int:
    """Return the bytes that make a cell's devices equal to those of other cells: whole devices, zeroed or filled."""
    # A scratch file is overwritten whatever the plan asks for: without discard Linux zeroes a loop device by writing.
    is_overwritten = any(
        "-z" in argv for step in cell.steps if step.kind is StepKind.EQUALISE for argv in step.commands
    )
    return max(_PASSES[cell.equalise], is_overwritten) * sum(sizes[path] for path in cell.devices)


def _cell_bytes(cell: Cell, sizes: dict[str, int], catalog: Catalog) -> int:
    """Return the bytes that a cell writes, without the streams of a raw row."""
    equalise = equalise_bytes(cell, sizes)
    if cell.array and arrays.resyncs(cell.array):
        # Redundancy is written once over; the members beside it are read.
        equalise += max(sizes[path] for path in cell.devices)
    if cell.variant.is_raw:
        return equalise
    if cell.variant.is_directory:
        return written_bytes(cell.workloads)
    share = catalog.get(cell.variant.filesystem).metadata_share
    added = written_bytes(cell.workloads) + CRASH_BYTES // 2 * _strikes(cell)
    added += aged_bytes(cell.age, _size_bytes(cell, sizes))
    return equalise + int(share * _size_bytes(cell, sizes)) + added


def _strikes(cell: Cell) -> int:
    return sum(step.kind is StepKind.CRASH_LOAD for step in cell.steps)


def _require_rounds_for_auto(plan_file: PlanFile) -> None:
    if plan_file.is_auto and plan_file.order is not Order.ROUNDS:
        why = 'repeats = "auto" looks at verdicts, and only rounds have them'
        wanted = '"rounds", or a number of repeats'
        raise PlanBadValue(plan_file.path, "order", f'"{plan_file.order.value}"', why, wanted)


def build_plan(  # noqa: PLR0913 (each is a fact of its own)
    plan_file: PlanFile,
    targets: Sequence[TargetSpec],
    catalog: Catalog,
    *,
    run_id: str,
    kernel: str = "",
    known: Known = NOTHING_KNOWN,
    support: Lacking = EVERY_LEVEL,
    listed: Rows | None = None,
    memory_bytes: int = 0,
    mke2fs: Mke2fsConf = SHIPPED,
) -> Plan:
    """Return the plan with all its cells and their exact commands; at least one target.

    kernel is the release that will mount the filesystems, empty for one of today; known is what was found out of
    this machine by trying, support which arrays it makes; listed are the rows, where they are known already;
    memory_bytes is the machine's, 0 where it isn't known; mke2fs is what its mke2fs.conf says.
    Raises OptionRefused, PlanBadValue.
    """
    _require_rounds_for_auto(plan_file)
    rows = listed or rows_of(plan_file, list_candidates(plan_file, catalog, kernel, known))
    sites = sites_of(plan_file, targets, support)
    names = {row.variant.filesystem for row in rows.rows if not row.variant.is_raw}
    # An array that can't be made has no size that others would have to heed.
    places = [site.target for site in sites if not site.reasons] or [site.target for site in sites]
    room = _room(plan_file, places, [catalog.get(name) for name in names])
    choices = _Choices(plan_file, with_data(workload_choices(plan_file), memory_bytes), room, memory_bytes)
    cells = []
    for index, (cell, site) in enumerate(_ordered_cells(plan_file, sites, rows.rows, choices)):
        filesystem = filesystem_of(cell, catalog)
        size = site.target.size_bytes
        unkept = choices.why_not(cell, site) if filesystem is not None else ""
        reasons = filter(
            None, (cell.unavailable, unkept, *_reasons(cell, site, filesystem), *inode_reasons(cell, size, mke2fs))
        )
        placed = replace(cell, index=index, uuid=cell_uuid(run_id, index), unavailable="; ".join(reasons))
        steps = cell_steps(placed, site, filesystem, array_uuid(run_id, index))
        cells.append(replace(placed, steps=steps))
    baseline, against = rows.baseline_of(plan_file)
    sizes = {one.path: one.size_bytes for one in (*targets, *(member for site in sites for member in site.members))}
    return Plan(
        title=plan_file.title,
        source=plan_file.source,
        seed=plan_file.seed,
        order=plan_file.order,
        repeats=plan_file.repeats,
        targets=tuple(target.path for target in targets),
        cells=tuple(cells),
        estimate=_estimate_on(targets, cells, sizes, catalog),
        baseline=baseline,
        against=against,
        notes=rows.notes + _notes(plan_file, targets, sites, choices) + _crash_notes(cells, catalog),
        same=plan_file.same,
        primary=plan_file.primary,
        is_auto=plan_file.is_auto,
        scaling=scaling_of(plan_file, choices.used),
        device_bytes=min(site.target.size_bytes for site in sites),
    )


def _room(plan_file: PlanFile, places: Sequence[TargetSpec], filesystems: Sequence[Filesystem]) -> int:
    """Return the bytes that loads find free on the smallest place, whatever the filesystem."""
    free = [
        usable_bytes(target, filesystem) - left_bytes(plan_file.age, target.size_bytes)
        for target in places
        for filesystem in filesystems
    ]
    return min(free, default=min(target.size_bytes for target in places))


@dataclass
class _Choices:
    """The plan's choices of workloads as each device and setting has them: scaled, and bounded for a pilot."""

    plan_file: PlanFile
    planned: tuple[Loads, ...]
    room: int
    memory_bytes: int
    _found: dict[Ground, dict[Loads, Choice]] = field(default_factory=dict)

    def at(self, site: Site, setting: Setting) -> dict[Loads, Choice]:
        """Return the choices for a device and a setting, by the workloads of a cell."""
        memory = memory_of(setting, self.memory_bytes)
        # Only what depends on them makes cells of one plan differ in size.
        keep = self.plan_file.keep
        device = site.target.size_bytes if self.plan_file.published_device_bytes else 0
        ground = Ground(self.room, device, memory if keep is Keep.DATA_TO_RAM else 0)
        if ground not in self._found:
            scaled = scaled_choices(self.plan_file, self.planned, ground)
            self._found[ground] = {bounded(one.loads, Room(self.room)): one for one in scaled}
        return self._found[ground]

    def why_not(self, cell: Cell, site: Site) -> str:
        """Return why the loads of a cell can't keep what the plan says; empty where they do."""
        return self.at(site, cell.setting)[cell.workloads].why

    @property
    def used(self) -> tuple[Choice, ...]:
        """All of them that cells were made of."""
        return tuple(one for found in self._found.values() for one in found.values())


def sites_of(plan_file: PlanFile, targets: Sequence[TargetSpec], support: Lacking) -> tuple[Site, ...]:
    """Return every target, or every array of them. Raises PlanBadValue."""
    specs = [spec for spec in array_choices(plan_file) if spec is not None]
    if not specs:
        return tuple(map(Site, targets))
    return tuple(
        arrays.site_of(spec, arrays.members_of(spec, targets), arrays.array_reasons(spec, targets, support))
        for spec in specs
    )


def require_runnable(plan: Plan, path: str) -> None:
    """Raise NoCellRuns where not a single cell of the plan can run, with the reasons."""
    if any(not cell.unavailable for cell in plan.cells):
        return
    reasons = "; ".join(dict.fromkeys(cell.unavailable for cell in plan.cells))
    raise NoCellRuns(path, why=reasons or "it has none")


def cell_uuid(run_id: str, index: int) -> str:
    """Return the UUID that this run gives to the filesystem of a cell: the same when computed again."""
    return str(uuid.uuid5(_namespace(run_id), f"cell {index}"))


def array_uuid(run_id: str, index: int) -> str:
    """Return the UUID that this run gives to the array of a cell."""
    return str(uuid.uuid5(_namespace(run_id), f"array {index}"))


def _namespace(run_id: str) -> uuid.UUID:
    return uuid.uuid5(uuid.NAMESPACE_URL, f"fsconsole:{run_id}")


def _ordered_cells(
    plan_file: PlanFile,
    sites: tuple[Site, ...],
    rows: tuple[Candidate, ...],
    choices: _Choices,
) -> list[tuple[Cell, Site]]:
    """Return the cells in their order, without position, UUID and steps, with what each is made on.

    A raw row stands for all numbers of threads: it moves what the choice with the most bytes writes.
    """
    settings = setting_choices(plan_file)
    kinds = len(sites) * len(settings) * len(choices.planned)
    _require_few(plan_file, "(all axes)", kinds * len(rows) * plan_file.repeats)
    loads = {place: tuple(choices.at(*place)) for place in product(sites, settings)}
    largest = {place: max(of, key=written_bytes) for place, of in loads.items()}
    repeats = range(1, plan_file.repeats + 1)
    cells = [
        (
            Cell(
                index=-1,
                target=site.target.path,
                array=site.array,
                members=tuple(member.path for member in site.members),
                setting=setting,
                variant=row.variant,
                repeat=repeat,
                workloads=workloads,
                after=plan_file.after,
                equalise=_possible(plan_file.equalise, site.target),
                uuid="",
                steps=(),
                unavailable=row.unavailable,
                age=None if row.variant.is_raw else plan_file.age,
            ),
            site,
        )
        for site, setting in product(sites, settings)
        for workloads, row, repeat in product(loads[site, setting], rows, repeats)
        if not row.variant.is_raw or workloads is largest[site, setting]
    ]
    if plan_file.order is not Order.AS_LISTED:
        random.Random(plan_file.seed).shuffle(cells)  # noqa: S311 (an order, not a secret)
    if plan_file.order is Order.ROUNDS:
        cells.sort(key=lambda placed: placed[0].repeat)
    return cells


def _reasons(cell: Cell, site: Site, filesystem: Filesystem | None) -> Iterator[str]:
    """Yield why a cell can't run: what this version doesn't run is never dropped silently."""
    for load in cell.workloads:
        if not load.can_run:
            what = f"of kind {load.kind.value}" if load.kind not in BUILT_IN else f"made by {load.generator.value}"
            yield f"workloads {what} are not run by this version"
        source = cell.workloads[load.source] if load.source is not None else None
        yield from filter(None, [fio_objection_to_files(load, source)])
    yield from site.reasons
    choices = [dict(cell.setting.values) | dict(load.settings) for load in cell.workloads if load.settings]
    objected = (objections(choice, site.target) for choice in (dict(cell.setting.values), *choices))
    yield from dict.fromkeys(chain.from_iterable(objected))
    if filesystem is None:
        yield from raw.raw_reasons(site.target)
        return
    size_bytes, wanted_bytes = site.target.size_bytes, written_bytes(cell.workloads)
    usable = usable_bytes(site.target, filesystem)
    usable = int(TREE_SHARE * usable) if _tree_bytes(cell.workloads) else usable
    wanted_bytes += crash_load(size_bytes).total_bytes if cell.after.crash else 0
    left = left_bytes(cell.age, size_bytes)
    has = f"{site.target.path} has {units.format_bytes(size_bytes)}"
    if 0 < size_bytes < filesystem.min_bytes:
        yield f"{filesystem.name} needs at least {units.format_bytes(filesystem.min_bytes)}, {has}"
    elif size_bytes > filesystem.max_bytes:
        yield f"{filesystem.name} takes at most {units.format_bytes(filesystem.max_bytes)}, {has}"
    elif cell.age is not None and full_bytes(cell.age, size_bytes) > usable_bytes(site.target, filesystem):
        yield f"ageing fills {units.format_bytes(full_bytes(cell.age, size_bytes))}, {has}: set a smaller fill"
    elif size_bytes and wanted_bytes + left > usable:
        aged = f", of which ageing leaves {units.format_bytes(left)} taken" if left else ""
        aged = aged or (
            f", of which a copy may take {units.format_bytes(usable)}" if _tree_bytes(cell.workloads) else ""
        )
        yield f"the workloads write {units.format_bytes(wanted_bytes)}, {has}{aged}: use {smaller(cell.workloads)}"


TREE_SHARE = 0.9
"""Of the usable size, for a copied tree: small files end in blocks half used, and ext keeps a journal, and 5 % for root."""


def _tree_bytes(workloads: Sequence[Workload]) -> int:
    """Return the bytes that copies bring from outside, at_most where the tree wasn't counted."""
    return sum(load.total_bytes for load in workloads if load.kind is WorkloadKind.COPY and load.sources)


def smaller(workloads: Sequence[Workload]) -> str:
    """Return what makes loads of a cell fit: a job file is not scaled, nor a whole tree."""
    most = written_bytes(workloads) // 2
    if _tree_bytes(workloads) > most:
        is_part = any(load.at_most_bytes for load in workloads)
        return (
            'scale = "fit", or a smaller at_most for the copy'
            if is_part
            else "at_most for the copy, or a larger device"
        )
    if sum(written_bytes([load]) for load in workloads if load.job) > most:
        return "smaller sizes in the job file"
    return 'scale = "fit"'


def usable_bytes(target: TargetSpec, filesystem: Filesystem) -> int:
    """Return about what an empty filesystem offers on the target, in bytes."""
    return int(target.size_bytes * (1 - filesystem.metadata_share))


def _possible(equalise: Equalise, target: TargetSpec) -> Equalise:
    """Return what this device can do: without discard, every cell finds the blocks as the last one left them.

    A scratch device has no discard, and is zeroed instead.
    """
    is_possible = equalise is not Equalise.DISCARD or target.can_discard or target.is_scratch
    return equalise if is_possible else Equalise.NONE


def _notes(
    plan_file: PlanFile,
    targets: Sequence[TargetSpec],
    sites: tuple[Site, ...],
    choices: _Choices,
) -> tuple[str, ...]:
    used = {member.path for site in sites for member in site.members}
    notes = [
        f"{target.path} becomes a member of no array"
        for target in targets
        if used and target.path not in used and target.path != planfile.NO_DEVICE.path
    ]
    notes += [
        f"{target.path} offers no discard: nothing is done between cells to make them equal"
        for target in targets
        if _possible(plan_file.equalise, target) is not plan_file.equalise
    ]
    notes += [note for target in targets for note in target.notes]
    if plan_file.age is not None:
        notes.append(
            f"aged: {plan_file.age.words} of its device for each filesystem, half of the bytes removed each time"
        )
    primary = plan_file.primary
    if primary is not None and not any(primary in columns_of(load) for load in plan_file.workloads):
        notes.append(f"no load has the primary column '{primary.column}': loads are compared by durable, read or ops/s")
    return (*notes, *scaling_notes(plan_file, choices.used))


def _crash_notes(cells: Sequence[Cell], catalog: Catalog) -> tuple[str, ...]:
    notes = {}
    for cell in cells:
        filesystem = filesystem_of(cell, catalog)
        why = crash_objection(cell, filesystem) if cell.after.crash and filesystem is not None else ""
        instead = "needs dm-flakey" if any(step.kind is StepKind.CRASH_LOAD for step in cell.steps) else "is not tested"
        notes[cell.variant.label] = f"{cell.variant.label}: a crash {instead}: {why}" if why else ""
    return tuple(filter(None, notes.values()))


def filesystem_of(cell: Cell, catalog: Catalog) -> Filesystem | None:
    """Return the cell's filesystem; None for a raw row, and for one that the catalog doesn't hold."""
    return next((known for known in catalog.filesystems if known.name == cell.variant.filesystem), None)


def rebuilt_steps(
    cell: Cell, devices: Sequence[TargetSpec], filesystem: Filesystem | None, run_id: str
) -> tuple[Step, ...]:
    """Return the steps of a cell on these devices: one target, or the members of its array in order."""
    if cell.variant.is_directory:
        return directory_steps(cell, run_id)
    return cell_steps(cell, arrays.site_of(cell.array, devices), filesystem, array_uuid(run_id, cell.index))


def repeated_cells(
    plan: Plan, indexes: Sequence[int], known: Mapping[str, TargetSpec], catalog: Catalog, run_id: str
) -> tuple[Cell, ...]:
    """Return these cells once more, behind all others of the plan; known are the run's devices by their paths."""
    cells = []
    for place, index in enumerate(indexes, start=len(plan.cells)):
        again = plan.cells[index]
        again = replace(again, index=place, uuid=cell_uuid(run_id, place), redo=again.redo + 1)
        devices = [known[path] for path in again.devices]
        cells.append(replace(again, steps=rebuilt_steps(again, devices, filesystem_of(again, catalog), run_id)))
    return tuple(cells)


def moved_plan(plan: Plan, now: Mapping[str, TargetSpec], catalog: Catalog, run_id: str) -> Plan:
    """Return the plan with its cells on the devices that their targets are called by now; now is by old path."""
    cells = []
    for cell in plan.cells:
        devices = [now[path] for path in cell.devices if path in now]
        paths = tuple(device.path for device in devices)
        if len(devices) == len(cell.devices) and paths != cell.devices:
            steps = rebuilt_steps(cell, devices, filesystem_of(cell, catalog), run_id)
            moved = {"target": paths[0]} if cell.array is None else {"members": paths}
            cells.append(replace(cell, steps=steps, **moved))
        else:
            cells.append(cell)
    targets = tuple(now[path].path if path in now else path for path in plan.targets)
    return replace(plan, cells=tuple(cells), targets=targets)


def plan_left(state: RunState, catalog: Catalog) -> Plan:
    """Return a run's plan with the cells alone that an engine would take up, and with the estimate of those."""
    whole = state.request.plan
    known = zip(whole.cells, state.cells, strict=True)
    cells = tuple(cell for cell, found in known if found.status in OPEN_STATUSES)
    sizes = {target.path: target.identity.size_bytes for target in state.request.targets}
    # The engine refuses any other cell of a damaged run folder: here it is listed all the same.
    counted = [
        cell
        for cell in cells
        if sizes.keys() >= set(cell.devices)
        and (cell.variant.is_raw or cell.variant.is_directory or filesystem_of(cell, catalog))
    ]
    cost = estimate(counted, sizes, catalog, whole.estimate.assumed_bytes_per_s)
    return replace(whole, cells=cells, estimate=replace(cost, rate_from=whole.estimate.rate_from))


def size_bounds(plan: PlanFile, catalog: Catalog) -> tuple[int, int]:
    """Return the sizes below and above which no cell of the plan can run on a target; 0: there is no such limit.

    At least the smallest filesystem and the smallest load, at most the largest filesystem. What an array can hold is
    said of each cell; a member may well be smaller than a filesystem, or larger.
    """
    if plan.arrays:
        return 1, 0
    names = {checklist.filesystem for checklist in plan.checklists}
    names |= {variant.filesystem for variant in plan.variants}
    filesystems = [catalog.get(name) for name in names]
    least = min((filesystem.min_bytes for filesystem in filesystems), default=1)
    most = max((filesystem.max_bytes for filesystem in filesystems), default=0)
    if plan.scale.kind is not ScaleKind.FIT:
        scaled = scaled_choices(plan, workload_choices(plan), Ground())
        least = max(least, min(written_bytes(one.loads) for one in scaled))
    return least, most
