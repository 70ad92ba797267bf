"""Gate, equalise, mkfs and what mkfs made: the steps that can wipe."""

from __future__ import annotations

from fsconsole.catalog.filesystem import Scope
from fsconsole.engine.effects import note_features
from fsconsole.engine.work import CellWork, StepResult
from fsconsole.inspect.features import parse_mkfs_features
from fsconsole.model.command import CommandResult
from fsconsole.model.measurement import Measurement, Metric
from fsconsole.model.step import Step


def pass_gate(work: CellWork, _step: Step) -> StepResult:
    """Prove that the target is still what was agreed upon; an error here ends the run."""
    work.run.prover.prove_cell(work.cell)
    return StepResult(verdict="passed")


def equalise(work: CellWork, step: Step) -> StepResult:
    """Bring the device into the state that every cell starts from; the gate was passed right before."""
    for argv in step.commands:
        _wipe(work, argv, step.device)
    return StepResult(verdict=work.cell.equalise.value)


def make(work: CellWork, step: Step) -> StepResult:
    """Format; the first command is mkfs and is the one that is timed, tuning words follow."""
    work.run.prover.prove_place(work.cell)
    results = [_wipe(work, argv) for argv in step.commands]
    work.run.prover.has_made(work.cell)
    usage = results[0].usage
    return StepResult(
        (
            Measurement(Metric.MKFS, usage.elapsed_s),
            Measurement(Metric.MKFS_USER, usage.user_s),
            Measurement(Metric.MKFS_SYSTEM, usage.system_s),
        )
    )


def _wipe(work: CellWork, argv: tuple[str, ...], device: str = "") -> CommandResult:
    with work.run.prover.wiping(work.cell, argv, (device,) if device else ()):
        return work.command(argv)


def read_features(work: CellWork, step: Step) -> StepResult:
    """Read back what mkfs really made."""
    for argv in step.commands:
        text = work.command(argv).out
        note_features(work, Scope.MKFS, parse_mkfs_features(work.cell.variant.filesystem, text))
    return StepResult()
