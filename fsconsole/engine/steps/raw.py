"""Raw rows: direct streams on the device itself, and the read test."""

from __future__ import annotations

import json

from fsconsole.engine import cautions
from fsconsole.engine.steps import settings
from fsconsole.engine.work import CellWork, StepFailed, StepResult
from fsconsole.model.measurement import Measurement, Metric
from fsconsole.model.step import Step
from fsconsole.workloads.rawreport import StreamReport, from_line


def write(work: CellWork, step: Step) -> StepResult:
    """Write the streams after the whole gate; from then on the device's content is this run's own."""
    (argv,) = step.commands
    work.run.prover.prove_place(work.cell)
    settings.about_to_load(work)
    with work.run.prover.wiping(work.cell, argv):
        report = from_line(work.command(argv).out)
    cautions.about_duration(work, step.title.partition(":")[0], _seconds(report, report.flushed_ns))
    metric = Metric.RAW_WRITE_1 if report.streams == 1 else Metric.RAW_WRITE_N
    return StepResult((Measurement(metric, report.bytes_per_s), *_as_a_load(report)))


def read(work: CellWork, step: Step) -> StepResult:
    """Read back what the streams wrote."""
    settings.about_to_load(work)
    report = from_line(work.command(step.commands[0]).out)
    metric = Metric.RAW_READ_1 if report.streams == 1 else Metric.RAW_READ_N
    return StepResult(
        (
            Measurement(metric, report.bytes_per_s),
            Measurement(Metric.READ, report.bytes_per_s),
            Measurement(Metric.READ_BYTES, report.moved_bytes),
            Measurement(Metric.READ_TIME, _seconds(report, report.last_ended_ns)),
        )
    )


def readtest(work: CellWork, step: Step) -> StepResult:
    """Read through the page cache for a while."""
    settings.about_to_load(work)
    text = work.command(step.commands[0]).out
    try:
        figure = float(json.loads(text)["bytes_per_s"])
    except (ValueError, KeyError, TypeError) as error:
        raise StepFailed("the read test gave no figure") from error
    return StepResult((Measurement(Metric.READTEST, figure),))


def _as_a_load(report: StreamReport) -> tuple[Measurement, ...]:
    """Return the columns of writes that a raw row shares with filesystems; the flush is its drain."""
    write_s = _seconds(report, report.last_ended_ns)
    figures = [
        Measurement(Metric.WRITTEN, report.moved_bytes),
        Measurement(Metric.WRITE_TIME, write_s),
        Measurement(Metric.FIRST_DONE, _seconds(report, report.first_ended_ns)),
        Measurement(Metric.LAST_DONE, write_s),
        Measurement(Metric.DRAIN, (report.flushed_ns - report.last_ended_ns) / 1e9),
        Measurement(Metric.DURABLE, report.bytes_per_s),
    ]
    if write_s > 0:
        figures.append(Measurement(Metric.WRITE, report.moved_bytes / write_s))
    return tuple(figures)


def _seconds(report: StreamReport, until_ns: int) -> float:
    return (until_ns - report.first_started_ns) / 1e9
