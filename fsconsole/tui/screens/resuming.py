"""Taking a run of a list up again: what is asked before, and what becomes of it."""

from __future__ import annotations

import asyncio

from textual import work

from fsconsole.client.children import failure
from fsconsole.client.listing import targets_of
from fsconsole.errors import ExitCode
from fsconsole.journal.folder import RunFolder
from fsconsole.tui.screens.ask import resume_question
from fsconsole.tui.screens.base import ConsoleScreen
from fsconsole.tui.screens.confirm import ResumeScreen

_CONSENT_CODES = frozenset({ExitCode.CONSENT_MISSING, ExitCode.CONSENT_STALE})


class ResumingScreen(ConsoleScreen):
    """Asks nothing over what is asked already: an answer that was meant for another question would wipe."""

    _is_resuming = False

    def show_run(self, folder: RunFolder, mode: str) -> None:
        """Show a run on another screen."""
        self.session.folder = folder
        self.app.switch_mode(mode)

    @work(group="act")
    async def resume(self, folder: RunFolder) -> None:
        """Take a run up again, once that is meant; where its devices must be agreed to anew, that is asked too."""
        if self._is_resuming:
            self.say("A run is being taken up again already.")
            return
        self._is_resuming = True
        try:
            targets = await asyncio.to_thread(targets_of, folder)
            if not self._may_ask(folder):
                return
            if await self.app.push_screen_wait(resume_question(folder.name, targets)):
                with self.complaining():
                    await self._resume(folder)
        finally:
            self._is_resuming = False

    async def _resume(self, folder: RunFolder) -> None:
        self.say(f"Looking at the devices of run {folder.name}...")
        where = ("--runs", self.session.runs_dir)
        done = await self.session.children.run("resume", folder.name, "--exact", "--detach", *where)
        if not done.exit_code:
            self._goes_on(folder)
            return
        self.complain(failure(done))
        if done.exit_code in _CONSENT_CODES and self._may_ask(folder):
            resumed = await self.app.push_screen_wait(ResumeScreen(folder))
            if resumed is not None:
                self._goes_on(folder)

    def _may_ask(self, folder: RunFolder) -> bool:
        if not self.is_active:
            self.say_at_hand(f"Run {folder.name} is not taken up again: you are at something else by now.")
        return self.is_active

    def _goes_on(self, folder: RunFolder) -> None:
        self.say(f"Run {folder.name} goes on.")
        if self.is_active:
            self.show_run(folder, "run")
        else:
            # Whoever is at something else by now stays there.
            self.say_at_hand(f"Run {folder.name} goes on: the list of runs (5) shows it.")
