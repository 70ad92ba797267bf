"""fsconsole attach, stop and cleanup: living and dead engines."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from fsconsole.cli.run import AsJson, RunName, RunsDir, need_root
from fsconsole.errors import JournalNewer, JournalUnusable, Misused, ScratchInUse
from fsconsole.journal.folder import LATEST
from fsconsole.model.places import DEFAULT_RUNS_DIR
from fsconsole.plaintext import printable

if TYPE_CHECKING:
    from fsconsole.engine.cleanup import Cleaned
    from fsconsole.journal.folder import RunFolder


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("attach")(attach)
    app.command("stop")(stop)
    app.command("cleanup")(cleanup)


def attach(run: RunName = LATEST, *, as_json: AsJson = False, runs: RunsDir = DEFAULT_RUNS_DIR) -> None:
    """Show a run that goes on; Ctrl-C ends the view, not the run."""
    from fsconsole.cli.viewer import watch
    from fsconsole.errors import RunOver
    from fsconsole.journal.store import is_alive, open_run

    folder = open_run(runs, run)
    if not is_alive(folder):
        raise RunOver(run=folder.name)
    raise typer.Exit(watch(folder, as_json=as_json))


def stop(
    run: RunName = LATEST,
    *,
    now: Annotated[bool, typer.Option("--now", help="End the cell at hand too; it can be resumed.")] = False,
    skip: Annotated[bool, typer.Option("--skip", help="End the cell at hand, go on with the next.")] = False,
    pause: Annotated[bool, typer.Option("--pause", help="Wait before the next cell.")] = False,
    go_on: Annotated[bool, typer.Option("--continue", help="End a pause.")] = False,
    runs: RunsDir = DEFAULT_RUNS_DIR,
) -> None:
    """Ask a run to stop after the cell at hand; with an option, for something else."""
    from fsconsole.client.starting import ask_when_it_listens
    from fsconsole.journal.store import open_run
    from fsconsole.model.observation import Verb

    wishes = {Verb.STOP_NOW: now, Verb.SKIP: skip, Verb.PAUSE: pause, Verb.CONTINUE: go_on}
    chosen = [verb for verb, wanted in wishes.items() if wanted]
    if len(chosen) > 1:
        what = "Only one of --now, --skip, --pause and --continue can be asked for at a time."
        raise Misused(what=what, nearest="", command="fsconsole stop")
    verb = chosen[0] if chosen else Verb.STOP_AFTER
    folder = open_run(runs, run)
    answer = ask_when_it_listens(folder, verb)
    sys.stdout.write(
        f"{folder.name}: {verb.value} taken; it is in {printable(answer.step) or 'its beginning'}\n"
    )


def cleanup(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="One run's whole name; without it all runs.")
    ] = "",
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per run.")] = False,
    runs: RunsDir = DEFAULT_RUNS_DIR,
) -> None:
    """Give back what killed engines left, of all runs or of one, and mark them; living runs are left alone."""
    from dataclasses import asdict

    from fsconsole.engine.cleanup import clean_folder
    from fsconsole.journal.store import list_runs, open_exact

    need_root("Cleaning up")
    folders = (open_exact(runs, run),) if run else list_runs(runs)
    cleaned = [one for folder in folders for one in clean_folder(folder)]
    cleaned += _scratch_given_back(folders)
    for one in cleaned:
        hint = f"; `fsconsole resume {one.run}` finishes it" if one.resumable else ""
        line = f"{printable(one.run)}: {printable(one.did)}{hint}"
        sys.stdout.write((json.dumps(asdict(one)) if as_json else line) + "\n")
    if not cleaned and not as_json:
        sys.stdout.write("Nothing was left behind.\n")


def _scratch_given_back(folders: Iterable[RunFolder]) -> Iterator[Cleaned]:
    """Remove the scratch devices of demos that ended while nobody looked on."""
    from fsconsole.client.owned import remove_abandoned_scratch
    from fsconsole.engine.cleanup import Cleaned

    for folder in folders:
        try:
            if remove_abandoned_scratch(folder):
                yield Cleaned(folder.name, "removed its scratch device", resumable=False)
        except ScratchInUse as error:
            yield Cleaned(folder.name, f"left as it is: {error}", resumable=False)
        except (JournalUnusable, JournalNewer):
            # Told of already, by what looked at the run itself.
            continue
