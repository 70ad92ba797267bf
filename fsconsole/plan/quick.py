"""Plans of `fsconsole quick`: rows and a load from a few words, fitted into a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tomli
import tomli_w

from fsconsole.errors.targets import PlanBadValue
from fsconsole.model.plan import Keep, Plan
from fsconsole.model.workload import BUILT_IN
from fsconsole.plan.draft import plan_to_toml
from fsconsole.plan.expand import workload_choices
from fsconsole.plan.planfile import (
    AUTO_REPEATS,
    DEFAULT_REPEATS,
    SCHEMA,
    PlanFile,
    Scale,
    ScaleKind,
    written_bytes,
)
from fsconsole.plan.read import find_config, parse_plan
from fsconsole.plan.shipped import RECIPES
from fsconsole.units import format_bytes, format_bytes_exact, format_guess

STREAMS = "streams"
"""The default load: four threads write large files, then read them from a cold cache."""
PLACE = "quick"
"""The file name in errors about such a plan."""
_BUILT_IN_LOADS: dict[str, list[dict[str, Any]]] = {
    STREAMS: [
        {"name": "write", "kind": "create", "threads": 4},
        {"name": "read", "kind": "read", "threads": 4, "cold": True},
    ]
}
_SAYS_LITTLE_S = 3.0
"""A shorter load is mostly page cache, and the grid calls all below 10 s short (engine.warnings_load)."""
_CHOICES: tuple[tuple[int, float], ...] = (
    *((rounds, 1.0) for rounds in range(AUTO_REPEATS[0], DEFAULT_REPEATS - 1, -1)),
    *((DEFAULT_REPEATS, share) for share in (0.8, 0.6, 0.5, 0.4, 0.3)),
    *((3, share) for share in (0.3, 0.2, 0.1, 0.05, 0.02, 0.01)),
)
"""(rounds, share of each load), best first: five rounds of shorter loads before three, which verdicts need at least."""
_LEAST_LOAD_S = 1.0


def row_table(word: str) -> dict[str, str]:
    """Return the [[variant]] of a word FS[:MOUNT,...][@MKFS-WORDS]."""
    head, _, mkfs = word.partition("@")
    filesystem, _, mount = head.partition(":")
    said = {"type": filesystem.strip(), "mkfs": mkfs.strip(), "mount": mount.strip()}
    return {name: text for name, text in said.items() if text or name == "type"}


def quick_plan(words: Sequence[str], load: str = STREAMS, threads: int = 0, size_bytes: int = 0) -> PlanFile:
    """Return the plan of these rows; size_bytes is what the loads of a cell write, 0: as the load has it.

    Raises what the plan reader raises.
    """
    if load in _BUILT_IN_LOADS:
        document: dict[str, Any] = {"workload": [dict(table) for table in _BUILT_IN_LOADS[load]]}
        if size_bytes:
            document["workload"][0]["total_size"] = format_bytes_exact(size_bytes)
        path = PLACE
    else:
        path = str(_recipe(load))
        document = tomli.loads(Path(path).read_text(encoding="utf-8"))
    for table in document["workload"]:
        # A limit is a recipe's question, not this comparison's.
        table.pop("require", None)
        if threads and table["kind"] in {kind.value for kind in BUILT_IN}:
            table["threads"] = threads
    document |= {"schema": SCHEMA, "title": f"quick: {load}", "scale": "fit"}
    document["variant"] = list(map(row_table, words))
    if document.get("keep") == Keep.FILES.value:
        # Fewer files take less time, smaller ones hardly do.
        document["keep"] = Keep.FILE_SIZE.value
    plan = _reread(parse_plan(_text(document), path))
    return _of_size(plan, load, size_bytes)


def _recipe(load: str) -> Path:
    found = find_config(load, f"there is no load of that name; known: {STREAMS} and the recipes")
    if found.parent.name != RECIPES:
        raise PlanBadValue(PLACE, "--load", f'"{load}"', "it is a plan, not a recipe", "streams, or a recipe's name")
    return found


def _text(document: dict[str, Any]) -> str:

    return tomli_w.dumps(document)


def _reread(plan: PlanFile) -> PlanFile:
    """Return a plan as the reader has it from its own text, which --save writes."""
    return parse_plan(plan_to_toml(plan), PLACE)


def _planned_bytes(plan: PlanFile) -> int:
    return max(map(written_bytes, workload_choices(plan)))


def _of_size(plan: PlanFile, load: str, size_bytes: int) -> PlanFile:
    planned = _planned_bytes(plan)
    if not size_bytes or load in _BUILT_IN_LOADS:
        return plan
    if not 0 < size_bytes <= planned:
        why = f"{load} writes {format_bytes(planned)} in each cell"
        raise PlanBadValue(PLACE, "--size", format_bytes_exact(size_bytes), why, "a size below that")
    return _reread(replace(plan, scale=Scale(ScaleKind.FACTOR, size_bytes / planned)))


@dataclass(frozen=True, slots=True)
class Fitted:
    """A plan that takes at most the time given, or the shortest there is; notes are sentences."""

    plan_file: PlanFile
    plan: Plan
    notes: tuple[str, ...]


def fitted(plan_file: PlanFile, budget_s: float, expand: Callable[[PlanFile], Plan]) -> Fitted:
    """Return the plan with as many rounds, and then as large loads, as fit into budget_s; 0: as it stands.

    expand applies a plan to the devices.
    """
    whole = expand(plan_file)
    if not budget_s:
        return Fitted(plan_file, whole, tuple(_size_notes(plan_file, whole)))
    factor = whole.scaling.least if whole.scaling and plan_file.scale.kind is ScaleKind.FIT else plan_file.scale.factor
    for rounds, share in _CHOICES:
        chosen = _shortened(plan_file, rounds, share, factor)
        plan = expand(chosen)
        if plan.estimate.elapsed_s <= budget_s:
            break
    notes = (*_time_notes(plan, budget_s), *_short_notes(plan), *_size_notes(plan_file, plan))
    return Fitted(chosen, plan, notes)


def _shortened(plan_file: PlanFile, rounds: int, share: float, factor: float) -> PlanFile:
    loads = tuple(
        replace(load, duration_s=max(_LEAST_LOAD_S, load.duration_s * share)) if load.duration_s else load
        for load in plan_file.workloads
    )
    load_time_s = max(_LEAST_LOAD_S, plan_file.load_time_s * share)
    scale = plan_file.scale
    if share < 1 and _planned_bytes(plan_file):
        scale = Scale(ScaleKind.FACTOR, factor * share)
    changed = replace(plan_file, repeats=rounds, workloads=loads, load_time_s=load_time_s, scale=scale)
    return _reread(changed)


def _time_notes(plan: Plan, budget_s: float) -> Iterator[str]:
    lasts = format_guess(plan.estimate.elapsed_s)
    if plan.estimate.elapsed_s > budget_s:
        yield (
            f"It does not fit in {format_guess(budget_s)}: the shortest plan with verdicts, {plan.repeats} rounds, takes est. {lasts}."
        )
    else:
        yield f"Fits in {format_guess(budget_s)}: {plan.repeats} rounds, est. {lasts}."


def _short_notes(plan: Plan) -> Iterator[str]:
    rate = plan.estimate.assumed_bytes_per_s
    for load in plan.cells[0].workloads:
        moved_s = load.total_bytes / rate
        lasts_s = load.sizing.load_time_s if load.sizing is not None else load.duration_s or moved_s
        if 0 < lasts_s < _SAYS_LITTLE_S:
            yield f"'{load.name}' lasts about {lasts_s:.1f} s: too short to tell rows apart that are close; allow more time."


def _size_notes(plan_file: PlanFile, plan: Plan) -> Iterator[str]:
    planned, now = (
        _planned_bytes(replace(plan_file, scale=Scale())),
        max((written_bytes(cell.workloads) for cell in plan.cells), default=0),
    )
    if planned and now < planned and any(load.sizing is None for load in plan.cells[0].workloads):
        yield f"Sizes are reduced: {format_bytes(planned)} -> {format_bytes(now)} in each cell."
