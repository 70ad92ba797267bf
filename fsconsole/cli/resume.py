"""fsconsole resume: a run that was cut short, taken up again."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from fsconsole.cli.run import AsJson, Detach, RunName, RunsDir, need_root, start_and_show
from fsconsole.errors import ConsentStale
from fsconsole.journal.folder import LATEST
from fsconsole.model.places import DEFAULT_RUNS_DIR

if TYPE_CHECKING:
    from fsconsole.engine.renewal import Renewal


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("resume")(resume)


def resume(
    run: RunName = LATEST,
    *,
    consent: Annotated[
        str, typer.Option("--consent", metavar="CODE", help="The code that --show printed.")
    ] = "",
    only_show: Annotated[
        bool, typer.Option("--show", help="Show what is left to do, and what must be agreed to; do nothing.")
    ] = False,
    exact: Annotated[
        bool,
        typer.Option(
            "--exact", help="Take RUN as a whole name: neither as its beginning nor as a word for the newest."
        ),
    ] = False,
    detach: Detach = False,
    as_json: AsJson = False,
    runs: RunsDir = DEFAULT_RUNS_DIR,
) -> None:
    """Go on with a run that was stopped, or whose engine died; cells reported done are kept as they are.

    Devices are found again after a reboot, by WWN, serial number or the file of a scratch device. Where it can't be
    proved that what is on a device was agreed upon or made by the run, you are asked again; files that somebody put
    into a filesystem of the run's own are not looked for.
    """
    from fsconsole.cli.interrupts import Interrupts
    from fsconsole.client.disk import require_writable
    from fsconsole.engine.cleanup import clean_folder, require_resumable
    from fsconsole.engine.renewal import look_again, renew
    from fsconsole.journal.store import open_exact, open_run
    from fsconsole.system.command import RealExecutor

    need_root("Carrying out a plan")
    folder = open_exact(runs, run) if exact else open_run(runs, run)
    require_writable(folder)
    clean_folder(folder)
    require_resumable(folder)
    renewal = look_again(folder, RealExecutor())
    if only_show:
        _show_renewal(renewal, runs, as_json=as_json)
        return
    try:
        renew(folder, renewal, consent)
    except ConsentStale as error:
        error.command = shlex.join(_command(renewal, runs, "--show"))
        raise
    with Interrupts(at_once=detach) as interrupts:
        interrupts.hold()
        start_and_show(folder, interrupts, detach=detach, as_json=as_json)


def _show_renewal(renewal: Renewal, runs: str, *, as_json: bool) -> None:
    from fsconsole.catalog.loader import load_catalog
    from fsconsole.cli.plan_json import plan_object
    from fsconsole.cli.plan_text import renewal_lines
    from fsconsole.cli.results import terminal_width
    from fsconsole.plan.left import plan_left

    left = plan_left(renewal.state, load_catalog())
    if as_json:
        typer.echo(json.dumps(plan_object(left, renewal.reports, renewal.consent), indent=2))
        return
    agreeing = ("--consent", renewal.consent) if renewal.consent else ()
    command = shlex.join(_command(renewal, runs, *agreeing))
    lines = renewal_lines(left, renewal.reports, command, width=terminal_width())
    typer.echo("\n".join(lines))


def _command(renewal: Renewal, runs: str, *words: str) -> list[str]:
    kept = ["--runs", runs] if runs != DEFAULT_RUNS_DIR else []
    return ["fsconsole", "resume", renewal.state.request.run_id, *kept, *words]
