"""Made runs for tests: a plan with its cells, and states as the fold would give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fsconsole.journal.folder import RunFolder
from fsconsole.model.device import Fingerprint, Identity
from fsconsole.model.events import Outcome, RunStarted, WarningKind, WarningRaised
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import (
    After,
    Cell,
    Equalise,
    Estimate,
    Order,
    Plan,
    Setting,
    Step,
    StepKind,
    Variant,
)
from fsconsole.model.run import RunRequest, Target
from fsconsole.model.sample import CpuShares, DeviceRates, LoadProgress, NumberedCpu, Sample, Writeback
from fsconsole.model.state import CellState, CellStatus, RunState, RunStatus, StepState
from fsconsole.model.workload import Workload, WorkloadKind
from fsconsole.show.history import History, RunSnapshot, known_of, names_of
from fsconsole.text import GIB, KIB, MIB

SECOND_NS = 10**9
CREATED_NS = 1_795_248_600 * SECOND_NS
"""2026-11-21 08:10 UTC."""

FIGURES = {
    Metric.WRITE: 812.4e6,
    Metric.DURABLE: 410.2e6,
    Metric.CPU: 29.6,
    Metric.EXTENTS_MEAN: 1.02,
    Metric.MKFS: 0.0431,
    Metric.CHECK: 0.312,
    Metric.DELETE: 0.0452,
    Metric.DELETE_DURABLE: 0.0713,
}

EXT4 = Variant("ext4 data=ordered", "ext4", mount_words=("data=ordered",))
EXT4_OTHER = Variant("ext4 data=writeback,nodelalloc", "ext4", mount_words=("data=writeback", "nodelalloc"))
XFS = Variant("xfs", "xfs")
BTRFS = Variant("btrfs", "btrfs")

LARGE_FILES = Workload("large files", WorkloadKind.CREATE, 16, 16, 64 * MIB, 64 * KIB)

STEPS = (
    Step(StepKind.GATE, "prove the target"),
    Step(StepKind.MKFS, "make the filesystem", (("mkfs.ext4", "/dev/loop7"),)),
    Step(StepKind.WORKLOAD, "large files", workload=0),
    Step(StepKind.DRAIN, "drain", workload=0),
    Step(StepKind.EXTENTS, "count extents"),
    Step(StepKind.CHECK, "check"),
    Step(StepKind.DELETE, "delete"),
)
_STEP_OF = {
    Metric.MKFS: StepKind.MKFS,
    Metric.WRITE: StepKind.WORKLOAD,
    Metric.EXTENTS_MEAN: StepKind.EXTENTS,
    Metric.CHECK: StepKind.CHECK,
    Metric.DELETE: StepKind.DELETE,
    Metric.DELETE_DURABLE: StepKind.DELETE,
}


def cell(index: int, variant: Variant = EXT4, *, repeat: int = 1, unavailable: str = "") -> Cell:
    return Cell(
        index=index,
        target="/dev/loop7",
        array=None,
        setting=Setting(),
        variant=variant,
        repeat=repeat,
        workloads=(LARGE_FILES,),
        after=After(),
        equalise=Equalise.DISCARD,
        uuid=f"00000000-0000-4000-8000-{index:012d}",
        steps=STEPS,
        unavailable=unavailable,
    )


def finished_steps(
    figures: dict[Metric, float], *, verdict: str = "clean", kinds: Sequence[Step] = STEPS
) -> tuple[StepState, ...]:
    """One second per step; what belongs to no step in particular stands with the drain."""
    steps = []
    for number, step in enumerate(kinds):
        measured = tuple(
            Measurement(metric, value)
            for metric, value in figures.items()
            if _STEP_OF.get(metric, StepKind.DRAIN) is step.kind
        )
        word = verdict if step.kind is StepKind.CHECK else ""
        steps.append(
            StepState(number, step.kind, step.title, number * SECOND_NS, Outcome.DONE, 1.0, "", word, (), measured)
        )
    return tuple(steps)


def done(
    index: int,
    *,
    verdict: str = "clean",
    warnings: tuple[WarningRaised, ...] = (),
    factors: Mapping[Metric, float] | None = None,
    more: Mapping[Metric, float] | None = None,
) -> CellState:
    """A finished cell with FIGURES, and more; factors {DURABLE: 0.5} halve that figure."""
    figures = {metric: value * (factors or {}).get(metric, 1.0) for metric, value in FIGURES.items()}
    steps = finished_steps({**figures, **(more or {})}, verdict=verdict)
    return CellState(index, CellStatus.DONE, 1, "", steps, (), warnings)


def failed(index: int, reason: str = "mkfs: mkfs.xfs failed with exit code 1: no room") -> CellState:
    steps = (
        StepState(0, StepKind.GATE, "prove the target", 0, Outcome.DONE, 1.0),
        StepState(1, StepKind.MKFS, "make the filesystem", SECOND_NS, Outcome.FAILED, 1.0, reason),
    )
    return CellState(index, CellStatus.FAILED, 1, reason, steps)


def running(index: int, kind: StepKind = StepKind.DRAIN, *, status: CellStatus = CellStatus.RUNNING) -> CellState:
    """A cell in the midst of a step: all steps before it are finished, without figures."""
    number = next(number for number, step in enumerate(STEPS) if step.kind is kind)
    before = finished_steps({}, kinds=STEPS[:number])
    now = StepState(number, kind, STEPS[number].title, number * SECOND_NS)
    return CellState(index, status, 1, "", (*before, now))


def warning(index: int | None, kind: WarningKind = WarningKind.SHORT, reason: str = "it took 3.1 s") -> WarningRaised:
    return WarningRaised(index, 1, kind, reason, "Write more before you compare variants that are close.")


def request(cells: Sequence[Cell], *, title: str = "four filesystems", notes: tuple[str, ...] = ()) -> RunRequest:
    identity = Identity("loop7", "boot", 1799, 2 * GIB, scratch_id="scratch-1")
    plan = Plan(
        title=title,
        source="schema = 1\n",
        seed=1,
        order=Order.ROUNDS,
        repeats=max((cell.repeat for cell in cells), default=1),
        targets=("/dev/loop7",),
        cells=tuple(cells),
        estimate=Estimate(8 * GIB, 80.0, 400e6),
        notes=notes,
    )
    return RunRequest(
        run_id="20261121-081000-k7qf",
        created_wall_ns=CREATED_NS,
        version="0.1.0",
        plan=plan,
        targets=(Target("/dev/loop7", Fingerprint(identity, (), (), "", ()), (), ""),),
    )


def run(
    cells: Sequence[Cell],
    states: Sequence[CellState],
    *,
    status: RunStatus = RunStatus.FINISHED,
    title: str = "four filesystems",
    warnings: tuple[WarningRaised, ...] = (),
) -> RunState:
    facts = (("cpus", "2"), ("memory_bytes", str(4 * GIB)))
    current = [state.index for state in states if state.status is CellStatus.RUNNING]
    return RunState(
        request=request(cells, title=title),
        status=status,
        started=(RunStarted(1, "0.1.0", "boot", "6.18.0", "box", facts),),
        cells=tuple(states),
        current_cell=current[0] if current else None,
        warnings=warnings,
        outcome=Outcome.DONE if status is RunStatus.FINISHED else None,
    )


def demo() -> RunState:
    """Four variants, one of each way to end."""
    cells = (cell(0), cell(1, EXT4_OTHER), cell(2, XFS), cell(3, BTRFS))
    states = (
        done(0, warnings=(warning(0), warning(0, WarningKind.NOT_COMPARABLE, "the target is a loop device"))),
        done(1, factors={Metric.DURABLE: 1.31, Metric.CHECK: 10.0}, verdict="errors", warnings=(warning(1),)),
        failed(2),
        CellState(3, CellStatus.UNAVAILABLE, 1, "mkfs.btrfs is not installed (package btrfs-progs)"),
    )
    return run(cells, states)


def repeated() -> RunState:
    """Two variants, three repeats each, the second's far apart."""
    cells = [cell(i, EXT4 if i % 2 == 0 else XFS, repeat=i // 2 + 1) for i in range(6)]
    factors = (1.0, 0.8, 1.02, 1.0, 0.98, 1.3)
    return run(cells, [done(i, factors={Metric.DURABLE: factor}) for i, factor in enumerate(factors)])


def sample(at_ns: int = 0, *, load: bool = True, threshold_bytes: int | None = 400 * MIB) -> Sample:
    return Sample(
        monotonic_ns=at_ns,
        wall_ns=CREATED_NS + at_ns,
        interval_s=0.5,
        cell=0,
        step="workload",
        cpu=CpuShares(10.0, 0.0, 19.6, 30.0, 0.0, 0.4, 40.0),
        per_cpu=(
            NumberedCpu(0, CpuShares(10.0, 0.0, 10.0, 30.0, 0.0, 0.0, 50.0)),
            NumberedCpu(1, CpuShares(10.0, 0.0, 29.2, 30.0, 0.0, 0.8, 30.0)),
        ),
        writeback=Writeback(300 * MIB, 12 * MIB, threshold_bytes, 200 * MIB if threshold_bytes else None),
        devices=(DeviceRates("loop7", 0.0, 410.2e6, 0.0, 800.0, 12, 98.2, 14.0),),
        load=LoadProgress(GIB, 16384, 3, 13, 812.4e6) if load else None,
    )


def with_sample(state: RunState, at_ns: int = 0) -> RunState:
    return replace(state, last_sample=sample(at_ns))


def snapshot(
    state: RunState, sample: Sample | None = None, *, alive: bool = True, best_bytes_s: float = 0.0
) -> RunSnapshot:
    """One look at a run, of which curves are not known."""
    names, history = names_of(state.request.plan), History(best_write_bytes_s=best_bytes_s)
    return RunSnapshot(RunFolder("/runs/r"), state, names, known_of(state), sample, history, alive)
