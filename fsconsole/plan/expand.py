"""A plan file applied to devices: every cell, in the order in which they run."""

from __future__ import annotations

import random
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from fsconsole.catalog.filesystem import Catalog, Filesystem
from fsconsole.catalog.known import NOTHING_KNOWN, Known
from fsconsole.errors import PlanBadValue
from fsconsole.model.plan import Cell, Equalise, Order, Plan, Setting
from fsconsole.model.workload import Workload
from fsconsole.plan import availability, limits
from fsconsole.plan.array_place import EVERY_LEVEL, ArraySupport
from fsconsole.plan.array_steps import ArrayLife
from fsconsole.plan.axes import setting_choices, workload_choices
from fsconsole.plan.candidates import Row
from fsconsole.plan.estimate import FLASH_BYTES_PER_S, estimate
from fsconsole.plan.planfile import PlanFile
from fsconsole.plan.raw import raw_reasons
from fsconsole.plan.scale import scaled, written_bytes
from fsconsole.plan.sites import Site, sites_of
from fsconsole.plan.steps import Life, cell_steps
from fsconsole.plan.target import NO_DEVICE, TargetSpec
from fsconsole.plan.variants import Rows, list_rows


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a cell stands on the axes, before it has a position in the order."""

    site: Site
    setting: Setting
    workloads: tuple[Workload, ...]
    row: Row
    repeat: int


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
    places = _ordered(_places(plan_file, sites, listed.rows, choices), plan_file)
    cells = tuple(_cell(place, index, plan_file, catalog, run_id) for index, place in enumerate(places))
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
    usable = [availability.usable_bytes(target, catalog.get(name)) for target in targets for name in names]
    room = min(usable, default=min(target.size_bytes for target in targets))
    return tuple(scaled(choice, plan_file.scale, room) for choice in workload_choices(plan_file))


def _places(
    plan_file: PlanFile,
    sites: tuple[Site, ...],
    rows: tuple[Row, ...],
    choices: tuple[tuple[Workload, ...], ...],
) -> list[_Place]:
    settings = setting_choices(plan_file)
    repeats = max(1, plan_file.repeats)
    count = len(sites) * len(settings) * len(choices) * len(rows) * repeats
    if count > limits.MAX_CELLS:
        wanted = f"at most {limits.MAX_CELLS} cells"
        raise PlanBadValue(plan_file.path, "(all axes together)", str(count), "too many cells", wanted)
    return [_Place(*place) for place in product(sites, settings, choices, rows, range(1, repeats + 1))]


def _ordered(places: list[_Place], plan_file: PlanFile) -> list[_Place]:
    if plan_file.order is Order.INTERLEAVED:
        return sorted(places, key=lambda place: place.repeat)
    if plan_file.order is Order.SHUFFLED:
        shuffled = list(places)
        random.Random(plan_file.seed).shuffle(shuffled)  # noqa: S311 (an order, not a secret)
        return shuffled
    return places


def _cell(place: _Place, index: int, plan_file: PlanFile, catalog: Catalog, run_id: str) -> Cell:
    variant, site = place.row.variant, place.site
    filesystem = None if variant.is_raw else catalog.get(variant.filesystem)
    life = Life(
        target=site.target,
        filesystem=filesystem,
        variant=variant,
        workloads=place.workloads,
        setting=place.setting,
        equalise=_possible(plan_file.equalise, site.target),
        after=plan_file.after,
        uuid=cell_uuid(run_id, index),
        array=ArrayLife(site.array, site.members, array_uuid(run_id, index)) if site.array else None,
    )
    return Cell(
        index=index,
        target=site.target.path,
        array=site.array,
        members=tuple(member.path for member in site.members),
        setting=place.setting,
        variant=variant,
        repeat=place.repeat,
        workloads=place.workloads,
        after=plan_file.after,
        equalise=life.equalise,
        uuid=life.uuid,
        steps=cell_steps(life),
        unavailable=_unavailable(place, plan_file, filesystem),
    )


def _possible(equalise: Equalise, target: TargetSpec) -> Equalise:
    """Return what this device can do: without discard, every cell finds the blocks as the last one left them."""
    discards = equalise is not Equalise.DISCARD or target.can_discard
    return equalise if discards else Equalise.NONE


def _unavailable(place: _Place, plan_file: PlanFile, filesystem: Filesystem | None) -> str:
    reasons = (
        *availability.plan_reasons(plan_file),
        *availability.workload_reasons(place.workloads),
        *place.site.reasons,
        *availability.axis_reasons(place.setting, place.workloads, place.site.target),
        *availability.size_reasons(place.site.target, filesystem, written_bytes(place.workloads)),
        *(raw_reasons(place.site.target, place.workloads) if place.row.variant.is_raw else ()),
    )
    return "; ".join((place.row.unavailable, *reasons) if place.row.unavailable else reasons)


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
