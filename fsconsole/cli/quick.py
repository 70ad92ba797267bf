"""`fsconsole quick`: a comparison without a plan file."""

from __future__ import annotations

import sys
import termios
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from fsconsole.cli.app import Devices, JsonLines, RunsDir
from fsconsole.cli.complaint import command_line, need_root, require_targets
from fsconsole.errors import Misused
from fsconsole.model import DEFAULT_RUNS_DIR
from fsconsole.text import printable

if TYPE_CHECKING:
    from fsconsole.preflight.prepare import Prepared


def quick(
    row: Annotated[
        list[str],
        typer.Argument(metavar="FS[:MOUNT,...][@MKFS-WORDS]...", help="Rows to compare: ext4, 'xfs@-m reflink=0'."),
    ],
    *,
    device: Devices = None,
    load: Annotated[str, typer.Option("--load", metavar="NAME", help="streams, or the name of a recipe.")] = "streams",
    threads: Annotated[str, typer.Option("--threads", metavar="N", help="Threads of each load.")] = "",
    size: Annotated[str, typer.Option("--size", metavar="SIZE", help="What the loads of a cell write.")] = "",
    time: Annotated[str, typer.Option("--for", metavar="TIME", help="Fit rounds and sizes into a time: 10m.")] = "",
    save_as: Annotated[str, typer.Option("--save", metavar="FILE", help="Write the plan to a new file.")] = "",
    consent: Annotated[str, typer.Option("--consent", metavar="CODE", help="Consent code that it printed.")] = "",
    as_json: JsonLines = False,
    runs: RunsDir = DEFAULT_RUNS_DIR,
) -> None:
    """Compare filesystems without a plan file. Wipes the given devices.

    Shows the plan and asks before it wipes; without a terminal it needs --consent. Scratch devices need none.
    """
    from fsconsole.cli.run import _create_run, _require_ready, start_and_show
    from fsconsole.cli.viewer import Interrupts
    from fsconsole.client.engine import create_request
    from fsconsole.client.runs import save
    from fsconsole.devices.gate import check_consent
    from fsconsole.errors.targets import ConsentMissing, ConsentStale
    from fsconsole.journal.store import make_run_id
    from fsconsole.plan.draft import plan_to_toml
    from fsconsole.plan.quick import fitted, quick_plan
    from fsconsole.preflight.prepare import expand_on, prepare
    from fsconsole.system.run import RealExecutor
    from fsconsole.units import parse_bytes, parse_seconds

    require_targets("quick", device, None)
    need_root("Running a plan")
    devices = device or []
    planned = quick_plan(row, load, _count(threads), parse_bytes(size) if size else 0)
    run_id = make_run_id()
    with Interrupts() as interrupts:
        found = fitted(planned, parse_seconds(time) if time else 0, lambda one: expand_on(one, devices, run_id))
        prepared = prepare(found.plan_file, devices, executor=RealExecutor(), runs_dir=runs, run_id=run_id)
        given = {"--load": load, "--threads": threads, "--size": size, "--for": time}
        again = command_line("quick", *row, *_options(given), devices=devices, runs=runs)
        if not as_json:
            _show(prepared, found.notes, again, runs)
        _require_ready(prepared, "quick")
        if not consent and not as_json and prepared.consent and _agrees(prepared):
            consent = prepared.consent
        try:
            check_consent(consent, prepared.reports)
        except (ConsentMissing, ConsentStale) as error:
            error.command = again
            raise
        if save_as:
            save(save_as, plan_to_toml(found.plan_file), overwrite=False)
        request = create_request(run_id, prepared.plan, prepared.targets)
        folder = _create_run(runs, request, interrupts)
        start_and_show(folder, interrupts, detach=False, as_json=as_json)


def _count(threads: str) -> int:
    if threads and not (threads.isascii() and threads.isdecimal() and int(threads)):
        what = f"--threads takes a whole number from 1, not '{threads}'."
        raise Misused(what=what, nearest="", command="fsconsole quick")
    return int(threads) if threads else 0


def _options(given: dict[str, str]) -> list[str]:
    return [word for option, said in given.items() if said for word in (option, said)]


def _show(prepared: Prepared, notes: Sequence[str], again: str, runs: str) -> None:
    from fsconsole.cli.plan_show import target_answer
    from fsconsole.cli.results import terminal_width
    from fsconsole.client.runs import last_spread
    from fsconsole.plan.power import power_of
    from fsconsole.results.content import hanging
    from fsconsole.show.plan_text import plan_lines

    width = terminal_width()
    agreeing = f"{again} --consent {prepared.consent}" if prepared.consent else ""
    targets = tuple(map(target_answer, prepared.reports))
    power = power_of(prepared.plan, last_spread(runs))
    lines = [*plan_lines(prepared.plan, targets, agreeing, power, every=False, width=width)]
    lines += [line for note in notes for line in hanging("", note, width)]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def _agrees(prepared: Prepared) -> bool:
    """Ask for the names of the devices to be wiped; what was typed before the question does not count."""
    from fsconsole.cli.plan_show import target_answer

    # Who agrees must have seen what is lost, which goes to stdout.
    if not all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        return False
    names = " ".join(target_answer(report).to_type for report in prepared.reports if report.needs_consent).split()
    if not names:
        return False
    termios.tcflush(sys.stdin, termios.TCIFLUSH)
    sys.stderr.write(f"Type {printable(' '.join(names))} to wipe it and start: ")
    sys.stderr.flush()
    return sys.stdin.readline().split() == names
