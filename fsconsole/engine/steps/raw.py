"""Steps of raw rows: the pilot that chooses a depth, direct streams on the device, the read test."""

from __future__ import annotations

import json

from fsconsole.engine import warnings_load
from fsconsole.engine.steps import load, settings
from fsconsole.engine.work import CellWork, StepFailed, StepResult
from fsconsole.model.events import PilotFinished, Settled
from fsconsole.model.figures import Measurement
from fsconsole.model.metrics import Metric
from fsconsole.model.plan import Step, StepKind
from fsconsole.model.state import RAW_DEPTH, raw_depths, raw_pilot
from fsconsole.plan.raw import depth_of
from fsconsole.workloads.raw import StreamReport, from_line


def pilot(work: CellWork, step: Step) -> StepResult:
    """Choose the depth of writes, by durable throughput, and of reads; once in a run for each device or array."""
    if chosen := _depths(work):
        return StepResult(reason=_in_words(chosen))
    load.quiesce(work, step)
    rates: dict[str, dict[int, float]] = {"write": {}, "read": {}}
    for argv in step.commands:
        act = "write" if "write" in argv else "read"
        rates[act][depth_of(argv)] = _moved(work, argv, writes=act == "write").bytes_per_s
    chosen = {act: max(of_act, key=of_act.__getitem__) for act, of_act in rates.items()}
    figures = tuple(
        Measurement(Metric(f"raw_pilot_{act}_{depth}"), rate)
        for act, of_act in rates.items()
        for depth, rate in of_act.items()
    )
    settled = tuple(Settled(RAW_DEPTH.format(act), depth) for act, depth in chosen.items())
    found = PilotFinished(work.cell.index, work.run.attempt, settled, figures)
    work.run.journal.record(found, durable=True)
    work.run.pilots.append(found)
    return StepResult(figures, reason=_in_words(chosen))


def write(work: CellWork, step: Step) -> StepResult:
    """Write a raw stream after the whole gate; from then on the device's content is this run's own."""
    argv, depth = _chosen(work, step)
    settings.about_to_load(work)
    report = _moved(work, argv, writes=True)
    warnings_load.about_duration(work, step.title.partition(":")[0], _seconds(report, report.flushed_ns))
    write_s = _seconds(report, report.last_ended_ns)
    # The write columns that a raw row shares with filesystems; its flush is the drain.
    figures = [
        Measurement(Metric.RAW_WRITE_N if depth else Metric.RAW_WRITE_1, report.bytes_per_s),
        Measurement(Metric.WRITTEN, report.moved_bytes),
        Measurement(Metric.WRITE_TIME, write_s),
        Measurement(Metric.FIRST_DONE, _seconds(report, report.first_ended_ns)),
        Measurement(Metric.LAST_DONE, write_s),
        Measurement(Metric.DRAIN, (report.flushed_ns - report.last_ended_ns) / 1e9),
        Measurement(Metric.DURABLE, report.bytes_per_s),
    ]
    if write_s > 0:
        figures.append(Measurement(Metric.WRITE, report.moved_bytes / write_s))
    return StepResult(tuple(figures), reason=depth)


def read(work: CellWork, step: Step) -> StepResult:
    """Read what raw streams wrote."""
    argv, depth = _chosen(work, step)
    settings.about_to_load(work)
    report = _moved(work, argv, writes=False)
    figures = (
        Measurement(Metric.RAW_READ_N if depth else Metric.RAW_READ_1, report.bytes_per_s),
        Measurement(Metric.READ, report.bytes_per_s),
        Measurement(Metric.READ_BYTES, report.moved_bytes),
        Measurement(Metric.READ_TIME, _seconds(report, report.last_ended_ns)),
    )
    return StepResult(figures, reason=depth)


def readtest(work: CellWork, step: Step) -> StepResult:
    """Run the buffered read test."""
    settings.about_to_load(work)
    text = work.command(step.commands[0]).out
    try:
        figure = float(json.loads(text)["bytes_per_s"])
    except (ValueError, KeyError, TypeError) as error:
        raise StepFailed("the read test gave no figure") from error
    return StepResult((Measurement(Metric.READTEST, figure),))


def _moved(work: CellWork, argv: tuple[str, ...], *, writes: bool) -> StreamReport:
    """Run a stream; a write needs the same proof as a wipe."""
    if not writes:
        return from_line(work.command(argv).out)
    work.run.prover.prove_place(work.cell, work.cell.target)
    return from_line(work.wipe(argv).out)


def _chosen(work: CellWork, step: Step) -> tuple[tuple[str, ...], str]:
    """Return a stream's command, for the pilot's depth if it has several, and the depth as text."""
    if len(step.commands) == 1:
        return step.commands[0], ""
    depth = _depths(work).get("write" if step.kind is StepKind.RAW_WRITE else "read")
    for argv in step.commands:
        if depth_of(argv) == depth:
            return argv, f"{depth} at a time"
    raise StepFailed("no pilot has chosen a depth")


def _depths(work: CellWork) -> dict[str, int]:
    known = raw_pilot(work.run.pilots, work.run.request.plan.cells, work.cell)
    return raw_depths(known) if known else {}


def _in_words(chosen: dict[str, int]) -> str:
    return f"chosen: {', '.join(f'{act}s {depth} at a time' for act, depth in chosen.items())}"


def _seconds(report: StreamReport, until_ns: int) -> float:
    return (until_ns - report.first_started_ns) / 1e9
