"""`fsconsole runs`: list, rename and delete runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from fsconsole.cli.app import AsJson, Group, RunsDir
from fsconsole.cli.complaint import need_root_unless_own, refuse_idle, require_agreement, terminal_width
from fsconsole.errors import Misused
from fsconsole.errors.runs import JournalNewer, JournalUnusable, NoRunsDirectory, RunImported, RunLives
from fsconsole.journal.folder import LATEST
from fsconsole.model import DEFAULT_RUNS_DIR
from fsconsole.text import counted, pad_left, pad_right, printable, wrap
from fsconsole.units import instant

if TYPE_CHECKING:
    from fsconsole.client.runs import ListedRun
    from fsconsole.devices.scratch import Scratch
    from fsconsole.journal.folder import RunFolder

_Run = Annotated[str, typer.Argument(metavar="RUN", help="Full name of a run, or latest.")]


def _named(runs_dir: str, name: str) -> RunFolder:
    """Return the run of that name, or the latest: a beginning is not enough to change one. Raises RunMissing, NotRoot."""
    from fsconsole.journal.store import open_exact, open_run

    return open_run(runs_dir) if name == LATEST else open_exact(runs_dir, name)


runs = typer.Typer(cls=Group, invoke_without_command=True, rich_markup_mode=None)


@runs.callback()
def list_runs(
    ctx: typer.Context,
    as_json: AsJson = False,
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
) -> None:
    """List runs: those made here, newest first, then others. Rename or delete one."""
    from fsconsole.client.runs import look_at
    from fsconsole.journal import store

    if ctx.invoked_subcommand is not None:
        refuse_idle({"--json": as_json}, "a command behind it", "fsconsole runs")
        return
    if runs_dir != DEFAULT_RUNS_DIR and not os.path.lexists(runs_dir):
        raise NoRunsDirectory(run="", runs_dir=runs_dir)
    listed = [look_at(folder) for folder in store.list_runs(runs_dir)]
    if as_json:
        from fsconsole.cli.answers import RunsAnswer, tell

        tell(RunsAnswer(tuple(listed)))
        return
    typer.echo(runs_text(listed, runs_dir))


@runs.command()
def rename(
    run: _Run,
    title: Annotated[str, typer.Argument(metavar="TITLE", help="The new title.")],
    *,
    as_json: AsJson = False,
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
) -> None:
    """Change a run's title; its name, which is its folder, stays."""
    from fsconsole.journal.store import rename_run, title_complaint

    if what := title_complaint(title):
        raise Misused(what=what, nearest="", command="fsconsole runs rename")
    folder = _named(runs_dir, run)
    need_root_unless_own("Renaming a run", [folder.path])
    rename_run(folder, title.strip())
    if as_json:
        from fsconsole.cli.answers import RunAnswer, tell

        tell(RunAnswer(run_id=folder.name, title=title.strip(), folder=folder.path))
        return
    typer.echo(f"run {printable(folder.name)} is called '{printable(title.strip())}'", err=True)


@runs.command(short_help="Delete a run with its results and outputs.")
def delete(
    run: _Run,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Without a question.")] = False,
    as_json: AsJson = False,
    runs_dir: RunsDir = DEFAULT_RUNS_DIR,
) -> None:
    """Delete a run: its folder, and the scratch device that was created for it.

    Asks first and says what goes with it; without a terminal it wants --yes. Refused for a running run. A killed run
    is cleaned up first.
    """
    from fsconsole.devices import scratch
    from fsconsole.engine.cleanup import clean_folder
    from fsconsole.journal.store import delete_run, is_alive

    folder = _named(runs_dir, run)
    need_root_unless_own("Deleting a run", [folder.path])
    if is_alive(folder):
        raise RunLives(run=folder.name)
    for cleaned in clean_folder(folder):
        typer.echo(f"run {printable(cleaned.run_id)}: {printable(cleaned.did)}", err=True)
    needs, made = _lost_with(folder)
    require_agreement(f"Run {printable(folder.name)}", printable(needs), yes=yes)
    if made is not None:
        scratch.remove(made)
    delete_run(folder)
    if as_json:
        from fsconsole.cli.answers import RunAnswer, tell

        tell(RunAnswer(run_id=folder.name, folder=folder.path))
        return
    typer.echo(f"deleted {printable(folder.path)}", err=True)


def _lost_with(folder: RunFolder) -> tuple[str, Scratch | None]:
    """Return what goes with a run, in clauses, and the scratch device that was made for it."""
    from fsconsole.client.engine import owned_scratch
    from fsconsole.journal.folder import require_own
    from fsconsole.journal.past import read_state
    from fsconsole.model.state import CellStatus
    from fsconsole.preflight.prepare import kept_on
    from fsconsole.results.figures import count_cells

    try:
        require_own(folder)
        state = read_state(folder)
    except RunImported:
        # Whatever its journal names is another machine's.
        return "it was imported, and its file may be gone", None
    except (JournalUnusable, JournalNewer) as error:
        # A damaged run is deleted too: what was made for it can't be told any more.
        return str(error).rstrip("."), None
    cells, done = count_cells(state), sum(cell.status is CellStatus.DONE for cell in state.cells)
    needs = [f"it has the figures of {done} of {counted(cells.able, 'cell')}"]
    needs += [f"it can be resumed, with {cells.left} of {counted(cells.able, 'cell')} left"] if cells.left else []
    made = owned_scratch(state)
    if made is not None and (kept := kept_on(made)):
        needs.append(f"its scratch device {made.path} is not as it left it: {kept}")
    return "; ".join(needs), made


def runs_text(listed: Sequence[ListedRun], directory: str) -> str:
    """Return the list as text: a line of facts per run, its title and standing below."""
    if not listed:
        return printable(f"There are no runs in {directory}.")
    names = [printable(run.run_id) for run in listed]
    widest = max(map(len, names))
    lines = [f"{pad_right('run', widest)}  {'started':<20}  {'cells':>7}"]
    for name, run in zip(names, listed, strict=True):
        begun = instant(run.created_wall_ns) if run.created_wall_ns is not None else "-"
        cells = f"{run.cells_ended}/{run.runnable}" if run.created_wall_ns is not None else "-"
        lines.append(f"{pad_right(name, widest)}  {begun:<20}  {pad_left(cells, 7)}")
        for text in (run.title, run.standing):
            lines += [f"    {part}" for part in wrap(printable(text), terminal_width() - 4) if part]
    return "\n".join(lines)
