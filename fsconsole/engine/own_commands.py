"""Whether a journal asks for nothing but the commands that fsconsole itself makes.

An engine is root and runs what stands in the journal. A run folder that came from elsewhere, or that was edited,
must not bring a second device, a path or a program in.
"""

from __future__ import annotations

import shlex

from fsconsole import __version__
from fsconsole.catalog.filesystem import Catalog, Filesystem
from fsconsole.catalog.words import Where, split_flags, split_mount, to_argv
from fsconsole.devices.discovery import find_device
from fsconsole.errors import JournalUnusable, OptionRefused
from fsconsole.model.plan import Cell
from fsconsole.model.run import RunRequest
from fsconsole.model.step import Step
from fsconsole.plan.array_place import ARRAY_PATH
from fsconsole.plan.arrays import BITMAPS, LEVELS, POLICIES, as_the_level_has_it, least_members
from fsconsole.plan.expand import cell_uuid
from fsconsole.plan.rebuild import filesystem_of, rebuilt_steps
from fsconsole.plan.target import TargetSpec
from fsconsole.preflight.prepare import target_spec


def require_own_commands(request: RunRequest, catalog: Catalog, journal_path: str) -> None:
    """Let a request pass whose every command is one that its own cell comes to; its targets are proved before.

    Raises JournalUnusable, and DeviceMissing where a target has gone since.
    """
    known = {target.path: target_spec(find_device(target.path)) for target in request.targets}
    for cell in request.plan.cells:
        why = "" if cell.unavailable else objection(cell, request.run_id, known, catalog)
        if why:
            raise JournalUnusable(journal_path, f"cell {cell.index + 1} {why}")


def objection(cell: Cell, run_id: str, known: dict[str, TargetSpec], catalog: Catalog) -> str:
    """Return what is wrong with a cell, as a clause; empty where nothing is."""
    strangers = [path for path in cell.devices if path not in known]
    if strangers:
        return f"is for {strangers[0]}, which nobody agreed to have wiped"
    if not _is_own_array(cell):
        return "is for an array that fsconsole would not make"
    if cell.uuid != cell_uuid(run_id, cell.index):
        return f"has the UUID {cell.uuid}, which this run never gave"
    filesystem = filesystem_of(cell, catalog)
    if filesystem is None and not cell.variant.is_raw:
        return f"is for {cell.variant.filesystem}, which is not in the catalog"
    if filesystem is not None and not _has_allowed_words(cell, filesystem):
        return "has option words that are not on the list"
    devices = [known[path] for path in cell.devices]
    return _strangeness(cell.steps, rebuilt_steps(cell, devices, filesystem, run_id))


def _is_own_array(cell: Cell) -> bool:
    """Return whether a cell has no array at all, or one whose every word is on the list, made of its own members."""
    spec, members = cell.array, cell.members
    if spec is None:
        return not members
    is_known = (
        spec.level in LEVELS
        and spec.bitmap in ("", *BITMAPS)
        and spec.consistency_policy in ("", *POLICIES)
        and spec == as_the_level_has_it(spec)
        and min(spec.chunk_bytes, spec.stripe_cache_size, spec.group_thread_count + 1) >= 0
    )
    is_whole = len(set(members)) == len(members) >= least_members(spec.level)
    return is_known and is_whole and cell.target == ARRAY_PATH and spec.members in (0, len(members))


def _strangeness(asked: tuple[Step, ...], own: tuple[Step, ...]) -> str:
    known = {argv for step in own for argv in step.commands}
    strange = [argv for step in asked for argv in step.commands if argv not in known]
    if strange:
        return f"asks for a command that fsconsole would not make: {shlex.join(strange[0])}"
    # A gate that was left out, or a mkfs that came before it, is made of known commands too.
    return "" if _acts(asked) == _acts(own) else f"has other steps than fsconsole {__version__} would take"


def _acts(steps: tuple[Step, ...]) -> list[tuple[object, ...]]:
    return [(step.kind, step.commands, step.workload, step.writes, step.device) for step in steps]


def _has_allowed_words(cell: Cell, filesystem: Filesystem) -> bool:
    variant, where = cell.variant, Where("the journal", "options")
    try:
        mkfs = split_flags(shlex.join(variant.mkfs_words), filesystem.mkfs_flags, where)
        tune = split_flags(shlex.join(variant.tune_words), filesystem.tune_flags, where)
        mount = split_mount(",".join(variant.mount_words), filesystem.mount_words, where)
    except OptionRefused:
        return False
    said = (to_argv(mkfs), to_argv(tune), tuple(word.text for word in mount))
    return said == (variant.mkfs_words, variant.tune_words, variant.mount_words)
