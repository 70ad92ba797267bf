"""What a draft comes to: its rows, cells, bytes and time; worked out beside the screen, and shown by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fsconsole.catalog.filesystem import Catalog
from fsconsole.catalog.known import NOTHING_KNOWN, Known
from fsconsole.errors import FsconsoleError
from fsconsole.model.plan import Plan
from fsconsole.plan.array_place import EVERY_LEVEL, ArraySupport
from fsconsole.plan.candidates import Candidate, Machine, labels_of, list_candidates
from fsconsole.plan.estimate import FLASH_BYTES_PER_S, ROTATING_BYTES_PER_S
from fsconsole.plan.expand import plan_of_rows
from fsconsole.plan.planfile import PlanFile
from fsconsole.plan.target import NO_DEVICE, TargetSpec
from fsconsole.plan.variants import rows_of


@dataclass(frozen=True, slots=True)
class Disk:
    """A ticked device as far as a plan's figures go."""

    spec: TargetSpec
    is_rotating: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a draft; problem, hint: why there is no plan, in the reader's own words, empty where there is."""

    candidates: tuple[Candidate, ...] = ()
    labels: tuple[str, ...] = ()
    """Of the candidates, one for one."""
    plan: Plan | None = None
    problem: str = ""
    hint: str = ""


def work_out(  # noqa: PLR0913 (each is a fact of its own)
    plan_file: PlanFile,
    disks: Sequence[Disk],
    catalog: Catalog,
    *,
    kernel: str,
    known: Known = NOTHING_KNOWN,
    support: ArraySupport = EVERY_LEVEL,
) -> Outcome:
    """Return what a draft comes to on these disks, or on one that nothing is known of."""
    candidates: tuple[Candidate, ...] = ()
    labels: tuple[str, ...] = ()
    rate = ROTATING_BYTES_PER_S if any(disk.is_rotating for disk in disks) else FLASH_BYTES_PER_S
    try:
        candidates = list_candidates(plan_file, catalog, Machine(kernel, known))
        labels = _labels(candidates)
        rows = rows_of(plan_file, candidates)
        specs = [disk.spec for disk in disks] or [NO_DEVICE]
        plan = plan_of_rows(
            plan_file, rows, specs, catalog, run_id="draft", support=support, assumed_bytes_per_s=rate
        )
    except FsconsoleError as error:
        return Outcome(candidates, labels, None, str(error), error.hint)
    return Outcome(candidates, labels, plan)


def _labels(candidates: Sequence[Candidate]) -> tuple[str, ...]:
    """Return the rows' names as the grid will have them; what is left out is named beside all."""
    kept = [candidate for candidate in candidates if candidate.is_row]
    of_rows = iter(labels_of([candidate.row for candidate in kept]))
    of_all = labels_of([candidate.row for candidate in candidates])
    return tuple(
        next(of_rows) if candidate.is_row else label
        for candidate, label in zip(candidates, of_all, strict=True)
    )
