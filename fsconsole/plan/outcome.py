"""This machine as `fsconsole catalog --json` describes it, and the outcome of a draft on it: rows, cells, bytes, time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from fsconsole.catalog.filesystem import (
    NOTHING_KNOWN,
    Answer,
    Catalog,
    Filesystem,
    Known,
    Option,
    Scope,
    Verdict,
)
from fsconsole.catalog.words import why_no_driver, why_refused
from fsconsole.errors import FsconsoleError
from fsconsole.model.answers import CatalogAnswer, LevelAnswer, PowerAnswer
from fsconsole.model.plan import Loads, Plan
from fsconsole.plan.arrays import EVERY_LEVEL, Lacking
from fsconsole.plan.expand import build_plan
from fsconsole.plan.inodes import SHIPPED, Mke2fsConf
from fsconsole.plan.planfile import NO_DEVICE, PlanFile, TargetSpec
from fsconsole.plan.power import power_of
from fsconsole.plan.rows import Candidate, labels_of, list_candidates, rows_of, shared_words

_NO_DRIVER = "not in this kernel"
"""Text of the catalog's JSON under "kernel" where there is no driver."""


@dataclass(frozen=True, slots=True, eq=False)
class ThisMachine:
    """This machine; compared by identity, so that results can be cached."""

    kernel: str
    known: Known = NOTHING_KNOWN
    lacks: Mapping[str, str] = field(default_factory=dict)
    """Why a filesystem can't be used here, by its name, as a clause."""
    tried: frozenset[str] = frozenset()
    """Filesystems whose options were tried on this machine."""
    levels: Mapping[str, LevelAnswer] = field(default_factory=dict)
    """Levels of arrays that this machine can't make; empty where that was not asked."""
    is_asked: bool = True
    """False until it is known which filesystems can be used here."""

    @property
    def arrays(self) -> Lacking:
        """The levels that this machine lacks, as a plan takes them."""
        return {level: lack.unavailable for level, lack in self.levels.items()}

    def why_not(self, filesystem: Filesystem) -> str:
        """Return why a filesystem can't be used here; empty where it can."""
        return self.lacks.get(filesystem.name, "") or why_no_driver(filesystem, self.kernel, self.known)

    def refusal(self, filesystem: Filesystem, option: Option, value: str) -> str:
        """Return why an option at a value is refused here, in a clause with the kernel's words; empty where it isn't."""
        return why_refused(filesystem, option, value, self.kernel, self.known)

    def answers(self, filesystem: Filesystem, option: Option) -> tuple[Answer, ...]:
        """Return the results of trying an option."""
        found = (self.known.about(filesystem.name, option, value) for value in option.values_to_try)
        return tuple(answer for answer in found if answer is not None)


def this_machine(kernel: str, catalog: Sequence[CatalogAnswer]) -> ThisMachine:
    """Return this machine by the catalog's answer."""
    answers = (
        Answer(
            filesystem=entry.filesystem,
            scope=Scope(option.kind),
            option=option.name,
            value=answer.value,
            verdict=Verdict(answer.verdict),
            words=answer.words,
        )
        for entry in catalog
        for option in entry.options
        for answer in option.probe
    )
    absent = ((entry.filesystem, entry.unavailable) for entry in catalog if entry.kernel == _NO_DRIVER)
    return ThisMachine(
        kernel,
        Known(tuple(answers), tuple(absent)),
        {entry.filesystem: entry.unavailable for entry in catalog if entry.unavailable},
        frozenset(entry.filesystem for entry in catalog if entry.probed),
    )


def levels_of(levels: Iterable[LevelAnswer]) -> Mapping[str, LevelAnswer]:
    """Return the levels of arrays that this machine lacks."""
    return {level.level: level for level in levels if level.unavailable}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The plan of a draft; problem and hint are the reader's error where there is none."""

    candidates: tuple[Candidate, ...] = ()
    labels: tuple[str, ...] = ()
    """Of the candidates, one for one."""
    plan: Plan | None = None
    power: PowerAnswer | None = None
    """Smallest differences that the plan can find; None without cells."""
    problem: str = ""
    hint: str = ""
    shared: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Words that the labels of rows leave out, by filesystem."""


def work_out(  # noqa: PLR0913 (each is a fact of its own)
    plan_file: PlanFile,
    targets: Sequence[TargetSpec],
    catalog: Catalog,
    *,
    kernel: str,
    known: Known = NOTHING_KNOWN,
    support: Lacking = EVERY_LEVEL,
    last_spreads: Mapping[Loads, float] = MappingProxyType({}),
    memory_bytes: int = 0,
    mke2fs: Mke2fsConf = SHIPPED,
) -> Outcome:
    """Return the outcome of a draft on these devices, or on an unknown one; last_spreads are those of the last runs here.

    With what `fsconsole plan` knows of devices and machine, the same cells can run and the estimate is the same.
    """
    candidates: tuple[Candidate, ...] = ()
    labels: tuple[str, ...] = ()
    shared: Mapping[str, tuple[str, ...]] = {}
    try:
        candidates = list_candidates(plan_file, catalog, kernel, known)
        # Rows are named as the grid will have them; what is left out is named beside all.
        listed = [candidate for candidate in candidates if candidate.is_row]
        of_rows, shared = iter(labels_of(listed)), shared_words(listed)
        of_all = labels_of(candidates)
        labels = tuple(
            next(of_rows) if candidate.is_row else label for candidate, label in zip(candidates, of_all, strict=True)
        )
        rows = rows_of(plan_file, candidates)
        plan = build_plan(
            plan_file,
            targets or [NO_DEVICE],
            catalog,
            run_id="draft",
            support=support,
            listed=rows,
            memory_bytes=memory_bytes,
            mke2fs=mke2fs,
        )
    except FsconsoleError as error:
        return Outcome(candidates, labels, problem=str(error), hint=error.hint, shared=shared)
    power = power_of(plan, last_spreads.get(plan.loads)) if plan.cells else None
    return Outcome(candidates, labels, plan, power, shared=shared)
