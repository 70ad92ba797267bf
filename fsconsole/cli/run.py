"""`fsconsole run`, `demo`, `attach`, `stop`, `cleanup` and `resume`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from fsconsole.cli.app import RUN_HELP, AsJson, Devices, Directories, JsonLines, RunName, RunsDir
from fsconsole.cli.complaint import (
    command_line,
    need_root,
    need_root_unless_own,
    refuse_idle,
    require_targets,
    with_runs,
)
from fsconsole.errors import ExitCode, Misused
from fsconsole.errors.runs import JournalNewer, JournalUnusable
from fsconsole.errors.targets import ConsentMissing, ConsentStale, NotAsShown, ScratchInUse
from fsconsole.journal.folder import LATEST
from fsconsole.model import DEFAULT_RUNS_DIR, DEFAULT_SCRATCH_DIR
from fsconsole.text import printable

if TYPE_CHECKING:
    from fsconsole.cli.viewer import Interrupts
    from fsconsole.journal.folder import RunFolder
    from fsconsole.model.events import InCell


Detach = Annotated[bool, typer.Option("--detach", help="Start in the background; `fsconsole attach` follows it.")]


def run(
    file: Annotated[str, typer.Argument(metavar="PLAN", help="Plan file, name of a shipped plan, or - for stdin.")],
    *,
    device: Devices = None,
    directory: Directories = None,
    consent: Annotated[
        str, typer.Option("--consent", metavar="CODE", help="Consent code printed by `fsconsole plan`.")
    ] = "",
    seen: Annotated[str, typer.Option("--seen", metavar="CODE", help='"seen" code of `fsconsole plan --json`.')] = "",
    detach: Detach = False,
    as_json: JsonLines = False,
    runs: RunsDir = DEFAULT_RUNS_DIR,
) -> None:
    """Run a plan: format, load, check and delete on the given devices. Wipes them.

    With --directory nothing is formatted: each cell makes DIR/fsconsole-RUN, loads it and deletes it. Several are rows of
    one table. It needs no consent, and no root where you may write; then give --runs a directory of your own.

    Scratch devices need no consent; any other device needs the code that `fsconsole plan` prints for its current
    content. On a terminal Ctrl-C asks: detach, stop after the current cell, stop now; elsewhere it, like SIGTERM, stops
    after the current cell, twice: immediately; closing the terminal only ends the
    view. With --detach, Ctrl-C during the start stops the run immediately.

    Exit code: 3 if cells failed. Else, where the plan requires figures of its workloads: 0 if a row meets all requirements,
    5 if every row misses one, 6 if that is undecided.

    --seen refuses to start if plan, devices or their content differ from what `fsconsole plan --json` showed, also
    for scratch devices: the console uses it to start exactly what it has shown. It does not replace --consent.
    """
    from fsconsole.cli.viewer import Interrupts
    from fsconsole.client.engine import create_request
    from fsconsole.devices.consent import check_consent
    from fsconsole.journal.store import make_run_id
    from fsconsole.preflight.prepare import check_seen, prepare, require_ready
    from fsconsole.system.run import RealExecutor

    run_id = make_run_id()
    if require_targets("run", device, directory):
        refuse_idle({"--consent": consent, "--seen": seen}, "--directory", "fsconsole run")
        _run_in(file, directory or [], run_id, runs, detach=detach, as_json=as_json)
        return
    need_root("Running a plan")
    device = device or []
    with Interrupts(at_once=detach) as interrupts:
        prepared = prepare(file, device, executor=RealExecutor(), runs_dir=runs, run_id=run_id)
        require_ready(prepared, file)
        try:
            if seen:
                check_seen(seen, prepared.seen, prepared.reports)
            check_consent(consent, prepared.reports)
        except (ConsentMissing, ConsentStale, NotAsShown) as error:
            error.command = command_line("plan", file, devices=device, runs=runs)
            raise
        request = create_request(run_id, prepared.plan, prepared.targets)
        folder = interrupts.create_run(runs, request)
        start_and_show(folder, interrupts, detach=detach, as_json=as_json)


def _run_in(file: str, directories: list[str], run_id: str, runs: str, *, detach: bool, as_json: bool) -> None:
    """Run a plan in directories."""
    from fsconsole.cli.viewer import Interrupts
    from fsconsole.client.engine import create_request
    from fsconsole.plan.expand import require_runnable
    from fsconsole.preflight.directory import prepare_directories, require_cage
    from fsconsole.system.run import RealExecutor

    with Interrupts(at_once=detach) as interrupts:
        prepared = prepare_directories(file, directories, runs_dir=runs, run_id=run_id)
        require_runnable(prepared.plan, file)
        require_cage(RealExecutor())
        request = create_request(run_id, prepared.plan, prepared.targets)
        folder = interrupts.create_run(runs, request)
        start_and_show(folder, interrupts, detach=detach, as_json=as_json)


def demo(
    *,
    directory: Annotated[
        str, typer.Option("--dir", metavar="DIR", help="Directory of the scratch file.")
    ] = DEFAULT_SCRATCH_DIR,
    size: Annotated[str, typer.Option("--size", metavar="SIZE", help="Size of the scratch file.")] = "2GiB",
    detach: Detach = False,
    as_json: JsonLines = False,
    runs: RunsDir = DEFAULT_RUNS_DIR,
) -> None:
    """Compare five variants on a temporary scratch device. Formats no disk; only the results stay."""
    from fsconsole.cli.devices import make_scratch
    from fsconsole.cli.viewer import Interrupts
    from fsconsole.client.engine import create_request, purpose_of
    from fsconsole.devices import scratch
    from fsconsole.journal.store import make_run_id
    from fsconsole.preflight.prepare import prepare, require_ready
    from fsconsole.system.run import RealExecutor
    from fsconsole.units import parse_bytes

    need_root("The demo")
    run_id = make_run_id()
    with Interrupts(at_once=detach) as interrupts:
        made = make_scratch(parse_bytes(size), directory, purpose=purpose_of(run_id))
        try:
            prepared = prepare("demo", [made.device], executor=RealExecutor(), runs_dir=runs, run_id=run_id)
            require_ready(prepared, "demo")
            request = create_request(run_id, prepared.plan, prepared.targets, owned_scratch=made.path)
            folder = interrupts.create_run(runs, request)
        except BaseException:
            scratch.remove(made)
            raise
        # From here on the run owns the device: it can be resumed on it.
        start_and_show(folder, interrupts, detach=detach, as_json=as_json)


def start_and_show(folder: RunFolder, interrupts: Interrupts, *, detach: bool, as_json: bool) -> None:
    """Start a run's engine, show the run until it ends and exit with its code; with detach print its name alone.

    As JSON the name is one object, {"run_id": ..., "folder": ...}. interrupts are on hold. A run that was asked to stop
    while it began is shown to its end with detach too, after its name.
    """
    from fsconsole.cli.viewer import outlasting, watch
    from fsconsole.client.engine import start_engine
    from fsconsole.model.contract import document_text
    from fsconsole.model.run import StartedRun

    start_engine(folder)
    interrupts.pass_on_to(folder)
    if detach:
        told = document_text(StartedRun(folder.name, folder.path)) if as_json else folder.name
        with outlasting(f"Run {folder.name} goes on; `fsconsole attach {folder.name}` shows it."):
            sys.stdout.write(f"{told}\n")
            # Whoever reads it must have it, whatever becomes of this process.
            sys.stdout.flush()
        # From here on that is who can stop the run; a death by a signal would look like a start that was undone.
        if interrupts.leave():
            return
    raise typer.Exit(watch(folder, as_json=as_json, interrupts=interrupts))


LivingRun = Annotated[
    str,
    typer.Argument(metavar="RUN", help=RUN_HELP, show_default="the one that is running"),
]


def _living(runs: str, run: str, command: str) -> RunFolder | None:
    """Return the run of that name; without one the run that is running, asked for where there are several.

    None where no run is named and none is running. Raises SeveralLive, RunMissing, RunAmbiguous.
    """
    from fsconsole.cli.complaint import choose
    from fsconsole.errors.runs import SeveralLive
    from fsconsole.journal.store import living_runs, open_run

    if run:
        return open_run(runs, run)
    living = living_runs(runs)
    if len(living) > 1:
        chosen = choose("Which run?", [folder.name for folder in living])
        if chosen is None:
            names = ", ".join(folder.name for folder in living)
            raise SeveralLive(count=len(living), names=names, command=f"fsconsole {command}", run=living[0].name)
        return living[chosen]
    return living[0] if living else None


def attach(run: LivingRun = "", *, as_json: JsonLines = False, runs: RunsDir = DEFAULT_RUNS_DIR) -> None:
    """Follow a running run to its end; exit code as of `fsconsole run`. Ctrl-C ends the view, not the run.

    Of a run that has ended, prints its outcome and exits with its code; without RUN that is the latest, if none is running.
    """
    from fsconsole.cli.viewer import show_end, watch
    from fsconsole.journal.store import is_alive, open_run

    folder = _living(runs, run, "attach") or open_run(runs)
    show = watch if is_alive(folder) else show_end
    raise typer.Exit(show(folder, as_json=as_json))


def stop(
    run: LivingRun = "",
    *,
    now: Annotated[bool, typer.Option("--now", help="Stop immediately; the current cell can be resumed.")] = False,
    skip: Annotated[bool, typer.Option("--skip", help="Skip the current cell; on a terminal, asks first.")] = False,
    cell: Annotated[
        int | None, typer.Option("--cell", metavar="N", min=1, help="With --skip: only if cell N runs.")
    ] = None,
    pause: Annotated[bool, typer.Option("--pause", help="Pause before the next cell.")] = False,
    go_on: Annotated[bool, typer.Option("--continue", help="End the pause.")] = False,
    as_json: AsJson = False,
    runs: RunsDir = DEFAULT_RUNS_DIR,
) -> None:
    """Stop a run after the current cell, or immediately (--now); or skip, pause, continue.

    A skip is for one cell: that of --cell, or the one that runs when the command starts. If another cell runs by then,
    nothing is skipped.
    """
    from fsconsole.client.children import ask_when_it_listens
    from fsconsole.errors.runs import NoneLives
    from fsconsole.model.events import Verb
    from fsconsole.show.run import answer_words

    wishes = {Verb.STOP_NOW: now, Verb.SKIP: skip, Verb.PAUSE: pause, Verb.CONTINUE: go_on}
    chosen = [verb for verb, wanted in wishes.items() if wanted]
    if len(chosen) > 1:
        what = "--now, --skip, --pause and --continue exclude each other."
        raise Misused(what=what, nearest="", command="fsconsole stop")
    verb = chosen[0] if chosen else Verb.STOP_AFTER
    if not skip:
        refuse_idle({"--cell": cell}, "anything but --skip", "fsconsole stop")
    folder = _living(runs, run, "stop")
    if folder is None:
        raise NoneLives(runs_dir=runs)
    in_cell = _cell_to_skip(folder, cell, asks=not as_json) if skip else None
    answer = ask_when_it_listens(folder, verb, in_cell)
    words = answer_words(verb, answer, folder)
    if as_json:
        from fsconsole.cli.answers import StopAnswer, tell

        tell(StopAnswer(folder.name, verb.value, answer.accepted, answer.step, answer.why, words))
        return
    sys.stdout.write(f"{folder.name}: {words}\n")


def _cell_to_skip(folder: RunFolder, number: int | None, *, asks: bool) -> InCell:
    """Return the cell of that number; without one the cell that runs, confirmed on a terminal if asks.

    Raises NothingToSkip between cells, typer.Exit if the operator says no.
    """
    from fsconsole.errors.runs import NothingToSkip
    from fsconsole.journal.past import read_state
    from fsconsole.model.events import InCell
    from fsconsole.results.figures import cell_names
    from fsconsole.show.progress import describe_cell

    state = read_state(folder)
    if number is not None:
        return InCell(number - 1, len(state.started))
    cell = state.running_cell
    if cell is None:
        raise NothingToSkip(run=folder.name)
    if asks and sys.stdin.isatty() and sys.stderr.isatty():
        name = describe_cell(state, cell.cell, cell_names(state.request.plan)[cell.cell])
        if not typer.confirm(f"Skip {name}?", err=True):
            sys.stderr.write("Nothing is skipped.\n")
            raise typer.Exit(ExitCode.FAILURE)
    return cell


def cleanup(
    run: Annotated[str, typer.Argument(metavar="RUN", help=RUN_HELP, show_default="all runs")] = "",
    *,
    as_json: AsJson = False,
    runs: RunsDir = DEFAULT_RUNS_DIR,
) -> None:
    """Clean up after killed runs: settings, scratch devices. Arrays are shown; running runs are left alone."""
    from fsconsole.client.engine import abandoned_scratch
    from fsconsole.devices import scratch
    from fsconsole.engine.cleanup import Cleaned, clean_folder
    from fsconsole.journal.store import list_runs, open_run
    from fsconsole.preflight.prepare import kept_on

    folders = (open_run(runs, run),) if run else list_runs(runs)
    need_root_unless_own("Cleaning up", [folder.path for folder in folders])
    cleaned = [one for folder in folders for one in clean_folder(folder)]
    for folder in folders:
        # Scratch devices of demos that ended unwatched.
        try:
            made = None if folder.is_imported else abandoned_scratch(folder)
            if made is not None and (kept := kept_on(made)):
                did = f"its scratch device {made.path} is left: {kept}"
                cleaned.append(Cleaned(folder.name, did, resumable=False))
            elif made is not None:
                scratch.remove(made)
                cleaned.append(Cleaned(folder.name, "removed its scratch device", resumable=False))
        except ScratchInUse as error:
            cleaned.append(Cleaned(folder.name, f"not removed: {error}", resumable=False))
        except (JournalUnusable, JournalNewer):
            # clean_folder has reported it.
            continue
    if as_json:
        from fsconsole.cli.answers import CleanupAnswer, tell

        tell(CleanupAnswer(tuple(cleaned)))
        return
    for one in cleaned:
        hint = f"; `fsconsole resume {one.run_id}` finishes it" if one.resumable else ""
        sys.stdout.write(f"{printable(one.run_id)}: {printable(one.did)}{with_runs(hint)}\n")
    if not cleaned:
        sys.stdout.write("Nothing to clean up.\n")


def resume(
    run: RunName = LATEST,
    *,
    consent: Annotated[str, typer.Option("--consent", metavar="CODE", help="Consent code printed by --show.")] = "",
    only_show: Annotated[
        bool, typer.Option("--show", help="Show what is left and what needs consent; change nothing.")
    ] = False,
    exact: Annotated[
        bool,
        typer.Option("--exact", help='Take RUN as a full name, not as a prefix or "latest".'),
    ] = False,
    detach: Detach = False,
    as_json: JsonLines = False,
    runs: RunsDir = DEFAULT_RUNS_DIR,
) -> None:
    """Resume a stopped or interrupted run; finished cells are kept.

    After a reboot, devices are found by WWN, serial number or scratch file. If a device's content is neither what
    you agreed to nor what the run left, consent is required again: --show lists what is on it now.
    """
    from fsconsole.cli.plan_show import show_renewal
    from fsconsole.cli.viewer import Interrupts
    from fsconsole.client.runs import require_writable
    from fsconsole.engine.cleanup import clean_folder, require_resumable
    from fsconsole.engine.proof import look_again, renew
    from fsconsole.journal.store import open_exact, open_run
    from fsconsole.system.run import RealExecutor

    if only_show:
        refuse_idle({"--consent": consent, "--detach": detach}, "--show", "fsconsole resume")
    folder = open_exact(runs, run) if exact else open_run(runs, run)
    need_root_unless_own("Running a plan", [folder.path])
    require_writable(folder)
    clean_folder(folder)
    require_resumable(folder)
    renewal = look_again(folder, RealExecutor())
    if only_show:
        show_renewal(folder.name, renewal, runs, as_json=as_json)
        return
    if renewal.unproven and not (consent or as_json) and sys.stdout.isatty():
        show_renewal(folder.name, renewal, runs, as_json=False)
    try:
        renew(folder, renewal, consent)
    except ConsentStale as error:
        error.command = command_line("resume", folder.name, runs=runs, more=("--show",))
        raise
    with Interrupts(at_once=detach) as interrupts:
        interrupts.hold()
        start_and_show(folder, interrupts, detach=detach, as_json=as_json)
