"""`fsconsole plan`: its answer as JSON and as text."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import typer
from msgspec.structs import replace

from fsconsole.catalog.loader import load_catalog
from fsconsole.cli.complaint import command_line, terminal_width
from fsconsole.client.runs import power_here
from fsconsole.devices.gate import GateReport, require
from fsconsole.devices.state import stands_on
from fsconsole.engine.proof import Renewal
from fsconsole.errors import Misused
from fsconsole.journal.store import make_run_id
from fsconsole.model.answers import DirectoryAnswer, PlanAnswer, PowerAnswer, TargetAnswer, array_answers, cell_answer
from fsconsole.model.contract import document_text
from fsconsole.model.plan import Plan
from fsconsole.plan.directory import writes_in_words
from fsconsole.plan.expand import plan_left, require_runnable
from fsconsole.plan.read import list_configs, read_plan
from fsconsole.preflight.directory import prepare_directories
from fsconsole.preflight.prepare import BETWEEN, expand_only, prepare
from fsconsole.preflight.root_listing import root_listings
from fsconsole.show.plan_text import directory_plan_lines, plan_lines, renewal_lines
from fsconsole.show.resume import resume_sentences
from fsconsole.show.shipped import shipped_text
from fsconsole.system.run import RealExecutor


def plan_answer(
    plan: Plan,
    reports: Sequence[GateReport],
    consent: str,
    seen: Sequence[str] = (),
    cell: int | None = None,
    *,
    power: PowerAnswer | None = None,
) -> PlanAnswer:
    """Return the plan as `--json` prints it, with all cells, or with one alone, counted from 1: 10,000 come to 70 MB.

    seen are the codes that bind a start to what is shown here; none where it is no plan to be started. Raises Misused
    for a cell that there isn't.
    """
    if cell is not None and cell > len(plan.cells):
        what = f"--cell is a number from 0 to {len(plan.cells)}, not '{cell}'."
        raise Misused(what=what, nearest="", command="fsconsole plan")
    cells = plan.cells if cell is None else plan.cells[cell - 1 : cell] if cell else ()
    reasons = [each.unavailable for each in plan.cells]
    labels = sorted({each.variant.label for each in plan.cells if not each.unavailable})
    codes = seen[1:] or [""] * len(reports)
    return PlanAnswer(
        title=plan.title,
        order=plan.order,
        seed=plan.seed,
        repeats=plan.repeats,
        arrays=array_answers(plan),
        targets=tuple(target_answer(report, code) for report, code in zip(reports, codes, strict=True)),
        cell_count=len(plan.cells),
        runnable=reasons.count(""),
        unavailable=tuple(dict.fromkeys(filter(None, reasons))),
        cells=tuple(map(cell_answer, cells)),
        notes=plan.notes,
        bytes_to_write=plan.estimate.bytes_to_write,
        likely_bytes=plan.estimate.likely_bytes,
        timed_bytes=plan.estimate.timed_bytes,
        timed_s=plan.estimate.timed_s,
        estimate_s=plan.estimate.elapsed_s,
        assumed_bytes_per_s=plan.estimate.assumed_bytes_per_s,
        rate_from=plan.estimate.rate_from,
        consent=consent,
        seen=BETWEEN.join(seen),
        power=power,
        rows=tuple(sorted(labels, key=lambda label: label != plan.baseline)),
        source_sha256=hashlib.sha256(plan.source.encode()).hexdigest(),
    )


def target_answer(report: GateReport, seen: str = "") -> TargetAnswer:
    """Return a target as the gate saw it."""
    device = report.device
    return TargetAnswer(
        path=device.path,
        name=device.name,
        identity=report.identity,
        seen=seen,
        stands_on=stands_on(device),
        kind=device.kind,
        model=device.model,
        serial=device.serial,
        size_bytes=device.size_bytes,
        scratch=not report.needs_consent,
        place=report.place,
        lookalike=report.lookalike,
        mark=report.mark,
        loss=report.loss,
        hazards=report.hazards,
    )


def show_renewal(name: str, renewal: Renewal, runs: str, *, as_json: bool) -> None:
    """Print what is left of a run, what has changed on its devices since, and what is on them now."""
    left, executor = plan_left(renewal.state, load_catalog()), RealExecutor()
    targets = tuple(
        replace(target_answer(report), changed=unproved.reason, files=root_listings(report, executor))
        for unproved, report in zip(renewal.unproven, renewal.reports, strict=True)
    )
    if as_json:
        sentences = resume_sentences(renewal.state, tuple(report.device.path for report in renewal.proven))
        answer = replace(plan_answer(left, (), renewal.consent), targets=targets, resumes=sentences)
        typer.echo(document_text(answer, indent=2))
        return
    agreeing = ("--consent", renewal.consent) if renewal.consent else ()
    command = command_line("resume", name, runs=runs, more=agreeing)
    proven = tuple(map(target_answer, renewal.proven))
    typer.echo(
        "\n".join(
            renewal_lines(left, targets, command, proven, resume_sentences(renewal.state), width=terminal_width())
        )
    )


def show_list(*, as_json: bool) -> None:
    """Print names and titles of the shipped plans."""
    plans = {path: read_plan(path) for path in list_configs()}
    if as_json:
        from fsconsole.cli.answers import PlansAnswer, ShippedPlan, tell

        tell(PlansAnswer(tuple(ShippedPlan(path.stem, plan.title) for path, plan in plans.items())))
        return
    typer.echo("\n".join(shipped_text(plans, load_catalog(), terminal_width())))


def show_directories(
    file: str, words: list[str], runs: str, *, as_json: bool, every: bool, cell: int | None = None
) -> None:
    """Print a plan for directories, and the command that runs it; cell is as in show()."""
    run_id = make_run_id()
    found = prepare_directories(file, words, runs_dir=runs, run_id=run_id)
    power = None if cell else power_here(found.plan, runs)
    directories = tuple(
        DirectoryAnswer(
            row.label, row.path, row.place, writes_in_words(found.plan, row, run_id), row.place.allowed_bytes
        )
        for row in found.rows
    )
    if as_json:
        answer = replace(plan_answer(found.plan, (), "", (), cell, power=power), directories=directories)
        typer.echo(document_text(answer, indent=2))
    else:
        command = command_line("run", file, directories=words, runs=runs)
        lines = directory_plan_lines(found.plan, directories, command, power, every=every, width=terminal_width())
        typer.echo("\n".join(lines))
    if cell is None:
        require_runnable(found.plan, file)


def show(file: str, devices: list[str], runs: str, *, as_json: bool, every: bool, cell: int | None = None) -> None:
    """Print a plan for these devices, or for none in particular; in JSON with one cell alone, from 1, with none for 0.

    Then raises what the gate says of the first device that it refuses, NoCellRuns where no cell can run.
    """
    found = None
    if devices:
        found = prepare(file, devices, executor=RealExecutor(), runs_dir=runs, run_id=make_run_id())
    plan = found.plan if found else expand_only(file, run_id=make_run_id())
    # Whoever asks for one cell has seen it: journals of other runs take time to read.
    power = None if cell else power_here(plan, runs)
    reports, consent = (found.reports, found.consent) if found else ((), "")
    if as_json:
        seen = found.seen if found else ()
        typer.echo(document_text(plan_answer(plan, reports, consent, seen, cell, power=power), indent=2))
    else:
        told = ("--consent", consent)
        agreeing = command_line("run", file, devices=devices, runs=runs, more=told) if consent else ""
        targets = tuple(map(target_answer, reports))
        lines = plan_lines(plan, targets, agreeing, power, every=every, width=terminal_width())
        typer.echo("\n".join(lines))
    for report in reports:
        require(report)
    if cell is None:
        require_runnable(plan, file)
