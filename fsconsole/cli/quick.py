"""`fsconsole quick`: a comparison without a plan file."""

from __future__ import annotations

import os
import sys
import termios
from typing import TYPE_CHECKING, Annotated

import typer

from fsconsole.cli.app import Devices, JsonLines, RunsDir
from fsconsole.cli.complaint import command_line, need_root, terminal_width
from fsconsole.errors import Misused
from fsconsole.model import DEFAULT_RUNS_DIR
from fsconsole.text import printable

if TYPE_CHECKING:
    from fsconsole.cli.viewer import Interrupts
    from fsconsole.model.run import RunRequest
    from fsconsole.plan.planfile import PlanFile
    from fsconsole.plan.quick import Fitted
    from fsconsole.preflight.prepare import Prepared


def quick(
    row: Annotated[
        list[str],
        typer.Argument(metavar="FS[:MOUNT,...][@MKFS-WORDS]", help="Rows to compare: ext4, 'xfs@-m reflink=0'."),
    ],
    *,
    device: Devices = None,
    load: Annotated[str, typer.Option("--load", metavar="NAME", help="streams, or the name of a recipe.")] = "streams",
    threads: Annotated[str, typer.Option("--threads", metavar="N", help="Threads of each load.")] = "",
    size: Annotated[str, typer.Option("--size", metavar="SIZE", help="What the loads of a cell write.")] = "",
    rounds: Annotated[
        str, typer.Option("--rounds", metavar="N", help="Rounds, each with every row; verdicts need 3. Default: 5.")
    ] = "",
    time: Annotated[
        str,
        typer.Option("--for", metavar="TIME", help="Fit rounds and sizes into a time: 10m. With --rounds sizes alone."),
    ] = "",
    save_as: Annotated[str, typer.Option("--save", metavar="FILE", help="Write the plan to a file, then ask.")] = "",
    plan_only: Annotated[bool, typer.Option("--plan", help="Print the plan, and start nothing.")] = False,
    consent: Annotated[str, typer.Option("--consent", metavar="CODE", help="Consent code that it printed.")] = "",
    as_json: JsonLines = False,
    runs: RunsDir = DEFAULT_RUNS_DIR,
) -> None:
    """Compare filesystems without a plan file. Wipes the given devices.

    Shows a summary of the plan and asks before it wipes; without a terminal it needs --consent. Scratch devices need
    none: they start at once, --plan starts nothing. With --json the plan is the first line, as `fsconsole plan --json` prints it.
    """
    from fsconsole.cli.viewer import Interrupts
    from fsconsole.client.engine import create_request
    from fsconsole.journal.store import make_run_id
    from fsconsole.plan.quick import PLACE, naming_words, quick_plan
    from fsconsole.preflight.prepare import require_ready
    from fsconsole.units import parse_bytes, parse_seconds

    if not device:
        raise Misused(what="Missing option '--device'.", nearest="", command="fsconsole quick")
    need_root("Running a plan")
    run_id, numbers = make_run_id(), [_count("--threads", threads), _count("--rounds", rounds)]
    given = {"--load": load, "--threads": threads, "--size": size, "--rounds": rounds, "--for": time}
    again = command_line("quick", *row, *_options(given), devices=device, runs=runs)
    with Interrupts() as interrupts:
        with naming_words(row, load):
            planned = quick_plan(row, load, numbers[0], parse_bytes(size) if size else 0, numbers[1])
            budget_s = parse_seconds(time) if time else 0
            found, prepared = _prepared(planned, device, budget_s=budget_s, rounds=numbers[1], run_id=run_id, runs=runs)
        _save(save_as, found)
        _show(prepared, found, "" if consent else again, save_as, runs, as_json=as_json, is_end=plan_only)
        with naming_words(row, load):
            require_ready(prepared, PLACE)
        if plan_only:
            raise typer.Exit
        if not consent and not as_json and prepared.consent and _agrees(prepared):
            consent = prepared.consent
        _require_consent(consent, prepared, again)
        request = create_request(run_id, prepared.plan, prepared.targets)
        raise typer.Exit(_carried_out(request, interrupts, runs, as_json=as_json))


def _prepared(
    planned: PlanFile, devices: list[str], *, budget_s: float, rounds: int, run_id: str, runs: str
) -> tuple[Fitted, Prepared]:
    """Return the plan as it fits into the time on these devices, and as the gate found them."""
    from dataclasses import replace

    from fsconsole.client.runs import last_run_of
    from fsconsole.plan.quick import fitted, pace_of
    from fsconsole.preflight.prepare import expand_on, prepare
    from fsconsole.system.run import RealExecutor

    last = last_run_of(runs, planned.title)
    pace = pace_of(last) if last is not None else None
    found = fitted(planned, budget_s, lambda one: expand_on(one, devices, run_id), pace, rounds=rounds)
    prepared = prepare(found.plan_file, devices, executor=RealExecutor(), runs_dir=runs, run_id=run_id)
    # As it was fitted: by the last run's times, where there was one. The run that starts shows its time left by it too.
    lasting = replace(prepared.plan.estimate, elapsed_s=found.lasts_s)
    return found, replace(prepared, plan=replace(prepared.plan, estimate=lasting))


def _require_consent(consent: str, prepared: Prepared, again: str) -> None:
    """Raise ConsentMissing, whose hint is the command with the code, or ConsentStale."""
    from fsconsole.devices.consent import check_consent
    from fsconsole.errors.targets import ConsentMissing, ConsentStale

    try:
        check_consent(consent, prepared.reports)
    except ConsentMissing as error:
        # What would be lost was shown just now.
        error.command, error.does = f"{again} --consent {prepared.consent}", "agrees to the loss that is shown"
        raise
    except ConsentStale as error:
        error.command = again
        raise


def _carried_out(request: RunRequest, interrupts: Interrupts, runs: str, *, as_json: bool) -> int:
    """Start the run, show it to its end, and return its exit code."""
    from fsconsole.cli.viewer import watch
    from fsconsole.client.engine import start_engine

    folder = interrupts.create_run(runs, request)
    start_engine(folder)
    interrupts.pass_on_to(folder)
    code = watch(folder, as_json=as_json, interrupts=interrupts)
    if code == 0 and not as_json:
        advise = command_line("advise", folder.name, runs=runs)
        sys.stdout.write(f"\nWhich rows may be the best, and why: `{advise}`\n")
    return code


def _count(option: str, said: str) -> int:
    if said and not (said.isascii() and said.isdecimal() and int(said)):
        what = f"{option} takes a whole number from 1, not '{said}'."
        raise Misused(what=what, nearest="", command="fsconsole quick")
    return int(said) if said else 0


def _options(given: dict[str, str]) -> list[str]:
    return [word for option, said in given.items() if said for word in (option, said)]


def _save(path: str, found: Fitted) -> None:
    """Write the plan to a file, if there is a path; one that holds this plan already is left, so that a call can be repeated with its code."""
    from fsconsole.client.runs import save
    from fsconsole.plan.draft import plan_to_toml
    from fsconsole.system.files import read_text_or

    if not path:
        return
    text = plan_to_toml(found.plan_file)
    if not os.path.isfile(path) or read_text_or(path, "") != text.strip():
        save(path, text, overwrite=False)


def _show(prepared: Prepared, found: Fitted, again: str, saved: str, runs: str, *, as_json: bool, is_end: bool) -> None:
    """Print the plan; again is this command, to be repeated with the code of its consent, and empty where that was given."""
    from fsconsole.cli.plan_show import plan_answer, target_answer
    from fsconsole.client.runs import power_here
    from fsconsole.model.contract import document_text
    from fsconsole.show.plan_text import short_plan_lines

    power = power_here(prepared.plan, runs)
    if as_json:
        lines = [
            document_text(plan_answer(prepared.plan, prepared.reports, prepared.consent, prepared.seen, power=power))
        ]
    else:
        is_end = is_end or bool(again and prepared.consent and not _is_asked())
        is_refused = any(report.refusals for report in prepared.reports)
        agreeing = f"{again} --consent {prepared.consent}" if is_end and again and prepared.consent else ""
        whole = f"`fsconsole plan {saved or 'FILE'}` shows every step{'' if saved else ', after --save FILE'}."
        targets = tuple(map(target_answer, prepared.reports))
        notes = (*found.notes, *prepared.plan.notes, whole)
        told = short_plan_lines(
            prepared.plan,
            targets,
            agreeing,
            power,
            notes=notes,
            width=terminal_width(),
            goes_on=not (is_end or is_refused),
        )
        lines = list(told)
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def _is_asked() -> bool:
    """Tell whether the operator can be asked: what is lost goes to stdout, the question to stderr."""
    return all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


def _agrees(prepared: Prepared) -> bool:
    """Ask for the names of the devices to be wiped; what was typed before the question does not count."""
    from fsconsole.cli.plan_show import target_answer

    if not _is_asked():
        return False
    names = " ".join(target_answer(report).to_type for report in prepared.reports if report.needs_consent).split()
    if not names:
        return False
    termios.tcflush(sys.stdin, termios.TCIFLUSH)
    sys.stderr.write(f"Type {printable(' '.join(names))} to wipe it and start: ")
    sys.stderr.flush()
    return sys.stdin.readline().split() == names
