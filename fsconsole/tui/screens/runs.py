"""Runs screen: all kept runs, their status, and what can be done with each."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

from textual import work
from textual.binding import BindingType
from textual.widget import Widget
from textual.widgets import Static

from fsconsole.client.runs import KnownRun, read_runs, state_of
from fsconsole.errors import FsconsoleError
from fsconsole.journal.folder import RunFolder
from fsconsole.journal.store import list_runs, title_complaint
from fsconsole.plan.publications import all_publications
from fsconsole.show.run import cleaned_words
from fsconsole.show.runs import (
    Digest,
    RunEntry,
    comparable_lines,
    digest_of,
    heads_words,
    list_words,
    refusal_words,
    run_lines,
    runs_table,
)
from fsconsole.tui import keys
from fsconsole.tui.screens.base import ConsoleScreen
from fsconsole.tui.screens.comparison import show_comparison
from fsconsole.tui.screens.confirm import resume
from fsconsole.tui.screens.dialogs import PickScreen, PromptScreen
from fsconsole.tui.terminal import plain
from fsconsole.tui.widgets.chrome import Seek
from fsconsole.tui.widgets.lists import List, Table
from fsconsole.tui.widgets.rows import Texts

_REFRESH_S = 5.0
_DIGESTS = 50
"""Runs whose curve and best row are worked out, the newest ones."""
_NO_DIGEST = Digest(note=f"MB/s by cell and best are worked out for the newest {_DIGESTS} runs only.")
_AT_ONCE = 8
"""Runs that are read before the list is redrawn."""
_SHOW_EVERY_S = 0.3
_OF_A_RUN = frozenset({"open", "compare", "open_run_plan", "mark", "export", "rename", "delete"})
"""Actions whose keys the footer leaves out where there is no run."""


class RunsScreen(ConsoleScreen):
    """The list of all runs below the session's directory, those made here first."""

    MODE: ClassVar[str] = "runs"
    CSS_PATH = "runs.tcss"
    HELP: ClassVar[str] = """All runs that are kept: those made here, the newest first, then others.
Enter opens one: a living run is followed, a finished one shows its figures.
A run that was cut short says where; r resumes it: finished cells are kept.
= compares the run with another one, or with a published table: what differs first, then changes in per cent.
MB/s by cell is a curve: the durable MB/s of the run's cells in their order, from 0 to the highest; of more than 8 cells a mark
is the mean of several.
best names a row only where every other one is decidedly behind by the score of advice, or misses a limit of the plan.
Where an engine died, C removes the mounts and loop devices that it left, and restores settings."""
    GUIDE: ClassVar[str] = (
        "5 of 5: all runs are kept here. Enter opens one, = compares it with another one or with published figures."
    )
    BINDINGS: ClassVar[list[BindingType]] = keys.bindings("runs")

    def __init__(self) -> None:
        super().__init__()
        self._folders: tuple[RunFolder, ...] = ()
        self._known: dict[str, KnownRun] = {}
        self._digests: dict[str, tuple[object, Digest]] = {}
        """With the stamp of what each was made of."""
        self._marked: list[str] = []
        self._is_listed = True
        self._offered: tuple[bool, ...] = ()

    def content(self) -> Iterable[Widget]:
        yield Static(plain(""), id="count")
        yield Table(id="list")
        yield Static(plain(""), id="rule")
        yield List(id="about")
        yield Seek("title, name or status")

    def on_mount(self) -> None:
        self.while_shown(_REFRESH_S, lambda: None if self.is_busy("read") else self.action_reload())
        self.query_one(Table).focus()

    def on_screen_resume(self) -> None:
        self.action_reload()

    def on_list_opened(self) -> None:
        run = self._run()
        if run is not None and run.is_readable:
            self._open(run, "run" if run.is_living else "results")
        elif run is not None:
            self.say("This run can't be opened: the reason is shown below the list.")

    def action_resume(self) -> None:
        run = self._run()
        if run is None:
            return
        if run.is_living:
            self.say(f"Run {run.name} is running: Enter follows it.")
        elif run.is_readable and run.listed is not None and not run.is_open:
            self.say(refusal_words(run.name, run.listed))
        elif self.may("Resuming a run"):
            if self.is_busy("resume"):
                self.say("A run is being resumed already.")
            else:
                self._resume(self._folder(run))

    async def action_open_run_plan(self) -> None:
        run = self._run()
        await self.open_plan_of(None if run is None else self._folder(run))

    @work(group="compare", exclusive=True)
    async def action_compare(self) -> None:
        run = self._run()
        if run is None or not run.is_readable:
            self.say("This run can't be compared: the reason is shown below the list.")
            return
        marked = [folder for folder in self._folders if folder.name in {*self._marked, run.name}]
        if self._marked and len(marked) > 1:
            pair = marked if len(self._marked) == 1 else [one for one in marked if one.name in self._marked]
            await show_comparison(self, pair)
            return
        published = {of.name: of for of in await asyncio.to_thread(all_publications)}
        others = [one for one in self._runs() if one.is_readable and one.name != run.name]
        options = comparable_lines(others, tuple(published.values()))
        key = await self.app.push_screen_wait(PickScreen(f"Compare '{run.title}' with", options, yes="Compare"))
        if key is None:
            return
        folders = [folder for folder in self._folders if folder.name in (run.name, key)]
        await show_comparison(self, folders, *([published[key]] if key in published else []))

    def action_mark(self) -> None:
        """Mark a run for a comparison, or take the mark away; of three the first one goes."""
        run = self._run()
        if run is None or not run.is_readable:
            return
        if run.name in self._marked:
            self._marked.remove(run.name)
        else:
            self._marked = [*self._marked, run.name][-2:]
        what = ("= compares a marked run with the one at the cursor.", "= compares the two marked runs.")
        self.say(what[len(self._marked) - 1] if self._marked else "")
        self._show()

    def action_import(self) -> None:
        def imported(path: str) -> None:
            words = ("import", "--runs", self.session.runs_dir, "--", os.path.expanduser(path.strip()))
            self.run_worker(self.act(words, lambda out: out.strip() or "Imported."), group="act")

        hint = "A file that export wrote (.fsrun). Right arrow completes."
        # Here, since the plan's dialogs are needed by nobody who only looks at runs.
        from fsconsole.tui.screens.plan_dialogs import PathSuggester  # noqa: PLC0415

        self.ask(PromptScreen("Import a run from", "", yes="Import", hint=hint, suggester=PathSuggester()), imported)

    def action_export(self) -> None:
        from fsconsole.tui.screens.results import ExportScreen, export_run  # noqa: PLC0415

        run = self._run()
        if run is None or not run.is_readable:
            self.say("This run can't be exported: the reason is shown below the list.")
            return
        name = run.name
        self.ask(ExportScreen(name), lambda wanted: self.run_worker(export_run(self, name, wanted), group="export"))

    def action_cleanup(self) -> None:
        if self.may("Cleaning up") and not self.is_busy("clean"):
            self.say("Cleaning up ...")
            words = ("cleanup", "--runs", self.session.runs_dir)
            self.run_worker(self.act(words, cleaned_words), group="clean")

    def action_rename(self) -> None:
        run = self._run()
        if run is None or not self.may("Renaming a run"):
            return

        def named(title: str) -> None:
            if (new := title.strip()) not in ("", run.title):
                words = ("runs", "rename", "--runs", self.session.runs_dir, "--", run.name, new)
                done = f"Run {run.name} is called '{new}' now."
                self.run_worker(self.act(words, lambda _out: done), group="act")

        title = f"Another title for run {run.name}"
        self.ask(PromptScreen(title, run.title, yes="Rename", check=title_complaint), named)

    @work(group="act")
    async def action_delete(self) -> None:
        run = self._run()
        if run is None:
            return
        if run.is_living:
            self.say(f"Run {run.name} is running and can't be deleted: stop it first.")
            return
        if not self.may("Deleting a run"):
            return
        words = ("runs", "delete", "--runs", self.session.runs_dir, "--", run.name)
        with self.complaining():
            if await self.removed(*words, question=f"Delete run {run.name}?"):
                self.say(f"Run {run.name} is deleted.")

    def on_input_changed(self) -> None:
        self._show()

    def on_input_submitted(self) -> None:
        self.query_one(Table).focus()

    @work(group="resume")
    async def _resume(self, folder: RunFolder) -> None:
        state = await asyncio.to_thread(state_of, folder)
        if await resume(self, folder, state):
            self.show_run(folder, f"Run {folder.name} goes on")

    @work(group="read", exclusive=True)
    async def action_reload(self) -> None:
        """Read the list, then run by run, in a thread; the list grows readable from its top."""
        try:
            self._folders = await asyncio.to_thread(list_runs, self.session.runs_dir)
            shown_at = 0.0
            for begin in range(0, len(self._folders), _AT_ONCE):
                few = self._folders[begin : begin + _AT_ONCE]
                self._known.update(await asyncio.to_thread(read_runs, few, self._known))
                if time.monotonic() > shown_at + _SHOW_EVERY_S:
                    self._show()
                    shown_at = time.monotonic()
            self._digest()
            if not self._is_listed:
                # The directory can be read again: its error goes away.
                self._is_listed = True
                self.say("")
        except FsconsoleError as error:
            self._folders, self._is_listed = (), False
            self.complain(error)
        self._show()

    @work(group="digest", exclusive=True)
    async def _digest(self) -> None:
        """Work out the newest runs' curves and best rows, one after the other."""
        for folder in self._folders[:_DIGESTS]:
            known, before = self._known.get(folder.name), self._digests.get(folder.name)
            if known is not None and (before is None or before[0] != known.stamp):
                self._digests[folder.name] = known.stamp, await asyncio.to_thread(digest_of, folder)
                self._show()

    async def act(self, words: Sequence[str], said: Callable[[str], str]) -> None:
        await super().act(words, said)
        self.action_reload()

    def _open(self, run: RunEntry, mode: str) -> None:
        self.session.folder = self._folder(run)
        self.app.switch_mode(mode)

    def _folder(self, run: RunEntry) -> RunFolder:
        return next(folder for folder in self._folders if folder.name == run.name)

    def _runs(self) -> tuple[RunEntry, ...]:
        def entry(number: int, name: str) -> RunEntry:
            one, nothing = self._known.get(name), Digest() if number < _DIGESTS else _NO_DIGEST
            if one is None:
                return RunEntry(name, None)
            return RunEntry(name, one.listed, one.size_bytes, self._digests.get(name, (None, nothing))[1])

        return tuple(entry(number, folder.name) for number, folder in enumerate(self._folders))

    def _run(self) -> RunEntry | None:
        key = self.query_one(Table).key
        return next((run for run in self._runs() if run.name == key), None)

    def _show(self) -> None:
        if not self.app.is_running:
            return
        runs, sought = self._runs(), self.query_one(Seek).words
        self.query_one(Table).show_table(runs_table(runs, sought, self._marked))
        words = list_words(runs, sought, self.session.runs_dir, is_listed=self._is_listed)
        self.put("#count", plain(words))
        self.put("#rule", plain(heads_words(runs, self.size.width)), layout=False)
        self.on_list_moved()

    def applies(self, action: str) -> bool:
        run = self._run()
        if run is None and action in _OF_A_RUN:
            return False
        if action == "resume":
            return run is not None and run.is_open
        return action != "cleanup" or any(one.is_dead for one in self._runs())

    def on_list_moved(self) -> None:
        run, runs_dir = self._run(), self.session.runs_dir
        offered = tuple(map(self.applies, ("resume", "cleanup", "open")))
        if offered != self._offered:
            self._offered = offered
            self.refresh_bindings()
        self.query_one("#about", List).show(
            lambda width: Texts(run_lines(run, runs_dir, width - 1) if run is not None else ()), afresh=True
        )
