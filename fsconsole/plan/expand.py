"""A plan file applied to devices: every cell, in the order in which they run."""

from __future__ import annotations

import math
import random
import uuid
from collections.abc import Mapping, Sequence, Sized
from dataclasses import replace
from itertools import product
from typing import Any

from fsconsole import units
from fsconsole.catalog.filesystem import NOTHING_KNOWN, Catalog, Filesystem, Known
from fsconsole.errors.targets import PlanBadValue
from fsconsole.model.plan import ArraySpec, Cell, Equalise, Estimate, Order, Plan, Setting, Step
from fsconsole.model.state import OPEN_STATUSES, RunState
from fsconsole.model.workload import BUILT_IN, Workload
from fsconsole.plan import planfile
from fsconsole.plan.arrays import (
    EVERY_LEVEL,
    ArraySupport,
    Site,
    array_reasons,
    members_of,
    resyncs,
    site_of,
)
from fsconsole.plan.arrays import usable_bytes as arrays_usable_bytes
from fsconsole.plan.keys import ARRAY, Key
from fsconsole.plan.planfile import (
    AUTO_REPEATS,
    NO_DEVICE,
    ArrayAxis,
    PlanFile,
    ScaleKind,
    TargetSpec,
    scaled,
    written_bytes,
)
from fsconsole.plan.read_workload import workload_of
from fsconsole.plan.rows import Row, Rows, list_rows
from fsconsole.plan.settings import objections
from fsconsole.plan.steps import cell_steps, raw_bytes, raw_reasons

# What a plan may ask for and this version does not carry out, in words: never dropped in silence.


def plan_reasons(plan: PlanFile) -> tuple[str, ...]:
    """Return why no cell of the plan can run, in clauses; empty where nothing stands against it."""
    reasons = []
    if plan.repeats == AUTO_REPEATS:
        reasons.append('repeats = "auto" is not run by this version; give a number')
    if plan.after.crash:
        reasons.append("crash = true is not run by this version")
    return tuple(reasons)


def workload_reasons(workloads: tuple[Workload, ...]) -> tuple[str, ...]:
    """Return why these workloads can't run."""
    kinds = dict.fromkeys(w.kind.value for w in workloads if w.kind not in BUILT_IN)
    return tuple(f"workloads of kind {kind} are not run by this version" for kind in kinds)


def axis_reasons(setting: Setting, workloads: tuple[Workload, ...], target: TargetSpec) -> tuple[str, ...]:
    """Return why this choice of settings, for the cell and for its workloads, can't run."""
    reasons = [*objections(dict(setting.values), target)]
    for workload in workloads:
        if workload.settings:
            reasons += objections(dict(setting.values) | dict(workload.settings), target)
    return tuple(dict.fromkeys(reasons))


def size_reasons(target: TargetSpec, filesystem: Filesystem | None, wanted_bytes: int) -> tuple[str, ...]:
    """Return why the target does not fit; nothing is said of a target whose size isn't known."""
    if filesystem is None or target.size_bytes == 0:
        return ()
    size = units.format_bytes(target.size_bytes)
    if target.size_bytes < filesystem.min_bytes:
        least = units.format_bytes(filesystem.min_bytes)
        return (f"{filesystem.name} needs at least {least}, {target.path} has {size}",)
    if target.size_bytes > filesystem.max_bytes:
        most = units.format_bytes(filesystem.max_bytes)
        return (f"{filesystem.name} takes at most {most}, {target.path} has {size}",)
    if wanted_bytes > usable_bytes(target, filesystem):
        wanted = units.format_bytes(wanted_bytes)
        return (f'the workloads write {wanted}, {target.path} has {size}: use scale = "fit"',)
    return ()


def usable_bytes(target: TargetSpec, filesystem: Filesystem) -> int:
    """Return about what an empty filesystem offers on the target, in bytes."""
    return int(target.size_bytes * (1 - filesystem.metadata_share))


# The axes of a plan beside its variants: thread counts, settings, arrays.


def workload_choices(plan: PlanFile) -> tuple[tuple[Workload, ...], ...]:
    """Return a tuple of workloads for every choice of thread counts, in the plan's order. Raises PlanBadValue."""
    axes = [workload.thread_counts for workload in plan.workloads]
    _require_few(plan, "workload", _combinations(axes))
    return tuple(
        tuple(
            workload_of(plan.workloads, number, threads, plan.seed) for number, threads in enumerate(choice)
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

    What a level hasn't, such as the chunk of raid1, is left as it comes there, so that levels can share a table.
    Raises PlanBadValue.
    """
    tables = [[_values(axis, key, name) for key, name in _ARRAY_FIELDS] for axis in plan.arrays]
    _require_few(plan, "array", sum(map(_combinations, tables)))
    specs = (as_the_level_has_it(ArraySpec(*choice)) for table in tables for choice in product(*table))
    return tuple(dict.fromkeys(specs)) or (None,)


def as_the_level_has_it(spec: ArraySpec) -> ArraySpec:
    """Return the array with defaults for whatever its level hasn't."""
    lacking = [name for key, name in _ARRAY_FIELDS if spec.level not in key.levels]
    return replace(spec, **{name: getattr(_AS_IT_COMES, name) for name in lacking})


_ARRAY_FIELDS = tuple((key, "chunk_bytes" if key.name == "chunk" else key.name) for key in ARRAY)
"""The keys in the order of the fields of ArraySpec, with their names."""
_AS_IT_COMES: Any = ArraySpec("")


def _values(axis: ArrayAxis, key: Key, name: str) -> tuple[Any, ...]:
    values = getattr(axis, key.attributes[0])
    return (values or (getattr(_AS_IT_COMES, name),)) if key.kind.is_axis else (values,)


def _combinations(axes: Sequence[Sized]) -> int:
    return math.prod(len(values) for values in axes)


def _require_few(plan: PlanFile, key: str, count: int) -> None:
    """Refuse what would take for ever to be counted out: more choices of one kind than a plan may have cells."""
    if count > planfile.MAX_CELLS:
        wanted = f"at most {planfile.MAX_CELLS} combinations"
        raise PlanBadValue(plan.path, key, str(count), "too many combinations", wanted)


# What a plan will cost, before it costs anything.

ROTATING_BYTES_PER_S = 150e6
FLASH_BYTES_PER_S = 500e6
"""Rates assumed for a disk that turns and for one that doesn't: the orders of today's disks, no promise."""
FIXED_CELL_S = 3.0
"""mkfs, mounts, check and delete of a small cell, taken together."""

_PASSES = {Equalise.DISCARD: 0, Equalise.NONE: 0, Equalise.ZERO: 1, Equalise.PRECONDITION: 2}
"""How often the whole target is written to make cells equal."""


def estimate(
    cells: Sequence[Cell], sizes: dict[str, int], catalog: Catalog, assumed_bytes_per_s: float
) -> Estimate:
    """Return bytes and seconds of all cells that can run; sizes maps paths of targets, or of members, to bytes."""
    running = [cell for cell in cells if not cell.unavailable]
    total = sum(_cell_bytes(cell, sizes, catalog) for cell in running)
    limited_s = sum(
        workload.duration_s for cell in running if not cell.variant.is_raw for workload in cell.workloads
    )
    elapsed_s = total / assumed_bytes_per_s + FIXED_CELL_S * len(running) + limited_s
    return Estimate(total, elapsed_s, assumed_bytes_per_s)


def _cell_bytes(cell: Cell, sizes: dict[str, int], catalog: Catalog) -> int:
    of_devices = [sizes[path] for path in cell.devices]
    size_bytes = arrays_usable_bytes(cell.array, of_devices) if cell.array else of_devices[0]
    equalise = _PASSES[cell.equalise] * sum(of_devices)
    if cell.array and resyncs(cell.array):
        # Redundancy is written once over; the members beside it are read.
        equalise += max(of_devices)
    if cell.variant.is_raw:
        return equalise + raw_bytes(size_bytes, cell.workloads)
    share = catalog.get(cell.variant.filesystem).metadata_share
    return equalise + int(share * size_bytes) + written_bytes(cell.workloads)


# What the filesystems of a plan are made on: its targets, or arrays of them.


def sites_of(plan_file: PlanFile, targets: Sequence[TargetSpec], support: ArraySupport) -> tuple[Site, ...]:
    """Return every site of a plan. Raises PlanBadValue."""
    arrays = [spec for spec in array_choices(plan_file) if spec is not None]
    if not arrays:
        return tuple(Site(target) for target in targets)
    return tuple(
        site_of(spec, members_of(spec, targets), array_reasons(spec, targets, support)) for spec in arrays
    )


def build_plan(  # noqa: PLR0913 (each is a fact of its own)
    plan_file: PlanFile,
    targets: Sequence[TargetSpec],
    catalog: Catalog,
    *,
    run_id: str,
    kernel: str = "",
    known: Known = NOTHING_KNOWN,
    support: ArraySupport = EVERY_LEVEL,
    assumed_bytes_per_s: float = FLASH_BYTES_PER_S,
) -> Plan:
    """Return the plan with all its cells and their exact commands; at least one target.

    kernel is the release that will mount the filesystems, empty for one of today; known is what was found out of
    this machine by trying, support which arrays it makes. Raises OptionRefused, PlanBadValue.
    """
    listed = list_rows(plan_file, catalog, kernel, known)
    return plan_of_rows(
        plan_file,
        listed,
        targets,
        catalog,
        run_id=run_id,
        support=support,
        assumed_bytes_per_s=assumed_bytes_per_s,
    )


def plan_of_rows(  # noqa: PLR0913 (each is a fact of its own)
    plan_file: PlanFile,
    listed: Rows,
    targets: Sequence[TargetSpec],
    catalog: Catalog,
    *,
    run_id: str,
    support: ArraySupport = EVERY_LEVEL,
    assumed_bytes_per_s: float = FLASH_BYTES_PER_S,
) -> Plan:
    """Return the plan whose rows are known already. Raises PlanBadValue."""
    sites = sites_of(plan_file, targets, support)
    choices = _scaled_choices(plan_file, sites, listed.rows, catalog)
    unordered = _unordered(plan_file, sites, listed.rows, choices, catalog)
    cells = tuple(
        _finished(cell, index, site, catalog, run_id)
        for index, (cell, site) in enumerate(_ordered(unordered, plan_file))
    )
    devices = (*targets, *(member for site in sites for member in site.members))
    sizes = {device.path: device.size_bytes for device in devices}
    return Plan(
        title=plan_file.title,
        source=plan_file.source,
        seed=plan_file.seed,
        order=plan_file.order,
        repeats=max(1, plan_file.repeats),
        targets=tuple(target.path for target in targets),
        cells=cells,
        estimate=estimate(cells, sizes, catalog, assumed_bytes_per_s),
        notes=listed.notes + _notes(plan_file, targets, sites, choices),
    )


def require_runnable(plan: Plan, path: str) -> None:
    """Raise PlanBadValue where not a single cell of the plan can run, with the reasons."""
    if any(not cell.unavailable for cell in plan.cells):
        return
    reasons = "; ".join(dict.fromkeys(cell.unavailable for cell in plan.cells))
    why = f"no cell of this plan can be run: {reasons or 'it has none'}"
    raise PlanBadValue(path, "title", f'"{plan.title}"', why, "at least one cell that can run")


def cell_uuid(run_id: str, index: int) -> str:
    """Return the UUID that this run gives to the filesystem of a cell: the same when computed again."""
    return _uuid_of(run_id, f"cell {index}")


def array_uuid(run_id: str, index: int) -> str:
    """Return the UUID that this run gives to the array of a cell, likewise."""
    return _uuid_of(run_id, f"array {index}")


def _uuid_of(run_id: str, thing: str) -> str:
    return str(uuid.uuid5(uuid.uuid5(uuid.NAMESPACE_URL, f"fsconsole:{run_id}"), thing))


def _scaled_choices(
    plan_file: PlanFile, sites: tuple[Site, ...], rows: tuple[Row, ...], catalog: Catalog
) -> tuple[tuple[Workload, ...], ...]:
    names = {row.variant.filesystem for row in rows if not row.variant.is_raw}
    # An array that can't be made has no size that others would have to heed.
    targets = [site.target for site in sites if not site.reasons] or [site.target for site in sites]
    usable = [usable_bytes(target, catalog.get(name)) for target in targets for name in names]
    room = min(usable, default=min(target.size_bytes for target in targets))
    return tuple(scaled(choice, plan_file.scale, room) for choice in workload_choices(plan_file))


_Placed = tuple[Cell, Site]
"""A cell without its position, UUID and steps, and what it is made on."""


def _unordered(
    plan_file: PlanFile,
    sites: tuple[Site, ...],
    rows: tuple[Row, ...],
    choices: tuple[tuple[Workload, ...], ...],
    catalog: Catalog,
) -> list[_Placed]:
    settings = setting_choices(plan_file)
    repeats = max(1, plan_file.repeats)
    count = len(sites) * len(settings) * len(choices) * len(rows) * repeats
    if count > planfile.MAX_CELLS:
        wanted = f"at most {planfile.MAX_CELLS} cells"
        raise PlanBadValue(plan_file.path, "(all axes together)", str(count), "too many cells", wanted)
    return [
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
                unavailable=_unavailable(plan_file, site, setting, workloads, row, catalog),
            ),
            site,
        )
        for site, setting, workloads, row, repeat in product(
            sites, settings, choices, rows, range(1, repeats + 1)
        )
    ]


def _ordered(cells: list[_Placed], plan_file: PlanFile) -> list[_Placed]:
    if plan_file.order is Order.INTERLEAVED:
        return sorted(cells, key=lambda placed: placed[0].repeat)
    if plan_file.order is Order.SHUFFLED:
        random.Random(plan_file.seed).shuffle(cells)  # noqa: S311 (an order, not a secret)
    return cells


def _finished(cell: Cell, index: int, site: Site, catalog: Catalog, run_id: str) -> Cell:
    placed = replace(cell, index=index, uuid=cell_uuid(run_id, index))
    steps = cell_steps(placed, site, filesystem_of(cell, catalog), array_uuid(run_id, index))
    return replace(placed, steps=steps)


def _possible(equalise: Equalise, target: TargetSpec) -> Equalise:
    """Return what this device can do: without discard, every cell finds the blocks as the last one left them."""
    discards = equalise is not Equalise.DISCARD or target.can_discard
    return equalise if discards else Equalise.NONE


def _unavailable(  # noqa: PLR0913, PLR0917 (each is an axis of its own)
    plan_file: PlanFile,
    site: Site,
    setting: Setting,
    workloads: tuple[Workload, ...],
    row: Row,
    catalog: Catalog,
) -> str:
    filesystem = None if row.variant.is_raw else catalog.get(row.variant.filesystem)
    reasons = (
        *((row.unavailable,) if row.unavailable else ()),
        *plan_reasons(plan_file),
        *workload_reasons(workloads),
        *site.reasons,
        *axis_reasons(setting, workloads, site.target),
        *size_reasons(site.target, filesystem, written_bytes(workloads)),
        *(raw_reasons(site.target, workloads) if filesystem is None else ()),
    )
    return "; ".join(reasons)


def _notes(
    plan_file: PlanFile,
    targets: Sequence[TargetSpec],
    sites: tuple[Site, ...],
    choices: tuple[tuple[Workload, ...], ...],
) -> tuple[str, ...]:
    used = {member.path for site in sites for member in site.members}
    notes = [
        f"{target.path} becomes a member of no array"
        for target in targets
        if used and target.path not in used and target.path != NO_DEVICE.path
    ]
    notes += [
        f"{target.path} offers no discard: nothing is done between cells to make them equal"
        for target in targets
        if _possible(plan_file.equalise, target) is not plan_file.equalise
    ]
    notes += [note for target in targets for note in target.notes]
    if choices != workload_choices(plan_file):
        notes.append("file sizes were scaled down; the cells show them as they will be")
    return tuple(notes)


# A cell's steps made once more from what the cell says: to compare them, or for a device that has another name now.


def filesystem_of(cell: Cell, catalog: Catalog) -> Filesystem | None:
    """Return the cell's filesystem; None for a raw row, and for one that the catalog doesn't hold."""
    found = (filesystem for filesystem in catalog.filesystems if filesystem.name == cell.variant.filesystem)
    return next(found, None)


def rebuilt_steps(
    cell: Cell, devices: Sequence[TargetSpec], filesystem: Filesystem | None, run_id: str
) -> tuple[Step, ...]:
    """Return the steps that a cell comes to on its devices: one target, or the members of its array in their order."""
    return cell_steps(cell, site_of(cell.array, devices), filesystem, array_uuid(run_id, cell.index))


def moved_plan(plan: Plan, now: Mapping[str, TargetSpec], catalog: Catalog, run_id: str) -> Plan:
    """Return the plan with its cells on the devices that their targets are called by now; now is by old path."""
    cells = tuple(_moved(cell, now, catalog, run_id) for cell in plan.cells)
    targets = tuple(now[path].path if path in now else path for path in plan.targets)
    return replace(plan, cells=cells, targets=targets)


def _moved(cell: Cell, now: Mapping[str, TargetSpec], catalog: Catalog, run_id: str) -> Cell:
    devices = [now[path] for path in cell.devices if path in now]
    paths = tuple(device.path for device in devices)
    if len(devices) < len(cell.devices) or paths == cell.devices:
        return cell
    steps = rebuilt_steps(cell, devices, filesystem_of(cell, catalog), run_id)
    if cell.array is None:
        return replace(cell, target=paths[0], steps=steps)
    return replace(cell, members=paths, steps=steps)


# What is left of a plan that was begun, and what that costs.


def plan_left(state: RunState, catalog: Catalog) -> Plan:
    """Return a run's plan with the cells alone that an engine would take up, and with the estimate of those."""
    whole = state.request.plan
    known = zip(whole.cells, state.cells, strict=True)
    cells = tuple(cell for cell, found in known if found.status in OPEN_STATUSES)
    sizes = {target.path: target.identity.size_bytes for target in state.request.targets}
    # The engine refuses any other cell of a damaged run folder: here it is listed all the same.
    counted = [cell for cell in cells if sizes.keys() >= set(cell.devices) and _is_known(cell, catalog)]
    cost = estimate(counted, sizes, catalog, whole.estimate.assumed_bytes_per_s)
    return replace(whole, cells=cells, estimate=cost)


def _is_known(cell: Cell, catalog: Catalog) -> bool:
    return cell.variant.is_raw or filesystem_of(cell, catalog) is not None


# How large a device must be, and may be, for a plan to make sense on it.


def least_bytes(plan: PlanFile, catalog: Catalog) -> int:
    """Return the size below which no cell of the plan can run: the smallest filesystem, the smallest load.

    What an array can hold is said of each cell; a member may well be smaller than a filesystem, or larger.
    """
    if plan.arrays:
        return 1
    filesystems = [catalog.get(name).min_bytes for name in _names(plan)]
    if plan.scale.kind is ScaleKind.FIT:
        return min(filesystems, default=1)
    loads = [written_bytes(scaled(choice, plan.scale, 0)) for choice in workload_choices(plan)]
    return max(min(filesystems, default=1), min(loads))


def most_bytes(plan: PlanFile, catalog: Catalog) -> int:
    """Return the size above which no filesystem of the plan can be made; 0 where it has none."""
    if plan.arrays:
        return 0
    return max((catalog.get(name).max_bytes for name in _names(plan)), default=0)


def _names(plan: PlanFile) -> set[str]:
    listed = {checklist.filesystem for checklist in plan.checklists}
    return listed | {variant.filesystem for variant in plan.variants}
