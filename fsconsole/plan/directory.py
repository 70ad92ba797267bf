"""A plan file applied to directories: a row for each, in rounds, without mkfs."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from fsconsole import units
from fsconsole.catalog.filesystem import Catalog
from fsconsole.errors.targets import PlanBadValue
from fsconsole.model.place import FILL_SHARE, RESERVE_SHARE, Place
from fsconsole.model.plan import DIRECTORY, Cell, Equalise, Order, Plan, Setting, Variant
from fsconsole.model.workload import Workload, WorkloadKind
from fsconsole.plan import planfile
from fsconsole.plan.directory_steps import directory_steps, own_path
from fsconsole.plan.expand import FLASH_BYTES_PER_S, cell_uuid, estimate, smaller, workload_choices
from fsconsole.plan.generators import with_data
from fsconsole.plan.inodes import inodes_needed
from fsconsole.plan.lines import in_its_line
from fsconsole.plan.planfile import FIT_SHARE, PlanFile, written_bytes
from fsconsole.plan.rows import baseline_of
from fsconsole.plan.scaling import Choice, Ground, Loads, scaled_choices, scaling_notes, scaling_of
from fsconsole.plan.sizing import Room, bounded
from fsconsole.text import counted

_NO_ROOT = (
    "without root: caches are not dropped (only the run's own files leave the page cache), the kernel's log, writeback "
    "of the device (bdi) and some processes of other users are not seen, and a hanging filesystem is not detected"
)

_SIZED_SHARE = 0.9
"""Of what a run may use when it is planned: what others write there until a cell begins must not refuse the cell."""


@dataclass(frozen=True, slots=True)
class Row:
    """A directory as a row: its label, its path without symbolic links, and what it lies on."""

    label: str
    path: str
    place: Place
    is_control: bool = False


def directory_plan(  # noqa: PLR0913 (each is a fact of its own)
    plan_file: PlanFile, rows: Sequence[Row], catalog: Catalog, *, run_id: str, is_root: bool, memory_bytes: int
) -> Plan:
    """Return the plan with a row for each directory; at least one. Raises PlanBadValue for what needs a device.

    memory_bytes is that of this machine.
    """
    require_no_device(plan_file)
    room = min((room_for(row.place) for row in rows), key=lambda one: one.free_bytes)
    ground = Ground(room.free_bytes, 0, memory_bytes)
    scaled = scaled_choices(plan_file, with_data(workload_choices(plan_file), memory_bytes), ground)
    allowed = int(_SIZED_SHARE * min(row.place.allowed_bytes for row in rows))
    choices = {_capped(bounded(one.loads, room), allowed): one for one in scaled}
    listed = list(rows)
    labels = [row.label for row in rows]
    baseline, against = baseline_of(plan_file, labels)
    if plan_file.control:
        at = labels.index(baseline)
        listed.insert(at + 1, replace(rows[at], label=f"{baseline} (control)", is_control=True))
    if len(listed) * len(choices) * plan_file.repeats > planfile.MAX_CELLS:
        most = f"at most {planfile.MAX_CELLS} cells"
        raise PlanBadValue(plan_file.path, "(all axes)", str(plan_file.repeats), "too many cells", most)
    cells = _numbered(_ordered(plan_file, listed, tuple(choices)), rows, choices, run_id)
    sizes = {row.path: row.place.size_bytes for row in rows}
    return Plan(
        title=plan_file.title,
        source=plan_file.source,
        seed=plan_file.seed,
        order=plan_file.order,
        repeats=plan_file.repeats,
        targets=tuple(row.path for row in rows),
        cells=cells,
        estimate=estimate(cells, sizes, catalog, FLASH_BYTES_PER_S),
        baseline=baseline,
        against=against,
        notes=(*scaling_notes(plan_file, scaled), *_notes(rows, scaled, is_root=is_root)),
        scaling=scaling_of(plan_file, scaled),
        same=plan_file.same,
        primary=plan_file.primary,
        is_auto=plan_file.is_auto,
    )


def require_no_device(plan_file: PlanFile) -> None:
    """Raise PlanBadValue where the plan asks for what only a device of its own can give."""
    why = "a directory is not formatted: its filesystem stays as it is"
    lacks = "a directory's device and machine are live: settings need a device of its own, and root"
    needs = (
        ("filesystem", plan_file.checklists, why, "no [[filesystem]], or --device instead of --directory"),
        ("variant", plan_file.variants, why, "no [[variant]], or --device instead of --directory"),
        ("array", plan_file.arrays, why, "no [[array]], or --device instead of --directory"),
        ("raw", plan_file.raw, "raw rows write to the device itself", "raw = false, or --device"),
        ("settings", plan_file.settings, lacks, "no [settings], or --device"),
        ("workload.with", _own_settings(plan_file), lacks, "no settings of a workload, or --device"),
        ("workload.trace", any(load.trace for load in plan_file.workloads), lacks, "trace = false, or --device"),
        ("age", plan_file.age, "ageing fills a filesystem of the run's own", "no age, or --device"),
        ("geometry", plan_file.stripe_chunk_bytes, why, "no geometry, or --device"),
        ("after.quick_check", plan_file.after.quick_check, "a mounted filesystem is not checked", "false, or --device"),
        ("after.crash", plan_file.after.crash, "it would shut down a live filesystem", "crash = false, or --device"),
    )
    for key, is_asked, reason, wanted in needs:
        if is_asked:
            error = PlanBadValue(plan_file.path, key, "...", reason, wanted)
            raise in_its_line(error, plan_file.path, plan_file.source)
    if plan_file.is_auto and plan_file.order is not Order.ROUNDS:
        reason = 'repeats = "auto" looks at verdicts, and only rounds have them'
        value = f'"{plan_file.order.value}"'
        wrong = PlanBadValue(plan_file.path, "order", value, reason, '"rounds", or a number of repeats')
        raise in_its_line(wrong, plan_file.path, plan_file.source)


def _own_settings(plan_file: PlanFile) -> tuple[tuple[str, str], ...]:
    return tuple(pair for load in plan_file.workloads for pair in load.settings)


def room_for(place: Place) -> Room:
    """Return the room of which loads fill FIT_SHARE when they fill most of what is allowed; 0 bytes are not known."""
    return Room(
        max(1, int(_SIZED_SHARE * place.allowed_bytes / FIT_SHARE)) if place.size_bytes else 0, place.free_inodes
    )


def _ordered(plan_file: PlanFile, rows: Sequence[Row], choices: Sequence[tuple[Workload, ...]]) -> list[Cell]:
    """Return the cells in their order, without position, UUID and steps."""
    cells = [
        Cell(
            index=-1,
            target=row.path,
            array=None,
            setting=Setting(),
            variant=Variant(label=row.label, filesystem=DIRECTORY, is_control=row.is_control),
            repeat=repeat,
            workloads=workloads,
            after=replace(plan_file.after, check=False),
            equalise=Equalise.NONE,
            uuid="",
            steps=(),
        )
        for workloads, row, repeat in product(choices, rows, range(1, plan_file.repeats + 1))
    ]
    if plan_file.order is not Order.AS_LISTED:
        random.Random(plan_file.seed).shuffle(cells)  # noqa: S311 (an order, not a secret)
    if plan_file.order is Order.ROUNDS:
        cells.sort(key=lambda cell: cell.repeat)
    return cells


def _numbered(
    cells: Sequence[Cell], rows: Sequence[Row], choices: Mapping[Loads, Choice], run_id: str
) -> tuple[Cell, ...]:
    placed, places = [], {row.path: row.place for row in rows}
    for index, cell in enumerate(cells):
        strange = dict.fromkeys(load.kind.value for load in cell.workloads if not load.can_run)
        reasons = (
            *(f"workloads of kind {kind} are not run by this version" for kind in strange),
            choices[cell.workloads].why,
            *lacks(cell.workloads, places[cell.target], cell.target),
        )
        why = "; ".join(filter(None, reasons))
        own = replace(cell, index=index, uuid=cell_uuid(run_id, index), unavailable=why)
        placed.append(replace(own, steps=directory_steps(own, run_id)))
    return tuple(placed)


def _capped(loads: Sequence[Workload], allowed: int) -> tuple[Workload, ...]:
    """Return loads of which each ends before it fills more than is allowed, also where time alone would end it."""
    endless = [number for number, load in enumerate(loads) if load.is_built_in and _adds(load) and not load.added_bytes]
    left = max(0, allowed - written_bytes(loads))
    return tuple(
        replace(load, limit_bytes=max(load.block_size_bytes, left // len(endless))) if number in endless else load
        for number, load in enumerate(loads)
    )


def _adds(load: Workload) -> bool:
    """Return whether a load makes its filesystem fuller, however long it goes on."""
    return any(kind in (WorkloadKind.CREATE, WorkloadKind.APPEND) for kind, _ in load.operations)


def lacks(workloads: Sequence[Workload], place: Place, path: str) -> Iterator[str]:
    """Yield why loads don't fit into a directory's filesystem, in clauses."""
    wanted = written_bytes(workloads)
    if place.size_bytes and wanted > place.allowed_bytes:
        free, allowed = units.format_bytes(place.free_bytes), units.format_bytes(place.allowed_bytes)
        yield (
            f"the workloads write {units.format_bytes(wanted)}, and of {free} free on {path} a run may use {allowed}"
            f" ({_shares()}): use {smaller(workloads)}"
        )
    inodes = inodes_needed(workloads)
    if place.free_inodes and inodes > place.free_inodes * FILL_SHARE:
        yield (
            f"the workloads make {inodes} files and directories, and of {place.free_inodes} free inodes on {path}"
            f" (df -i) a run may use {100 * FILL_SHARE:.0f} %: make fewer files"
        )


def _shares() -> str:
    return f"at most {100 * FILL_SHARE:.0f} %, and {100 * RESERVE_SHARE:.0f} % of the filesystem stay free"


def _notes(rows: Sequence[Row], choices: Sequence[Choice], *, is_root: bool) -> Iterator[str]:
    by_filesystem: dict[int, list[str]] = {}
    for row in rows:
        by_filesystem.setdefault(row.place.device_number, []).append(row.label)
        if any(load.cold for choice in choices for load in choice.loads) and not row.place.device:
            yield f"reads in {row.label} can't be shown to be cold: what its storage reads is not known to this machine"
    for labels in by_filesystem.values():
        if len(labels) > 1:
            yield f"{' and '.join(labels)} are on one filesystem: their rows differ by chance only"
    if any(not load.is_built_in for choice in choices for load in choice.loads):
        yield (
            "what programs write is not known beforehand: a load is stopped where less than "
            f"{100 * RESERVE_SHARE:.0f} % of the filesystem are free"
        )
    if not is_root:
        yield _NO_ROOT


def writes_in_words(plan: Plan, row: Row, run_id: str) -> str:
    """Return what a run writes in a directory and what it deletes, as a sentence."""
    cells = [cell for cell in plan.cells if cell.target == row.path and not cell.unavailable]
    most = max((written_bytes(cell.workloads) for cell in cells), default=0)
    amount = f"at most {units.format_bytes(most)}"
    if any(not load.is_built_in for cell in cells for load in cell.workloads):
        amount = "what its programs write"
    times = counted(len(cells), "time")
    name = own_path(row.path, os.path.basename(run_id))
    return (
        f"each cell makes {name}, writes {amount} in it and deletes it: {times}. Nothing "
        f"else there is touched. {units.format_bytes(row.place.allowed_bytes)} may be used ({_shares()})"
    )
