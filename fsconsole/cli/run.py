"""fsconsole run and demo: plans carried out, with a viewer in front of the engine."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from fsconsole.errors import ConsentMissing, ConsentStale, NotAsShown, NotRoot
from fsconsole.model.places import DEFAULT_RUNS_DIR, DEFAULT_SCRATCH_DIR

if TYPE_CHECKING:
    from fsconsole.cli.interrupts import Interrupts
    from fsconsole.journal.store import RunFolder
    from fsconsole.model.run import RunRequest
    from fsconsole.preflight.prepare import Prepared

DEMO_PLAN = "demo"
_DEMO_SIZE = "2GiB"

Detach = Annotated[
    bool, typer.Option("--detach", help="Return at once; the run goes on, `fsconsole attach` shows it.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON line per event.")]
RunsDir = Annotated[str, typer.Option("--runs", metavar="DIR", help="Where runs are kept.")]
RunName = Annotated[str, typer.Argument(metavar="RUN", help="A run's name, or how it begins.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("run")(run)
    app.command("demo")(demo)


def run(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A plan file, or a shipped plan's name.")],
    *,
    device: Annotated[
        list[str], typer.Option("--device", "-d", metavar="DEV", help="A device to be wiped; repeatable.")
    ],
    consent: Annotated[
        str, typer.Option("--consent", metavar="CODE", help="The code that `fsconsole plan` printed.")
    ] = "",
    seen: Annotated[
        str, typer.Option("--seen", metavar="CODE", help='What `fsconsole plan --json` calls "seen".')
    ] = "",
    detach: Detach = False,
    as_json: AsJson = False,
    runs: RunsDir = DEFAULT_RUNS_DIR,
) -> None:
    """Carry out a plan: format, load, check and delete on the devices named. They are wiped.

    Scratch devices need no consent; any other device needs the code that `fsconsole plan` prints for it as it
    is now. Ctrl-C, or SIGTERM, stops after the cell at hand, twice at once; a closed terminal only ends the view.
    With --detach it stops at once a run that is just being started.

    With --seen nothing begins where plan, devices or what is on them are other than `fsconsole plan --json` showed
    them, scratch devices too: so the console starts exactly what it has shown. It takes the place of no consent.
    """
    from fsconsole.cli.interrupts import Interrupts
    from fsconsole.client.launch import create_request
    from fsconsole.devices.consent import check_consent
    from fsconsole.journal.store import make_run_id
    from fsconsole.preflight.prepare import prepare
    from fsconsole.preflight.seen import check_seen
    from fsconsole.system.command import RealExecutor

    need_root("Carrying out a plan")
    run_id = make_run_id()
    with Interrupts(at_once=detach) as interrupts:
        prepared = prepare(file, device, executor=RealExecutor(), runs_dir=runs, run_id=run_id)
        _require_ready(prepared, file)
        with _planning(file, device, runs):
            if seen:
                check_seen(seen, prepared.seen, prepared.reports)
            check_consent(consent, prepared.reports)
        request = create_request(run_id, prepared.plan, prepared.targets)
        folder = _create_run(runs, request, interrupts)
        start_and_show(folder, interrupts, detach=detach, as_json=as_json)


def demo(
    *,
    directory: Annotated[
        str, typer.Option("--dir", metavar="DIR", help="Where the scratch file lies.")
    ] = DEFAULT_SCRATCH_DIR,
    size: Annotated[str, typer.Option("--size", metavar="SIZE", help="Of the scratch file.")] = _DEMO_SIZE,
    detach: Detach = False,
    as_json: AsJson = False,
    runs: RunsDir = DEFAULT_RUNS_DIR,
) -> None:
    """Compare four variants on a scratch device made for it: no disk is touched, nothing is left but the figures."""
    from fsconsole.cli.interrupts import Interrupts
    from fsconsole.client.launch import create_request
    from fsconsole.client.owned import purpose_of
    from fsconsole.devices import scratch
    from fsconsole.journal.store import make_run_id
    from fsconsole.preflight.prepare import prepare
    from fsconsole.system.command import RealExecutor
    from fsconsole.units import parse_bytes

    need_root("The demo")
    run_id = make_run_id()
    with Interrupts(at_once=detach) as interrupts:
        made = scratch.create(parse_bytes(size), directory, purpose=purpose_of(run_id))
        try:
            prepared = prepare(
                DEMO_PLAN, [made.device], executor=RealExecutor(), runs_dir=runs, run_id=run_id
            )
            _require_ready(prepared, DEMO_PLAN)
            request = create_request(run_id, prepared.plan, prepared.targets, owned_scratch=made.path)
            folder = _create_run(runs, request, interrupts)
        except BaseException:
            scratch.remove(made)
            raise
        # From here on the run owns the device: it can be resumed on it.
        start_and_show(folder, interrupts, detach=detach, as_json=as_json)


def need_root(what: str) -> None:
    """Let root pass. Raises NotRoot."""
    import os

    if os.geteuid() != 0:
        raise NotRoot(what)


def _require_ready(prepared: Prepared, file: str) -> None:
    from fsconsole.devices.gate import require
    from fsconsole.plan.expand import require_runnable
    from fsconsole.preflight.tools import require_tools

    # First, since a device that could not be probed for want of a tool is refused for that.
    require_tools(prepared.plan)
    for report in prepared.reports:
        require(report)
    require_runnable(prepared.plan, file)


@contextmanager
def _planning(file: str, devices: Sequence[str], runs: str) -> Iterator[None]:
    """Give an error of consent, or of what was seen, the whole command that shows it as it is now."""
    import shlex

    try:
        yield
    except (ConsentMissing, ConsentStale, NotAsShown) as error:
        named = [word for device in devices for word in ("--device", device)]
        kept = ["--runs", runs] if runs != DEFAULT_RUNS_DIR else []
        error.command = shlex.join(["fsconsole", "plan", file, *named, *kept])
        raise


def _create_run(runs: str, request: RunRequest, interrupts: Interrupts) -> RunFolder:
    """Make a run's folder, whole; a signal that comes meanwhile takes it back and ends the command."""
    from fsconsole.client.launch import withdraw
    from fsconsole.journal.store import create_run

    interrupts.hold()
    folder = create_run(runs, request)
    try:
        interrupts.require_none()
    except BaseException:
        withdraw(folder)
        raise
    return folder


def start_and_show(folder: RunFolder, interrupts: Interrupts, *, detach: bool, as_json: bool) -> None:
    """Start a run's engine, show the run until it ends and exit with its code; with detach print its name alone.

    As JSON the name is one object, {"run": ..., "folder": ...}. interrupts are on hold. A run that was asked to stop
    while it began is shown to its end with detach too, after its name.
    """
    from fsconsole.cli.viewer import watch
    from fsconsole.client.start import start_engine

    start_engine(folder)
    interrupts.pass_on_to(folder)
    if detach:
        sys.stdout.write(f"{_started(folder) if as_json else folder.name}\n")
        # Whoever reads it must have it, whatever becomes of this process.
        sys.stdout.flush()
        # From here on that is who can stop the run; a death by a signal would look like a start that was undone.
        if interrupts.leave():
            return
    raise typer.Exit(watch(folder, as_json=as_json, interrupts=interrupts))


def _started(folder: RunFolder) -> str:
    """Return where a run is, as JSON: its name and its folder."""
    import json

    return json.dumps({"run": folder.name, "folder": folder.path})
