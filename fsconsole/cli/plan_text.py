"""A plan in plain lines, for reading."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from fsconsole import units
from fsconsole.devices.gate import GateReport
from fsconsole.model.hazard import Hazard, Verdict
from fsconsole.model.plan import Cell, Plan
from fsconsole.model.step import Step
from fsconsole.plaintext import printable

_VERDICTS = {Verdict.REFUSED: "REFUSED", Verdict.ASKED: "would be LOST"}


def plan_lines(plan: Plan, reports: Sequence[GateReport], consent: str, *, every: bool) -> Iterator[str]:
    """Yield the plan line by line: targets, cells in order, commands, costs, consent.

    The first cell that can run is shown with its commands, the others in a line each; every shows all in full.
    """
    yield from _head(plan)
    yield from _targets(reports)
    yield ""
    yield "Cells, in the order in which they run:"
    first = next((cell.index for cell in plan.cells if not cell.unavailable), None)
    for cell in plan.cells:
        yield _cell_line(cell, len(plan.cells))
        if cell.unavailable:
            yield f"      cannot run: {printable(cell.unavailable)}"
        if every or cell.index == first:
            yield from _step_lines(cell)
    if not every and len(plan.cells) > 1:
        yield "      (--commands prints the commands of every cell)"
    yield from _costs(plan)
    yield from _consent(reports, consent)


def _head(plan: Plan) -> Iterator[str]:
    running = sum(1 for cell in plan.cells if not cell.unavailable)
    yield printable(plan.title) or "(no title)"
    yield (
        f"{len(plan.cells)} cells, {running} of them can run; {plan.repeats} of each; "
        f"order {plan.order.value}, seed {plan.seed}"
    )
    for note in plan.notes:
        yield f"note: {printable(note)}"


def _targets(reports: Sequence[GateReport]) -> Iterator[str]:
    if not reports:
        yield "No device was named: nothing was looked at, and DEVICE stands for one below."
        return
    yield ""
    yield "Devices to be wiped:"
    for report in reports:
        scratch = "" if report.needs_consent else ", a scratch device"
        size = units.format_bytes(report.device.size_bytes)
        yield f"  {printable(report.device.path)}  {size}{scratch}"
        yield from (f"    {_hazard(hazard)}" for hazard in report.hazards)
        if not report.hazards:
            yield f"    holds {printable(report.loss)}"


def _hazard(hazard: Hazard) -> str:
    return f"{_VERDICTS[hazard.verdict]}: {printable(hazard.device)} {printable(hazard.reason)}"


def _cell_line(cell: Cell, count: int) -> str:
    width = len(str(count))
    threads = ",".join(str(workload.threads) for workload in cell.workloads)
    setting = "".join(f"  {name}={value}" for name, value in cell.setting.values)
    array = f"  {cell.array.level}" if cell.array is not None else ""
    return printable(
        f"  {cell.index + 1:>{width}}  {cell.target}{array}  {cell.variant.label}"
        f"  threads {threads}{setting}  repeat {cell.repeat}"
    )


def _step_lines(cell: Cell) -> Iterator[str]:
    for step in cell.steps:
        yield from _one_step(step)


def _one_step(step: Step) -> Iterator[str]:
    yield f"      {step.kind.value:<15} {printable(step.title)}"
    for argv in step.commands:
        yield f"        $ {printable(shlex.join(argv))}"


def _costs(plan: Plan) -> Iterator[str]:
    estimate = plan.estimate
    yield ""
    yield (
        f"To be written: {units.format_bytes(estimate.bytes_to_write)}; about "
        f"{units.format_seconds(estimate.elapsed_s)}, if a disk takes {units.format_rate(estimate.assumed_bytes_per_s)}."
    )
    yield "The filesystem UUIDs above are an example: every run makes new ones."


def _consent(reports: Sequence[GateReport], consent: str) -> Iterator[str]:
    refused = any(hazard.verdict is Verdict.REFUSED for report in reports for hazard in report.hazards)
    if refused:
        yield "No consent is possible while a device is refused."
    elif consent:
        devices = " ".join(f"--device {shlex.quote(report.device.path)}" for report in reports)
        yield f"To agree to all that would be lost: fsconsole run FILE {devices} --consent {consent}"
    elif reports:
        yield "No consent is needed: only scratch devices would be wiped."
    yield "Nothing was touched."
