"""Plans of `fsconsole quick`: rows and a load from a few words, fitted into a time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tomli
import tomli_w

from fsconsole.catalog.loader import load_catalog
from fsconsole.catalog.tables import raise_all
from fsconsole.errors import FsconsoleError
from fsconsole.errors.targets import NoCellRuns, PlanBadValue, PlanMissing
from fsconsole.model.plan import Cell, Keep, Plan, RateFrom, StepKind
from fsconsole.model.state import CellStatus, RunState
from fsconsole.model.verdicts import LEAST_ROUNDS
from fsconsole.model.workload import BUILT_IN, Workload
from fsconsole.plan.draft import plan_to_toml
from fsconsole.plan.expand import FLASH_BYTES_PER_S, workload_choices
from fsconsole.plan.planfile import (
    AUTO_REPEATS,
    DEFAULT_REPEATS,
    SCHEMA,
    PlanFile,
    Scale,
    ScaleKind,
    written_bytes,
)
from fsconsole.plan.read import find_config, list_configs, parse_plan
from fsconsole.plan.rows import Candidate, list_candidates
from fsconsole.plan.shipped import RECIPES
from fsconsole.units import format_bytes, format_bytes_exact, format_guess, format_rate

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
_LONG, _SHORT = (0.8, 0.6, 0.5, 0.4, 0.3), (0.2, 0.1, 0.05, 0.02, 0.01)
_CHOICES: tuple[tuple[int, float], ...] = (
    *((rounds, 1.0) for rounds in range(AUTO_REPEATS[0], DEFAULT_REPEATS - 1, -1)),
    *((DEFAULT_REPEATS, share) for share in _LONG),
    *((LEAST_ROUNDS, share) for share in (_LONG[-1], *_SHORT)),
)
"""(rounds, share of each load), best first: five rounds of shorter loads before three, which verdicts need at least."""
_LEAST_LOAD_S = 1.0


def row_table(word: str) -> dict[str, str]:
    """Return the [[variant]] of a word FS[:MOUNT,...][@MKFS-WORDS]."""
    head, _, mkfs = word.partition("@")
    filesystem, _, mount = head.partition(":")
    said = {"type": filesystem.strip(), "mkfs": mkfs.strip(), "mount": mount.strip()}
    return {name: text for name, text in said.items() if text or name == "type"}


def quick_plan(
    words: Sequence[str], load: str = STREAMS, threads: int = 0, size_bytes: int = 0, rounds: int = 0
) -> PlanFile:
    """Return the plan of these rows; size_bytes is what the loads of a cell write; of all numbers 0: as the load has it.

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
        if threads:
            _require_threads(table, load, threads)
            table["threads"] = threads
    document |= {"schema": SCHEMA, "title": f"quick: {load}", "scale": "fit"}
    if rounds:
        document["repeats"] = rounds
    document["variant"] = list(map(row_table, words))
    if document.get("keep") == Keep.FILES.value:
        # Fewer files take less time, smaller ones hardly do.
        document["keep"] = Keep.FILE_SIZE.value
    plan = _reread(parse_plan(tomli_w.dumps(document), path))
    _require_different(words, list_candidates(plan, load_catalog()))
    return _of_size(plan, load, size_bytes)


def _require_threads(table: dict[str, Any], load: str, threads: int) -> None:
    """Raise PlanBadValue for a load that takes no number of threads."""
    if table["kind"] not in {kind.value for kind in BUILT_IN}:
        why = f"'{table['name']}' of {load} is a program, which takes no threads"
        raise PlanBadValue(PLACE, "--threads", str(threads), why, "another load; or a plan of your own, by --save FILE")


def _require_different(words: Sequence[str], rows: Sequence[Candidate]) -> None:
    """Raise PlanBadValue for the first row that makes the same filesystem as an earlier one."""
    for number, row in enumerate(rows):
        if row.is_double:
            first = next(words[n] for n, other in enumerate(rows[:number]) if other.meaning == row.meaning)
            raise PlanBadValue(
                PLACE, f"row {number + 1}", f'"{words[number]}"', f'it is the same as "{first}"', "each row once"
            )


def _recipe(load: str) -> Path:
    recipes = [path.stem for path in list_configs() if path.parent.name == RECIPES]
    try:
        found = find_config(load)
    except PlanMissing as error:
        wanted = f"one of {STREAMS}, {', '.join(recipes)}"
        raise PlanBadValue(PLACE, "--load", f'"{load}"', "there is no load of that name", wanted) from error
    if found.parent.name != RECIPES:
        raise PlanBadValue(PLACE, "--load", f'"{load}"', "it is a plan, not a recipe", "streams, or a recipe's name")
    return found


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


# Errors.

_OF_ROW = re.compile(r"variant\[(\d+)\](?:\.(\w+))?")
_OF_OPTION = {"repeats": "--rounds", "threads": "--threads", "total_size": "--size"}


@contextmanager
def naming_words(words: Sequence[str], load: str) -> Iterator[None]:
    """Make errors raised in the block name the words of the command line: nobody has seen the plan's lines."""
    try:
        yield
    except FsconsoleError as error:
        for each in error.each:
            _name_word(each, words, load)
        raise_all(error.each)
        raise


def _name_word(error: FsconsoleError, words: Sequence[str], load: str) -> None:
    path, key = getattr(error, "path", None), getattr(error, "key", None)
    is_own = isinstance(path, str) and (path.partition(":")[0] == PLACE or f"/{RECIPES}/" in path)
    if not is_own or not isinstance(key, str):
        return
    found = _OF_ROW.match(key)
    if isinstance(error, NoCellRuns):
        error.path = f"{PLACE}: rows = {', '.join(words)}"
        return
    if found is not None and int(found[1]) < len(words):
        part = f", {found[2]}" if found[2] else ""
        key = f'row {int(found[1]) + 1} "{words[int(found[1])]}"{part}'
    elif key.startswith("workload") or key in _OF_OPTION:
        key = _OF_OPTION.get(key.rpartition(".")[2], f"--load {load}, {key}")
    error.path, error.key = PLACE, key  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class Pace:
    """Times of a finished run of the same load here: of a cell without its loads, and of its loads as a share of the estimate."""

    rest_s: float
    loads_share: float
    assumed_bytes_per_s: float = FLASH_BYTES_PER_S
    """The rate of that estimate."""

    def lasts_s(self, plan: Plan) -> float:
        """Return the seconds that a plan of this load takes."""
        cells = [cell for cell in plan.cells if not cell.unavailable]
        loads_s = sum(_loads_s(cell, self.assumed_bytes_per_s) for cell in cells)
        return _MARGIN * (self.rest_s * len(cells) + self.loads_share * loads_s) + _START_S


_MARGIN, _START_S = 1.2, 5.0
"""Factor on times of the last run, and the pilot and start of an engine, which no cell's steps have."""
_TELLS_S = 1.0
"""A cell's loads that were to take less say nothing of larger ones."""
_LOAD_STEPS = frozenset({StepKind.WORKLOAD, StepKind.DRAIN})


def pace_of(state: RunState) -> Pace | None:
    """Return the pace of a run's done cells; None where there are none."""
    plan = state.request.plan
    done = [number for number, cell in enumerate(state.cells) if cell.status is CellStatus.DONE]
    if not done:
        return None
    steps = [step for number in done for step in state.cells[number].steps]
    loads_s = sum(step.elapsed_s for step in steps if step.kind in _LOAD_STEPS)
    rest_s = sum(step.elapsed_s for step in steps) - loads_s
    planned_s = sum(_loads_s(plan.cells[number], plan.estimate.assumed_bytes_per_s) for number in done)
    if planned_s < _TELLS_S * len(done):
        # Nearly all of a short load is start and sync, which don't grow with its size.
        return Pace((rest_s + loads_s) / len(done), 1.0, plan.estimate.assumed_bytes_per_s)
    return Pace(rest_s / len(done), loads_s / planned_s, plan.estimate.assumed_bytes_per_s)


def _loads_s(cell: Cell, bytes_per_s: float) -> float:
    """Return the estimate of a cell's loads: their own times, or their bytes at the assumed rate."""
    return sum(_load_s(load, bytes_per_s) for load in cell.workloads)


def _load_s(load: Workload, bytes_per_s: float) -> float:
    return load.sizing.load_time_s if load.sizing is not None else load.duration_s or load.total_bytes / bytes_per_s


@dataclass(frozen=True, slots=True)
class Fitted:
    """A plan that takes at most the time given, or the shortest there is; notes are sentences."""

    plan_file: PlanFile
    plan: Plan
    lasts_s: float
    notes: tuple[str, ...]


def fitted(
    plan_file: PlanFile,
    budget_s: float,
    expand: Callable[[PlanFile], Plan],
    pace: Pace | None = None,
    *,
    rounds: int = 0,
) -> Fitted:
    """Return the plan with as many rounds, and then as large loads, as fit into budget_s; 0: as it stands.

    expand applies a plan to the devices; pace is that of the last run, where there is one; rounds: not fitted, unless 0.
    """

    def lasting(plan: Plan) -> float:
        return pace.lasts_s(plan) if pace is not None else plan.estimate.elapsed_s

    whole = expand(plan_file)
    if not budget_s:
        return Fitted(plan_file, whole, lasting(whole), ())
    factor = whole.scaling.least if whole.scaling and plan_file.scale.kind is ScaleKind.FIT else plan_file.scale.factor
    choices = [(rounds, share) for share in (1.0, *_LONG, *_SHORT)] if rounds else _CHOICES
    for repeats, share in choices:
        chosen = _shortened(plan_file, repeats, share, factor)
        plan = expand(chosen)
        if lasting(plan) <= budget_s:
            break
    lasts_s = lasting(plan)
    notes = (*_time_notes(plan, lasts_s, budget_s, pace), *_short_notes(plan))
    return Fitted(chosen, plan, lasts_s, notes)


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


def _time_notes(plan: Plan, lasts_s: float, budget_s: float, pace: Pace | None) -> Iterator[str]:
    lasts, asked = format_guess(lasts_s), format_guess(budget_s)
    bytes_per_s = plan.estimate.assumed_bytes_per_s
    if pace is not None:
        basis = "by the last run of this load here"
    elif plan.estimate.rate_from is RateFrom.ASSUMED:
        basis = f"at {format_rate(bytes_per_s)}: a guess, the next call knows better"
    else:
        basis = f"at {format_rate(bytes_per_s)}, {plan.estimate.rate_from.words}; the next call knows better"
    if lasts_s > budget_s:
        yield f"Does not fit in {asked}: the shortest plan, {plan.repeats} rounds, takes est. {lasts} ({basis})."
    else:
        yield f"Fits in {asked}: {plan.repeats} rounds, est. {lasts} ({basis})."


def _short_notes(plan: Plan) -> Iterator[str]:
    rate = plan.estimate.assumed_bytes_per_s
    lasting = {load.name: _load_s(load, rate) for load in plan.cells[0].workloads}
    short = [f"'{name}'" for name, lasts_s in lasting.items() if 0 < lasts_s < _SAYS_LITTLE_S]
    if short:
        yield f"Under {_SAYS_LITTLE_S:.0f} s: {', '.join(short)}; too short to tell close rows apart, allow more time."
